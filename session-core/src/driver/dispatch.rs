//! From actions to jobs. Runs inside the lock, so that the order is the machine's; nothing here waits.

use std::string::{String, ToString};
use std::sync::Arc;
use std::vec::Vec;

use tokio::sync::mpsc;

use super::entry::{Abandoned, Closed, Home};
use super::executor::Job;
use super::joiner;
use super::observer::ObservedKind;
use super::report::{SessionReport, StepReport};
use super::sessions::OpenError;
use super::shared::{Core, Deferred, Lane, Make, Shared};
use super::step::{self, Ticket};
use super::tasks;
use crate::{
    Action, CloseReason, Event, ExecutorKey, Lifespan, Outcome, Placement, SessionKey, Step, Timestamp,
};

impl<C: Send + 'static, R: Send + 'static> Shared<C, R> {
    pub(crate) fn carry_out(
        self: &Arc<Self>,
        core: &mut Core<C, R>,
        now: Timestamp,
        deferred: &mut Vec<Deferred<C, R>>,
    ) {
        while let Some(action) = core.lifecycle.poll_action() {
            match action {
                Action::StartExecutor(executor) => Self::open_mailbox(core, executor, deferred),
                Action::Build(key, executor) => {
                    self.give_home(core, key, executor, deferred);
                    self.take_step(core, key, Step::Build, deferred);
                }
                Action::Enter(key) => self.take_step(core, key, Step::Enter, deferred),
                Action::Leave(key) => self.take_step(core, key, Step::Leave, deferred),
                Action::Close(key) => self.take_step(core, key, Step::Close, deferred),
                Action::StopExecutor(executor) => Self::stop_executor(core, executor),
                Action::Interrupt(key, _) => {
                    if let Some(side) = core.side(key) {
                        side.entry.interrupts.raise(side.step);
                    }
                }
                Action::TellStreams(key) => {
                    if let Some(side) = core.side(key) {
                        side.entry.go.set();
                    }
                }
                Action::CutOff(key) => Self::cut_off(core, key),
                Action::Opened(key) => self.opened(core, now, key),
                Action::Closing(key, reason) => self.closing(core, now, key, reason),
                Action::StepDone(key, step, outcome, took) => {
                    self.step_done(core, now, key, StepReport { step, outcome, took, message: None });
                }
                Action::Gone(key, reason) => self.gone(core, now, key, reason, deferred),
                Action::Abandoned(key, step, reason) => self.abandoned(core, now, key, step, reason),
                Action::ExecutorLost(key) => {
                    self.observe(core, now, || ObservedKind::ExecutorLost { key });
                }
                Action::Lifespan(lifespan) => self.lifespan_went_on(core, now, lifespan),
            }
        }
    }

    fn lifespan_went_on(&self, core: &mut Core<C, R>, now: Timestamp, lifespan: Lifespan) {
        core.log.lifespan(now, lifespan);
        self.lifespan.send_replace(lifespan);
        self.slots.notify_waiters();
        self.observe(core, now, || ObservedKind::Lifespan(lifespan));
    }

    /// The mailbox exists at once; its thread starts when the lock is released, and finds its work there.
    fn open_mailbox(core: &mut Core<C, R>, executor: ExecutorKey, deferred: &mut Vec<Deferred<C, R>>) {
        let (sender, mailbox) = mpsc::unbounded_channel();
        if executor.index() >= core.lanes.len() {
            core.lanes.resize_with(executor.index() + 1, || None);
        }
        core.lanes[executor.index()] = Some(Lane { key: executor, mailbox: sender, ended: None });
        let name = std::format!("sessions-{executor}");
        deferred.push(Deferred::Start { executor, name, mailbox });
    }

    fn give_home(
        &self,
        core: &mut Core<C, R>,
        key: SessionKey,
        executor: Option<ExecutorKey>,
        deferred: &mut [Deferred<C, R>],
    ) {
        let Some(executor) = executor else { return };
        let home = core.lane(executor).map_or(Home::Nowhere, |lane| Home::Thread(lane.mailbox.clone()));
        let is_own = core.lifecycle.config().placement() == Placement::PerSession;
        let Some(side) = core.side(key) else { return };
        side.home = home;
        // A thread is named after what it serves.
        if is_own && let Some(Deferred::Start { name, .. }) = deferred.last_mut() {
            *name = std::format!("session {}", side.entry.id);
        }
    }

    fn take_step(
        self: &Arc<Self>,
        core: &mut Core<C, R>,
        key: SessionKey,
        step: Step,
        deferred: &mut Vec<Deferred<C, R>>,
    ) {
        let Some(side) = core.side(key) else { return };
        let number = side.next_step();
        // One that was given up before it began has not been tried.
        let tried = |report: &StepReport| report.step == Step::Close && report.outcome != Outcome::Abandoned;
        let is_second = step == Step::Close && side.steps.iter().any(tried);
        let step = if is_second { Step::CloseAgain } else { step };
        let ticket = Ticket::new(Arc::clone(self), key, step, number);
        let (entry, home) = (Arc::clone(&side.entry), side.home.clone());
        if let Make::AsTasks(_) = self.make {
            return deferred.push(Deferred::Spawn { entry, home, ticket });
        }
        let job = Job::Step(entry, ticket);
        let sent = match home {
            Home::Thread(mailbox) => mailbox.send(job),
            Home::Nowhere | Home::Tasks(_) => Err(mpsc::error::SendError(job)),
        };
        if let Err(mpsc::error::SendError(mut job)) = sent {
            // The thread is gone. Answered here: the ticket would take the lock that is held.
            if let Job::Step(_, ticket) = &mut job {
                side.message = Some("the session's executor ended".into());
                core.facts.extend(ticket.defuse(Outcome::Panicked));
            }
            deferred.push(Deferred::Drop(job));
        }
    }

    fn stop_executor(core: &mut Core<C, R>, executor: ExecutorKey) {
        let Some(lane) = core.lane(executor) else { return };
        match lane.ended {
            Some(outcome) => {
                core.forget_lane(executor);
                core.facts.push_back(Event::Stopped(executor, outcome));
            }
            // If it can't be sent, the thread is just ending, and the joiner will say so.
            None => drop(lane.mailbox.send(Job::Stop)),
        }
    }

    /// Calls that run hear it themselves. Those that have not reached the environment end here, whoever holds them.
    fn cut_off(core: &mut Core<C, R>, key: SessionKey) {
        let Some(side) = core.side(key) else { return };
        side.entry.cut.set();
        let unstarted = side.entry.unstarted.cut();
        core.facts.extend((0..unstarted).map(|_| Event::CallEnded(key)));
    }

    fn opened(&self, core: &mut Core<C, R>, now: Timestamp, key: SessionKey) {
        let Some(side) = core.side(key) else { return };
        let id = side.entry.id.clone();
        if let Some(asker) = side.asker.take() {
            // If nobody listens any more, the asker's guard asks for the end.
            let _ = asker.send(Ok(()));
        }
        self.observe(core, now, || ObservedKind::Opened { key, id });
    }

    fn closing(&self, core: &mut Core<C, R>, now: Timestamp, key: SessionKey, reason: CloseReason) {
        let Some(side) = core.side(key) else { return };
        let _ = side.entry.reason.set(reason);
        let id = side.entry.id.clone();
        self.observe(core, now, || ObservedKind::Closing { key, id, reason });
    }

    fn step_done(&self, core: &mut Core<C, R>, now: Timestamp, key: SessionKey, mut report: StepReport) {
        let Some(side) = core.side(key) else { return };
        report.message = side.message.take();
        side.steps.push(report.clone());
        let id = side.entry.id.clone();
        self.observe(core, now, || {
            let StepReport { step, outcome, took, message } = report;
            ObservedKind::StepDone { key, id, step, outcome, took, message }
        });
    }

    fn gone(
        &self,
        core: &mut Core<C, R>,
        now: Timestamp,
        key: SessionKey,
        reason: CloseReason,
        deferred: &mut Vec<Deferred<C, R>>,
    ) {
        let Some(mut side) = core.remove(key) else { return };
        // Not under the lock: what an environment does when it is dropped is its own business.
        deferred.push(Deferred::Leave(core::mem::replace(&mut side.home, Home::Nowhere)));
        let clean = side.is_clean();
        if let Some(asker) = side.asker.take() {
            let _ = asker.send(Err(failed(reason, &side.steps)));
        }
        side.entry.finish(Closed { reason, clean, abandoned: false });
        let report = SessionReport {
            id: side.entry.id.clone(),
            key,
            reason,
            steps: side.steps,
            abandoned: false,
            during_shutdown: core.log.is_shutting_down(),
        };
        self.slots.notify_waiters();
        core.log.add(report.clone());
        self.observe(core, now, || ObservedKind::Gone(report));
    }

    fn abandoned(
        &self,
        core: &mut Core<C, R>,
        now: Timestamp,
        key: SessionKey,
        step: Step,
        reason: CloseReason,
    ) {
        let took = core.lifecycle.session(key).map_or(core::time::Duration::ZERO, |it| now.since(it.since));
        let shutting_down = core.log.is_shutting_down();
        let Some(side) = core.side(key) else { return };
        side.abandoned = if shutting_down { Abandoned::DuringShutdown } else { Abandoned::BeforeShutdown };
        self.slots.notify_waiters();
        side.steps.push(StepReport { step, outcome: Outcome::Abandoned, took, message: None });
        if let Some(asker) = side.asker.take() {
            let _ = asker.send(Err(failed(reason, &side.steps)));
        }
        side.entry.finish(Closed { reason, clean: false, abandoned: true });
        let id = side.entry.id.clone();
        self.observe(core, now, || ObservedKind::Abandoned { key, id, step, reason });
    }

    /// What takes time, once the lock is released.
    pub(crate) fn do_deferred(self: &Arc<Self>, work: Deferred<C, R>) {
        match work {
            Deferred::Start { executor, name, mailbox } => {
                if let Err((error, mailbox)) = self.joiner.start(self, executor, name, mailbox) {
                    joiner::never_started(self, executor, &error, mailbox);
                }
            }
            Deferred::Spawn { entry, home, ticket } => {
                self.runtime.spawn(tasks::take_step(Arc::clone(self), entry, home, ticket));
            }
            Deferred::Drop(job) => drop(job),
            Deferred::Leave(home) => drop(step::drop_contained(home, (Outcome::Done, None))),
        }
    }
}

/// Why an opening failed, in the environment's own words if it had any.
fn failed(reason: CloseReason, steps: &[StepReport]) -> OpenError {
    let words = steps.iter().rev().find_map(|step| step.message.clone());
    let late = steps.iter().rev().find(|step| !step.outcome.is_done());
    let message = words.unwrap_or_else(|| match late {
        Some(step) => std::format!("{reason}: {} was {}", step.step, step.outcome),
        None => String::from(reason.as_str()),
    });
    OpenError::Failed { reason, message: message.to_string() }
}
