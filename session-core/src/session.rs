//! What the machine knows about one session.

use crate::{CloseReason, ExecutorKey, SessionId, SessionKey, Step, Timestamp};

/// For how long a session is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Until it is closed; takes a slot of the capacity.
    Kept,
    /// For one request; counts against a limit of its own.
    OneShot,
}

/// Where a session is in its life. A phase has exactly the data that exists in it, and one deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Its environment is being built. If its end was decided meanwhile, it is doomed.
    Building {
        /// Why it will be taken apart once it is built.
        doomed: Option<CloseReason>,
    },
    /// Its MCP context is being entered.
    Entering {
        /// Why it will be taken apart once the context is entered.
        doomed: Option<CloseReason>,
    },
    /// It is open.
    Active {
        /// Calls in flight.
        calls: u32,
        /// Since when it has not been used. Meaningless while it is.
        idle_since: Timestamp,
    },
    /// Its end has begun; calls in flight may finish.
    Draining {
        /// Calls still in flight, at least one.
        calls: u32,
        /// Why it is closing.
        reason: CloseReason,
    },
    /// Its MCP context is being left.
    Leaving {
        /// Why it is closing.
        reason: CloseReason,
    },
    /// Its environment is being closed.
    Closing {
        /// Which try this is.
        attempt: Attempt,
        /// Why it is closing.
        reason: CloseReason,
    },
    /// Its own executor is being stopped.
    Stopping {
        /// Why it is closing.
        reason: CloseReason,
    },
}

/// Which try of closing an environment. A failed close is tried once more (I1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// The first.
    First,
    /// The second and last.
    Second,
}

/// How a session stands to its present step: not a phase, since a late end continues where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stance {
    /// The step has not begun: it waits for its executor or for its turn.
    Queued,
    /// The step is under way.
    Waiting,
    /// The deadline passed; the step was told to end.
    Interrupted,
    /// That did not help; it was given up.
    Abandoned,
}

/// Whether a session still counts against the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    /// It holds its slot.
    Held,
    /// It was given up: the slot is free, and the session counts as abandoned until it comes back.
    WrittenOff,
}

/// Whether a session has its turn among those being taken apart at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Turn {
    /// Not asked for yet.
    NotDue,
    /// It has it.
    Taken,
    /// It was given back.
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    pub(crate) key: SessionKey,
    pub(crate) id: SessionId,
    pub(crate) class: Class,
    pub(crate) executor: Option<ExecutorKey>,
    pub(crate) phase: Phase,
    pub(crate) stance: Stance,
    pub(crate) standing: Standing,
    pub(crate) turn: Turn,
    /// When it was asked for: its lifetime counts from here.
    pub(crate) asked: Timestamp,
    /// When the present step began.
    pub(crate) since: Timestamp,
    /// Streams that are attached; they may outlive the active phase.
    pub(crate) attachments: u32,
}

impl Session {
    pub(crate) const fn step(&self) -> Option<Step> {
        match self.phase {
            Phase::Building { .. } => Some(Step::Build),
            Phase::Entering { .. } => Some(Step::Enter),
            Phase::Active { .. } => None,
            Phase::Draining { .. } => Some(Step::Drain),
            Phase::Leaving { .. } => Some(Step::Leave),
            Phase::Closing { attempt: Attempt::First, .. } => Some(Step::Close),
            Phase::Closing { attempt: Attempt::Second, .. } => Some(Step::CloseAgain),
            Phase::Stopping { .. } => Some(Step::Stop),
        }
    }

    /// Why it is closing, or will be.
    pub(crate) const fn reason(&self) -> Option<CloseReason> {
        match self.phase {
            Phase::Building { doomed } | Phase::Entering { doomed } => doomed,
            Phase::Active { .. } => None,
            Phase::Draining { reason, .. }
            | Phase::Leaving { reason }
            | Phase::Closing { reason, .. }
            | Phase::Stopping { reason } => Some(reason),
        }
    }

    pub(crate) const fn calls(&self) -> u32 {
        match self.phase {
            Phase::Active { calls, .. } | Phase::Draining { calls, .. } => calls,
            Phase::Building { .. }
            | Phase::Entering { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. } => 0,
        }
    }

    pub(crate) fn is_written_off(&self) -> bool {
        self.standing == Standing::WrittenOff
    }
}
