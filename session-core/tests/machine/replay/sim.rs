//! A driver without a will of its own: does what the history says, and shows the model everything.

use std::fmt::Write as _;
use std::time::Duration;

use session_core::{Action, Class, Event, ExecutorKey, Lifecycle, Outcome, SessionId, SessionKey, Timestamp};

use super::model::{Model, Seen};
use super::ops::{Op, Rules};
use super::{books, refusals, rest};

#[derive(Clone)]
pub(crate) struct Sim {
    pub(crate) machine: Lifecycle,
    pub(crate) model: Model,
    pub(crate) now: Timestamp,
    /// What happened so far, for the reader of a failure.
    trace: Vec<(Timestamp, Line)>,
    /// Facts that were told and taken: none may be taken twice.
    answered: Vec<Event>,
    /// Whether each refusal is checked to change nothing, which takes most of the time.
    pub(crate) compares: bool,
    /// Whether a deadline may have passed without the timer.
    pub(crate) has_slept: bool,
}

#[derive(Clone, Copy)]
enum Line {
    Op(Op),
    Told(Action),
}

impl Sim {
    pub(crate) fn new(rules: Rules) -> Self {
        let machine = Lifecycle::new(rules.config());
        let (model, now) = (Model::new(rules), Timestamp::ORIGIN);
        Self {
            machine,
            model,
            now,
            trace: Vec::new(),
            answered: Vec::new(),
            compares: true,
            has_slept: false,
        }
    }

    /// The same world again, to see what comes of it.
    pub(crate) fn copy(&self) -> Self {
        Self { compares: false, ..self.clone() }
    }

    /// Does it, then checks everything. The error says what is violated and how it came to be.
    pub(crate) fn apply(&mut self, op: Op) -> Result<(), String> {
        self.trace.push((self.now, Line::Op(op)));
        let checked = self.act(op).and_then(|()| self.settle());
        checked.map_err(|violation| self.story(&violation))
    }

    fn act(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Open => self.open(self.model.sessions.len(), Class::Kept),
            Op::OpenOneShot => self.open(self.model.sessions.len(), Class::OneShot),
            Op::OpenAgain(which) => self.open(which, Class::Kept),
            Op::BeginCall(which) => self.on_one(which, refusals::begin_call),
            Op::Attach(which) => self.on_one(which, refusals::attach),
            Op::Close(which, reason) => self.on_one(which, |sim, at| refusals::close(sim, at, reason)),
            Op::EndCall(which) => self.fact_of(which, |it| it.calls > 0, Event::CallEnded),
            Op::Detach(which) => self.fact_of(which, |it| it.attachments > 0 && !it.gone, Event::Detached),
            Op::Answer(which, outcome) => match pick(&self.model.due(), which) {
                Some(due) => self.fact(due.answer(outcome)),
                None => Ok(()),
            },
            Op::Settle => self.all_goes_well(),
            Op::Nonsense(which) => refusals::nonsense(self, which),
            Op::Tick(secs) => {
                self.has_slept = true;
                self.now = self.now + Duration::from_secs(secs);
                Ok(())
            }
            Op::Wait(secs) => {
                self.has_slept = true;
                self.expire(self.now + Duration::from_secs(secs))
            }
            Op::NextTimeout => match self.machine.poll_timeout() {
                Some(at) => self.expire(self.now.max(at)),
                None => Ok(()),
            },
            Op::ShutDown(how) => {
                self.model.shut_down(self.now, how);
                self.machine.shut_down(self.now, how);
                Ok(())
            }
        }
    }

    fn open(&mut self, id: usize, class: Class) -> Result<(), String> {
        let name = SessionId::new(&format!("id-{id}")).unwrap();
        let expected = refusals::of_open(&self.model, id, class);
        let before = expected.err().and_then(|_| self.snapshot());
        let answer = self.machine.open(self.now, name, class);
        match (expected, answer) {
            (Ok(()), Ok(key)) => {
                self.model.opening(key, id, class, self.now);
                Ok(())
            }
            (Err(expected), Err(refusal)) if expected == refusal => self.unchanged(before),
            (expected, answer) => Err(format!("open answered {answer:?}, not {expected:?}")),
        }
    }

    /// Does something with one of the sessions that are not gone.
    fn on_one(
        &mut self,
        which: usize,
        act: impl FnOnce(&mut Self, usize) -> Result<(), String>,
    ) -> Result<(), String> {
        match pick(&self.model.those(|it| !it.gone), which) {
            Some(at) => act(self, at),
            None => Ok(()),
        }
    }

    fn fact_of(
        &mut self,
        which: usize,
        can: impl Fn(&Seen) -> bool,
        fact: impl FnOnce(SessionKey) -> Event,
    ) -> Result<(), String> {
        match pick(&self.model.those(can), which) {
            Some(at) => self.fact(fact(self.model.sessions[at].key)),
            None => Ok(()),
        }
    }

    fn all_goes_well(&mut self) -> Result<(), String> {
        while let Some(due) = self.model.due().first() {
            self.fact(due.answer(Outcome::Done))?;
            self.watch()?;
        }
        Ok(())
    }

    /// Something that can happen happens: it has to be taken.
    pub(crate) fn fact(&mut self, event: Event) -> Result<(), String> {
        self.model.happened(self.now, event)?;
        self.machine.handle_event(self.now, event).map_err(|error| error.to_string())?;
        self.answered.push(event);
        Ok(())
    }

    /// A fact that was taken, or could have been had its session another outcome.
    pub(crate) fn answered(&self, which: usize) -> Option<Event> {
        pick(&self.answered, which)
    }

    /// The whole machine as text, to compare: every field of it counts.
    pub(crate) fn snapshot(&self) -> Option<String> {
        self.compares.then(|| format!("{:#?}", self.machine))
    }

    pub(crate) fn unchanged(&self, before: Option<String>) -> Result<(), String> {
        match (before, self.snapshot()) {
            (Some(before), Some(after)) if before != after => {
                Err(format!("a refusal changed the machine\nfrom {before}\nto   {after}"))
            }
            _ => Ok(()),
        }
    }

    fn expire(&mut self, at: Timestamp) -> Result<(), String> {
        self.now = at;
        self.machine.handle_timeout(at);
        self.watch()?;
        rest::nothing_is_overdue(self)
    }

    fn settle(&mut self) -> Result<(), String> {
        self.watch()?;
        rest::nothing_is_stuck(self)?;
        books::add_up(self)
    }

    /// Shows the model what was told.
    fn watch(&mut self) -> Result<(), String> {
        self.model.forced = self.machine.was_forced();
        while let Some(action) = self.machine.poll_action() {
            self.trace.push((self.now, Line::Told(action)));
            self.model.told(self.now, action)?;
        }
        self.model.nothing_is_owed()
    }

    /// The violation and everything that led to it.
    pub(crate) fn story(&self, violation: &str) -> String {
        let mut story = format!("{violation}\n");
        for (at, line) in &self.trace {
            // Writing to a `String` can't fail.
            let _ = match line {
                Line::Op(op) => writeln!(story, "{at:>6?}  {op:?}"),
                Line::Told(action) => writeln!(story, "{:6}      -> {action:?}", ""),
            };
        }
        story
    }
}

fn pick<T: Clone>(from: &[T], which: usize) -> Option<T> {
    from.get(which % from.len().max(1)).cloned()
}

/// A step that is under way, or an executor that was told to stop.
#[derive(Clone, Copy)]
pub(crate) enum Due {
    Build(SessionKey),
    Enter(SessionKey),
    Leave(SessionKey),
    Close(SessionKey),
    Stop(ExecutorKey),
}

impl Due {
    pub(crate) const fn answer(self, outcome: Outcome) -> Event {
        match self {
            Self::Build(key) => Event::Built(key, outcome),
            Self::Enter(key) => Event::Entered(key, outcome),
            Self::Leave(key) => Event::Left(key, outcome),
            Self::Close(key) => Event::Closed(key, outcome),
            Self::Stop(key) => Event::Stopped(key, outcome),
        }
    }

    pub(crate) fn concerns(self, session: SessionKey) -> bool {
        match self {
            Self::Build(key) | Self::Enter(key) | Self::Leave(key) | Self::Close(key) => key == session,
            Self::Stop(_) => false,
        }
    }

    pub(crate) fn stops(self, executor: Option<ExecutorKey>) -> bool {
        matches!(self, Self::Stop(key) if Some(key) == executor)
    }
}
