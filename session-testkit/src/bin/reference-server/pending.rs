//! `REF_FAKE_PENDING_SESSION`: a session that is being opened for as long as the server runs.
//!
//! A client can never know the id of a session that is still being opened; with this one it can ask. Building it blocks
//! its executor, so it wants a thread of its own.

use std::sync::{Mutex, PoisonError, mpsc};

use session_core::{BoxError, Factory, Lifespan, SessionId, Sessions};
use session_http::{Answer, Call};

/// A factory that is not done with one session until it is told.
pub(crate) struct Planting<F> {
    factory: F,
    planted: Option<(SessionId, Mutex<mpsc::Receiver<()>>)>,
}

/// Lets the planted session's building end, when it is dropped.
pub(crate) struct Hold(Option<(SessionId, mpsc::Sender<()>)>);

impl<F> Planting<F> {
    pub(crate) fn new(factory: F, planted: Option<SessionId>) -> (Self, Hold) {
        let (hold, held) = mpsc::channel();
        let hold = Hold(planted.clone().map(|id| (id, hold)));
        (Self { factory, planted: planted.map(|id| (id, Mutex::new(held))) }, hold)
    }
}

impl<F: Factory> Factory for Planting<F> {
    type Environment = F::Environment;

    fn build(&self, id: &SessionId) -> Result<F::Environment, BoxError> {
        match &self.planted {
            Some((planted, held)) if planted == id => {
                // Ends when the other side is dropped.
                let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                Err("it was planted as pending".into())
            }
            Some(_) | None => self.factory.build(id),
        }
    }
}

impl Hold {
    /// Begins to open the session, and lets that end when the server drains.
    pub(crate) fn plant(self, sessions: &Sessions<Call, Answer>) {
        let Some((id, hold)) = self.0 else { return };
        let (control, opening) = (sessions.control(), sessions.clone());
        tokio::spawn(async move { opening.open(id).await });
        tokio::spawn(async move {
            let _ = control.lifespan().wait_for(|lifespan| *lifespan != Lifespan::Running).await;
            drop(hold);
        });
    }
}
