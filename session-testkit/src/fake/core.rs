//! What both kinds of fake environment have in common: script, recording, client.

use super::behaviour::{Cue, Script, Stage};
use super::client::FakeMcpClient;
use crate::event::Kind;
use crate::recorder::Recorder;
use crate::span::Span;
use session_core::BoxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Core {
    pub(super) session: Arc<str>,
    pub(super) instance: usize,
    pub(super) recorder: Recorder,
    pub(super) script: Arc<Script>,
    pub(super) client: FakeMcpClient,
    pub(super) seen: Seen,
}

/// How often each stage was reached.
#[derive(Default)]
pub(super) struct Seen {
    enter: AtomicUsize,
    call: AtomicUsize,
    leave: AtomicUsize,
    close: AtomicUsize,
}

impl Core {
    fn cue(&self, stage: Stage) -> Cue {
        let nth = match stage {
            Stage::Build | Stage::Drop => 0,
            Stage::Enter => self.seen.enter.fetch_add(1, Ordering::Relaxed),
            Stage::Call => self.seen.call.fetch_add(1, Ordering::Relaxed),
            Stage::Leave => self.seen.leave.fetch_add(1, Ordering::Relaxed),
            Stage::Close => self.seen.close.fetch_add(1, Ordering::Relaxed),
        };
        Cue { stage, instance: self.instance, nth }
    }

    pub(super) async fn enter(&self) -> Result<(), BoxError> {
        let not_yet = Fallback::new(&self.recorder, &self.session, Kind::McpEnterFailed);
        self.script.play(self.cue(Stage::Enter)).await?;
        self.client.connect().await?;
        not_yet.replaced_by(Kind::McpEnter);
        Ok(())
    }

    pub(super) async fn call(&self, call: String) -> Result<String, String> {
        let span = self.recorder.begin(&self.session, Span::Call(call.clone()));
        let answer = match self.script.play(self.cue(Stage::Call)).await {
            // A call uses the context: one that comes too late fails.
            Ok(()) => self.client.ping().await.map(|()| call).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        span.end_as(&answer);
        answer
    }

    /// A leave that fails has left nevertheless, as a context manager does: it complains at the end.
    pub(super) async fn leave(&self) -> Result<(), BoxError> {
        let span = self.recorder.begin(&self.session, Span::McpExit);
        let scripted = self.script.play(self.cue(Stage::Leave)).await;
        let disconnected = self.client.disconnect().await;
        let result = scripted.and_then(|()| disconnected.map_err(BoxError::from));
        span.end_as(&result);
        result
    }

    pub(super) async fn close(&self) -> Result<(), BoxError> {
        let span = self.recorder.begin(&self.session, Span::Close);
        let result = self.script.play(self.cue(Stage::Close)).await;
        span.end_as(&result);
        result
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Recorded when the drop is over, even if it panics.
        let _dropped = Fallback::new(&self.recorder, &self.session, Kind::Dropped);
        // Nobody hears of a failure here.
        let _ = self.script.play_blocking(self.cue(Stage::Drop));
    }
}

/// Records one thing when it is dropped, or another that came instead.
pub(super) struct Fallback<'a> {
    recorder: &'a Recorder,
    session: &'a str,
    kind: Kind,
}

impl<'a> Fallback<'a> {
    pub(super) fn new(recorder: &'a Recorder, session: &'a str, kind: Kind) -> Self {
        Self { recorder, session, kind }
    }

    pub(super) fn replaced_by(mut self, kind: Kind) {
        self.kind = kind;
    }
}

impl Drop for Fallback<'_> {
    fn drop(&mut self) {
        self.recorder.record(self.session, self.kind);
    }
}
