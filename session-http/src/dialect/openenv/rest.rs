//! Routes that build an environment for one request, and those that need none.

use std::sync::atomic::Ordering;

use core::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use serde::Serialize;
use serde_json::{Map, Value, json};
use session_core::{CallError, OpenError};

use super::{Inner, answer, body, new_id, validate};
use crate::body::Body;
use crate::environment::{Action, Call, Failure, Metadata, Observation, Reply, Step, Tool, ToolResult};

/// What keeps a request from its reply.
pub(super) enum Trouble {
    NotOpened(OpenError),
    NotCalled(CallError),
    Failed(Failure),
    TimedOut,
}

impl Trouble {
    pub(super) fn response(&self) -> Response<Body> {
        match self {
            Self::NotOpened(error) => answer::not_opened(error),
            Self::NotCalled(error) => answer::not_called(error),
            Self::Failed(failure) => answer::failed(failure),
            Self::TimedOut => answer::detail(StatusCode::GATEWAY_TIMEOUT, "the step timed out"),
        }
    }
}

impl Inner {
    /// Asks an environment that is made for this request. Its teardown goes on after the answer.
    pub(super) async fn ask_once(&self, what: Call, limit: Duration) -> Result<Reply, Trouble> {
        let one_shot = self.sessions.open_one_shot(new_id()).await.map_err(Trouble::NotOpened)?;
        let answer = tokio::time::timeout(limit, one_shot.call(what)).await.map_err(|_| Trouble::TimedOut)?;
        answer.map_err(Trouble::NotCalled)?.map_err(Trouble::Failed)
    }

    pub(super) fn readiness(&self) -> Response<Body> {
        let status = self.sessions.status();
        if status.ready && !self.has_stepped_back.load(Ordering::Relaxed) {
            return answer::json(StatusCode::OK, br#"{"status":"ready"}"#.as_slice());
        }
        let body = json!({
            "status": "not ready",
            "lifespan": status.lifespan.as_str(),
            "abandoned_sessions": status.books.abandoned,
        });
        answer::value(StatusCode::SERVICE_UNAVAILABLE, &body)
    }

    pub(super) async fn metadata(&self) -> Response<Body> {
        match self.ask_once(Call::Metadata, Duration::MAX).await {
            Ok(Reply::Metadata(metadata)) => answer::value(StatusCode::OK, &metadata),
            Err(Trouble::Failed(Failure::Unsupported(_))) => {
                answer::value(StatusCode::OK, &Metadata::named(&self.about.class))
            }
            Ok(_) => answer::unfitting("metadata"),
            Err(trouble) => trouble.response(),
        }
    }

    pub(super) fn schema(&self) -> Response<Body> {
        let schemas = &self.about.schemas;
        let mut all = json!({
            "action": schemas.action,
            "observation": schemas.observation,
            "state": schemas.state,
        });
        if let (Some(reset), Value::Object(all)) = (&schemas.reset_observation, &mut all) {
            all.insert("reset_observation".into(), reset.clone());
        }
        answer::value(StatusCode::OK, &all)
    }

    pub(super) async fn state(&self) -> Response<Body> {
        match self.ask_once(Call::State, Duration::MAX).await {
            Ok(Reply::State(state)) => answer::value(StatusCode::OK, &state),
            Ok(_) => answer::unfitting("a state"),
            Err(trouble) => trouble.response(),
        }
    }

    pub(super) async fn reset(&self, request: Request<Incoming>) -> Response<Body> {
        let headers = request.headers().clone();
        let body = match body::read(request, self.body_limit).await {
            Ok(body) => validate::object(&headers, &body),
            Err(refused) => return refused,
        };
        let reset = match body.and_then(|body| validate::reset(body.unwrap_or_default())) {
            Ok(reset) => reset,
            Err(problems) => return answer::invalid(&problems),
        };
        match self.ask_once(Call::Reset(reset), Duration::MAX).await {
            Ok(Reply::Observation(observation)) => answer::value(StatusCode::OK, &Episode::of(&observation)),
            Ok(_) => answer::unfitting("an observation"),
            Err(trouble) => trouble.response(),
        }
    }

    pub(super) async fn step(&self, request: Request<Incoming>) -> Response<Body> {
        let headers = request.headers().clone();
        let body = match body::read(request, self.body_limit).await {
            Ok(body) => validate::object(&headers, &body),
            Err(refused) => return refused,
        };
        let step = body.and_then(|body| match body {
            Some(body) => validate::step(body, self.about.action),
            None => Err(validate::no_body()),
        });
        match step {
            Ok((step, timeout)) => self.take_step(step, timeout).await,
            Err(problems) => answer::invalid(&problems),
        }
    }

    /// A tool that fails is an observation, too.
    async fn take_step(&self, step: Step, timeout: Option<Duration>) -> Response<Body> {
        let tool = match &step.action {
            Action::CallTool(call) => Some(call.name.clone()),
            Action::ListTools | Action::Typed(_) => None,
        };
        let limit = timeout.unwrap_or_else(|| if tool.is_some() { self.tool_timeout } else { Duration::MAX });
        match (self.ask_once(Call::Step(step), limit).await, tool) {
            (Ok(reply), tool) => stepped(&reply, tool.as_deref()),
            (Err(Trouble::TimedOut), Some(tool)) => {
                let text = format!("Tool '{tool}' timed out after {:?} seconds", limit.as_secs_f64());
                tool_error(&tool, "timeout", &text)
            }
            (Err(Trouble::Failed(failure)), Some(tool)) => tool_failed(&tool, &failure),
            (Err(trouble), _) => trouble.response(),
        }
    }
}

fn stepped(reply: &Reply, tool: Option<&str>) -> Response<Body> {
    match reply {
        Reply::Observation(observation) => answer::value(StatusCode::OK, &Episode::of(observation)),
        Reply::Tools(tools) => answer::value(StatusCode::OK, &Episode::of(&tools_observation(tools))),
        Reply::ToolResult(result) => match tool_observation(tool.unwrap_or_default(), result) {
            Ok(observation) => answer::value(StatusCode::OK, &Episode::of(&observation)),
            Err(failure) => answer::failed(&failure),
        },
        Reply::Metadata(_) | Reply::State(_) | Reply::Tasks(_) | Reply::Raw(_) => {
            answer::unfitting("an observation")
        }
    }
}

/// Exactly these three members: clients refuse any other.
fn tools_observation(tools: &[Tool]) -> Observation {
    let listed = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        })
    });
    let fields = Map::from_iter([("tools".to_owned(), listed.collect())]);
    Observation { fields, ..Observation::default() }
}

fn tool_observation(tool: &str, result: &ToolResult) -> Result<Observation, Failure> {
    let result = serde_json::to_value(result).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(outcome(tool, result, Value::Null))
}

fn outcome(tool: &str, result: Value, error: Value) -> Observation {
    let fields = [("tool_name", tool.into()), ("result", result), ("error", error)];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Observation { fields, ..Observation::default() }
}

fn tool_failed(tool: &str, failure: &Failure) -> Response<Body> {
    let kind = match failure {
        Failure::UnknownTool(_) => "tool_not_found",
        Failure::InvalidArguments(_) => "invalid_args",
        Failure::ToolFailed { .. } | Failure::Other(_) => "execution_error",
        Failure::Unsupported(_) | Failure::InvalidAction(_) | Failure::InvalidIndex => {
            return answer::failed(failure);
        }
    };
    tool_error(tool, kind, &failure.to_string())
}

fn tool_error(tool: &str, kind: &str, message: &str) -> Response<Body> {
    let error = json!({ "error_type": kind, "message": message });
    answer::value(StatusCode::OK, &Episode::of(&outcome(tool, Value::Null, error)))
}

/// What `/reset` and `/step` answer.
#[derive(Serialize)]
struct Episode<'a> {
    observation: crate::environment::Shown<'a>,
    reward: Option<f64>,
    done: bool,
    /// `null` rather than empty.
    metadata: Option<&'a Map<String, Value>>,
}

impl<'a> Episode<'a> {
    fn of(observation: &'a Observation) -> Self {
        let reward = observation.reward.as_ref().and_then(|reward| match reward {
            Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
            Value::Number(number) => number.as_f64(),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        });
        let metadata = (!observation.metadata.is_empty()).then_some(&observation.metadata);
        Self { observation: observation.shown(), reward, done: observation.done, metadata }
    }
}
