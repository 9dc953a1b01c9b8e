//! One step of a session under way: it reports its end exactly once, whatever becomes of it.

use core::any::Any;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use std::boxed::Box;
use std::string::{String, ToString};
use std::sync::Arc;

use futures_util::FutureExt;

use super::entry::{Entry, Side};
use super::environment::BoxError;
use super::later;
use super::shared::Shared;
use crate::{Event, Outcome, SessionKey, Step};

/// How a step ended, and the environment's own words.
pub(crate) type Ending = (Outcome, Option<String>);

/// Whoever holds it owes the machine an answer. Dropping it is the answer, too: the executor died with the step.
pub(crate) struct Ticket<C: Send + 'static, R: Send + 'static> {
    shared: Arc<Shared<C, R>>,
    key: SessionKey,
    pub(crate) step: Step,
    /// Which step of the session it is, for [`Interrupts`](super::latch::Interrupts).
    pub(crate) number: u32,
    is_due: bool,
}

impl<C: Send + 'static, R: Send + 'static> Ticket<C, R> {
    pub(crate) const fn new(shared: Arc<Shared<C, R>>, key: SessionKey, step: Step, number: u32) -> Self {
        Self { shared, key, step, number, is_due: true }
    }

    pub(crate) fn finish(self, ending: Ending) {
        self.finish_with(ending, |_| {});
    }

    /// Reports the end of the step, and changes the session's side in the same transition.
    pub(crate) fn finish_with(mut self, ending: Ending, change: impl FnOnce(&mut Side<C, R>)) {
        self.report(ending, change);
    }

    /// The answer is given another way, under the lock that this ticket would take.
    pub(crate) fn defuse(&mut self, outcome: Outcome) -> Option<Event> {
        core::mem::take(&mut self.is_due).then_some(())?;
        self.event(outcome)
    }

    fn report(&mut self, (outcome, message): Ending, change: impl FnOnce(&mut Side<C, R>)) {
        self.is_due = false;
        let (key, event) = (self.key, self.event(outcome));
        self.shared.transition(|core, now| {
            if let Some(side) = core.side(key) {
                change(side);
                side.message = message;
            }
            if let Some(event) = event {
                let _ = core.lifecycle.handle_event(now, event);
            }
        });
    }

    const fn event(&self, outcome: Outcome) -> Option<Event> {
        match self.step {
            Step::Build => Some(Event::Built(self.key, outcome)),
            Step::Enter => Some(Event::Entered(self.key, outcome)),
            Step::Leave => Some(Event::Left(self.key, outcome)),
            Step::Close | Step::CloseAgain => Some(Event::Closed(self.key, outcome)),
            Step::Drain | Step::Stop => None, // answered by calls and by executors
        }
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for Ticket<C, R> {
    fn drop(&mut self) {
        if !core::mem::take(&mut self.is_due) {
            return;
        }
        let mut answer = Self { shared: Arc::clone(&self.shared), is_due: true, ..*self };
        later::run(move || answer.report((Outcome::Panicked, Some("its executor ended".into())), |_| {}));
    }
}

/// Runs a step to its end, its panic, or its interruption.
pub(crate) async fn run<F>(step: impl FnOnce() -> F, entry: &Entry, number: u32) -> Ending
where
    F: Future<Output = Result<(), BoxError>> + Unpin,
{
    // Begun in here: a method may panic before there is a future, and a future when it is dropped.
    let mut step = match std::panic::catch_unwind(AssertUnwindSafe(step)) {
        Ok(step) => step,
        Err(panic) => return (Outcome::Panicked, Some(panic_text(panic))),
    };
    let ending = tokio::select! {
        biased;
        result = AssertUnwindSafe(&mut step).catch_unwind() => ending(result),
        () = entry.interrupts.wait(number) => (Outcome::Interrupted, None),
    };
    drop_contained(step, ending)
}

pub(crate) fn ending(result: Result<Result<(), BoxError>, Box<dyn Any + Send>>) -> Ending {
    match result {
        Ok(Ok(())) => (Outcome::Done, None),
        Ok(Err(error)) => (Outcome::Failed, Some(error_text(error))),
        Err(panic) => (Outcome::Panicked, Some(panic_text(panic))),
    }
}

/// What an error said. It is written by whoever wrote the environment: its text may panic, too.
fn error_text(error: BoxError) -> String {
    std::panic::catch_unwind(AssertUnwindSafe(move || error.to_string())).unwrap_or_else(panic_text)
}

/// What a panic said.
pub(crate) fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").into()
}

/// Drops a value that may panic in its `Drop`. A panic there counts as one of the step.
pub(crate) fn drop_contained<T>(value: T, ending: Ending) -> Ending {
    match std::panic::catch_unwind(AssertUnwindSafe(|| drop(value))) {
        Ok(()) => ending,
        Err(panic) => (Outcome::Panicked, Some(panic_text(panic))),
    }
}

/// Whatever panics when it is dropped does so here.
pub(crate) struct DropContained<T>(pub(crate) Option<T>);

impl<T> Drop for DropContained<T> {
    fn drop(&mut self) {
        let _ = drop_contained(self.0.take(), (Outcome::Done, None));
    }
}
