//! What must hold of each action that is told: I1, I2, I9, and one blocking step at a time.

use session_core::{
    Action, Class, CloseReason, ExecutorKey, Lifespan, Outcome, Placement, SessionKey, Step, Timestamp,
};

use super::model::{Model, Thread, claim};
use super::when;

type Checked = Result<(), String>;

impl Model {
    /// The machine told its driver something.
    pub(crate) fn told(&mut self, now: Timestamp, action: Action) -> Checked {
        match action {
            Action::StartExecutor(executor) => self.start_executor(executor),
            Action::Build(key, executor) => self.build(now, key, executor),
            Action::Enter(key) => self.enter(now, key),
            Action::Leave(key) => self.leave(now, key),
            Action::Close(key) => self.close(now, key),
            Action::StopExecutor(executor) => self.stop_executor(now, executor),
            Action::Interrupt(key, step) => when::interrupted(self, now, key, step),
            Action::TellStreams(key) => {
                let draining = self.asked_to_stop.is_some();
                let seen = self.seen(key)?;
                let ends = seen.closing.is_some() || draining;
                claim!(seen.attachments > 0 && ends, "{key}: no stream has to go");
                seen.streams_told = true;
                Ok(())
            }
            Action::CutOff(key) => when::cut_off(self, now, key),
            Action::Opened(key) => self.opened(now, key),
            Action::Closing(key, reason) => when::closing(self, now, key, reason),
            Action::StepDone(key, step, outcome, took) => {
                let due = self.owed.take().map(|(key, step, how, since)| (key, step, how, now.since(since)));
                claim!(due == Some((key, step, outcome, took)), "{action:?} was told, but {due:?} happened");
                Ok(())
            }
            Action::Gone(key, reason) => self.gone(key, reason),
            Action::Abandoned(key, step, reason) => when::abandoned(self, now, key, step, reason),
            Action::ExecutorLost(executor) => self.lost(executor),
            Action::Lifespan(lifespan) => when::lifespan(self, now, lifespan),
        }
    }

    fn start_executor(&mut self, key: ExecutorKey) -> Checked {
        claim!(self.asked_to_stop.is_none(), "I9: an executor is started while draining");
        claim!(self.threads.iter().all(|it| it.key != key), "executor {key} is started twice");
        self.threads.push(Thread { key, told_to_stop: false, stopped: false, lost: false });
        let running = self.threads.iter().filter(|it| !it.stopped && !it.lost && !it.told_to_stop).count();
        match self.rules.placement {
            Placement::Tasks => return Err("tasks need no executor".into()),
            Placement::Pinned(threads) => {
                claim!(running <= threads.get(), "{running} executors run in a pool of {threads}");
            }
            Placement::PerSession => {}
        }
        Ok(())
    }

    fn build(&mut self, now: Timestamp, key: SessionKey, home: Option<ExecutorKey>) -> Checked {
        claim!(self.asked_to_stop.is_none(), "I9: {key} is built while draining");
        claim!(home.is_some() == (self.rules.placement != Placement::Tasks), "{key} is built on {home:?}");
        if let Some(home) = home {
            let shared = self.sessions.iter().any(|it| it.home == Some(home));
            claim!(!shared || !self.has_own_threads(), "executor {home} is not {key}'s own");
            let thread = *self.thread(home)?;
            claim!(!thread.told_to_stop && !thread.lost, "{key} is built on {thread:?}");
        }
        let seen = self.seen(key)?;
        claim!(seen.built.is_none() && seen.closing.is_none(), "I1: {key} is built again, or doomed");
        seen.home = home;
        self.begin_blocking(now, key, Step::Build)
    }

    fn begin_blocking(&mut self, now: Timestamp, key: SessionKey, step: Step) -> Checked {
        let home = self.seen(key)?.home;
        let blocker = self.sessions.iter().find(|it| home.is_some() && it.home == home && it.is_blocking());
        claim!(blocker.is_none(), "{key}: {step} begins while {home:?} is blocked by {blocker:?}");
        self.seen(key)?.begin(step, now)
    }

    fn enter(&mut self, now: Timestamp, key: SessionKey) -> Checked {
        let in_time = !self.forced;
        let seen = self.seen(key)?;
        claim!(seen.built == Some(Outcome::Done), "{key}: the context of nothing is entered");
        claim!(seen.entered.is_none(), "{key} is entered again");
        claim!(
            seen.closing.is_none() || (in_time && seen.built_in_time),
            "{key} is entered though it is doomed"
        );
        seen.begin(Step::Enter, now)
    }

    fn leave(&mut self, now: Timestamp, key: SessionKey) -> Checked {
        let seen = self.seen(key)?;
        claim!(seen.entered == Some(Outcome::Done), "I1: {key}: a context is left that was not entered");
        claim!(seen.left.is_none(), "I1: {key}: a context is left twice");
        claim!(seen.calls == 0, "I2: {key}: a context is left with calls in flight");
        claim!(seen.closing.is_some(), "{key} is left without a reason");
        seen.in_teardown = true;
        seen.begin(Step::Leave, now)
    }

    fn close(&mut self, now: Timestamp, key: SessionKey) -> Checked {
        let seen = self.seen(key)?;
        claim!(!seen.environment_is_gone(), "I1: {key} is closed, but {:?}", seen.closes);
        let needs_leave = seen.entered == Some(Outcome::Done);
        claim!(!needs_leave || seen.left.is_some(), "I2: {key} is closed before it is left");
        claim!(seen.calls == 0, "I2: {key} is closed with calls in flight");
        claim!(seen.closing.is_some(), "{key} is closed without a reason");
        seen.in_teardown = true;
        let step = if seen.closes.is_empty() { Step::Close } else { Step::CloseAgain };
        self.begin_blocking(now, key, step)
    }

    fn stop_executor(&mut self, now: Timestamp, key: ExecutorKey) -> Checked {
        let (own, lifespan) = (self.has_own_threads(), self.lifespan);
        let thread = self.thread(key)?;
        claim!(!thread.told_to_stop, "executor {key} is told to stop twice");
        let timely = own || thread.lost || lifespan == Lifespan::Stopping;
        claim!(timely, "a pooled executor is told to stop while {lifespan}");
        thread.told_to_stop = true;
        thread.lost &= own; // a shared one that came back empty is only ending
        for seen in self.sessions.iter_mut().filter(|it| it.home == Some(key) && !it.gone) {
            claim!(own, "I2: executor {key} is told to stop before {} is gone", seen.key);
            claim!(
                seen.environment_is_gone(),
                "I2: executor {key} is told to stop before {} is closed",
                seen.key
            );
            seen.begin(Step::Stop, now)?;
        }
        Ok(())
    }

    fn opened(&mut self, now: Timestamp, key: SessionKey) -> Checked {
        claim!(self.asked_to_stop.is_none(), "I9: {key} opens while draining");
        let seen = self.seen(key)?;
        claim!(
            seen.entered == Some(Outcome::Done) && !seen.opened,
            "{key} opens without a context, or twice"
        );
        claim!(seen.closing.is_none(), "{key} opens though it is doomed");
        (seen.opened, seen.unused_since) = (true, now);
        Ok(())
    }

    fn gone(&mut self, key: SessionKey, reason: CloseReason) -> Checked {
        let (own, limit) = (self.has_own_threads(), self.rules.remembered);
        let seen = self.seen(key)?;
        claim!(seen.running.is_none() && seen.calls == 0, "I4: {key} is gone during {:?}", seen.running);
        claim!(seen.environment_is_gone(), "I1: {key} is gone, but its environment is not");
        claim!(!own || seen.own_stopped, "I2: {key} is gone before its executor stopped");
        claim!(seen.closing == Some(reason), "{key} is gone for {reason}, not {:?}", seen.closing);
        seen.gone = true;
        if seen.class == Class::Kept {
            let id = seen.id;
            remember(&mut self.ended, limit, id, reason);
        }
        Ok(())
    }

    fn lost(&mut self, key: ExecutorKey) -> Checked {
        let hangs = self.sessions.iter().any(|it| it.home == Some(key) && it.abandoned);
        let stopping = self.lifespan == Lifespan::Stopping;
        let thread = self.thread(key)?;
        claim!(!thread.lost && !thread.stopped, "{thread:?} is lost");
        claim!(hangs || (stopping && thread.told_to_stop), "executor {key} is lost, but nothing on it hangs");
        thread.lost = true;
        Ok(())
    }
}

/// So many endings are remembered; the oldest is forgotten first.
fn remember(ended: &mut Vec<(usize, CloseReason)>, limit: usize, id: usize, why: CloseReason) {
    match ended.iter_mut().find(|(of, _)| *of == id) {
        Some((_, reason)) => *reason = why,
        None => ended.push((id, why)),
    }
    ended.drain(..ended.len().saturating_sub(limit));
}
