//! Watching and ending sessions, for whoever does not know what environments are asked.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::Vec;

use tokio::sync::watch;

use super::entry::Abandoned;
use super::observer::Subscription;
use super::report::{SessionReport, ShutdownReport};
use super::sessions::Owner;
use super::shared::Core;
use crate::{Books, CloseReason, Lifespan, SessionView, Shutdown, Timestamp};

/// How it stands at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// How far the whole is.
    pub lifespan: Lifespan,
    /// Whether new sessions are welcome: it is running, and not too many were given up.
    pub ready: bool,
    /// What there is.
    pub books: Books,
    /// How many sessions there may be.
    pub capacity: usize,
    /// How many one-shot sessions there may be.
    pub one_shot_capacity: usize,
}

trait Controlled: Send + Sync {
    fn status(&self) -> Status;
    fn list(&self) -> Vec<SessionView>;
    fn subscribe(&self) -> Subscription;
    fn lifespan(&self) -> watch::Receiver<Lifespan>;
    fn begin_shutdown(&self, how: Shutdown);
    fn report(&self) -> ShutdownReport;
    fn worst_case_shutdown(&self) -> Duration;
}

/// Watches and ends the sessions of one server. Cheap to clone.
#[derive(Clone)]
pub struct Control(Arc<dyn Controlled>);

impl Control {
    pub(crate) fn new<C: Send + 'static, R: Send + 'static>(owner: Arc<Owner<C, R>>) -> Self {
        Self(owner)
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// All sessions, those that were given up included.
    #[must_use]
    pub fn list(&self) -> Vec<SessionView> {
        self.0.list()
    }

    /// Lifecycle events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.0.subscribe()
    }

    /// How far the whole is, and every change of it.
    #[must_use]
    pub fn lifespan(&self) -> watch::Receiver<Lifespan> {
        self.0.lifespan()
    }

    /// Begins the shutdown, or makes it more urgent, and returns at once.
    pub fn begin_shutdown(&self, how: Shutdown) {
        self.0.begin_shutdown(how);
    }

    /// Begins the shutdown, or makes it more urgent, and waits until everything has stopped. Cancel safe: what has
    /// begun goes on.
    pub async fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        self.begin_shutdown(how);
        self.stopped().await
    }

    /// The longest that a shutdown can take, see
    /// [`Config::worst_case_shutdown`](crate::Config::worst_case_shutdown).
    #[must_use]
    pub fn worst_case_shutdown(&self) -> Duration {
        self.0.worst_case_shutdown()
    }

    /// Waits until everything has stopped. Cancel safe.
    pub async fn stopped(&self) -> ShutdownReport {
        let mut lifespan = self.lifespan();
        // The sender lives as long as `self`: an error can't happen, and would mean that nothing is left.
        let _ = lifespan.wait_for(|lifespan| *lifespan == Lifespan::Stopped).await;
        self.0.report()
    }
}

impl core::fmt::Debug for Control {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Control").field(&self.status()).finish()
    }
}

impl<C: Send + 'static, R: Send + 'static> Controlled for Owner<C, R> {
    fn status(&self) -> Status {
        let core = self.shared.lock();
        let (lifecycle, config) = (&core.lifecycle, core.lifecycle.config());
        Status {
            lifespan: lifecycle.lifespan(),
            ready: lifecycle.is_ready(),
            books: lifecycle.books(),
            capacity: config.capacity(),
            one_shot_capacity: config.one_shot_capacity(),
        }
    }

    fn list(&self) -> Vec<SessionView> {
        self.shared.lock().lifecycle.sessions().collect()
    }

    fn subscribe(&self) -> Subscription {
        Subscription::new(self.shared.events.subscribe())
    }

    fn lifespan(&self) -> watch::Receiver<Lifespan> {
        self.shared.lifespan.subscribe()
    }

    fn begin_shutdown(&self, how: Shutdown) {
        self.shared.transition(|core, now| core.lifecycle.shut_down(now, how));
    }

    fn worst_case_shutdown(&self) -> Duration {
        self.shared.lock().lifecycle.config().worst_case_shutdown()
    }

    fn report(&self) -> ShutdownReport {
        let now = self.shared.now();
        report(&self.shared.lock(), now)
    }
}

fn report<C: Send + 'static, R: Send + 'static>(core: &Core<C, R>, now: Timestamp) -> ShutdownReport {
    let (totals, books) = (core.lifecycle.totals(), core.lifecycle.books());
    let counts = CloseReason::ALL.iter().map(|reason| (*reason, totals.ended(*reason)));
    let given_up =
        core.all_sides().filter(|side| side.abandoned != Abandoned::No).map(|side| SessionReport {
            id: side.entry.id.clone(),
            key: side.entry.key,
            reason: side.entry.closing_reason(),
            steps: side.steps.clone(),
            abandoned: true,
            during_shutdown: side.abandoned == Abandoned::DuringShutdown,
        });
    ShutdownReport {
        closed: counts.filter(|(_, count)| *count > 0).collect::<BTreeMap<_, _>>(),
        sessions: core.log.sessions().cloned().chain(given_up).collect(),
        abandoned: books.abandoned,
        leaked_threads: books.leaked_executors,
        took: core.log.took(now),
        forced: core.lifecycle.was_forced(),
    }
}
