//! Shows whether a server tears its sessions down: in order, on the right thread, exactly once.
//!
//! A [`Recorder`] is told what happens, by [fakes](FakeEnvironment) or by your own environments; the
//! [`Record`] it gives is asked to keep the rules. If it does not, the test prints it as swim lanes,
//! one lane a thread, with the lines marked that break a rule.
//!
//! ```
//! use session_core::{Config, SessionId, Sessions, Shutdown, Threads};
//! use session_testkit::{Behaviour, ClientState, FakeEnvironment, Recorder, Stage};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
//!
//! let recorder = Recorder::new();
//! let fakes = FakeEnvironment::builder()
//!     .recording(&recorder)
//!     .on(Stage::Close, Behaviour::fail("the disk is full").first(1))
//!     .build();
//! let sessions = Sessions::on_threads(Config::default(), Threads::Shared, fakes.clone());
//! let _observation = recorder.observe(sessions.subscribe());
//!
//! sessions.open(SessionId::new("a")?).await?;
//! let report = sessions.shutdown(Shutdown::Graceful).await;
//!
//! assert!(report.is_clean());
//! assert_eq!(fakes.count(ClientState::Disconnected), 1);
//! recorder.stopped(PATIENCE).await?;
//! recorder.record_so_far().assert_closed_once("a").assert_order("a").assert_one_thread("a").assert_nothing_left();
//! # Ok(())
//! # }
//! ```
//!
//! # What is in it
//!
//! | | |
//! | --- | --- |
//! | [`Recorder`], [`SpanGuard`] | an append-only log from all threads, in one order; awaits events; writes JSON lines |
//! | [`Record`], [`Violation`] | the claims (I1 to I4, I9), as assertions or as a list |
//! | [`Timeline`] | swim lanes |
//! | [`FakeEnvironment`], [`FakeTask`], [`Behaviour`] | environments that wait, fail, panic or hang where they are told to |
//! | [`FakeMcpClient`], [`ClientWatch`] | what an MCP context holds, connected for real, watched from outside |
//! | [`Gate`] | holds a task or a thread until the test opens it |
//! | [`ManualClock`] | a paused clock that real threads can't hurry on |
//! | [`within`] | a time limit in real time, under a paused clock too |
//! | [`http`] | a small client for tests over a socket |
//!
//! The program `reference-server` of this crate serves the agreed reference environment, which
//! judges from outside (in any language) start, signal and read the event log of.
//!
//! # What it is not
//!
//! It starts no server and knows no test framework: its assertions panic, its waits are futures. It
//! believes what it is told; what it can see by itself (that a thread ended, that a pipe was closed)
//! it does not ask others about.

mod claims;
mod clock;
mod event;
mod event_log;
mod fake;
mod gate;
pub mod http;
mod observe;
mod patience;
mod record;
mod recorder;
mod span;
mod thread_watch;
mod timeline;

pub use claims::{Rule, Violation};
pub use clock::ManualClock;
pub use event::{Event, Extras, Kind, Teller, Thread};
pub use fake::{
    Behaviour, ClientState, ClientWatch, FakeBuilder, FakeEnvironment, FakeMcpClient, FakeReply, FakeTask,
    FakeTasks, Fakes, HttpFake, HttpFakes, Stage,
};
pub use gate::{Gate, Turnstile};
pub use observe::Observation;
pub use patience::{Impatient, within};
pub use record::Record;
pub use recorder::{NotSeen, Recorder};
pub use span::{Span, SpanGuard};
pub use timeline::Timeline;
