//! A simulated driver with its own time. It answers every action at once and well, unless it was told otherwise.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::time::Duration;

use session_core::{
    Action, Class, CloseReason, Config, ConfigBuilder, Event, ExecutorKey, Lifecycle, Lifespan, Outcome,
    Placement, Refusal, SessionId, SessionKey, Shutdown, Step, Timestamp, UnexpectedEvent,
};

/// One thread for all.
pub(crate) const SHARED: Placement = Placement::Pinned(NonZeroUsize::MIN);
/// Two threads for all.
pub(crate) const TWO: Placement = Placement::Pinned(NonZeroUsize::MIN.saturating_add(1));

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// How a step ends in this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// At once.
    With(Outcome),
    /// When it is interrupted.
    WhenInterrupted,
    /// When the test says so.
    Never,
}

pub(crate) struct World {
    pub(crate) machine: Lifecycle,
    pub(crate) now: Timestamp,
    /// Every action so far.
    pub(crate) told: Vec<Action>,
    /// How calls end that are cut off.
    pub(crate) cut_calls: Ends,
    next: HashMap<Step, VecDeque<Ends>>,
    always: HashMap<Step, Ends>,
    calls: HashMap<SessionKey, u32>,
    /// Steps that end when they are interrupted.
    obedient: Vec<(SessionKey, Step)>,
    homes: HashMap<SessionKey, ExecutorKey>,
    ids: u32,
}

impl World {
    pub(crate) fn of(configure: impl FnOnce(ConfigBuilder) -> ConfigBuilder) -> Self {
        Self {
            machine: Lifecycle::new(configure(Config::builder()).build().unwrap()),
            now: Timestamp::ORIGIN,
            told: Vec::new(),
            cut_calls: Ends::With(Outcome::Done),
            next: HashMap::new(),
            always: HashMap::new(),
            calls: HashMap::new(),
            obedient: Vec::new(),
            homes: HashMap::new(),
            ids: 0,
        }
    }

    pub(crate) fn on(placement: Placement) -> Self {
        Self::of(|config| config.placement(placement))
    }

    /// The next such step, of whatever session, ends like this.
    pub(crate) fn next(&mut self, step: Step, ends: Ends) {
        self.next.entry(step).or_default().push_back(ends);
    }

    /// Every such step ends like this, unless [`next`](Self::next) says otherwise.
    pub(crate) fn always(&mut self, step: Step, ends: Ends) {
        self.always.insert(step, ends);
    }

    pub(crate) fn try_open(&mut self, id: &str, class: Class) -> Result<SessionKey, Refusal> {
        let opened = self.machine.open(self.now, SessionId::new(id).unwrap(), class);
        self.drive();
        opened
    }

    pub(crate) fn open(&mut self) -> SessionKey {
        self.ids += 1;
        self.try_open(&format!("session-{}", self.ids), Class::Kept).unwrap()
    }

    pub(crate) fn begin_call(&mut self, key: SessionKey) {
        self.machine.begin_call(key).unwrap();
        *self.calls.entry(key).or_default() += 1;
        self.drive();
    }

    pub(crate) fn end_call(&mut self, key: SessionKey) {
        *self.calls.get_mut(&key).unwrap() -= 1;
        self.tell(Event::CallEnded(key)).unwrap();
    }

    pub(crate) fn close(&mut self, key: SessionKey, reason: CloseReason) -> Result<(), Refusal> {
        let taken = self.machine.close(self.now, key, reason);
        self.drive();
        taken
    }

    pub(crate) fn shut_down(&mut self, how: Shutdown) {
        self.machine.shut_down(self.now, how);
        self.drive();
    }

    pub(crate) fn tell(&mut self, event: Event) -> Result<(), UnexpectedEvent> {
        let taken = self.machine.handle_event(self.now, event);
        self.drive();
        taken
    }

    /// Lets time pass; every deadline on the way is kept to the moment.
    pub(crate) fn advance(&mut self, by: Duration) {
        let until = self.now + by;
        while let Some(at) = self.machine.poll_timeout().filter(|at| *at <= until) {
            self.expire(at);
        }
        self.now = until;
    }

    /// Lets time pass from deadline to deadline until everything has stopped. Returns how long that took.
    pub(crate) fn run_until_stopped(&mut self) -> Duration {
        let begun = self.now;
        while self.machine.lifespan() != Lifespan::Stopped {
            let at = self.machine.poll_timeout().expect("a shutdown under way has a deadline");
            self.expire(at);
        }
        self.now.since(begun)
    }

    fn expire(&mut self, at: Timestamp) {
        self.now = self.now.max(at);
        self.machine.handle_timeout(self.now);
        self.drive();
    }

    fn drive(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            self.told.push(action);
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Build(key, executor) => {
                self.homes.extend(executor.map(|executor| (key, executor)));
                self.take_step(key, Step::Build);
            }
            Action::Enter(key) => self.take_step(key, Step::Enter),
            Action::Leave(key) => self.take_step(key, Step::Leave),
            Action::Close(key) if self.count(Action::Close(key)) == 1 => self.take_step(key, Step::Close),
            Action::Close(key) => self.take_step(key, Step::CloseAgain),
            Action::StopExecutor(executor) => {
                if let Ends::With(outcome) = self.ends(Step::Stop) {
                    self.machine.handle_event(self.now, Event::Stopped(executor, outcome)).unwrap();
                }
            }
            Action::Interrupt(key, step) => {
                if self.obedient.contains(&(key, step)) {
                    self.obedient.retain(|waiting| *waiting != (key, step));
                    self.answer(key, step, Outcome::Interrupted);
                }
            }
            Action::CutOff(key) => self.cut_off(key),
            Action::StartExecutor(_)
            | Action::TellStreams(_)
            | Action::Opened(_)
            | Action::Closing(..)
            | Action::StepDone(..)
            | Action::Gone(..)
            | Action::Abandoned(..)
            | Action::ExecutorLost(_)
            | Action::Lifespan(_) => {}
        }
    }

    fn take_step(&mut self, key: SessionKey, step: Step) {
        match self.ends(step) {
            Ends::With(outcome) => self.answer(key, step, outcome),
            Ends::WhenInterrupted => self.obedient.push((key, step)),
            Ends::Never => {}
        }
    }

    fn ends(&mut self, step: Step) -> Ends {
        let next = self.next.get_mut(&step).and_then(VecDeque::pop_front);
        next.or_else(|| self.always.get(&step).copied()).unwrap_or(Ends::With(Outcome::Done))
    }

    fn answer(&mut self, key: SessionKey, step: Step, outcome: Outcome) {
        let event = match step {
            Step::Build => Event::Built(key, outcome),
            Step::Enter => Event::Entered(key, outcome),
            Step::Leave => Event::Left(key, outcome),
            Step::Close | Step::CloseAgain => Event::Closed(key, outcome),
            Step::Stop => Event::Stopped(self.homes[&key], outcome),
            Step::Drain => Event::CallEnded(key),
        };
        self.machine.handle_event(self.now, event).unwrap();
    }

    fn cut_off(&mut self, key: SessionKey) {
        if let Ends::With(outcome) = self.cut_calls {
            for _ in 0..self.calls.remove(&key).unwrap_or(0) {
                self.answer(key, Step::Drain, outcome);
            }
        }
    }
}

/// What a test asks about what was told.
impl World {
    pub(crate) fn count(&self, action: Action) -> usize {
        self.told.iter().filter(|told| **told == action).count()
    }

    /// Where in the order of all actions this one is; it must have been told once.
    pub(crate) fn place(&self, action: Action) -> usize {
        assert_eq!(self.count(action), 1, "{action:?} in {:#?}", self.told);
        self.told.iter().position(|told| *told == action).unwrap()
    }

    /// The steps of the session that were begun, in order.
    pub(crate) fn steps(&self, key: SessionKey) -> Vec<&'static str> {
        let home = self.homes.get(&key);
        let name = |action: &Action| match action {
            Action::Build(of, _) if *of == key => Some("build"),
            Action::Enter(of) if *of == key => Some("enter"),
            Action::Leave(of) if *of == key => Some("leave"),
            Action::Close(of) if *of == key => Some("close"),
            Action::StopExecutor(of) if Some(of) == home => Some("stop"),
            _ => None,
        };
        self.told.iter().filter_map(name).collect()
    }

    pub(crate) fn home(&self, key: SessionKey) -> ExecutorKey {
        self.homes[&key]
    }

    pub(crate) fn was_opened(&self, key: SessionKey) -> bool {
        self.count(Action::Opened(key)) > 0
    }

    pub(crate) fn why_gone(&self, key: SessionKey) -> Option<CloseReason> {
        self.told.iter().find_map(|told| match told {
            Action::Gone(of, reason) if *of == key => Some(*reason),
            _ => None,
        })
    }

    pub(crate) fn is_gone(&self, key: SessionKey) -> bool {
        self.why_gone(key).is_some()
    }

    pub(crate) fn was_abandoned(&self, key: SessionKey) -> bool {
        self.told.iter().any(|told| matches!(told, Action::Abandoned(of, ..) if *of == key))
    }

    /// Asserts that nothing is held any more by anything.
    pub(crate) fn assert_books_are_zero(&self) {
        let books = self.machine.books();
        let counts = [books.open, books.one_shots, books.abandoned, books.calls, books.leaked_executors];
        assert_eq!(counts, [0; 5], "{books:?}");
        assert_eq!(self.machine.sessions().count(), 0);
    }
}
