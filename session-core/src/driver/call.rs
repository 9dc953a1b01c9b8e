//! A call in flight, and how it is run. The machine hears of its end exactly once, however it ends.

use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::rc::Rc;
use std::string::String;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::entry::{Entry, Home};
use super::environment::{Overlap, Unheard};
use super::executor::{Job, LocalResident};
use super::shared::Shared;
use super::step::{DropContained, panic_text};
use super::tasks::TaskResident;
use crate::{CloseReason, Event, Refusal, SessionId, SessionKey};

/// Why a call has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It was not begun.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The environment panicked in it. The session goes on.
    #[error("the environment panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// It was cut off because its session is closing and the time for calls in flight is over.
    #[error("the call was cut off: its session is closing ({reason})")]
    Cut {
        /// Why the session is closing.
        reason: CloseReason,
    },
    /// The thread that the environment lives on is gone.
    #[error("the session's executor ended")]
    ExecutorGone,
}

/// The call in flight, as the machine counts it: its end is reported when this is dropped.
struct InFlight<C: Send + 'static, R: Send + 'static> {
    shared: Arc<Shared<C, R>>,
    entry: Arc<Entry>,
    started: bool,
}

impl<C: Send + 'static, R: Send + 'static> InFlight<C, R> {
    /// Asked just before the environment is. I9: a call that was cut off on its way does not reach it any more.
    fn start(&mut self) -> Result<(), CallError> {
        self.started = self.entry.unstarted.take();
        if self.started { Ok(()) } else { Err(cut(&self.entry)) }
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for InFlight<C, R> {
    fn drop(&mut self) {
        // One that was cut off before it started has ended with that.
        if self.started || self.entry.unstarted.take() {
            self.shared.tell(Event::CallEnded(self.entry.key));
        }
    }
}

fn cut(entry: &Entry) -> CallError {
    CallError::Cut { reason: entry.closing_reason() }
}

/// The executor does not answer: it is gone, or its session is over and the call came too late.
fn gone(entry: &Entry) -> CallError {
    if entry.cut.is_set() { cut(entry) } else { CallError::ExecutorGone }
}

/// How a call gets to where its environment lives. It holds nothing that the teardown would have to wait for.
pub(crate) enum Way<C: Send + 'static, R: Send + 'static> {
    None,
    Thread(mpsc::UnboundedSender<Job<C, R>>),
    Here(Weak<dyn TaskResident<C, R>>),
}

impl<C: Send + 'static, R: Send + 'static> Way<C, R> {
    pub(crate) fn to(home: &Home<C, R>) -> Self {
        match home {
            Home::Nowhere => Self::None,
            Home::Thread(mailbox) => Self::Thread(mailbox.clone()),
            Home::Tasks(resident) => Self::Here(Arc::downgrade(resident)),
        }
    }
}

/// A call that has begun: the session is not idle and is not taken apart while this lives, until the drain deadline.
/// One that is not run by then is over.
#[must_use = "dropping it ends the call"]
pub struct Call<C: Send + 'static, R: Send + 'static> {
    in_flight: InFlight<C, R>,
    way: Way<C, R>,
}

impl<C: Send + 'static, R: Send + 'static> Call<C, R> {
    pub(crate) const fn new(shared: Arc<Shared<C, R>>, entry: Arc<Entry>, way: Way<C, R>) -> Self {
        Self { in_flight: InFlight { shared, entry, started: false }, way }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.in_flight.entry.id
    }

    /// Runs it.
    ///
    /// Cancel safe: if the future is dropped, the environment's [`Unheard`] decides whether the call is cancelled or
    /// runs to its end unheard. It stays in flight until it really ended.
    ///
    /// # Errors
    /// The environment panicked, the call was cut off, or the thread is gone.
    pub async fn run(self, call: C) -> Result<R, CallError> {
        let Self { in_flight, way } = self;
        let entry = Arc::clone(&in_flight.entry);
        match way {
            Way::Thread(mailbox) => {
                let (reply, answer) = oneshot::channel();
                let job = CallJob { call, reply, in_flight };
                if mailbox.send(Job::Call(job)).is_err() {
                    return Err(gone(&entry));
                }
                // A thread that is stuck in the call can't answer: its asker is not left waiting for it.
                tokio::select! {
                    biased;
                    answer = answer => answer.unwrap_or_else(|_| Err(gone(&entry))),
                    () = entry.cut.wait() => Err(cut(&entry)),
                }
            }
            Way::Here(resident) => run_here(in_flight, entry, resident, call).await,
            Way::None => Err(gone(&entry)),
        }
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Call<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Call").field("session", self.id()).finish_non_exhaustive()
    }
}

/// A call on its way to a thread.
pub(crate) struct CallJob<C: Send + 'static, R: Send + 'static> {
    call: C,
    reply: oneshot::Sender<Result<R, CallError>>,
    in_flight: InFlight<C, R>,
}

impl<C: Send + 'static, R: Send + 'static> CallJob<C, R> {
    pub(crate) fn key(&self) -> SessionKey {
        self.in_flight.entry.key
    }

    /// Runs it on the thread where the environment lives.
    pub(crate) async fn run(self, environment: Option<Rc<dyn LocalResident<C, R>>>) {
        let Self { call, mut reply, mut in_flight } = self;
        let (entry, unheard) = (Arc::clone(&in_flight.entry), in_flight.shared.unheard);
        if unheard == Unheard::Cancel && reply.is_closed() {
            return; // its caller went while it was on its way
        }
        let answer = tokio::select! {
            biased;
            answer = work(&mut in_flight, environment.as_deref(), call) => Some(answer),
            () = entry.cut.wait() => Some(Err(cut(&entry))),
            () = reply.closed(), if unheard == Unheard::Cancel => None,
        };
        // I2: the environment is let go before the machine hears that nothing runs in it any more.
        drop(environment);
        drop(in_flight);
        if let Some(answer) = answer {
            let _ = reply.send(answer);
        }
    }
}

async fn work<C: Send + 'static, R: Send + 'static>(
    in_flight: &mut InFlight<C, R>,
    environment: Option<&dyn LocalResident<C, R>>,
    call: C,
) -> Result<R, CallError> {
    let entry = Arc::clone(&in_flight.entry);
    let _turn = turn(in_flight.shared.overlap, &entry).await;
    in_flight.start()?;
    let environment = environment.ok_or(CallError::ExecutorGone)?;
    contained(|| environment.call(call)).await
}

/// The session's turn, if its calls are serialised.
async fn turn(overlap: Overlap, entry: &Entry) -> Option<tokio::sync::MutexGuard<'_, ()>> {
    match overlap {
        Overlap::Serialised => Some(entry.serial.lock().await),
        Overlap::Concurrent => None,
    }
}

/// A call with its panics, also those before there is a future and those when it is dropped.
async fn contained<R, F: Future<Output = R> + Unpin>(call: impl FnOnce() -> F) -> Result<R, CallError> {
    let panicked = |panic| CallError::Panicked { message: panic_text(panic) };
    let made = std::panic::catch_unwind(AssertUnwindSafe(call)).map_err(panicked)?;
    let mut call = DropContained(Some(made));
    let Some(polled) = &mut call.0 else { return Err(CallError::ExecutorGone) };
    AssertUnwindSafe(polled).catch_unwind().await.map_err(panicked)
}

type Work<R> = Pin<Box<dyn Future<Output = Result<R, CallError>> + Send>>;

/// Runs a call in the caller's own task: no hop.
async fn run_here<C: Send + 'static, R: Send + 'static>(
    in_flight: InFlight<C, R>,
    entry: Arc<Entry>,
    way: Weak<dyn TaskResident<C, R>>,
    call: C,
) -> Result<R, CallError> {
    let (runtime, unheard) = (in_flight.shared.runtime.clone(), in_flight.shared.unheard);
    let work = Box::pin(visit(Visit { resident: None, in_flight }, way, call));
    let mut here = Here { work: Some(work), entry: Arc::clone(&entry), runtime, unheard };
    tokio::select! {
        biased;
        result = &mut here => result,
        () = entry.cut.wait() => {
            here.work = None;
            Err(cut(&entry))
        }
    }
}

/// I2: the environment is let go before the machine hears that nothing runs in it any more, hence the order.
struct Visit<C: Send + 'static, R: Send + 'static> {
    resident: Option<Arc<dyn TaskResident<C, R>>>,
    in_flight: InFlight<C, R>,
}

async fn visit<C: Send + 'static, R: Send + 'static>(
    mut visit: Visit<C, R>,
    way: Weak<dyn TaskResident<C, R>>,
    call: C,
) -> Result<R, CallError> {
    let entry = Arc::clone(&visit.in_flight.entry);
    let _turn = turn(visit.in_flight.shared.overlap, &entry).await;
    visit.in_flight.start()?;
    let resident = visit.resident.insert(way.upgrade().ok_or(CallError::ExecutorGone)?);
    contained(|| resident.call(call)).await
}

/// A call that runs in its caller's task and goes on in one of its own if the caller goes.
struct Here<R: 'static> {
    work: Option<Work<R>>,
    entry: Arc<Entry>,
    runtime: Handle,
    unheard: Unheard,
}

impl<R: 'static> Future for Here<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let result = core::task::ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(result)
    }
}

impl<R: 'static> Drop for Here<R> {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        match self.unheard {
            Unheard::Cancel => drop(work),
            Unheard::Finish => {
                let entry = Arc::clone(&self.entry);
                self.runtime.spawn(unheard(work, entry));
            }
        }
    }
}

async fn unheard<R>(work: Work<R>, entry: Arc<Entry>) {
    tokio::select! {
        biased;
        _ = work => {}
        () = entry.cut.wait() => {}
    }
}
