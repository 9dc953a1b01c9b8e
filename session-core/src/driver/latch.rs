//! Two signals without a lost wake-up, and a count that a signal ends.

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

/// Calls that have begun and not reached the environment: held by their askers, on their way, or waiting for their turn.
/// They can be ended without asking anybody, and none of them reaches an environment after that.
#[derive(Debug, Default)]
pub(crate) struct Unstarted(AtomicU32);

impl Unstarted {
    const CUT: u32 = 1 << 31;

    /// One more. Only while the session is open, so never after they were cut.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// One is no longer among them: it reaches the environment, or was given up. False if it was cut before.
    pub(crate) fn take(&self) -> bool {
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            (count & Self::CUT == 0).then(|| count.saturating_sub(1))
        });
        taken.is_ok()
    }

    /// Cuts them. How many ended by that.
    pub(crate) fn cut(&self) -> u32 {
        let before = self.0.fetch_or(Self::CUT, Ordering::AcqRel);
        if before & Self::CUT == 0 { before } else { 0 }
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
