//! Environments that need no thread: each step is a task, each call runs in its caller's task.

use core::panic::AssertUnwindSafe;
use std::boxed::Box;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::entry::{Entry, Home};
use super::environment::{BoxError, TaskEnvironment};
use super::shared::{Make, Shared};
use super::step::{self, Ending, Ticket};
use crate::{Outcome, Step};

/// An environment, whatever its type.
pub(crate) trait TaskResident<C, R>: Send + Sync {
    fn enter(&self) -> BoxFuture<'_, Result<(), BoxError>>;
    fn call(&self, call: C) -> BoxFuture<'_, R>;
    fn leave(&self) -> BoxFuture<'_, Result<(), BoxError>>;
    fn close(&self) -> BoxFuture<'_, Result<(), BoxError>>;
}

impl<E: TaskEnvironment> TaskResident<E::Call, E::Reply> for E {
    fn enter(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(TaskEnvironment::enter(self))
    }

    fn call(&self, call: E::Call) -> BoxFuture<'_, E::Reply> {
        Box::pin(TaskEnvironment::call(self, call))
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(TaskEnvironment::leave(self))
    }

    fn close(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(TaskEnvironment::close(self))
    }
}

/// The task that takes one step.
pub(crate) async fn take_step<C: Send + 'static, R: Send + 'static>(
    shared: Arc<Shared<C, R>>,
    entry: Arc<Entry>,
    home: Home<C, R>,
    ticket: Ticket<C, R>,
) {
    let resident = match (home, ticket.step) {
        (_, Step::Build) => return build(&shared, &entry, ticket),
        (Home::Tasks(resident), _) => resident,
        // Dropping it panicked after a close that went well: there is nothing left to close.
        (Home::Nowhere | Home::Thread(_), _) => return ticket.finish((Outcome::Done, None)),
    };
    let number = ticket.number;
    let ending = match ticket.step {
        Step::Enter => step::run(|| resident.enter(), &entry, number).await,
        Step::Leave => step::run(|| resident.leave(), &entry, number).await,
        Step::Build | Step::Drain | Step::Close | Step::CloseAgain | Step::Stop => {
            step::run(|| resident.close(), &entry, number).await
        }
    };
    // I2: let go before the end is told. What follows may be the last step, on another worker.
    drop(resident);
    let is_last = match ticket.step {
        Step::Close => ending.0.is_done(),
        Step::CloseAgain => true,
        Step::Build | Step::Enter | Step::Drain | Step::Leave | Step::Stop => false,
    };
    ticket.finish(if is_last { evict(&shared, &entry, ending) } else { ending });
}

/// After a close that went well, or the second that did not, the value is dropped.
fn evict<C: Send + 'static, R: Send + 'static>(
    shared: &Shared<C, R>,
    entry: &Entry,
    ending: Ending,
) -> Ending {
    let home = shared.lock().side(entry.key).map(|side| core::mem::replace(&mut side.home, Home::Nowhere));
    step::drop_contained(home, ending)
}

fn build<C: Send + 'static, R: Send + 'static>(shared: &Shared<C, R>, entry: &Entry, ticket: Ticket<C, R>) {
    let Make::AsTasks(make) = &shared.make else { return };
    match std::panic::catch_unwind(AssertUnwindSafe(|| make(&entry.id))) {
        Ok(Ok(resident)) => {
            ticket.finish_with((Outcome::Done, None), |side| side.home = Home::Tasks(resident));
        }
        Ok(Err(error)) => ticket.finish(step::ending(Ok(Err(error)))),
        Err(panic) => ticket.finish(step::ending(Err(panic))),
    }
}
