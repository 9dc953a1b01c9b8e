//! Fakes that `session-http` can serve.

use super::builder::Fakes;
use super::environment::FakeEnvironment;
use crate::event::Kind;
use serde_json::{Map, Value};
use session_core::{BoxError, Environment, Factory, Overlap, SessionId};
use session_http::{Answer, Call, Failure, Metadata, Observation, Reply, ToolCall, ToolResult};

/// A factory of [`FakeEnvironment`]s that answer the calls of `session-http`: any tool is known, and
/// returns its arguments as text; a reset or a step observes nothing.
///
/// [`Stage::Call`](super::Stage::Call) is a call of a tool, or a step.
#[derive(Clone, Debug)]
pub struct HttpFakes(Fakes);

/// A [`FakeEnvironment`] that `session-http` can serve.
#[derive(Debug)]
pub struct HttpFake(FakeEnvironment);

impl Fakes {
    /// The same, for `session-http`.
    #[must_use]
    pub fn over_http(&self) -> HttpFakes {
        HttpFakes(self.clone())
    }
}

impl Factory for HttpFakes {
    type Environment = HttpFake;

    fn build(&self, id: &SessionId) -> Result<HttpFake, BoxError> {
        self.0.build(id).map(HttpFake)
    }
}

impl HttpFake {
    async fn call_tool(&self, call: ToolCall) -> Answer {
        let answer = self.0.call(call.arguments.as_json().to_owned()).await;
        match answer {
            Ok(text) => ToolResult::of(&text).map(Reply::ToolResult),
            Err(message) => Err(Failure::ToolFailed { tool: call.name, message }),
        }
    }

    async fn step(&self) -> Answer {
        match self.0.call("step".into()).await {
            Ok(_) => Ok(Reply::Observation(Observation::default())),
            Err(message) => Err(Failure::Other(message)),
        }
    }

    fn reset(&self) -> Answer {
        self.0.record(Kind::Reset);
        Ok(Reply::Observation(Observation::default()))
    }
}

impl Environment for HttpFake {
    type Call = Call;
    type Reply = Answer;
    const OVERLAP: Overlap = FakeEnvironment::OVERLAP;

    async fn enter(&self) -> Result<(), BoxError> {
        self.0.enter().await
    }

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::CallTool(call) => self.call_tool(call).await,
            Call::Step(_) => self.step().await,
            Call::Reset(_) => self.reset(),
            Call::Metadata => Ok(Reply::Metadata(Metadata::named("FakeEnvironment"))),
            Call::State => Ok(Reply::State(Map::from_iter([("step_count".to_owned(), Value::from(0))]))),
            Call::ListTools => Ok(Reply::Tools([].into())),
            other @ Call::Tasks(_) => other.unsupported(),
        }
    }

    async fn leave(&self) -> Result<(), BoxError> {
        self.0.leave().await
    }

    async fn close(&self) -> Result<(), BoxError> {
        self.0.close().await
    }
}
