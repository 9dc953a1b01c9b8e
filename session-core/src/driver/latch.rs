//! Two signals without a lost wake-up.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::sync::Notify;

/// Set once, seen by everyone who waits or comes later.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    set: AtomicBool,
    notify: Notify,
}

impl Latch {
    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::Release);
        self.notify.notify_waiters();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Resolves once it is set. Cancel safe.
    pub(crate) async fn wait(&self) {
        wait_until(&self.notify, || self.is_set()).await;
    }
}

/// Says up to which step of a session the steps are to be interrupted. A number per step, so that an interruption that
/// comes too late for its step can't hit the next one.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    up_to: AtomicU32,
    notify: Notify,
}

impl Interrupts {
    pub(crate) fn raise(&self, step: u32) {
        self.up_to.fetch_max(step, Ordering::AcqRel);
        self.notify.notify_waiters();
    }

    /// Resolves once this step is to be interrupted. Cancel safe.
    pub(crate) async fn wait(&self, step: u32) {
        wait_until(&self.notify, || self.up_to.load(Ordering::Acquire) >= step).await;
    }
}

async fn wait_until(notify: &Notify, is_so: impl Fn() -> bool) {
    while !is_so() {
        let notified = notify.notified();
        let mut notified = core::pin::pin!(notified);
        // Registered before the second look: a signal in between is not lost.
        notified.as_mut().enable();
        if is_so() {
            return;
        }
        notified.await;
    }
}
