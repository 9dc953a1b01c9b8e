//! A deadline passed: tell the step to end, and if that doesn't help, give it up (I6, I7, I8).

use core::time::Duration;

use crate::session::{Stance, Turn};
use crate::{Action, CloseReason, Phase, Shutdown, Step, Timestamp};

impl super::Lifecycle {
    /// Sets the deadline of a step that begins now. It never exceeds what is left of the whole shutdown; under force
    /// each step of a teardown gets its share of the forced period, so that a hanging one leaves time for the rest.
    pub(super) fn arm_step(&mut self, now: Timestamp, index: usize, step: Step) {
        let timeouts = &self.config.timeouts;
        let own = match step {
            Step::Build => timeouts.build,
            Step::Enter => timeouts.enter,
            Step::Drain => Some(timeouts.drain),
            Step::Leave => Some(timeouts.leave),
            Step::Close | Step::CloseAgain => Some(timeouts.close),
            Step::Stop => Some(timeouts.stop),
        };
        let own = own.map(|timeout| now + timeout);
        let at = match (self.span.how, step) {
            (Shutdown::Forced, Step::Drain) => Some(now),
            (Shutdown::Forced, _) => own.into_iter().chain([now + self.forced_share()]).min(),
            (Shutdown::Graceful, Step::Drain) => own.into_iter().chain(self.span.drain_end()).min(),
            (Shutdown::Graceful, _) => own.into_iter().chain(self.span.grace_end()).min(),
        };
        match at {
            Some(at) => self.registry.deadlines.set(index, at),
            None => self.registry.deadlines.clear(index),
        }
    }

    /// A teardown has four steps after draining.
    pub(super) fn forced_share(&self) -> Duration {
        self.config.timeouts.forced / 4
    }

    fn interrupt_period(&self) -> Duration {
        match self.span.how {
            Shutdown::Graceful => self.config.timeouts.interrupt,
            Shutdown::Forced => self.config.timeouts.interrupt.min(self.forced_share()),
        }
    }

    pub(super) fn overdue(&mut self, now: Timestamp, index: usize) {
        let session = &self.registry.sessions[index];
        match (session.step(), session.stance) {
            (None, _) => self.open_session_overdue(now, index),
            // A thread that does not end can only be given up.
            (Some(Step::Stop), Stance::Waiting) => self.abandon(now, index),
            (Some(step), Stance::Waiting) => self.interrupt(now, index, step),
            (Some(_), Stance::Interrupted) => self.abandon(now, index),
            (Some(_), Stance::Queued | Stance::Abandoned) => {}
        }
    }

    pub(super) fn interrupt(&mut self, now: Timestamp, index: usize, step: Step) {
        let session = &mut self.registry.sessions[index];
        session.stance = Stance::Interrupted;
        let key = session.key;
        let failed = match step {
            Step::Build => Some(CloseReason::BuildFailed),
            Step::Enter => Some(CloseReason::ContextFailed),
            Step::Drain | Step::Leave | Step::Close | Step::CloseAgain | Step::Stop => None,
        };
        if let Some(reason) = failed {
            self.doom(index, reason); // even if it ends well now: too late
        }
        self.actions.push_back(match step {
            Step::Drain => Action::CutOff(key),
            Step::Build | Step::Enter | Step::Leave | Step::Close | Step::CloseAgain | Step::Stop => {
                Action::Interrupt(key, step)
            }
        });
        self.registry.deadlines.set(index, now + self.interrupt_period());
    }

    /// The step is given up. Should it end after all, the teardown goes on from there.
    pub(super) fn abandon(&mut self, now: Timestamp, index: usize) {
        self.registry.deadlines.clear(index);
        let session = &mut self.registry.sessions[index];
        if session.stance != Stance::Queued {
            session.stance = Stance::Abandoned;
        }
        let executor = session.executor;
        self.write_off(now, index);
        if let Some(executor) = executor {
            self.lose_executor(now, executor);
        }
        self.advance_span(now);
    }

    /// The session's slot is free again, and its abandonment on record (I4, I10).
    fn write_off(&mut self, now: Timestamp, index: usize) {
        if !self.registry.write_off(index) {
            return;
        }
        let session = &self.registry.sessions[index];
        let reason = session.reason().unwrap_or(CloseReason::ExecutorLost);
        let step = session.step().unwrap_or(Step::Drain);
        let waits_for_turn = session.stance == Stance::Queued && session.turn == Turn::NotDue;
        self.actions.push_back(Action::Abandoned(session.key, step, reason));
        self.give_turn_back(now, index);
        if waits_for_turn {
            self.begin_teardown_step(now, index); // in case its executor comes back
        }
    }

    /// The session lives on an executor that hangs: its end begins, and it is given up at once.
    pub(super) fn give_up_with_executor(&mut self, now: Timestamp, index: usize) {
        let key = self.registry.sessions[index].key;
        self.begin_close(now, index, CloseReason::ExecutorLost);
        if self.registry.get(key).is_some() {
            let session = &self.registry.sessions[index];
            if session.stance == Stance::Waiting && matches!(session.phase, Phase::Draining { .. }) {
                self.interrupt(now, index, Step::Drain);
            }
            self.write_off(now, index);
        }
    }

    /// The time for the whole is over: everything that is left is told to end, if it was not yet, and given up.
    pub(super) fn abandon_all(&mut self, now: Timestamp) {
        let left: alloc::vec::Vec<usize> = (self.registry.sessions.iter())
            .filter(|(_, session)| !session.is_written_off())
            .map(|(index, _)| index)
            .collect();
        for index in left {
            let session = self.registry.sessions.get(index).filter(|session| !session.is_written_off());
            let Some(session) = session else { continue };
            if let (Some(step), Stance::Waiting) = (session.step(), session.stance)
                && step != Step::Stop
            {
                self.interrupt(now, index, step); // what can be killed is
            }
            self.abandon(now, index);
        }
    }

    /// Force: deadlines collapse.
    pub(super) fn collapse_deadlines(&mut self, now: Timestamp) {
        let all: alloc::vec::Vec<usize> = self.registry.sessions.iter().map(|(index, _)| index).collect();
        for index in all {
            let Some(session) = self.registry.sessions.get(index) else { continue };
            let Some(step) = session.step() else { continue };
            match (session.stance, step) {
                (Stance::Waiting, Step::Drain | Step::Enter) => self.interrupt(now, index, step),
                (Stance::Waiting | Stance::Interrupted, _) => {
                    let share = now + self.forced_share();
                    let at = self.registry.deadlines.get(index).map_or(share, |at| at.min(share));
                    self.registry.deadlines.set(index, at);
                }
                (Stance::Queued | Stance::Abandoned, _) => {}
            }
        }
    }
}
