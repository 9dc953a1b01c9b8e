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
use std::string::{String, ToString};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak, mpsc as std_mpsc};
use std::thread::JoinHandle;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};

use super::call::CallJob;
use super::entry::Entry;
use super::environment::{BoxError, Environment};
use super::shared::{Make, Shared};
use super::step::{self, Ending, Ticket};
use crate::{Event, ExecutorKey, Outcome, SessionKey, Step};

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
fn serve<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
) {
    let residents = Rc::new(Residents::default());
    let local = LocalSet::new();
    let runtime = shared.runtime.clone();
    runtime.block_on(local.run_until(work(Arc::clone(shared), Rc::clone(&residents), mailbox)));
    // Whatever environments spawned here ends here, and whatever is left is dropped here.
    let _ = step::drop_contained((local, residents), (Outcome::Done, None));
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
                match resident {
                    Some(environment) => start(job.run(environment)).await,
                    None => job.fail(),
                }
            }
            Job::Stop => return,
        }
    }
}

/// Most steps and calls end at once: only one that has to wait becomes a task.
async fn start(work: impl Future<Output = ()> + 'static) {
    let mut work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(work);
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
        Ok(Err(error)) => ticket.finish((Outcome::Failed, Some(error.to_string()))),
        Err(panic) => ticket.finish((Outcome::Panicked, Some(step::panic_text(panic.as_ref())))),
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
        Step::Enter => step::run(environment.enter(), &entry, ticket.number).await,
        Step::Leave => step::run(environment.leave(), &entry, ticket.number).await,
        Step::Build | Step::Drain | Step::Close | Step::CloseAgain | Step::Stop => {
            let ending = step::run(environment.close(), &entry, ticket.number).await;
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

/// Joins the threads of executors as they end, so that "stopped" means that the thread is gone.
#[derive(Default)]
pub(crate) struct Joiner {
    ended: OnceLock<std_mpsc::Sender<ExecutorKey>>,
    handles: Arc<Mutex<HashMap<ExecutorKey, JoinHandle<()>>>>,
}

/// Tells the joiner that a thread is about to end, however it does.
struct AboutToEnd {
    executor: ExecutorKey,
    joiner: std_mpsc::Sender<ExecutorKey>,
}

impl Drop for AboutToEnd {
    fn drop(&mut self) {
        let _ = self.joiner.send(self.executor);
    }
}

impl Joiner {
    /// Starts an executor's thread.
    pub(crate) fn start<C: Send + 'static, R: Send + 'static>(
        &self,
        shared: &Arc<Shared<C, R>>,
        executor: ExecutorKey,
        name: String,
        mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
    ) -> Result<(), (std::io::Error, mpsc::UnboundedReceiver<Job<C, R>>)> {
        let joiner = match self.sender(shared) {
            Ok(joiner) => joiner,
            Err(error) => return Err((error, mailbox)),
        };
        let end = AboutToEnd { executor, joiner };
        // In a cell of its own, so that it comes back if there can be no thread.
        let cell = Arc::new(Mutex::new(Some(mailbox)));
        let (theirs, their_shared) = (Arc::clone(&cell), Arc::clone(shared));
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let spawned = std::thread::Builder::new().name(name).spawn(move || {
            let _end = end;
            let mailbox = theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(mailbox) = mailbox {
                serve(&their_shared, mailbox);
            }
            drop(their_shared);
        });
        match spawned {
            Ok(handle) => {
                handles.insert(executor, handle);
                Ok(())
            }
            Err(error) => {
                drop(handles);
                let mailbox = cell.lock().unwrap_or_else(PoisonError::into_inner).take();
                Err((error, mailbox.unwrap_or_else(|| mpsc::unbounded_channel().1)))
            }
        }
    }

    fn sender<C: Send + 'static, R: Send + 'static>(
        &self,
        shared: &Arc<Shared<C, R>>,
    ) -> std::io::Result<std_mpsc::Sender<ExecutorKey>> {
        if let Some(sender) = self.ended.get() {
            return Ok(sender.clone());
        }
        let (sender, receiver) = std_mpsc::channel();
        let (weak, handles) = (Arc::downgrade(shared), Arc::clone(&self.handles));
        let runtime = shared.runtime.clone();
        std::thread::Builder::new().name("session-joiner".into()).spawn(move || {
            let _clock = runtime.enter();
            join_all(&receiver, &handles, &weak);
        })?;
        // Two at once: the joiner of the one that lost ends by itself.
        Ok(self.ended.get_or_init(|| sender).clone())
    }
}

fn join_all<C: Send + 'static, R: Send + 'static>(
    ended: &std_mpsc::Receiver<ExecutorKey>,
    handles: &Mutex<HashMap<ExecutorKey, JoinHandle<()>>>,
    shared: &Weak<Shared<C, R>>,
) {
    while let Ok(executor) = ended.recv() {
        let handle = handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&executor);
        let outcome = match handle.map(JoinHandle::join) {
            Some(Err(_)) => Outcome::Panicked,
            Some(Ok(())) | None => Outcome::Done,
        };
        if let Some(shared) = shared.upgrade() {
            stopped(&shared, executor, outcome);
        }
    }
}

/// An executor's thread is gone.
pub(crate) fn stopped<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    executor: ExecutorKey,
    outcome: Outcome,
) {
    shared.transition(|core, now| {
        if core.lifecycle.handle_event(now, Event::Stopped(executor, outcome)).is_ok() {
            shared.observe(core, now, || super::observer::ObservedKind::ExecutorStopped { key: executor });
            if core.lane(executor).is_some() {
                core.lanes[executor.index()] = None;
            }
        } else if let Some(lane) = core.lane(executor) {
            lane.ended = Some(outcome); // before it was told to: remembered for when it will be
        }
    });
}

/// No thread could be started: what waits in the mailbox fails, and so does what will come.
pub(crate) fn never_started<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    executor: ExecutorKey,
    error: &std::io::Error,
    mut mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
) {
    shared.transition(|core, _| {
        if let Some(lane) = core.lane(executor) {
            lane.ended = Some(Outcome::Failed);
        }
    });
    mailbox.close();
    while let Some(job) = mailbox.recv().now_or_never().flatten() {
        if let Job::Step(_, ticket) = job {
            let text = std::format!("no thread could be started: {error}");
            ticket.finish((Outcome::Failed, Some(text)));
        }
    }
}
