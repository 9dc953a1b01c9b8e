//! Why a request was not accepted. A refusal never changes anything.

use crate::CloseReason;

/// Why the machine refused. Each text says what the asker can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Every slot is taken by a session that still holds something.
    #[error("at capacity: {open} of {capacity} sessions are open; close one or try again later")]
    AtCapacity {
        /// Sessions that hold a slot, those being built or closed included.
        open: usize,
        /// How many there may be.
        capacity: usize,
    },
    /// Too many requests without a session are being served.
    #[error("{open} of {capacity} one-shot sessions are busy; try again shortly")]
    TooManyOneShots {
        /// One-shot sessions that hold anything.
        open: usize,
        /// How many there may be.
        capacity: usize,
    },
    /// So many sessions had to be given up that the server no longer trusts itself.
    #[error("{abandoned} sessions had to be abandoned (limit {limit}); this server must be restarted")]
    TooManyAbandoned {
        /// Sessions that were given up and have not come back.
        abandoned: usize,
        /// The limit beyond which nothing is opened.
        limit: usize,
    },
    /// The server is shutting down.
    #[error("the server is shutting down; use another one")]
    Draining,
    /// An open session has this id already.
    #[error("a session with this id exists; make a new random id")]
    DuplicateId,
    /// No session has this id or key.
    #[error("unknown session; open a new one")]
    Unknown,
    /// The session is not open yet.
    #[error("the session is still being opened; try again shortly")]
    StillOpening,
    /// The session is being closed.
    #[error("the session is closing ({reason}); open a new one")]
    Closing {
        /// Why it is closing.
        reason: CloseReason,
    },
    /// The session was closed a while ago.
    #[error("the session was closed ({reason}); open a new one")]
    Ended {
        /// Why it was closed.
        reason: CloseReason,
    },
}
