//! The fake environments themselves.

use super::builder::FakeBuilder;
use super::client::ClientWatch;
use super::core::Core;
use crate::event::Kind;
use session_core::{BoxError, Environment, Overlap, TaskEnvironment};
use std::fmt;
use std::rc::Rc;

/// What a fake answers: the call's text again, or the text of its failure.
pub type FakeReply = Result<String, String>;

/// An environment that must stay on the thread that built it (it holds an `Rc`), records everything
/// that happens to it, and behaves as its builder was told.
///
/// Its MCP context is a [`FakeMcpClient`](super::FakeMcpClient) that `enter` connects and `leave`
/// disconnects; each call pings through it.
pub struct FakeEnvironment {
    core: Core,
    /// Not `Send`: the compiler holds it on its thread.
    _stays: Rc<()>,
}

impl FakeEnvironment {
    /// Describes environments to be.
    #[must_use]
    pub fn builder() -> FakeBuilder {
        FakeBuilder::default()
    }

    pub(super) fn new(core: Core) -> Self {
        Self { core, _stays: Rc::new(()) }
    }

    pub(super) fn record(&self, kind: Kind) {
        self.core.recorder.record(&self.core.session, kind);
    }

    /// Sees what becomes of its client.
    #[must_use]
    pub fn client(&self) -> ClientWatch {
        self.core.client.watch()
    }
}

impl fmt::Debug for FakeEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeEnvironment").field("session", &self.core.session).finish_non_exhaustive()
    }
}

impl Environment for FakeEnvironment {
    type Call = String;
    type Reply = FakeReply;
    const OVERLAP: Overlap = Overlap::Concurrent;

    async fn enter(&self) -> Result<(), BoxError> {
        self.core.enter().await
    }

    async fn call(&self, call: String) -> FakeReply {
        self.core.call(call).await
    }

    async fn leave(&self) -> Result<(), BoxError> {
        self.core.leave().await
    }

    async fn close(&self) -> Result<(), BoxError> {
        self.core.close().await
    }
}

/// The same without a thread of its own: `Send`, runs as tasks.
pub struct FakeTask {
    core: Core,
}

impl FakeTask {
    pub(super) fn new(core: Core) -> Self {
        Self { core }
    }

    /// Sees what becomes of its client.
    #[must_use]
    pub fn client(&self) -> ClientWatch {
        self.core.client.watch()
    }
}

impl fmt::Debug for FakeTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeTask").field("session", &self.core.session).finish_non_exhaustive()
    }
}

impl TaskEnvironment for FakeTask {
    type Call = String;
    type Reply = FakeReply;
    const OVERLAP: Overlap = Overlap::Concurrent;

    async fn enter(&self) -> Result<(), BoxError> {
        self.core.enter().await
    }

    async fn call(&self, call: String) -> FakeReply {
        self.core.call(call).await
    }

    async fn leave(&self) -> Result<(), BoxError> {
        self.core.leave().await
    }

    async fn close(&self) -> Result<(), BoxError> {
        self.core.close().await
    }
}
