//! The machine in a world of its own time: what can happen next, and what follows.

use std::hash::{DefaultHasher, Hash, Hasher};

use session_core::{
    Action, Class, CloseReason, Config, Event, ExecutorKey, Lifecycle, Lifespan, Outcome, SessionId,
    SessionKey, Shutdown, Step, Timestamp,
};

use crate::model::{Life, ensure, names, told};

/// How large a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Sessions that are ever opened.
    pub(crate) sessions: usize,
    /// Calls in flight at once, per session.
    pub(crate) calls: u8,
    /// Streams at once, per session.
    pub(crate) streams: u8,
    /// Steps that fail, in all.
    pub(crate) failures: usize,
    /// Whether clients close their sessions.
    pub(crate) closes: bool,
}

/// Something that can happen. Sessions by the order in which they were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Open,
    BeginCall(usize),
    EndCall(usize),
    Attach(usize),
    Detach(usize),
    Close(usize),
    Done(usize),
    Failed(usize),
    Interrupted(usize),
    ExecutorStopped(ExecutorKey),
    ShutDown(Shutdown),
    Time,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) machine: Lifecycle,
    pub(crate) now: Timestamp,
    pub(crate) lives: Vec<Life>,
    /// Executors that are started, and whether they were told to stop.
    executors: Vec<(ExecutorKey, bool)>,
    failures: usize,
    bounds: Bounds,
    draining: bool,
}

impl World {
    pub(crate) fn new(config: Config, bounds: Bounds) -> Self {
        let machine = Lifecycle::new(config);
        let (lives, executors) = (Vec::new(), Vec::new());
        Self { machine, now: Timestamp::ORIGIN, lives, executors, failures: 0, bounds, draining: false }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.machine.lifespan() == Lifespan::Stopped
    }

    /// Everything that can happen next.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        let mut inputs = self.facts();
        if self.lives.len() < self.bounds.sessions {
            inputs.push(Input::Open);
        }
        for (index, life) in self.lives.iter().enumerate().filter(|(_, life)| !life.gone) {
            if self.bounds.closes && !life.closing {
                inputs.push(Input::Close(index));
            }
            if life.opened && life.calls < self.bounds.calls {
                inputs.push(Input::BeginCall(index));
            }
            if life.opened && life.streams < self.bounds.streams {
                inputs.push(Input::Attach(index));
            }
        }
        match (self.machine.lifespan(), self.machine.was_forced()) {
            (Lifespan::Running, _) => {
                inputs.push(Input::ShutDown(Shutdown::Graceful));
                inputs.push(Input::ShutDown(Shutdown::Forced));
            }
            (Lifespan::Draining | Lifespan::Closing | Lifespan::Stopping, false) => {
                inputs.push(Input::ShutDown(Shutdown::Forced));
            }
            (Lifespan::Draining | Lifespan::Closing | Lifespan::Stopping | Lifespan::Stopped, _) => {}
        }
        inputs
    }

    /// What a driver could report next, and time passing: what happens without anybody asking for anything.
    pub(crate) fn facts(&self) -> Vec<Input> {
        let mut facts = Vec::new();
        for (index, life) in self.lives.iter().enumerate().filter(|(_, life)| !life.gone) {
            if life.calls > 0 {
                facts.push(Input::EndCall(index));
            }
            if life.streams > 0 {
                facts.push(Input::Detach(index));
            }
            if life.under_way.is_some() {
                facts.push(Input::Done(index));
                if self.failures < self.bounds.failures {
                    facts.push(Input::Failed(index));
                }
                if life.interrupted {
                    facts.push(Input::Interrupted(index));
                }
            }
        }
        let stopping = self.executors.iter().filter(|(_, told)| *told);
        facts.extend(stopping.map(|(key, _)| Input::ExecutorStopped(*key)));
        if self.machine.poll_timeout().is_some() {
            facts.push(Input::Time);
        }
        facts
    }

    /// Lets it happen. An error is a violation.
    pub(crate) fn step(&mut self, input: Input) -> Result<(), String> {
        self.apply(input)?;
        self.drain()?;
        self.check()
    }

    fn apply(&mut self, input: Input) -> Result<(), String> {
        match input {
            Input::Open => self.open(),
            Input::BeginCall(index) => self.begin_call(index),
            Input::EndCall(index) => {
                self.lives[index].calls -= 1;
                self.fact(Event::CallEnded(self.lives[index].key))
            }
            Input::Attach(index) => self.attach(index),
            Input::Detach(index) => {
                self.lives[index].streams -= 1;
                self.fact(Event::Detached(self.lives[index].key))
            }
            Input::Close(index) => self
                .machine
                .close(self.now, self.lives[index].key, CloseReason::Requested)
                .map_err(|refusal| format!("close refused: {refusal}")),
            Input::Done(index) => self.answer(index, Outcome::Done),
            Input::Failed(index) => {
                self.failures += 1;
                self.answer(index, Outcome::Failed)
            }
            Input::Interrupted(index) => self.answer(index, Outcome::Interrupted),
            Input::ExecutorStopped(key) => {
                self.executors.retain(|(executor, _)| *executor != key);
                self.fact(Event::Stopped(key, Outcome::Done))
            }
            Input::ShutDown(how) => {
                self.draining = true;
                self.machine.shut_down(self.now, how);
                Ok(())
            }
            Input::Time => {
                self.now = self.machine.poll_timeout().ok_or("no deadline")?;
                self.machine.handle_timeout(self.now);
                let next = self.machine.poll_timeout();
                ensure(next.is_none_or(|next| next > self.now), "a deadline that has passed is still set")
            }
        }
    }

    fn open(&mut self) -> Result<(), String> {
        let id = SessionId::new(&format!("s{}", self.lives.len())).map_err(|error| error.to_string())?;
        match self.machine.open(self.now, id, Class::Kept) {
            Ok(key) => {
                ensure(!self.draining, "I9: opened while draining")?;
                self.lives.push(Life::new(key));
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    fn begin_call(&mut self, index: usize) -> Result<(), String> {
        let life = &mut self.lives[index];
        let accepted = self.machine.begin_call(life.key).is_ok();
        ensure(
            accepted == (life.opened && !life.closing),
            "I9: a call is accepted exactly while it is open",
        )?;
        life.calls += u8::from(accepted);
        Ok(())
    }

    fn attach(&mut self, index: usize) -> Result<(), String> {
        let life = &mut self.lives[index];
        let accepted = self.machine.attach(life.key).is_ok();
        ensure(accepted == (life.opened && !life.closing && !self.draining), "streams only while running")?;
        life.streams += u8::from(accepted);
        Ok(())
    }

    fn answer(&mut self, index: usize, outcome: Outcome) -> Result<(), String> {
        let life = &mut self.lives[index];
        let step = life.under_way.take().ok_or("nothing is under way")?;
        let done = outcome.is_done();
        let key = life.key;
        let event = match step {
            Step::Build => {
                life.built = done;
                Event::Built(key, outcome)
            }
            Step::Enter => {
                life.entered = done;
                Event::Entered(key, outcome)
            }
            Step::Leave => {
                life.left = true;
                Event::Left(key, outcome)
            }
            Step::Close | Step::CloseAgain | Step::Drain | Step::Stop => {
                life.closed = done;
                life.failed_closes += u8::from(!done);
                Event::Closed(key, outcome)
            }
        };
        self.fact(event)
    }

    fn fact(&mut self, event: Event) -> Result<(), String> {
        self.machine.handle_event(self.now, event).map_err(|error| format!("a true fact is refused: {error}"))
    }

    fn drain(&mut self) -> Result<(), String> {
        while let Some(action) = self.machine.poll_action() {
            if let Some(key) = names(&action) {
                let life = self.lives.iter_mut().find(|life| life.key == key).ok_or("an unknown session")?;
                told(life, &action).map_err(|claim| format!("{claim} ({action:?})"))?;
            }
            self.executor_told(&action)?;
        }
        Ok(())
    }

    fn executor_told(&mut self, action: &Action) -> Result<(), String> {
        if let Action::StartExecutor(key) = action {
            self.executors.push((*key, false));
        }
        if let Action::StopExecutor(key) = action {
            let lives = self.lives.iter().filter(|life| life.executor == Some(*key));
            for life in lives {
                ensure(
                    life.is_taken_apart() && life.under_way.is_none(),
                    "I2: executor stopped under a session",
                )?;
            }
            let entry = self.executors.iter_mut().find(|(executor, _)| executor == key);
            let entry = entry.ok_or("an executor is stopped that is not there")?;
            ensure(!entry.1, "an executor is told to stop twice")?;
            entry.1 = true;
        }
        Ok(())
    }

    /// What must hold in every state.
    fn check(&self) -> Result<(), String> {
        let books = self.machine.books();
        let held = self.lives.iter().filter(|life| !life.gone && !life.abandoned).count();
        ensure(books.open == held, "I4: open slots = sessions that hold anything")?;
        ensure(books.open <= self.machine.config().capacity(), "I4: over capacity")?;
        let abandoned = self.lives.iter().filter(|life| !life.gone && life.abandoned).count();
        ensure(books.abandoned == abandoned, "I4: abandoned ones are counted")?;
        ensure(books.executors == self.executors.len(), "I4: executors are counted")?;
        let calls = self.lives.iter().filter(|life| !life.gone && !life.abandoned);
        ensure(books.calls == calls.map(|life| usize::from(life.calls)).sum(), "I4: calls are counted")?;
        for (executor, _) in &self.executors {
            let blocking = |life: &&Life| {
                life.executor == Some(*executor) && matches!(life.under_way, Some(Step::Build | Step::Close))
            };
            ensure(self.lives.iter().filter(blocking).count() <= 1, "two blocking steps on one executor")?;
        }
        for life in self.lives.iter().filter(|life| life.opened && !life.closing) {
            ensure(self.machine.session(life.key).is_some(), "an open session is lost")?;
        }
        ensure(!self.is_stopped() || books.open == 0, "I8: stopped with open sessions")?;
        let stuck = self.draining && !self.is_stopped() && self.facts().is_empty();
        ensure(!stuck, "I8: the shutdown waits for nothing")
    }

    /// Facts that can't be true are refused, and change nothing.
    pub(crate) fn refuses_nonsense(&self) -> Result<(), String> {
        let before = self.digest();
        for life in &self.lives {
            let key = life.key;
            let nonsense = [
                (life.under_way != Some(Step::Build), Event::Built(key, Outcome::Done)),
                (life.under_way != Some(Step::Enter), Event::Entered(key, Outcome::Done)),
                (life.under_way != Some(Step::Leave), Event::Left(key, Outcome::Done)),
                (life.under_way != Some(Step::Close), Event::Closed(key, Outcome::Done)),
                (life.calls == 0, Event::CallEnded(key)),
                (life.streams == 0, Event::Detached(key)),
            ];
            for (_, event) in nonsense.into_iter().filter(|(is_nonsense, _)| *is_nonsense) {
                let mut other = self.clone();
                let refused = other.machine.handle_event(self.now, event).is_err();
                ensure(refused && other.digest() == before, &format!("{event:?} is taken"))?;
            }
        }
        Ok(())
    }

    /// A fingerprint that is the same for symmetric states: the smallest over all orders of the sessions.
    pub(crate) fn digest(&self) -> u128 {
        let mut order: Vec<usize> = (0..self.lives.len()).collect();
        let mut smallest = u128::MAX;
        permute(&mut order, 0, &mut |order| smallest = smallest.min(self.digest_in(order)));
        smallest
    }

    fn digest_in(&self, order: &[usize]) -> u128 {
        let keys: Vec<SessionKey> = order.iter().map(|index| self.lives[*index].key).collect();
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            seed.hash(&mut hasher);
            for index in order {
                self.lives[*index].flags().hash(&mut hasher);
            }
            let told = self.executors.iter().filter(|(_, told)| *told).count();
            (self.executors.len(), told, self.failures, self.draining).hash(&mut hasher);
            self.machine.digest(self.now, &keys, &mut hasher);
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }
}

fn permute(order: &mut Vec<usize>, from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return visit(order);
    }
    for other in from..order.len() {
        order.swap(from, other);
        permute(order, from + 1, visit);
        order.swap(from, other);
    }
}
