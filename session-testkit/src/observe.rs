//! The driver's own account of what it does, among the rest.

use crate::event::{Extras, Kind};
use crate::patience::{Impatient, within};
use crate::recorder::{NotSeen, Recorder};
use session_core::{Lifespan, Observed, ObservedKind, Subscription};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The task that listens to the driver; ends with the sessions, or when this is dropped.
#[derive(Debug)]
pub struct Observation {
    listener: JoinHandle<()>,
}

impl Observation {
    /// Waits until the driver has nothing more to tell: all handles to its sessions are gone.
    ///
    /// # Errors
    /// [`Impatient`] if it still could after `patience` of real time.
    pub async fn over(mut self, patience: Duration) -> Result<(), Impatient> {
        // A listener that panicked has nothing more to tell, either.
        within(patience, &mut self.listener).await.map(drop)
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Recorder {
    /// Records what the driver tells from now on: `recorder.observe(sessions.subscribe())`. Make the
    /// subscription before the first session is opened, and the account is complete.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use = "dropping it ends the listening"]
    pub fn observe(&self, mut subscription: Subscription) -> Observation {
        let recorder = self.clone();
        let listener = tokio::spawn(async move {
            while let Some(observed) = subscription.recv().await {
                recorder.record_observed(observed);
            }
        });
        Observation { listener }
    }

    /// Waits until the driver has told that everything is stopped.
    ///
    /// # Errors
    /// [`NotSeen`] if it has not within `patience` of real time.
    pub async fn stopped(&self, patience: Duration) -> Result<(), NotSeen> {
        let stopped = Lifespan::Stopped.as_str();
        self.wait_until(patience, |event| {
            event.kind == Kind::Lifespan && event.extra("lifespan") == Some(stopped)
        })
        .await
        .map(drop)
    }

    fn record_observed(&self, observed: Observed) {
        let (session, kind, extras) = told(observed.kind);
        self.record_with(&session, kind, extras);
    }
}

type Told = (String, Kind, Extras);

fn told(kind: ObservedKind) -> Told {
    match kind {
        ObservedKind::Opening { id, .. } => (id.to_string(), Kind::Opening, Vec::new()),
        ObservedKind::Opened { id, .. } => (id.to_string(), Kind::Opened, Vec::new()),
        ObservedKind::Closing { id, reason, .. } => {
            (id.to_string(), Kind::Closing, vec![("reason", reason.as_str().into())])
        }
        ObservedKind::StepDone { id, step, outcome, message, .. } => {
            let mut extras = vec![("step", step.as_str().into()), ("outcome", outcome.as_str().into())];
            extras.extend(message.map(|message| ("message", message.into())));
            (id.to_string(), Kind::StepDone, extras)
        }
        ObservedKind::Gone(report) => {
            (report.id.to_string(), Kind::Gone, vec![("reason", report.reason.as_str().into())])
        }
        ObservedKind::Abandoned { id, step, .. } => {
            (id.to_string(), Kind::Abandoned, vec![("step", step.as_str().into())])
        }
        ObservedKind::ExecutorStarted { key, thread } => (
            String::new(),
            Kind::ExecutorStarted,
            vec![("executor", key.to_string().into()), ("thread", thread.into())],
        ),
        ObservedKind::ExecutorStopped { key } => {
            (String::new(), Kind::ExecutorStopped, vec![("executor", key.to_string().into())])
        }
        ObservedKind::ExecutorLost { key } => {
            (String::new(), Kind::ExecutorLost, vec![("executor", key.to_string().into())])
        }
        ObservedKind::Lifespan(lifespan) => {
            (String::new(), Kind::Lifespan, vec![("lifespan", lifespan.as_str().into())])
        }
        ObservedKind::Missed(count) => (String::new(), Kind::Missed, vec![("count", count.into())]),
    }
}
