//! The one timer. It sleeps until the machine's next deadline and costs nothing while there is none.

use core::time::Duration;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::shared::Shared;
use crate::Timestamp;

/// Longer than any process lives; tokio can't sleep until much later moments.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 30);

/// Runs until the sessions are no more.
pub(crate) async fn run<C: Send + 'static, R: Send + 'static>(
    shared: Weak<Shared<C, R>>,
    changed: Arc<Notify>,
) {
    while let Some(deadline) = arm(&shared) {
        match deadline {
            None => changed.notified().await,
            Some(at) => tokio::select! {
                biased; // a change is looked at by arming anew, which finds a passed deadline, too
                () = changed.notified() => {}
                () = tokio::time::sleep_until(at) => fire(&shared),
            },
        }
    }
}

/// Notes for when the timer is set. `None`: there is nothing left to time.
fn arm<C: Send + 'static, R: Send + 'static>(shared: &Weak<Shared<C, R>>) -> Option<Option<Instant>> {
    let shared = shared.upgrade()?;
    let mut core = shared.lock();
    core.armed = core.lifecycle.poll_timeout();
    let armed = core.armed;
    drop(core);
    Some(armed.map(|at| shared.origin + at.since(Timestamp::ORIGIN).min(FAR)))
}

fn fire<C: Send + 'static, R: Send + 'static>(shared: &Weak<Shared<C, R>>) {
    if let Some(shared) = shared.upgrade() {
        shared.transition(|core, now| core.lifecycle.handle_timeout(now));
    }
}
