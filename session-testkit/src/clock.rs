//! A paused clock that only moves when the test says so.

use std::fmt;
use std::sync::mpsc;
use std::time::Duration;

/// Holds tokio's paused clock still until [`advance`](Self::advance).
///
/// With `#[tokio::test(start_paused = true)]` tokio moves its clock to the next timer as soon as
/// all of *its* tasks are idle. An executor's thread is not one of its tasks: while it works, time
/// would rush on, and a deadline would pass that in reality is far away. As long as a `ManualClock`
/// lives, time stands still, however idle the runtime is.
///
/// It holds the clock with the means that tokio documents: it does not move by itself while a
/// blocking task runs. So one runs, and waits.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use session_testkit::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::hold();
/// let alarm = tokio::spawn(tokio::time::sleep(Duration::from_secs(3600)));
/// clock.advance(Duration::from_secs(3600)).await;
/// alarm.await.unwrap();
/// # }
/// ```
pub struct ManualClock {
    /// The blocking task ends when this is dropped.
    _held: mpsc::Sender<()>,
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").finish_non_exhaustive()
    }
}

impl ManualClock {
    /// Takes the clock of the current runtime, which must be single-threaded and paused already
    /// (`start_paused = true`).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use = "the clock runs again when this is dropped"]
    pub fn hold() -> Self {
        let (held, until_dropped) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || until_dropped.recv());
        Self { _held: held }
    }

    /// Moves time forward by `duration`; timers that are due by then have fired when this returns,
    /// and the tasks and threads that wait for them have been woken (but need not have run yet: await
    /// an event for that).
    ///
    /// # Panics
    /// If the runtime's clock is not paused.
    pub async fn advance(&self, duration: Duration) {
        // Tokio's clock counts whole milliseconds, and rounds a timer up: without the extra one a
        // timer of exactly this duration, started between two milliseconds, would not be due.
        tokio::time::advance(duration + Duration::from_millis(1)).await;
        // Timers fire when the runtime looks at its driver, which it does before it polls a task
        // that has yielded.
        tokio::task::yield_now().await;
    }
}
