//! One instance's life as the reference environment is to lead it: delays, failures, event log.
//!
//! It knows nothing of what the environment does between its beginning and its end.

use crate::settings::Faults;
use session_core::{BoxError, SessionId};
use session_testkit::{Kind, Recorder, Span, SpanGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// What all instances of the process share.
#[derive(Debug)]
pub(crate) struct Stage {
    recorder: Recorder,
    faults: Faults,
    constructed: AtomicUsize,
}

impl Stage {
    pub(crate) fn new(recorder: Recorder, faults: Faults) -> Arc<Self> {
        Arc::new(Self { recorder, faults, constructed: AtomicUsize::new(0) })
    }

    /// Begins an instance. Its name is the session's id: unique, and known to the environment.
    ///
    /// The sleep blocks, as a constructor does that loads a model.
    pub(crate) fn construct<E>(
        self: &Arc<Self>,
        id: &SessionId,
        build: impl FnOnce() -> E,
    ) -> Result<(Instance, E), BoxError> {
        let index = self.constructed.fetch_add(1, Ordering::Relaxed);
        let name = Arc::from(id.as_str());
        let instance = Instance { name, index, stage: Arc::clone(self), has_closed: AtomicBool::new(false) };
        instance.record_index(Kind::Constructing);
        thread::sleep(self.faults.construct_delay);
        let built = if self.faults.construct_fails.contains(index) {
            Err("the reference factory was told to fail".into())
        } else {
            Ok(build())
        };
        instance.record_index(if built.is_ok() { Kind::Constructed } else { Kind::ConstructFailed });
        built.map(|environment| (instance, environment))
    }
}

/// One instance. `Sync`, so that it can also live without a thread of its own.
#[derive(Debug)]
pub(crate) struct Instance {
    name: Arc<str>,
    index: usize,
    stage: Arc<Stage>,
    has_closed: AtomicBool,
}

impl Instance {
    pub(crate) fn record(&self, kind: Kind) {
        self.stage.recorder.record(&self.name, kind);
    }

    fn record_index(&self, kind: Kind) {
        self.stage.recorder.record_with(&self.name, kind, [("index", self.index.into())]);
    }

    pub(crate) fn begin_tool(&self, tool: &str, tag: &str) -> SpanGuard {
        self.stage.recorder.begin(&self.name, Span::Tool { tool: tool.into(), tag: tag.into() })
    }

    pub(crate) async fn enter(&self) -> Result<(), BoxError> {
        tokio::time::sleep(self.stage.faults.enter_delay).await;
        if self.stage.faults.enter_raises.contains(self.index) {
            self.record(Kind::McpEnterFailed);
            return Err("the MCP context was told to fail".into());
        }
        self.record(Kind::McpEnter);
        Ok(())
    }

    pub(crate) async fn leave(&self) -> Result<(), BoxError> {
        let exit = self.stage.recorder.begin(&self.name, Span::McpExit);
        tokio::time::sleep(self.stage.faults.exit_delay).await;
        if self.stage.faults.exit_raises.contains(self.index) {
            exit.raised();
            return Err("the MCP exit was told to raise".into());
        }
        exit.end();
        Ok(())
    }

    /// Blocks, as a `close` does that waits for a process.
    ///
    /// A close that raises has closed nevertheless: it complains at its end. The lifecycle can't know
    /// that and tries a failed close once more; an environment that has nothing left to close then
    /// has nothing left to do, and says so by succeeding. (The judge counts one `closed` an instance.)
    pub(crate) fn close(&self) -> Result<(), BoxError> {
        if self.has_closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let close = self.stage.recorder.begin(&self.name, Span::Close);
        if self.stage.faults.close_hangs.contains(self.index) {
            loop {
                thread::park(); // may wake for no reason
            }
        }
        thread::sleep(self.stage.faults.close_delay);
        if self.stage.faults.close_raises.contains(self.index) {
            close.raised();
            return Err("close() was told to raise".into());
        }
        close.end();
        Ok(())
    }
}
