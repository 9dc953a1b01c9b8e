//! Any environment, with the life of a reference instance around it.

use crate::instance::{Instance, Stage};
use crate::tasks;
use session_core::{BoxError, Factory, Overlap, SessionId, TaskEnvironment, Unheard};
use session_http::{Action, Answer, Call, ToolCall};
use session_testkit::{Kind, SpanGuard};
use std::marker::PhantomData;
use std::sync::Arc;

/// An environment that can be made with nothing but its name.
pub(crate) trait Inner: TaskEnvironment<Call = Call, Reply = Answer> {
    fn new(name: &str) -> Self;
}

/// Whether the environment offers tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    Offered,
    Absent,
}

/// Makes them.
pub(crate) struct References<E> {
    stage: Arc<Stage>,
    tasks: Tasks,
    makes: PhantomData<fn() -> E>,
}

impl<E> References<E> {
    pub(crate) fn new(stage: Arc<Stage>, tasks: Tasks) -> Self {
        Self { stage, tasks, makes: PhantomData }
    }
}

impl<E: Inner> Factory for References<E> {
    type Environment = Reference<E>;

    fn build(&self, id: &SessionId) -> Result<Reference<E>, BoxError> {
        let (instance, inner) = self.stage.construct(id, || E::new(id.as_str()))?;
        Ok(Reference { instance, inner, tasks: self.tasks })
    }
}

/// The environment of a session. It could live anywhere; which executor it gets is a setting.
pub(crate) struct Reference<E> {
    instance: Instance,
    inner: E,
    tasks: Tasks,
}

impl<E: Inner> Reference<E> {
    /// Of what happens in between, the log has resets, and runs of the slow tool.
    fn watch(&self, call: &Call) -> Option<SpanGuard> {
        match call {
            Call::Reset(_) => {
                self.instance.record(Kind::Reset);
                None
            }
            Call::CallTool(tool) => self.watch_tool(tool),
            Call::Step(step) => match &step.action {
                Action::CallTool(tool) => self.watch_tool(tool),
                Action::ListTools | Action::Typed(_) => None,
            },
            Call::Metadata | Call::ListTools | Call::State | Call::Tasks(_) => None,
        }
    }

    fn watch_tool(&self, tool: &ToolCall) -> Option<SpanGuard> {
        // Arguments that don't fit are the environment's to refuse.
        let arguments: serde_json::Value = serde_json::from_str(tool.arguments.as_json()).unwrap_or_default();
        let tag = arguments["tag"].as_str().unwrap_or_default();
        (tool.name == "slow").then(|| self.instance.begin_tool(&tool.name, tag))
    }
}

impl<E: Inner> TaskEnvironment for Reference<E> {
    type Call = Call;
    type Reply = Answer;
    const OVERLAP: Overlap = E::OVERLAP;
    const UNHEARD: Unheard = E::UNHEARD;

    async fn enter(&self) -> Result<(), BoxError> {
        self.inner.enter().await?;
        self.instance.enter().await
    }

    async fn call(&self, call: Call) -> Answer {
        if let (Call::Tasks(query), Tasks::Offered) = (&call, self.tasks) {
            return tasks::answer(query);
        }
        let watch = self.watch(&call);
        let answer = self.inner.call(call).await;
        if let Some(watch) = watch {
            watch.end_as(&answer);
        }
        answer
    }

    async fn leave(&self) -> Result<(), BoxError> {
        self.instance.leave().await?;
        self.inner.leave().await
    }

    async fn close(&self) -> Result<(), BoxError> {
        self.instance.close()?;
        self.inner.close().await
    }
}
