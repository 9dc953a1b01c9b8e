//! Executors: which there are, who lives on each, and one blocking step at a time on each.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use slab::Slab;

use crate::session::{Session, Stance};
use crate::{Action, ExecutorKey, Outcome, Phase, Placement, SessionKey, Step, Timestamp};

#[derive(Clone, Debug)]
pub(super) struct Executors {
    placement: Placement,
    all: Slab<Executor>,
    /// The executor that new sessions get in each place of the pool, once it was needed.
    pool: Vec<Option<ExecutorKey>>,
    generation: u32,
}

#[derive(Clone, Debug)]
struct Executor {
    key: ExecutorKey,
    serves: Serves,
    state: State,
    /// Sessions that live on it.
    sessions: usize,
    /// Whose blocking step (build, close) is under way. At most one, so that a deadline never counts time in a queue.
    busy: Option<SessionKey>,
    queue: VecDeque<SessionKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serves {
    One(SessionKey),
    Pool(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum State {
    Running,
    /// It was told to stop.
    Stopping,
    /// It hangs: it is never told to stop unless it comes back.
    Lost,
}

impl Executors {
    pub(super) fn new(placement: Placement) -> Self {
        let places = match placement {
            Placement::Pinned(threads) => threads.get(),
            Placement::PerSession | Placement::Tasks => 0,
        };
        Self { placement, all: Slab::new(), pool: vec![None; places], generation: 0 }
    }

    pub(super) fn started(&self) -> usize {
        self.all.len()
    }

    pub(super) fn lost(&self) -> usize {
        self.all.iter().filter(|(_, executor)| executor.state == State::Lost).count()
    }

    /// See [`Lifecycle::digest`](super::Lifecycle::digest). Executors are told apart by who lives on them, not by key.
    pub(super) fn digest<H: Hasher>(
        &self,
        label: &impl Fn(SessionKey) -> Option<usize>,
        residents: impl Iterator<Item = (SessionKey, Option<ExecutorKey>)> + Clone,
        hasher: &mut H,
    ) {
        let mut all: Vec<_> = (self.all.iter())
            .map(|(_, it)| {
                let serves = match it.serves {
                    Serves::One(_) => None,
                    Serves::Pool(place) => Some((place, self.pool[place] == Some(it.key))),
                };
                let mut here: Vec<_> = (residents.clone())
                    .filter(|(_, executor)| *executor == Some(it.key))
                    .map(|(key, _)| label(key))
                    .collect();
                here.sort_unstable();
                let busy = it.busy.map(label);
                let queue: Vec<_> = it.queue.iter().filter_map(|key| label(*key)).collect();
                (here, serves, it.state, it.sessions, busy, queue)
            })
            .collect();
        all.sort_unstable();
        all.hash(hasher);
    }

    /// Whether this executor serves one session only.
    pub(super) fn is_own(&self, key: Option<ExecutorKey>) -> bool {
        key.and_then(|key| self.all.get(key.index()))
            .is_some_and(|executor| matches!(executor.serves, Serves::One(_)))
    }

    fn get_mut(&mut self, key: ExecutorKey) -> Option<&mut Executor> {
        self.all.get_mut(key.index()).filter(|executor| executor.key == key)
    }

    fn start(&mut self, serves: Serves) -> ExecutorKey {
        self.generation = self.generation.wrapping_add(1);
        let entry = self.all.vacant_entry();
        let key = ExecutorKey::new(entry.key() as u32, self.generation);
        entry.insert(Executor {
            key,
            serves,
            state: State::Running,
            sessions: 0,
            busy: None,
            queue: VecDeque::new(),
        });
        key
    }

    /// The executor for a new session, and whether it has to be started first.
    fn assign(&mut self, session: SessionKey) -> Option<(ExecutorKey, Fresh)> {
        let (key, fresh) = match self.placement {
            Placement::Tasks => return None,
            Placement::PerSession => (self.start(Serves::One(session)), Fresh::Yes),
            Placement::Pinned(_) => self.least_loaded(),
        };
        if let Some(executor) = self.get_mut(key) {
            executor.sessions += 1;
        }
        Some((key, fresh))
    }

    fn least_loaded(&mut self) -> (ExecutorKey, Fresh) {
        let load = |place: &Option<ExecutorKey>| {
            place.and_then(|key| self.all.get(key.index())).map_or(0, |executor| executor.sessions)
        };
        let place = (0..self.pool.len()).min_by_key(|place| load(&self.pool[*place])).unwrap_or(0);
        match self.pool[place] {
            Some(key) => (key, Fresh::No),
            None => {
                let key = self.start(Serves::Pool(place));
                self.pool[place] = Some(key);
                (key, Fresh::Yes)
            }
        }
    }

    /// Takes the executor for a blocking step, or a place in its queue.
    fn acquire(&mut self, key: ExecutorKey, session: SessionKey) -> bool {
        match self.get_mut(key) {
            Some(executor) if executor.busy.is_some() => {
                executor.queue.push_back(session);
                false
            }
            Some(executor) => {
                executor.busy = Some(session);
                true
            }
            None => true,
        }
    }

    /// The session's blocking step is over. Returns who waits.
    fn release(&mut self, key: ExecutorKey, session: SessionKey) -> VecDeque<SessionKey> {
        match self.get_mut(key) {
            Some(executor) if executor.busy == Some(session) => {
                executor.busy = None;
                core::mem::take(&mut executor.queue)
            }
            Some(_) | None => VecDeque::new(),
        }
    }

    fn lose(&mut self, key: ExecutorKey) -> bool {
        let Some(executor) = self.get_mut(key) else { return false };
        let lost_before = executor.state == State::Lost;
        executor.state = State::Lost;
        if let Serves::Pool(place) = executor.serves
            && self.pool[place] == Some(key)
        {
            self.pool[place] = None;
        }
        !lost_before
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fresh {
    Yes,
    No,
}

impl super::Lifecycle {
    /// Gives a session its executor, starting one if need be.
    pub(super) fn place(&mut self, index: usize) {
        let key = self.registry.sessions[index].key;
        let assigned = self.executors.assign(key);
        self.registry.sessions[index].executor = assigned.map(|(executor, _)| executor);
        if let Some((executor, Fresh::Yes)) = assigned {
            self.actions.push_back(Action::StartExecutor(executor));
        }
    }

    /// Begins the session's blocking step now, or when its executor is free.
    pub(super) fn begin_blocking(&mut self, now: Timestamp, index: usize) {
        let Session { key, executor, .. } = self.registry.sessions[index];
        if executor.is_none_or(|executor| self.executors.acquire(executor, key)) {
            self.begin_step(now, index);
        }
    }

    /// The session's blocking step is over: the next one's turn.
    pub(super) fn release_executor(&mut self, now: Timestamp, index: usize) {
        let Session { key, executor, .. } = self.registry.sessions[index];
        let Some(executor) = executor else { return };
        let mut waiting = self.executors.release(executor, key);
        // Those that were given up or taken out meanwhile have lost their place.
        while let Some(next) = waiting.pop_front() {
            let live = self.registry.get(next).is_some_and(|session| session.stance == Stance::Queued);
            if live && let Some(lane) = self.executors.get_mut(executor) {
                lane.busy = Some(next);
                lane.queue = waiting;
                return self.begin_step(now, next.index());
            }
        }
    }

    /// The session lives there no more. An executor that was given up stops once nobody lives on it.
    pub(super) fn vacate(&mut self, executor: ExecutorKey) {
        let Some(lane) = self.executors.get_mut(executor) else { return };
        lane.sessions -= 1;
        if lane.state == State::Lost && lane.sessions == 0 {
            lane.state = State::Stopping; // it came back: a shutdown waits for it again
            self.actions.push_back(Action::StopExecutor(executor));
        }
    }

    /// The executor hangs with a session on it. Those that are not built yet go elsewhere; the others can't be moved
    /// and are given up with it, at once (I7: what they share by configuration).
    pub(super) fn lose_executor(&mut self, now: Timestamp, executor: ExecutorKey) {
        if !self.executors.lose(executor) {
            return;
        }
        self.actions.push_back(Action::ExecutorLost(executor));
        if self.executors.is_own(Some(executor)) {
            return; // no neighbours: looking for them would make n such losses cost n * n
        }
        self.clear_queued_builds(executor);
        let neighbours: Vec<usize> = (self.registry.sessions.iter())
            .filter(|(_, session)| session.executor == Some(executor) && !session.is_written_off())
            .map(|(index, _)| index)
            .collect();
        for index in neighbours {
            let session = &self.registry.sessions[index];
            if matches!(session.phase, Phase::Building { .. }) && session.stance == Stance::Queued {
                self.move_elsewhere(now, index, executor);
            } else {
                self.give_up_with_executor(now, index);
            }
        }
    }

    /// All at once, since one by one would cost n * n.
    fn clear_queued_builds(&mut self, executor: ExecutorKey) {
        let Some(lane) = self.executors.get_mut(executor) else { return };
        let is_built = |key: &SessionKey| {
            self.registry.get(*key).is_some_and(|session| !matches!(session.phase, Phase::Building { .. }))
        };
        lane.queue.retain(is_built);
    }

    fn move_elsewhere(&mut self, now: Timestamp, index: usize, from: ExecutorKey) {
        if let Some(lane) = self.executors.get_mut(from) {
            lane.sessions -= 1;
        }
        self.place(index);
        self.begin_blocking(now, index);
    }

    pub(super) fn executor_stopped(
        &mut self,
        now: Timestamp,
        key: ExecutorKey,
        outcome: Outcome,
    ) -> Option<()> {
        let serves = self.executors.get_mut(key)?.serves;
        match serves {
            Serves::One(session) => {
                let index = self.in_step(session, &[Step::Stop])?;
                self.executors.all.remove(key.index());
                self.step_done(now, index, outcome);
                self.gone(now, index);
            }
            Serves::Pool(place) => {
                let lane = self.executors.get_mut(key)?;
                if lane.sessions != 0 {
                    return None;
                }
                self.executors.all.remove(key.index());
                if self.executors.pool[place] == Some(key) {
                    self.executors.pool[place] = None;
                }
                self.advance_span(now);
            }
        }
        Some(())
    }

    /// Tells every shared executor that can hear it to stop.
    pub(super) fn stop_shared_executors(&mut self) {
        for (_, lane) in &mut self.executors.all {
            if matches!(lane.serves, Serves::Pool(_)) && lane.state == State::Running {
                lane.state = State::Stopping;
                self.actions.push_back(Action::StopExecutor(lane.key));
            }
        }
    }

    pub(super) fn shared_executors_are_stopping(&self) -> bool {
        self.executors.all.iter().any(|(_, lane)| lane.state == State::Stopping)
    }

    /// Gives up the shared executors that did not stop.
    pub(super) fn lose_stopping_executors(&mut self) {
        for (_, lane) in &mut self.executors.all {
            if lane.state == State::Stopping {
                lane.state = State::Lost;
                self.actions.push_back(Action::ExecutorLost(lane.key));
            }
        }
    }
}
