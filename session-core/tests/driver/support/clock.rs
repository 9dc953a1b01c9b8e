//! tokio's paused clock, held: it moves only when it is told to, though real threads are at work.

use std::sync::mpsc;
use std::time::Duration;

/// While it lives, the paused clock does not advance by itself: tokio holds it while a blocking task runs.
pub(crate) struct Clock {
    _release: mpsc::Sender<()>,
}

impl Clock {
    pub(crate) fn hold() -> Self {
        let (release, held) = mpsc::channel();
        tokio::task::spawn_blocking(move || {
            let _ = held.recv();
        });
        Self { _release: release }
    }

    /// Moves the clock, and lets what was waiting for that happen on this thread.
    pub(crate) async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }
}
