//! A thread that environments live on (I3). They are built, called, closed and dropped here and never leave.
//!
//! Plain threads, not a runtime's blocking pool: a runtime waits for that at exit, and one of these may hang for ever.

use core::cell::Cell;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use std::boxed::Box;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

use super::call::CallJob;
use super::entry::Entry;
use super::environment::{BoxError, Environment};
use super::observer::ObservedKind;
use super::shared::{Make, Shared};
use super::step::{self, Ending, Ticket};
use crate::{ExecutorKey, Outcome, SessionKey, Step};

/// What is sent to an executor.
pub(crate) enum Job<C: Send + 'static, R: Send + 'static> {
    Step(Arc<Entry>, Ticket<C, R>),
    Call(CallJob<C, R>),
    Stop,
}

/// An environment, whatever its type.
pub(crate) trait LocalResident<C, R> {
    fn enter(&self) -> LocalBoxFuture<'_, Result<(), BoxError>>;
    fn call(&self, call: C) -> LocalBoxFuture<'_, R>;
    fn leave(&self) -> LocalBoxFuture<'_, Result<(), BoxError>>;
    fn close(&self) -> LocalBoxFuture<'_, Result<(), BoxError>>;
}

impl<E: Environment> LocalResident<E::Call, E::Reply> for E {
    fn enter(&self) -> LocalBoxFuture<'_, Result<(), BoxError>> {
        Box::pin(Environment::enter(self))
    }

    fn call(&self, call: E::Call) -> LocalBoxFuture<'_, E::Reply> {
        Box::pin(Environment::call(self, call))
    }

    fn leave(&self) -> LocalBoxFuture<'_, Result<(), BoxError>> {
        Box::pin(Environment::leave(self))
    }

    fn close(&self) -> LocalBoxFuture<'_, Result<(), BoxError>> {
        Box::pin(Environment::close(self))
    }
}

struct Resident<C, R> {
    environment: Rc<dyn LocalResident<C, R>>,
    closes: Cell<u32>,
}

type Residents<C, R> = core::cell::RefCell<HashMap<SessionKey, Resident<C, R>>>;

/// The thread's whole life.
pub(crate) fn serve<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    executor: ExecutorKey,
    mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
) {
    let residents = Rc::new(Residents::default());
    let local = LocalSet::new();
    let runtime = shared.runtime.clone();
    started(shared, executor);
    runtime.block_on(local.run_until(work(Arc::clone(shared), Rc::clone(&residents), mailbox)));
    // Whatever environments spawned here ends here, and whatever is left is dropped here.
    let _ = step::drop_contained((local, residents), (Outcome::Done, None));
}

/// Told by the thread itself, so that it comes before anything that happens on it.
fn started<C: Send + 'static, R: Send + 'static>(shared: &Shared<C, R>, executor: ExecutorKey) {
    let _clock = shared.runtime.enter();
    let thread = std::thread::current().name().unwrap_or_default().into();
    let mut core = shared.lock();
    let now = shared.now();
    shared.observe(&mut core, now, || ObservedKind::ExecutorStarted { key: executor, thread });
}

async fn work<C: Send + 'static, R: Send + 'static>(
    shared: Arc<Shared<C, R>>,
    residents: Rc<Residents<C, R>>,
    mut mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
) {
    while let Some(job) = mailbox.recv().await {
        match job {
            Job::Step(entry, ticket) if ticket.step == Step::Build => {
                build(&shared, &residents, &entry, ticket);
            }
            Job::Step(entry, ticket) => start(take_step(Rc::clone(&residents), entry, ticket)).await,
            Job::Call(job) => {
                let resident = residents.borrow().get(&job.key()).map(|it| Rc::clone(&it.environment));
                start(job.run(resident)).await;
            }
            Job::Stop => return,
        }
    }
}

/// Most steps and calls end at once: only one that has to wait becomes a task.
///
/// I7: a panic ends here at the latest (a reply, say, that panics when it is dropped unheard): others live on this thread.
async fn start(work: impl Future<Output = ()> + 'static) {
    let mut work: Pin<Box<dyn Future<Output = Result<(), _>>>> =
        Box::pin(AssertUnwindSafe(work).catch_unwind());
    if futures_util::poll!(&mut work).is_pending() {
        spawn_local(work);
    }
}

fn build<C: Send + 'static, R: Send + 'static>(
    shared: &Shared<C, R>,
    residents: &Residents<C, R>,
    entry: &Entry,
    ticket: Ticket<C, R>,
) {
    let Make::OnThreads(make) = &shared.make else { return };
    match std::panic::catch_unwind(AssertUnwindSafe(|| make(&entry.id))) {
        Ok(Ok(environment)) => {
            residents.borrow_mut().insert(entry.key, Resident { environment, closes: Cell::new(0) });
            ticket.finish((Outcome::Done, None));
        }
        Ok(Err(error)) => ticket.finish(step::ending(Ok(Err(error)))),
        Err(panic) => ticket.finish(step::ending(Err(panic))),
    }
}

async fn take_step<C: Send + 'static, R: Send + 'static>(
    residents: Rc<Residents<C, R>>,
    entry: Arc<Entry>,
    ticket: Ticket<C, R>,
) {
    let environment = residents.borrow().get(&entry.key).map(|it| Rc::clone(&it.environment));
    let Some(environment) = environment else {
        // Dropping it panicked after a close that went well: there is nothing left to close.
        return ticket.finish((Outcome::Done, None));
    };
    let ending = match ticket.step {
        Step::Enter => step::run(|| environment.enter(), &entry, ticket.number).await,
        Step::Leave => step::run(|| environment.leave(), &entry, ticket.number).await,
        Step::Build | Step::Drain | Step::Close | Step::CloseAgain | Step::Stop => {
            let ending = step::run(|| environment.close(), &entry, ticket.number).await;
            drop(environment);
            return ticket.finish(evict(&residents, entry.key, ending));
        }
    };
    drop(environment);
    ticket.finish(ending);
}

/// After a close that went well, or the second that did not, the value is dropped where it lived.
fn evict<C, R>(residents: &Residents<C, R>, key: SessionKey, ending: Ending) -> Ending {
    let is_last = {
        let residents = residents.borrow();
        let closes = residents.get(&key).map_or(2, |it| it.closes.replace(it.closes.get() + 1) + 1);
        ending.0.is_done() || closes >= 2
    };
    if !is_last {
        return ending;
    }
    let evicted = residents.borrow_mut().remove(&key);
    step::drop_contained(evicted, ending)
}
