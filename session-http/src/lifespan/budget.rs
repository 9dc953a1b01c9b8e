//! The numbers that add up to what a shutdown may take.

use core::fmt;
use core::time::Duration;

use super::exit::Short;
use crate::Limits;

/// What the end may take.
pub(crate) struct Budget {
    pub(crate) lame_duck: Duration,
    /// `None` if the server was not told.
    sessions: Option<Duration>,
    pub(crate) connections: Duration,
}

impl Budget {
    pub(crate) const fn of(limits: &Limits, lame_duck: Duration, sessions: Option<Duration>) -> Self {
        Self { lame_duck, sessions, connections: limits.connection_drain }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lame_duck, sessions, connections } = self;
        let (duck, drain) = (Short(*lame_duck), Short(*connections));
        match sessions {
            Some(sessions) => {
                let sum = Short(*lame_duck + *sessions + *connections);
                let sessions = Short(*sessions);
                write!(f, "a shutdown takes at most {sum} (lame duck {duck}, sessions {sessions}, ")?;
                write!(f, "connections {drain}): an orchestrator's termination grace must exceed it")
            }
            None => {
                write!(f, "a shutdown takes what its sessions need, lame duck {duck}, connections {drain}")
            }
        }
    }
}
