//! Facts: what a driver tells the machine.

use crate::{ExecutorKey, Outcome, SessionKey};

/// Something that happened. Each of the first five answers the action of its name, exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The environment is built, or could not be.
    Built(SessionKey, Outcome),
    /// The MCP context is entered, or could not be.
    Entered(SessionKey, Outcome),
    /// The MCP context is left, well or badly: it is not tried again.
    Left(SessionKey, Outcome),
    /// One attempt to close the environment ended.
    Closed(SessionKey, Outcome),
    /// The executor has ended.
    Stopped(ExecutorKey, Outcome),
    /// A call that was begun has ended, however it did.
    CallEnded(SessionKey),
    /// A stream that was attached is gone.
    Detached(SessionKey),
}

/// The driver reported what can't have happened. The machine is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} was not expected now")]
pub struct UnexpectedEvent {
    /// What was reported.
    pub event: Event,
}
