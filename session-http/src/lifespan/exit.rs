//! What the server did, told at its end.

use core::fmt;
use core::time::Duration;

use session_core::{SessionReport, ShutdownReport};

/// The report of a whole run. Its `Display` is a summary for people, of several lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "says whether anything was left behind"]
pub struct Exit {
    /// What became of the sessions.
    pub sessions: ShutdownReport,
    /// What became of the connections.
    pub connections: ConnectionReport,
    /// From the request to shut down until everything had ended.
    pub took: Duration,
}

/// What became of the connections, over all listeners and the whole life of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionReport {
    /// Those that were served.
    pub served: u64,
    /// Those that were one too many.
    pub refused: u64,
    /// Those that had not ended when the time for it was over.
    pub cut: u64,
}

impl Exit {
    /// The exit code of the process: 0 if nothing was left behind, else 1. A connection that was cut is not counted:
    /// the system has taken it back.
    #[must_use]
    pub const fn code(&self) -> u8 {
        if self.sessions.is_clean() { 0 } else { 1 }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, connections, took } = self;
        let how = if sessions.forced { "forced shutdown" } else { "shutdown" };
        writeln!(f, "{how} took {}: {}", Short(*took), Closed(sessions))?;
        if let Some((session, step)) = sessions.slowest() {
            writeln!(f, "slowest: {} of session {} took {}", step.step, session.id, Short(step.took))?;
        }
        for session in &sessions.sessions {
            faults(f, session)?;
        }
        if sessions.leaked_threads > 0 {
            writeln!(
                f,
                "{} left behind, hanging in an environment",
                Many(sessions.leaked_threads, "thread")
            )?;
        }
        let ConnectionReport { served, refused, cut } = connections;
        write!(f, "connections: {served} served, {refused} refused, {cut} cut")
    }
}

/// One line for each step that did not end as it should.
fn faults(f: &mut fmt::Formatter<'_>, session: &SessionReport) -> fmt::Result {
    for step in session.faults() {
        let (id, took) = (&session.id, Short(step.took));
        write!(f, "session {id} ({}): {} {} after {took}", session.reason, step.step, step.outcome)?;
        match &step.message {
            Some(message) => writeln!(f, ": {message}")?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

/// How many sessions were closed for which reasons, and how many were given up.
struct Closed<'a>(&'a ShutdownReport);

impl fmt::Display for Closed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: u64 = self.0.closed.values().sum();
        write!(f, "{} closed", Many(usize::try_from(total).unwrap_or(usize::MAX), "session"))?;
        for (at, (reason, count)) in self.0.closed.iter().enumerate() {
            write!(f, "{}{count} {reason}", if at == 0 { " (" } else { ", " })?;
        }
        if total > 0 {
            f.write_str(")")?;
        }
        write!(f, ", {} abandoned", self.0.abandoned)
    }
}

struct Many(usize, &'static str);

impl fmt::Display for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

/// A duration with the digits that a person reads.
pub(crate) struct Short(pub(crate) Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Duration::ZERO => f.write_str("0 s"),
            long if long >= Duration::from_secs(1) => write!(f, "{:.2} s", long.as_secs_f64()),
            short => write!(f, "{:.1} ms", short.as_secs_f64() * 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_run_without_sessions_is_told_in_two_lines() {
        let sessions = ShutdownReport {
            closed: BTreeMap::new(),
            sessions: Vec::new(),
            abandoned: 0,
            leaked_threads: 0,
            took: Duration::ZERO,
            forced: false,
        };
        let connections = ConnectionReport { served: 1, refused: 2, cut: 3 };
        let exit = Exit { sessions, connections, took: Duration::from_millis(1500) };
        assert_eq!(
            exit.to_string(),
            "shutdown took 1.50 s: 0 sessions closed, 0 abandoned\n\
             connections: 1 served, 2 refused, 3 cut"
        );
        assert_eq!(exit.code(), 0);
    }

    #[test]
    fn a_leaked_thread_alone_makes_the_exit_unclean() {
        let sessions = ShutdownReport {
            closed: BTreeMap::new(),
            sessions: Vec::new(),
            abandoned: 0,
            leaked_threads: 1,
            took: Duration::ZERO,
            forced: true,
        };
        let exit = Exit { sessions, connections: ConnectionReport::default(), took: Duration::ZERO };
        assert!(exit.to_string().contains("1 thread left behind"), "{exit}");
        assert_eq!(exit.code(), 1);
    }
}
