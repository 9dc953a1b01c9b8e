//! What was done and what was not: the truth at the end (I10).

use core::time::Duration;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use crate::{CloseReason, Lifespan, Outcome, SessionId, SessionKey, Step, Timestamp};

/// How one step of a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// Which.
    pub step: Step,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, without the time it waited for its turn.
    pub took: Duration,
    /// The environment's own words, if it had any.
    pub message: Option<String>,
}

/// One session's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReport {
    /// The id that its client knew.
    pub id: SessionId,
    /// Its internal name.
    pub key: SessionKey,
    /// Why it ended.
    pub reason: CloseReason,
    /// Its steps, in order. A step that was given up is the last one, with [`Outcome::Abandoned`].
    pub steps: Vec<StepReport>,
    /// Whether it was given up and has not come back.
    pub abandoned: bool,
    /// Whether it ended, or was given up, after the shutdown began.
    pub during_shutdown: bool,
}

impl SessionReport {
    /// The steps that did not end as they should.
    pub fn faults(&self) -> impl Iterator<Item = &StepReport> {
        self.steps.iter().filter(|step| !step.outcome.is_done())
    }

    /// How long its teardown took: the sum of its steps from draining on.
    #[must_use]
    pub fn teardown_took(&self) -> Duration {
        self.steps.iter().filter(|step| step.step >= Step::Drain).map(|step| step.took).sum()
    }
}

/// What a shutdown did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Sessions that ended over the whole life of the server, by reason.
    pub closed: BTreeMap<CloseReason, u64>,
    /// Those that ended during the shutdown, those that were given up, and the last that had a fault before it.
    pub sessions: Vec<SessionReport>,
    /// Sessions that were given up and have not come back.
    pub abandoned: usize,
    /// Threads that hang in an environment and could not be stopped.
    pub leaked_threads: usize,
    /// From the request to shut down to the end.
    pub took: Duration,
    /// Whether it was forced.
    pub forced: bool,
}

impl ShutdownReport {
    /// Whether nothing was left behind.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.abandoned == 0 && self.leaked_threads == 0
    }

    /// The slowest step of a teardown, and whose it was.
    #[must_use]
    pub fn slowest(&self) -> Option<(&SessionReport, &StepReport)> {
        let ended = self.sessions.iter().filter(|session| session.during_shutdown);
        let steps = ended.flat_map(|session| session.steps.iter().map(move |step| (session, step)));
        steps.filter(|(_, step)| step.step >= Step::Drain).max_by_key(|(_, step)| step.took)
    }
}

/// How many faulty sessions from before the shutdown are kept for the report.
const KEPT_FAULTS: usize = 256;

/// Collects what the report needs while the server lives.
#[derive(Debug, Default)]
pub(crate) struct Log {
    faulty: std::collections::VecDeque<SessionReport>,
    during_shutdown: Vec<SessionReport>,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
}

impl Log {
    pub(crate) fn add(&mut self, report: SessionReport) {
        if report.during_shutdown {
            self.during_shutdown.push(report);
        } else if report.faults().next().is_some() {
            if self.faulty.len() == KEPT_FAULTS {
                self.faulty.pop_front();
            }
            self.faulty.push_back(report);
        }
    }

    pub(crate) const fn is_shutting_down(&self) -> bool {
        self.began.is_some()
    }

    pub(crate) fn lifespan(&mut self, now: Timestamp, lifespan: Lifespan) {
        match lifespan {
            Lifespan::Draining => self.began = Some(now),
            Lifespan::Stopped => self.ended = Some(now),
            Lifespan::Running | Lifespan::Closing | Lifespan::Stopping => {}
        }
    }

    pub(crate) fn took(&self, now: Timestamp) -> Duration {
        self.began.map_or(Duration::ZERO, |began| self.ended.unwrap_or(now).since(began))
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &SessionReport> {
        self.faulty.iter().chain(&self.during_shutdown)
    }
}
