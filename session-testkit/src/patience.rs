//! Time limits on the machine's clock.
//!
//! `tokio::time::timeout` counts tokio's time: under a paused clock it expires at once or never,
//! while the threads that a test waits for live in real time.

use std::fmt;
use std::pin::pin;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What was waited for did not happen in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impatient {
    /// How long it was waited for.
    pub patience: Duration,
}

impl fmt::Display for Impatient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing happened within {:?}", self.patience)
    }
}

impl std::error::Error for Impatient {}

/// Waits for `future`, for at most `patience` of real time; neither stops a paused tokio clock nor
/// is misled by it.
///
/// # Errors
/// [`Impatient`] if the future was not ready in time.
pub async fn within<F: Future>(patience: Duration, future: F) -> Result<F::Output, Impatient> {
    let mut future = pin!(future);
    // Most waits are over before they begin: no thread for them.
    if let Some(output) = ready_now(&mut future).await {
        return Ok(output);
    }
    let (over, alarm) = oneshot::channel();
    let _ringer = Ringer::set(patience, over);
    tokio::select! {
        biased;
        output = &mut future => Ok(output),
        _ = alarm => Err(Impatient { patience }),
    }
}

async fn ready_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| match std::pin::Pin::new(&mut *future).poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

/// A plain thread that sleeps; unparked early when nobody waits any more.
struct Ringer(JoinHandle<()>);

impl Ringer {
    fn set(patience: Duration, over: oneshot::Sender<()>) -> Self {
        let until = Instant::now() + patience;
        Self(thread::spawn(move || {
            while !over.is_closed() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                thread::park_timeout(left);
            }
            // Nobody listening is the usual case: it happened in time.
            let _ = over.send(());
        }))
    }
}

impl Drop for Ringer {
    fn drop(&mut self) {
        self.0.thread().unpark();
    }
}
