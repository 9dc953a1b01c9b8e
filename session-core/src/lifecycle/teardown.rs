//! Draining -> Leaving -> Closing -> Stopping -> gone. The order of a teardown, written once (I1, I2).

use crate::session::{Session, Stance, Turn};
use crate::{
    Action, Attempt, CloseReason, Lifespan, Outcome, Phase, Refusal, SessionKey, Shutdown, Step, Timestamp,
};

impl super::Lifecycle {
    /// Asks for the session's end. If it is still being opened, that is remembered and carried out.
    ///
    /// # Errors
    /// It is unknown, or closing already.
    pub fn close(&mut self, now: Timestamp, key: SessionKey, reason: CloseReason) -> Result<(), Refusal> {
        let session = self.registry.get(key).ok_or(Refusal::Unknown)?;
        if let Some(reason) = session.reason() {
            return Err(Refusal::Closing { reason });
        }
        self.begin_close(now, key.index(), reason);
        Ok(())
    }

    /// Every way into closing leads here. Does nothing if the end has begun.
    pub(super) fn begin_close(&mut self, now: Timestamp, index: usize, reason: CloseReason) {
        let session = &self.registry.sessions[index];
        match session.phase {
            Phase::Building { .. } if session.stance == Stance::Queued => {
                self.doom(index, reason);
                self.stop_own_executor(now, index, reason); // nothing was built
            }
            Phase::Building { .. } | Phase::Entering { .. } => self.doom(index, reason),
            Phase::Active { calls, .. } => self.end_use(now, index, calls, reason),
            Phase::Draining { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. } => {}
        }
    }

    fn end_use(&mut self, now: Timestamp, index: usize, calls: u32, reason: CloseReason) {
        let Session { key, attachments, .. } = self.registry.sessions[index];
        self.tell_closing(key, reason);
        if attachments > 0 {
            self.actions.push_back(Action::TellStreams(key));
        }
        if calls == 0 {
            return self.leave_context(now, index, reason);
        }
        self.registry.sessions[index].phase = Phase::Draining { calls, reason };
        self.begin_step(now, index);
    }

    /// The session's end begins: told once.
    pub(super) fn tell_closing(&mut self, key: SessionKey, reason: CloseReason) {
        self.registry.note_closing(key);
        self.actions.push_back(Action::Closing(key, reason));
    }

    /// The last call of a closing session ended.
    pub(super) fn drained(&mut self, now: Timestamp, index: usize) {
        if let Some(reason) = self.registry.sessions[index].reason() {
            let cut = self.registry.sessions[index].stance != Stance::Waiting;
            self.step_done(now, index, if cut { Outcome::Interrupted } else { Outcome::Done });
            self.leave_context(now, index, reason);
        }
    }

    pub(super) fn leave_context(&mut self, now: Timestamp, index: usize, reason: CloseReason) {
        self.registry.sessions[index].phase = Phase::Leaving { reason };
        self.await_turn(now, index);
    }

    pub(super) fn left(&mut self, now: Timestamp, key: SessionKey, outcome: Outcome) -> Option<()> {
        let index = self.in_step(key, &[Step::Leave])?;
        self.step_done(now, index, outcome);
        let reason = self.registry.sessions[index].reason()?;
        self.close_environment(now, index, reason); // I1: left once, however it went
        Some(())
    }

    pub(super) fn close_environment(&mut self, now: Timestamp, index: usize, reason: CloseReason) {
        self.registry.sessions[index].phase = Phase::Closing { attempt: Attempt::First, reason };
        self.await_turn(now, index);
    }

    pub(super) fn closed(&mut self, now: Timestamp, key: SessionKey, outcome: Outcome) -> Option<()> {
        let index = self.in_step(key, &[Step::Close, Step::CloseAgain])?;
        self.step_done(now, index, outcome);
        self.release_executor(now, index);
        let session = &mut self.registry.sessions[index];
        if let Phase::Closing { attempt: Attempt::First, reason } = session.phase
            && !outcome.is_done()
        {
            session.phase = Phase::Closing { attempt: Attempt::Second, reason };
            self.queue(index);
            self.begin_blocking(now, index); // I1: one retry
        } else if let Some(reason) = session.reason() {
            self.stop_own_executor(now, index, reason);
        }
        Some(())
    }

    /// The environment is no more, or never was.
    pub(super) fn stop_own_executor(&mut self, now: Timestamp, index: usize, reason: CloseReason) {
        self.registry.sessions[index].phase = Phase::Stopping { reason };
        if self.executors.is_own(self.registry.sessions[index].executor) {
            self.begin_step(now, index);
        } else {
            self.gone(now, index);
        }
    }

    /// Nothing is held any more: out of the books.
    pub(super) fn gone(&mut self, now: Timestamp, index: usize) {
        let reason = self.registry.sessions[index].reason().unwrap_or(CloseReason::Requested);
        self.give_turn_back(now, index);
        let session = self.registry.remove(index, reason, &self.config);
        self.actions.push_back(Action::Gone(session.key, reason));
        if let Some(executor) = session.executor {
            self.vacate(executor);
        }
        self.advance_span(now);
    }

    /// Begins the present step, whose turn has come.
    pub(super) fn begin_step(&mut self, now: Timestamp, index: usize) {
        let session = &mut self.registry.sessions[index];
        session.stance = Stance::Waiting;
        session.since = now;
        let (key, executor) = (session.key, session.executor);
        let Some(step) = session.step() else { return };
        match step {
            Step::Build => self.actions.push_back(Action::Build(key, executor)),
            Step::Enter => self.actions.push_back(Action::Enter(key)),
            Step::Drain => {}
            Step::Leave => self.actions.push_back(Action::Leave(key)),
            Step::Close | Step::CloseAgain => self.actions.push_back(Action::Close(key)),
            Step::Stop => self.actions.extend(executor.map(Action::StopExecutor)),
        }
        self.arm_step(now, index, step);
    }

    fn queue(&mut self, index: usize) {
        self.registry.sessions[index].stance = Stance::Queued;
        self.registry.deadlines.clear(index);
    }

    /// Begins the first step of a teardown, or a later one, when the session has its turn: only so many are taken
    /// apart at once. Under force all are.
    fn await_turn(&mut self, now: Timestamp, index: usize) {
        self.queue(index);
        let session = &mut self.registry.sessions[index];
        match session.turn {
            Turn::Taken | Turn::Over => {}
            Turn::NotDue if session.is_written_off() => session.turn = Turn::Over,
            Turn::NotDue
                if self.turns_taken < self.config.close_concurrency || self.span.how == Shutdown::Forced =>
            {
                session.turn = Turn::Taken;
                self.turns_taken += 1;
            }
            Turn::NotDue => return self.turns.push_back(session.key),
        }
        self.begin_teardown_step(now, index);
    }

    pub(super) fn begin_teardown_step(&mut self, now: Timestamp, index: usize) {
        match self.registry.sessions[index].step() {
            Some(Step::Close | Step::CloseAgain) => self.begin_blocking(now, index),
            Some(Step::Leave) => self.begin_step(now, index),
            Some(Step::Build | Step::Enter | Step::Drain | Step::Stop) | None => {}
        }
    }

    /// The session needs its turn no more; those who wait get theirs.
    pub(super) fn give_turn_back(&mut self, now: Timestamp, index: usize) {
        let session = &mut self.registry.sessions[index];
        let had_it = session.turn == Turn::Taken;
        session.turn = Turn::Over;
        if had_it {
            self.turns_taken -= 1;
            self.give_turns(now);
        }
    }

    /// Gives turns to those who wait, as many as there are; under force, to all.
    pub(super) fn give_turns(&mut self, now: Timestamp) {
        while self.turns_taken < self.config.close_concurrency || self.span.how == Shutdown::Forced {
            let Some(next) = self.turns.pop_front() else { return };
            let Some(session) = self.registry.get_mut(next) else { continue };
            if session.turn == Turn::NotDue {
                session.turn = Turn::Taken;
                self.turns_taken += 1;
                self.begin_teardown_step(now, next.index());
            }
        }
    }

    /// Closes every session that is open.
    pub(super) fn close_all(&mut self, now: Timestamp) {
        debug_assert_ne!(self.span.state, Lifespan::Running);
        let all: alloc::vec::Vec<usize> = self.registry.sessions.iter().map(|(index, _)| index).collect();
        for index in all {
            if self.registry.sessions.contains(index) {
                self.begin_close(now, index, CloseReason::Shutdown);
            }
        }
    }
}
