//! All sessions of one server, from start to exit.

mod deadlines;
mod digest;
mod executors;
mod lifespan;
mod opening;
mod overdue;
mod registry;
mod teardown;
mod usage;

use alloc::collections::VecDeque;

use self::executors::Executors;
use self::lifespan::Span;
use self::registry::Registry;
pub use self::registry::{Books, SessionView, Totals};
use crate::session::Stance;
use crate::{Action, Config, Event, Lifespan, Outcome, SessionKey, Step, Timestamp, UnexpectedEvent};

/// The machine: all sessions of one server and the lifespan of the whole.
///
/// Three families of methods. *Requests* are refused without effect or accepted: [`open`](Self::open),
/// [`begin_call`](Self::begin_call), [`attach`](Self::attach), [`close`](Self::close), [`shut_down`](Self::shut_down).
/// *Facts* are what the driver reports: [`handle_event`](Self::handle_event), [`handle_timeout`](Self::handle_timeout).
/// After either, the driver drains [`poll_action`](Self::poll_action) and comes back at
/// [`poll_timeout`](Self::poll_timeout) at the latest.
///
/// Time must not run backwards. A call on an open session emits no action: the hot path is two counters.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    config: Config,
    registry: Registry,
    executors: Executors,
    span: Span,
    /// Sessions that are to be taken apart and wait for their turn.
    turns: VecDeque<SessionKey>,
    turns_taken: usize,
    actions: VecDeque<Action>,
}

impl Lifecycle {
    /// A machine without sessions.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let executors = Executors::new(config.placement);
        Self {
            config,
            registry: Registry::default(),
            executors,
            span: Span::default(),
            turns: VecDeque::new(),
            turns_taken: 0,
            actions: VecDeque::new(),
        }
    }

    /// The limits and deadlines it was made with.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The next thing to do, in order. `None` until something else happens.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        [self.registry.deadlines.earliest(), self.span.deadline()].into_iter().flatten().min()
    }

    /// Time has passed. Calling it early, or without need, does nothing.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        // Until nothing is due: what the whole begins at its deadline may be due at the same moment.
        while self.poll_timeout().is_some_and(|at| at <= now) {
            while let Some(index) = self.registry.deadlines.pop_due(now) {
                self.overdue(now, index);
            }
            self.span_overdue(now);
        }
    }

    /// Something happened.
    ///
    /// # Errors
    /// It can't have happened now, or happened to a session that is gone. The machine is unchanged.
    pub fn handle_event(&mut self, now: Timestamp, event: Event) -> Result<(), UnexpectedEvent> {
        let taken = match event {
            Event::Built(key, outcome) => self.built(now, key, outcome),
            Event::Entered(key, outcome) => self.entered(now, key, outcome),
            Event::Left(key, outcome) => self.left(now, key, outcome),
            Event::Closed(key, outcome) => self.closed(now, key, outcome),
            Event::Stopped(key, outcome) => self.executor_stopped(now, key, outcome),
            Event::CallEnded(key) => self.call_ended(now, key),
            Event::Detached(key) => self.detached(now, key),
        };
        taken.ok_or(UnexpectedEvent { event })
    }

    /// How far the whole is.
    #[must_use]
    pub const fn lifespan(&self) -> Lifespan {
        self.span.state
    }

    /// Whether new sessions are welcome: it is running, and not too much was abandoned.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self.span.state, Lifespan::Running)
            && self.registry.written_off < self.config.abandoned_limit
    }

    /// The index of a session that is in this step, which has begun and not ended.
    fn in_step(&self, key: SessionKey, steps: &[Step]) -> Option<usize> {
        let session = self.registry.get(key)?;
        let begun = session.stance != Stance::Queued;
        (begun && steps.contains(&session.step()?)).then(|| key.index())
    }

    /// Notes that the present step of a session ended.
    fn step_done(&mut self, now: Timestamp, index: usize, outcome: Outcome) {
        let session = &self.registry.sessions[index];
        if let Some(step) = session.step() {
            self.actions.push_back(Action::StepDone(session.key, step, outcome, now.since(session.since)));
            self.registry.count_step(outcome);
        }
        self.registry.deadlines.clear(index);
    }
}
