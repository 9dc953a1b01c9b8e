//! Lifecycle events for whoever wants to watch: logs, metrics, recorders. Watching changes nothing.

use core::time::Duration;
use std::string::String;

use tokio::sync::broadcast::{self, error::RecvError};

use super::report::SessionReport;
use crate::{CloseReason, ExecutorKey, Lifespan, Outcome, SessionId, SessionKey, Step};

/// How many events a subscriber may be behind before it misses the oldest.
pub(crate) const BACKLOG: usize = 4096;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Counts all events of one [`Sessions`](super::Sessions) from 1. Zero for [`ObservedKind::Missed`].
    pub sequence: u64,
    /// When, since the [`Sessions`](super::Sessions) were made.
    pub at: Duration,
    /// What.
    pub kind: ObservedKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedKind {
    /// A session was asked for and accepted.
    Opening {
        /// Its internal name.
        key: SessionKey,
        /// The id that its client will know.
        id: SessionId,
    },
    /// It is open.
    Opened {
        /// Its internal name.
        key: SessionKey,
        /// Its id.
        id: SessionId,
    },
    /// Its end began.
    Closing {
        /// Its internal name.
        key: SessionKey,
        /// Its id.
        id: SessionId,
        /// Why.
        reason: CloseReason,
    },
    /// A step of it ended.
    StepDone {
        /// Its internal name.
        key: SessionKey,
        /// Its id.
        id: SessionId,
        /// Which step.
        step: Step,
        /// How it ended.
        outcome: Outcome,
        /// How long it took.
        took: Duration,
        /// The environment's own words, if it had any.
        message: Option<String>,
    },
    /// It holds nothing any more.
    Gone(SessionReport),
    /// It was given up in this step. If the step ends after all, the teardown goes on, and `Gone` follows.
    Abandoned {
        /// Its internal name.
        key: SessionKey,
        /// Its id.
        id: SessionId,
        /// In which step.
        step: Step,
        /// Why it was closing.
        reason: CloseReason,
    },
    /// An executor was started.
    ExecutorStarted {
        /// Its internal name.
        key: ExecutorKey,
        /// The name of its thread.
        thread: String,
    },
    /// An executor has ended; its thread was joined.
    ExecutorStopped {
        /// Its internal name.
        key: ExecutorKey,
    },
    /// An executor hangs and was given up.
    ExecutorLost {
        /// Its internal name.
        key: ExecutorKey,
    },
    /// The lifespan went on.
    Lifespan(Lifespan),
    /// This subscriber was too slow and missed this many events.
    Missed(u64),
}

/// A subscription to lifecycle events, from the moment it was made.
///
/// A slow subscriber disturbs nothing: beyond a backlog of 4096 events it loses the oldest and is told how many.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<Observed>);

impl Subscription {
    pub(crate) const fn new(receiver: broadcast::Receiver<Observed>) -> Self {
        Self(receiver)
    }

    /// The next event; `None` once the sessions are no more. Cancel safe.
    pub async fn recv(&mut self) -> Option<Observed> {
        match self.0.recv().await {
            Ok(observed) => Some(observed),
            Err(RecvError::Lagged(missed)) => {
                Some(Observed { sequence: 0, at: Duration::ZERO, kind: ObservedKind::Missed(missed) })
            }
            Err(RecvError::Closed) => None,
        }
    }
}
