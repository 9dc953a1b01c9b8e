//! The driver: carries the machine's actions out on tokio. Threads, tasks and timers; still no socket.
//!
//! [`Sessions`] is what a transport holds. It is the only holder of the machine's lock; actions leave the lock in the
//! machine's order, because they are dispatched inside it and dispatching never waits.
//!
//! Refuses to build with `panic = "abort"`: a panic in an environment is meant to end that session only.

#[cfg(panic = "abort")]
compile_error!("session-core's driver contains panics of environments; build with panic = \"unwind\"");

mod call;
mod control;
mod dispatch;
mod entry;
mod environment;
mod executor;
mod joiner;
mod latch;
mod later;
mod observer;
mod report;
mod sessions;
mod shared;
mod step;
mod tasks;
mod timer;

pub use call::{Call, CallError};
pub use control::{Control, Status};
pub use entry::Closed;
pub use environment::{BoxError, Environment, Factory, Overlap, TaskEnvironment, Unheard};
pub use observer::{Observed, ObservedKind, Subscription};
pub use report::{SessionReport, ShutdownReport, StepReport};
pub use sessions::{Attachment, OneShot, OpenError, Session, Sessions, Threads};
