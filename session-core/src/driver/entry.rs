//! What the driver keeps per session.

use std::sync::{Arc, OnceLock};
use std::vec::Vec;

use tokio::sync::{Mutex, mpsc, oneshot};

use super::executor::Job;
use super::latch::{Interrupts, Latch, Unstarted};
use super::report::StepReport;
use super::sessions::OpenError;
use super::tasks::TaskResident;
use crate::{CloseReason, SessionId, SessionKey};

/// How a session ended, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    /// Why it was closed.
    pub reason: CloseReason,
    /// Whether every step of its teardown ended as it should.
    pub clean: bool,
    /// Whether it was given up: it may still hold something, which is counted and reported.
    pub abandoned: bool,
}

/// The part that handles, calls and steps share without the lock.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: SessionKey,
    pub(crate) id: SessionId,
    /// Calls of a serialised environment queue here, first come, first served.
    pub(crate) serial: Mutex<()>,
    /// Calls are to be cut off.
    pub(crate) cut: Latch,
    pub(crate) unstarted: Unstarted,
    /// Streams are to go.
    pub(crate) go: Latch,
    pub(crate) interrupts: Interrupts,
    /// Why its end began.
    pub(crate) reason: OnceLock<CloseReason>,
    pub(crate) ended: Latch,
    pub(crate) end: OnceLock<Closed>,
}

impl Entry {
    pub(crate) fn new(key: SessionKey, id: SessionId) -> Self {
        Self {
            key,
            id,
            serial: Mutex::new(()),
            cut: Latch::default(),
            unstarted: Unstarted::default(),
            go: Latch::default(),
            interrupts: Interrupts::default(),
            reason: OnceLock::new(),
            ended: Latch::default(),
            end: OnceLock::new(),
        }
    }

    pub(crate) fn closing_reason(&self) -> CloseReason {
        self.reason.get().copied().unwrap_or(CloseReason::Requested)
    }

    pub(crate) fn finish(&self, end: Closed) {
        // The first word stands: an abandoned session that comes back was answered already.
        if self.end.set(end).is_ok() {
            self.ended.set();
        }
    }

    /// Resolves once the teardown is over or given up. Cancel safe.
    pub(crate) async fn closed(&self) -> Closed {
        loop {
            self.ended.wait().await;
            if let Some(end) = self.end.get() {
                return *end;
            }
        }
    }
}

/// Tells whoever asked for a session what became of that.
pub(crate) type Asker = oneshot::Sender<Result<(), OpenError>>;

/// The part under the lock.
pub(crate) struct Side<C: Send + 'static, R: Send + 'static> {
    pub(crate) entry: Arc<Entry>,
    pub(crate) home: Home<C, R>,
    /// Whoever waits for it to open.
    pub(crate) asker: Option<Asker>,
    /// Counts its steps, for [`Interrupts`].
    pub(crate) step: u32,
    pub(crate) steps: Vec<StepReport>,
    /// What the step that is just being reported had to say.
    pub(crate) message: Option<std::string::String>,
    pub(crate) abandoned: Abandoned,
}

/// Whether a session was given up, and when: for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    No,
    BeforeShutdown,
    DuringShutdown,
}

/// Where a session's environment lives.
pub(crate) enum Home<C: Send + 'static, R: Send + 'static> {
    Nowhere,
    Thread(mpsc::UnboundedSender<Job<C, R>>),
    Tasks(Arc<dyn TaskResident<C, R>>),
}

impl<C: Send + 'static, R: Send + 'static> Clone for Home<C, R> {
    fn clone(&self) -> Self {
        match self {
            Self::Nowhere => Self::Nowhere,
            Self::Thread(mailbox) => Self::Thread(mailbox.clone()),
            Self::Tasks(resident) => Self::Tasks(Arc::clone(resident)),
        }
    }
}

impl<C: Send + 'static, R: Send + 'static> Side<C, R> {
    pub(crate) const fn new(entry: Arc<Entry>, asker: Option<Asker>) -> Self {
        Self {
            entry,
            home: Home::Nowhere,
            asker,
            step: 0,
            steps: Vec::new(),
            message: None,
            abandoned: Abandoned::No,
        }
    }

    /// The number of the step that begins now.
    pub(crate) const fn next_step(&mut self) -> u32 {
        self.step += 1;
        self.step
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.steps.iter().all(|step| step.outcome.is_done())
    }
}
