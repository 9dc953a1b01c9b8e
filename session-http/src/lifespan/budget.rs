//! The numbers that add up to what a shutdown may take.

use core::fmt;
use core::time::Duration;

use super::exit::Short;
use crate::Limits;

/// What the end may take.
pub(crate) struct Budget {
    pub(crate) lame_duck: Duration,
    sessions: Duration,
    pub(crate) connections: Duration,
}

impl Budget {
    pub(crate) const fn of(limits: &Limits, lame_duck: Duration, sessions: Duration) -> Self {
        Self { lame_duck, sessions, connections: limits.connection_drain }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lame_duck, sessions, connections } = self;
        let sum = Short(*lame_duck + *sessions + *connections);
        let (duck, sessions, drain) = (Short(*lame_duck), Short(*sessions), Short(*connections));
        write!(
            f,
            "a shutdown takes at most {sum} (lame duck {duck}, sessions {sessions}, connections {drain}): "
        )?;
        f.write_str("an orchestrator's termination grace must exceed it")
    }
}
