//! A call in flight, and how it is run. The machine hears of its end exactly once, however it ends.

use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::rc::Rc;
use std::string::String;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::entry::{Entry, Home};
use super::environment::{Overlap, Unheard};
use super::executor::{Job, LocalResident};
use super::shared::Shared;
use super::step::panic_text;
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
    key: SessionKey,
}

impl<C: Send + 'static, R: Send + 'static> Drop for InFlight<C, R> {
    fn drop(&mut self) {
        self.shared.tell(Event::CallEnded(self.key));
    }
}

/// A call that has begun: the session is not idle and is not taken apart while this lives, until the drain deadline.
#[must_use = "dropping it ends the call"]
pub struct Call<C: Send + 'static, R: Send + 'static> {
    in_flight: InFlight<C, R>,
    entry: Arc<Entry>,
    home: Home<C, R>,
}

impl<C: Send + 'static, R: Send + 'static> Call<C, R> {
    pub(crate) fn new(shared: Arc<Shared<C, R>>, entry: Arc<Entry>, home: Home<C, R>) -> Self {
        Self { in_flight: InFlight { shared, key: entry.key }, entry, home }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.entry.id
    }

    /// Runs it.
    ///
    /// Cancel safe: if the future is dropped, the environment's [`Unheard`] decides whether the call is cancelled or
    /// runs to its end unheard. It stays in flight until it really ended.
    ///
    /// # Errors
    /// The environment panicked, the call was cut off, or the thread is gone.
    pub async fn run(self, call: C) -> Result<R, CallError> {
        let Self { in_flight, entry, home } = self;
        match home {
            Home::Thread(mailbox) => {
                let (reply, answer) = oneshot::channel();
                let job = CallJob { call, reply, in_flight, entry: Arc::clone(&entry) };
                if mailbox.send(Job::Call(job)).is_err() {
                    return Err(CallError::ExecutorGone);
                }
                // A thread that is stuck in the call can't answer: its asker is not left waiting for it.
                tokio::select! {
                    biased;
                    answer = answer => answer.unwrap_or(Err(CallError::ExecutorGone)),
                    () = entry.cut.wait() => Err(CallError::Cut { reason: entry.closing_reason() }),
                }
            }
            Home::Tasks(resident) => run_here(in_flight, entry, resident, call).await,
            Home::Nowhere => Err(CallError::ExecutorGone),
        }
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Call<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Call").field("session", &self.entry.id).finish_non_exhaustive()
    }
}

/// A call on its way to a thread.
pub(crate) struct CallJob<C: Send + 'static, R: Send + 'static> {
    call: C,
    reply: oneshot::Sender<Result<R, CallError>>,
    in_flight: InFlight<C, R>,
    entry: Arc<Entry>,
}

impl<C: Send + 'static, R: Send + 'static> CallJob<C, R> {
    pub(crate) const fn key(&self) -> SessionKey {
        self.in_flight.key
    }

    pub(crate) fn fail(self) {
        drop(self.in_flight);
        let _ = self.reply.send(Err(CallError::ExecutorGone));
    }

    /// Runs it on the thread where the environment lives.
    pub(crate) async fn run(self, environment: Rc<dyn LocalResident<C, R>>) {
        let Self { call, mut reply, in_flight, entry } = self;
        let shared = &in_flight.shared;
        let unheard = shared.unheard;
        let answer = {
            let work = async {
                let _turn = turn(shared.overlap, &entry).await;
                AssertUnwindSafe(environment.call(call)).catch_unwind().await
            };
            tokio::select! {
                biased;
                result = work => Some(result.map_err(|panic| panicked(panic.as_ref()))),
                () = entry.cut.wait() => Some(Err(CallError::Cut { reason: entry.closing_reason() })),
                () = reply.closed(), if unheard == Unheard::Cancel => None,
            }
        };
        // I2: the environment is let go before the machine hears that nothing runs in it any more.
        drop(environment);
        drop(in_flight);
        if let Some(answer) = answer {
            let _ = reply.send(answer);
        }
    }
}

/// The session's turn, if its calls are serialised.
async fn turn(overlap: Overlap, entry: &Entry) -> Option<tokio::sync::MutexGuard<'_, ()>> {
    match overlap {
        Overlap::Serialised => Some(entry.serial.lock().await),
        Overlap::Concurrent => None,
    }
}

fn panicked(panic: &(dyn core::any::Any + Send)) -> CallError {
    CallError::Panicked { message: panic_text(panic) }
}

type Work<R> = Pin<Box<dyn Future<Output = Result<R, CallError>> + Send>>;

/// Runs a call in the caller's own task: no hop.
async fn run_here<C: Send + 'static, R: Send + 'static>(
    in_flight: InFlight<C, R>,
    entry: Arc<Entry>,
    resident: Arc<dyn TaskResident<C, R>>,
    call: C,
) -> Result<R, CallError> {
    let (overlap, theirs) = (in_flight.shared.overlap, Arc::clone(&entry));
    let work: Work<R> = Box::pin(async move {
        let _turn = turn(overlap, &theirs).await;
        let result = AssertUnwindSafe(resident.call(call)).catch_unwind().await;
        result.map_err(|panic| panicked(panic.as_ref()))
    });
    let mut here = Here { work: Some(work), in_flight: Some(in_flight), entry: Arc::clone(&entry) };
    tokio::select! {
        biased;
        result = &mut here => result,
        () = entry.cut.wait() => {
            here.cancel();
            Err(CallError::Cut { reason: entry.closing_reason() })
        }
    }
}

/// A call that runs in its caller's task and goes on in one of its own if the caller goes.
struct Here<C: Send + 'static, R: Send + 'static> {
    work: Option<Work<R>>,
    in_flight: Option<InFlight<C, R>>,
    entry: Arc<Entry>,
}

impl<C: Send + 'static, R: Send + 'static> Here<C, R> {
    fn cancel(&mut self) {
        self.work = None; // first, see I2 above
        self.in_flight = None;
    }
}

impl<C: Send + 'static, R: Send + 'static> Future for Here<C, R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let result = core::task::ready!(work.as_mut().poll(context));
        self.cancel();
        Poll::Ready(result)
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for Here<C, R> {
    fn drop(&mut self) {
        let (Some(work), Some(in_flight)) = (self.work.take(), self.in_flight.take()) else { return };
        match in_flight.shared.unheard {
            Unheard::Cancel => drop(work),
            Unheard::Finish => {
                let entry = Arc::clone(&self.entry);
                let runtime = in_flight.shared.runtime.clone();
                runtime.spawn(async move {
                    tokio::select! {
                        biased;
                        _ = work => {}
                        () = entry.cut.wait() => {}
                    }
                    drop(in_flight);
                });
            }
        }
    }
}
