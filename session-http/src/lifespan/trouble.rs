//! Errors of `accept`: said once, waited out, never a reason to end.

use core::time::Duration;
use std::collections::HashSet;
use std::io::{self, ErrorKind};

/// `errno` of the limits that a server meets first; the same on Linux, macOS and the BSDs.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// What went wrong so far on one listener.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    said: HashSet<String>,
    pause: Duration,
}

impl Trouble {
    /// A connection was accepted.
    pub(crate) const fn is_over(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// How long to wait before the next try: `None` where the error was the client's and the next one may be waiting
    /// already.
    pub(crate) fn pause(&mut self, error: &io::Error) -> Option<Duration> {
        if is_the_clients(error.kind()) {
            return None;
        }
        let why = describe(error);
        if !self.said.contains(&why) {
            tracing::error!(%error, "can't accept connections: {why}; trying again until it works");
            self.said.insert(why);
        }
        self.pause = (self.pause * 2).clamp(SHORTEST, LONGEST);
        Some(self.pause)
    }
}

const fn is_the_clients(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::Interrupted
    )
}

fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(EMFILE) => "the process's limit of open files is reached (RLIMIT_NOFILE, `ulimit -n`)".into(),
        Some(ENFILE) => "the system's limit of open files is reached (`sysctl fs.file-max`)".into(),
        _ => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_went_away_does_not_hold_up_the_next() {
        let mut trouble = Trouble::default();
        assert_eq!(trouble.pause(&ErrorKind::ConnectionAborted.into()), None);
    }

    #[test]
    fn a_limit_is_named_once_and_waited_out_ever_more_patiently() {
        let mut trouble = Trouble::default();
        let full = io::Error::from_raw_os_error(EMFILE);
        assert!(describe(&full).contains("RLIMIT_NOFILE"));
        let pauses: Vec<_> = (0..10).filter_map(|_| trouble.pause(&full)).collect();
        assert_eq!((pauses[0], pauses[9]), (SHORTEST, LONGEST));
        assert_eq!(trouble.said.len(), 1);
        trouble.is_over();
        assert_eq!(trouble.pause(&full), Some(SHORTEST));
    }
}
