//! Starts the threads of executors, and joins them as they end.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::string::String;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc as std_mpsc};
use std::thread::JoinHandle;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::executor::{Job, serve};
use super::observer::ObservedKind;
use super::shared::Shared;
use crate::{Event, ExecutorKey, Outcome};

/// Joins the threads of executors as they end, so that "stopped" means that the thread is gone.
pub(crate) struct Joiner<C: Send + 'static, R: Send + 'static> {
    ended: OnceLock<std_mpsc::Sender<Ended<C, R>>>,
    handles: Handles,
}

type Handles = Arc<Mutex<HashMap<ExecutorKey, JoinHandle<()>>>>;

/// A thread that is about to end. It keeps the sessions alive until it is joined, so that the last end is told, too.
type Ended<C, R> = (ExecutorKey, Arc<Shared<C, R>>);

/// Tells the joiner that a thread is about to end, however it does.
struct AboutToEnd<C: Send + 'static, R: Send + 'static> {
    executor: ExecutorKey,
    shared: Arc<Shared<C, R>>,
    joiner: std_mpsc::Sender<Ended<C, R>>,
}

impl<C: Send + 'static, R: Send + 'static> Drop for AboutToEnd<C, R> {
    fn drop(&mut self) {
        let _ = self.joiner.send((self.executor, Arc::clone(&self.shared)));
    }
}

impl<C: Send + 'static, R: Send + 'static> Joiner<C, R> {
    pub(crate) fn new() -> Self {
        Self { ended: OnceLock::new(), handles: Handles::default() }
    }

    /// Starts an executor's thread.
    pub(crate) fn start(
        &self,
        shared: &Arc<Shared<C, R>>,
        executor: ExecutorKey,
        name: String,
        mailbox: mpsc::UnboundedReceiver<Job<C, R>>,
    ) -> Result<(), (std::io::Error, mpsc::UnboundedReceiver<Job<C, R>>)> {
        let joiner = match self.sender(shared.runtime.clone()) {
            Ok(joiner) => joiner,
            Err(error) => return Err((error, mailbox)),
        };
        let end = AboutToEnd { executor, shared: Arc::clone(shared), joiner };
        // In a cell of its own, so that it comes back if there can be no thread.
        let cell = Arc::new(Mutex::new(Some(mailbox)));
        let theirs = Arc::clone(&cell);
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let spawned = std::thread::Builder::new().name(name).spawn(move || {
            let mailbox = theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(mailbox) = mailbox {
                serve(&end.shared, executor, mailbox);
            }
            drop(end);
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

    fn sender(&self, runtime: Handle) -> std::io::Result<std_mpsc::Sender<Ended<C, R>>> {
        if let Some(sender) = self.ended.get() {
            return Ok(sender.clone());
        }
        let (sender, receiver) = std_mpsc::channel();
        let (ended, handles) = (Mutex::new(receiver), Arc::clone(&self.handles));
        Arc::new(Crew { ended, handles, waiting: AtomicUsize::new(0) }).add_one(runtime)?;
        // Two at once: the crew of the one that lost goes home by itself.
        Ok(self.ended.get_or_init(|| sender).clone())
    }
}

/// The threads that join. One waits for the next thread to end while another joins the last: a thread that never ends,
/// since a destructor of its thread-locals hangs, keeps one of them and holds nobody else's end up (I7).
struct Crew<C: Send + 'static, R: Send + 'static> {
    ended: Mutex<std_mpsc::Receiver<Ended<C, R>>>,
    handles: Handles,
    /// How many wait for a thread to end.
    waiting: AtomicUsize,
}

impl<C: Send + 'static, R: Send + 'static> Crew<C, R> {
    fn add_one(self: Arc<Self>, runtime: Handle) -> std::io::Result<()> {
        let name = "session-joiner".into();
        std::thread::Builder::new().name(name).spawn(move || self.work(&runtime)).map(drop)
    }

    fn work(self: Arc<Self>, runtime: &Handle) {
        let _clock = runtime.enter();
        while let Some((executor, shared)) = self.next() {
            if self.waiting.load(Ordering::Acquire) == 0 {
                // If there can be no more threads, joining waits for joining.
                let _ = Arc::clone(&self).add_one(runtime.clone());
            }
            let handle = self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&executor);
            let outcome = match handle.map(JoinHandle::join) {
                Some(Ok(())) => Outcome::Done,
                Some(Err(_)) => Outcome::Panicked,
                None => continue, // it was never started
            };
            stopped(&shared, executor, outcome);
        }
    }

    /// The next thread that ends. `None` if enough others wait, or nothing is left that could end.
    fn next(&self) -> Option<Ended<C, R>> {
        loop {
            let others = self.waiting.fetch_add(1, Ordering::AcqRel);
            if others < ENOUGH {
                let next = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
                self.waiting.fetch_sub(1, Ordering::AcqRel);
                return next;
            }
            // Looked at once more: somebody may have counted on this one and gone to join.
            if self.waiting.fetch_sub(1, Ordering::AcqRel) > ENOUGH {
                return None;
            }
        }
    }
}

/// So many joiners wait that another one can go home.
const ENOUGH: usize = 2;

/// An executor's thread is gone.
pub(crate) fn stopped<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    executor: ExecutorKey,
    outcome: Outcome,
) {
    shared.transition(|core, now| {
        if core.lifecycle.handle_event(now, Event::Stopped(executor, outcome)).is_ok() {
            shared.observe(core, now, || ObservedKind::ExecutorStopped { key: executor });
            core.forget_lane(executor);
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
    // Nobody can live on it. If others were to share it, the next session gets another.
    shared.transition(|core, now| {
        if core.lifecycle.handle_event(now, Event::Stopped(executor, Outcome::Failed)).is_ok() {
            core.forget_lane(executor);
        }
    });
}
