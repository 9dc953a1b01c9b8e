//! Building -> Entering -> Active. Opening is a transaction: whatever interrupts it, what was built is taken apart.

use crate::session::Stance;
use crate::{
    Action, Class, CloseReason, Lifespan, Outcome, Phase, Refusal, SessionId, SessionKey, Step, Timestamp,
};

impl super::Lifecycle {
    /// Asks for a new session. It takes its slot here, before anything is built, so that the cap can't be overshot.
    ///
    /// # Errors
    /// The server is shutting down, at capacity, has abandoned too much, or a session has this id.
    pub fn open(&mut self, now: Timestamp, id: SessionId, class: Class) -> Result<SessionKey, Refusal> {
        if self.span.state != Lifespan::Running {
            return Err(Refusal::Draining); // I9
        }
        self.registry.admit(&id, class, &self.config)?;
        let index = self.registry.insert(now, id, class);
        self.place(index);
        self.begin_blocking(now, index);
        Ok(self.registry.sessions[index].key)
    }

    pub(super) fn built(&mut self, now: Timestamp, key: SessionKey, outcome: Outcome) -> Option<()> {
        let index = self.in_step(key, &[Step::Build])?;
        self.step_done(now, index, outcome);
        let doomed = self.doom_of(index);
        // An opening is finished before it is taken apart, so that an environment only knows whole lives: unless it is
        // too late for that.
        let in_time = self.registry.sessions[index].stance == Stance::Waiting && !self.was_forced();
        self.release_executor(now, index);
        match (outcome, doomed) {
            (Outcome::Done, Some(reason)) if !in_time => self.close_environment(now, index, reason),
            (Outcome::Done, doomed) => {
                self.registry.sessions[index].phase = Phase::Entering { doomed };
                self.begin_step(now, index);
            }
            (_, doomed) => {
                let reason = self.told(index, doomed, CloseReason::BuildFailed);
                self.stop_own_executor(now, index, reason);
            }
        }
        Some(())
    }

    pub(super) fn entered(&mut self, now: Timestamp, key: SessionKey, outcome: Outcome) -> Option<()> {
        let index = self.in_step(key, &[Step::Enter])?;
        self.step_done(now, index, outcome);
        let doomed = self.doom_of(index);
        match (outcome, doomed) {
            (Outcome::Done, None) => self.activate(now, index),
            (Outcome::Done, Some(reason)) => self.leave_context(now, index, reason),
            (_, doomed) => {
                let reason = self.told(index, doomed, CloseReason::ContextFailed);
                self.close_environment(now, index, reason);
            }
        }
        Some(())
    }

    fn activate(&mut self, now: Timestamp, index: usize) {
        let session = &mut self.registry.sessions[index];
        session.phase = Phase::Active { calls: 0, idle_since: now };
        session.since = now;
        self.actions.push_back(Action::Opened(session.key));
        self.arm_idle(index);
    }

    /// The end of an opening session was decided. What is under way is finished, then taken apart.
    pub(super) fn doom(&mut self, index: usize, reason: CloseReason) {
        let session = &mut self.registry.sessions[index];
        if let Phase::Building { doomed } | Phase::Entering { doomed } = &mut session.phase
            && doomed.is_none()
        {
            *doomed = Some(reason);
            let key = session.key;
            self.tell_closing(key, reason);
        }
    }

    fn doom_of(&self, index: usize) -> Option<CloseReason> {
        self.registry.sessions[index].reason()
    }

    /// The reason of a failed opening, told if it was not yet.
    fn told(&mut self, index: usize, doomed: Option<CloseReason>, reason: CloseReason) -> CloseReason {
        if doomed.is_none() {
            self.doom(index, reason);
        }
        doomed.unwrap_or(reason)
    }
}
