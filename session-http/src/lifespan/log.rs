//! The log of what happens to sessions: one line for each end, and one for everything that went wrong.

use core::time::Duration;
use std::collections::{HashMap, HashSet};

use session_core::{Control, Lifespan, Observed, ObservedKind, SessionKey, SessionReport, Subscription};

/// Writes the log until the sessions have stopped, or are no more.
pub(crate) async fn follow(mut events: Subscription, control: Control) {
    let mut log = Log::default();
    while let Some(Observed { at, kind, .. }) = events.recv().await {
        if let ObservedKind::Missed(missed) = kind {
            log.missed(missed, &control);
        } else if log.write(at, kind) == Next::Nothing {
            return;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    More,
    Nothing,
}

/// When each session began, for the length of its life.
#[derive(Debug, Default)]
struct Log {
    began: HashMap<SessionKey, Duration>,
}

impl Log {
    fn write(&mut self, at: Duration, kind: ObservedKind) -> Next {
        match kind {
            ObservedKind::Opening { key, .. } => {
                self.began.insert(key, at);
            }
            ObservedKind::Opened { id, .. } => tracing::debug!(session = %id, "session opened"),
            ObservedKind::Closing { id, reason, .. } => {
                tracing::debug!(session = %id, %reason, "session closing");
            }
            ObservedKind::StepDone { id, step, outcome, took, message, .. } if !outcome.is_done() => {
                // Not `message`: that is the event's own, and JSON readers keep one of two.
                let error = message.as_deref();
                tracing::warn!(session = %id, %step, %outcome, ?took, error, "a session's step did not end well");
            }
            ObservedKind::Gone(report) => self.gone(at, &report),
            ObservedKind::Abandoned { id, step, reason, .. } => {
                tracing::warn!(session = %id, %step, %reason, "session abandoned: its environment hangs");
            }
            ObservedKind::ExecutorLost { key } => {
                tracing::warn!(executor = %key, "an executor hangs and was given up");
            }
            ObservedKind::Lifespan(lifespan) => {
                tracing::info!(%lifespan, "lifespan");
                if lifespan == Lifespan::Stopped {
                    return Next::Nothing;
                }
            }
            ObservedKind::StepDone { .. }
            | ObservedKind::ExecutorStarted { .. }
            | ObservedKind::ExecutorStopped { .. }
            | ObservedKind::Missed(_) => {}
        }
        Next::More
    }

    fn gone(&mut self, at: Duration, report: &SessionReport) {
        let duration = self.began.remove(&report.key).map(|began| at.saturating_sub(began));
        let (session, reason, faults) = (&report.id, report.reason, report.faults().count());
        let duration = duration.map(tracing::field::debug);
        tracing::info!(%session, %reason, duration, faults, "session ended");
    }

    fn missed(&mut self, missed: u64, control: &Control) {
        tracing::warn!(missed, "the log is behind: some sessions' events are not in it");
        let alive: HashSet<_> = control.list().into_iter().map(|session| session.key).collect();
        self.began.retain(|key, _| alive.contains(key));
    }
}
