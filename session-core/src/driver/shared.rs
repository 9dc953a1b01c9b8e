//! The machine behind its lock. Nothing else locks, and nothing waits while it is locked.

use std::boxed::Box;
use std::collections::VecDeque;
use std::rc::Rc;
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::Instant;

use super::entry::{Entry, Home, Side};
use super::environment::{BoxError, Overlap, Unheard};
use super::executor::{Job, LocalResident};
use super::joiner::Joiner;
use super::later;
use super::observer::{BACKLOG, Observed, ObservedKind};
use super::report::Log;
use super::step::Ticket;
use super::tasks::TaskResident;
use crate::{Config, Event, ExecutorKey, Lifecycle, Lifespan, Outcome, SessionId, SessionKey, Timestamp};

pub(crate) type LocalMake<C, R> =
    dyn Fn(&SessionId) -> Result<Rc<dyn LocalResident<C, R>>, BoxError> + Send + Sync;
pub(crate) type TaskMake<C, R> =
    dyn Fn(&SessionId) -> Result<Arc<dyn TaskResident<C, R>>, BoxError> + Send + Sync;

/// How environments are made.
pub(crate) enum Make<C, R> {
    OnThreads(Box<LocalMake<C, R>>),
    AsTasks(Box<TaskMake<C, R>>),
}

pub(crate) struct Shared<C: Send + 'static, R: Send + 'static> {
    core: Mutex<Core<C, R>>,
    pub(crate) make: Make<C, R>,
    pub(crate) overlap: Overlap,
    pub(crate) unheard: Unheard,
    pub(crate) runtime: Handle,
    pub(crate) origin: Instant,
    pub(crate) timer: Arc<Notify>,
    /// A session gave its slot back.
    pub(crate) slots: Notify,
    pub(crate) lifespan: watch::Sender<Lifespan>,
    pub(crate) events: broadcast::Sender<Observed>,
    pub(crate) joiner: Joiner<C, R>,
}

/// What the lock protects.
pub(crate) struct Core<C: Send + 'static, R: Send + 'static> {
    pub(crate) lifecycle: Lifecycle,
    sides: Vec<Option<Side<C, R>>>,
    pub(crate) lanes: Vec<Option<Lane<C, R>>>,
    /// Facts that came up while actions were carried out.
    pub(crate) facts: VecDeque<Event>,
    /// For when the timer is set.
    pub(crate) armed: Option<Timestamp>,
    pub(crate) log: Log,
    sequence: u64,
}

/// An executor, seen from the driver.
pub(crate) struct Lane<C: Send + 'static, R: Send + 'static> {
    pub(crate) key: ExecutorKey,
    pub(crate) mailbox: mpsc::UnboundedSender<Job<C, R>>,
    /// How its thread ended, if it did before it was told to.
    pub(crate) ended: Option<Outcome>,
}

/// What is done once the lock is released, since it takes time.
pub(crate) enum Deferred<C: Send + 'static, R: Send + 'static> {
    Start {
        executor: ExecutorKey,
        name: String,
        mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
    },
    /// Take a step as a task. Not spawned under the lock: a runtime that is shutting down drops a new task at once, and
    /// the step's ticket then takes the lock.
    Spawn {
        entry: Arc<Entry>,
        home: Home<C, R>,
        ticket: Ticket<C, R>,
    },
    Drop(Job<C, R>),
    /// Let go of a session's home: an environment that could not be closed is dropped with it.
    Leave(Home<C, R>),
}

impl<C: Send + 'static, R: Send + 'static> Core<C, R> {
    pub(crate) fn insert(&mut self, side: Side<C, R>) {
        let index = side.entry.key.index();
        if index >= self.sides.len() {
            self.sides.resize_with(index + 1, || None);
        }
        self.sides[index] = Some(side);
    }

    pub(crate) fn side(&mut self, key: SessionKey) -> Option<&mut Side<C, R>> {
        self.sides.get_mut(key.index())?.as_mut().filter(|side| side.entry.key == key)
    }

    pub(crate) fn remove(&mut self, key: SessionKey) -> Option<Side<C, R>> {
        self.side(key)?;
        self.sides[key.index()].take()
    }

    pub(crate) fn all_sides(&self) -> impl Iterator<Item = &Side<C, R>> {
        self.sides.iter().flatten()
    }

    pub(crate) fn forget_lane(&mut self, key: ExecutorKey) {
        if self.lane(key).is_some() {
            self.lanes[key.index()] = None;
        }
    }

    pub(crate) fn lane(&mut self, key: ExecutorKey) -> Option<&mut Lane<C, R>> {
        self.lanes.get_mut(key.index())?.as_mut().filter(|lane| lane.key == key)
    }
}

impl<C: Send + 'static, R: Send + 'static> Shared<C, R> {
    pub(crate) fn new(config: Config, make: Make<C, R>, overlap: Overlap, unheard: Unheard) -> Self {
        Self {
            core: Mutex::new(Core {
                lifecycle: Lifecycle::new(config),
                sides: Vec::new(),
                lanes: Vec::new(),
                facts: VecDeque::new(),
                armed: None,
                log: Log::default(),
                sequence: 0,
            }),
            make,
            overlap,
            unheard,
            runtime: Handle::current(),
            origin: Instant::now(),
            timer: Arc::new(Notify::new()),
            slots: Notify::new(),
            lifespan: watch::Sender::new(Lifespan::Running),
            events: broadcast::Sender::new(BACKLOG),
            joiner: Joiner::new(),
        }
    }

    /// A panic under the lock can only be a bug of this crate; the books are still the best there are.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core<C, R>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::ORIGIN + Instant::now().saturating_duration_since(self.origin)
    }

    /// The one way to change the machine: a request or a fact, then all that follows from it, in the machine's order.
    pub(crate) fn transition<T>(self: &Arc<Self>, change: impl FnOnce(&mut Core<C, R>, Timestamp) -> T) -> T {
        let mut deferred = Vec::new();
        let mut core = self.lock();
        let now = self.now(); // under the lock, so that the machine's time never runs backwards
        let result = change(&mut core, now);
        self.carry_out(&mut core, now, &mut deferred);
        while let Some(fact) = core.facts.pop_front() {
            let _ = core.lifecycle.handle_event(now, fact);
            self.carry_out(&mut core, now, &mut deferred);
        }
        self.rearm(&mut core);
        drop(core);
        if !deferred.is_empty() {
            later::after(|| deferred.into_iter().for_each(|work| self.do_deferred(work)));
        }
        result
    }

    /// A fact that needs no more than to be told. One that is not expected (any more) is ignored: the machine is
    /// unchanged by it, and the races that produce one (a stream that outlived its session) are harmless.
    pub(crate) fn tell(self: &Arc<Self>, event: Event) {
        self.transition(|core, now| {
            let _ = core.lifecycle.handle_event(now, event);
        });
    }

    fn rearm(&self, core: &mut Core<C, R>) {
        let next = core.lifecycle.poll_timeout();
        let is_earlier = match (next, core.armed) {
            (Some(next), Some(armed)) => next < armed,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_earlier {
            core.armed = next;
            self.timer.notify_one();
        }
    }

    pub(crate) fn observe(&self, core: &mut Core<C, R>, now: Timestamp, kind: impl FnOnce() -> ObservedKind) {
        core.sequence += 1;
        if self.events.receiver_count() > 0 {
            let at = now.since(Timestamp::ORIGIN);
            let _ = self.events.send(Observed { sequence: core.sequence, at, kind: kind() });
        }
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for Shared<C, R> {
    fn drop(&mut self) {
        self.timer.notify_one(); // the timer sees that there is nothing left to do
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Shared<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
