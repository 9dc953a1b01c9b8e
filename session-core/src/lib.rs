//! The life of a session, as a pure state machine.
//!
//! A *session* is what a stateful agent server keeps alive between two requests for one client: an environment, the
//! MCP context in it, the one thread it may be touched from, its streams. [`Lifecycle`] holds all sessions of one
//! server and decides what must happen next, so that every session is torn down in order, on the right thread, exactly
//! once, whatever happens.
//!
//! It does **not** do any of it. It reads no clock, starts no thread, opens no socket, takes no lock and writes no log:
//! it is told what happened and what time it is, and is asked what to do and when to come back. Without features the
//! crate is `no_std`, which is the proof. The feature `driver` adds `Sessions`, which carries the
//! actions out on tokio; it opens no socket either.
//!
//! ```
//! use session_core::{Action, Class, Config, Event, Lifecycle, Outcome, SessionId, Timestamp};
//!
//! let now = Timestamp::ORIGIN;
//! let mut lifecycle = Lifecycle::new(Config::default());
//! let key = lifecycle.open(now, SessionId::new("a")?, Class::Kept)?;
//! while let Some(action) = lifecycle.poll_action() {
//!     match action {
//!         Action::Build(key, _) => lifecycle.handle_event(now, Event::Built(key, Outcome::Done))?,
//!         Action::Enter(key) => lifecycle.handle_event(now, Event::Entered(key, Outcome::Done))?,
//!         _ => {}
//!     }
//! }
//! lifecycle.begin_call(key)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "driver"))]
extern crate std;

mod action;
mod config;
mod event;
mod id;
mod key;
mod lifecycle;
mod reason;
mod refusal;
mod session;
mod time;

#[cfg(feature = "driver")]
mod driver;

pub use action::Action;
pub use config::{Config, ConfigBuilder, ConfigError, Placement, Timeouts};
#[cfg(feature = "driver")]
pub use driver::{
    Attachment, BoxError, Call, CallError, Closed, Control, Environment, Factory, Observed, ObservedKind,
    OneShot, OpenError, Overlap, Session, SessionReport, Sessions, ShutdownReport, Status, StepReport,
    Subscription, TaskEnvironment, Threads, Unheard,
};
pub use event::{Event, UnexpectedEvent};
pub use id::{InvalidSessionId, SessionId};
pub use key::{ExecutorKey, SessionKey};
pub use lifecycle::{Books, Lifecycle, SessionView, Totals};
pub use reason::{CloseReason, Lifespan, Outcome, Shutdown, Step};
pub use refusal::Refusal;
pub use session::{Attempt, Class, Phase};
pub use time::Timestamp;
