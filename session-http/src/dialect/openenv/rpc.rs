//! `POST /mcp`: JSON-RPC that opens, uses and closes sessions.

use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use session_core::{CallError, CloseReason, OneShot, OpenError, Refusal, Session};

use super::{Inner, answer, body, new_id};
use crate::body::Body;
use crate::environment::{Answer, Arguments, Call, Failure, Reply, Tool, ToolCall};
use crate::jsonrpc::{self, Error, Unreadable};

type SessionCall = session_core::Call<Call, Answer>;

/// What goes wrong with a request, and why its session is no more, if that is it.
struct Problem {
    error: Error,
    ended: Option<CloseReason>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self { error, ended: None }
    }
}

/// What a request leads to.
enum Said {
    /// A result, written.
    Result(Vec<u8>),
    /// A session, and the answer that tells its id.
    Opened(Session<Call, Answer>, Vec<u8>),
}

/// The members of `params` that mean anything here.
#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Opened<'a> {
    session_id: &'a str,
}

#[derive(Serialize)]
struct Closed<'a> {
    session_id: &'a str,
    closed: bool,
}

#[derive(Serialize)]
struct Tools<'a> {
    tools: Vec<Listed<'a>>,
}

/// A tool with all members of MCP's type, as FastMCP dumps it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    title: (),
    description: &'a str,
    input_schema: &'a Value,
    output_schema: (),
    icons: (),
    annotations: (),
    meta: (),
    execution: (),
}

impl<'a> Listed<'a> {
    fn new(tool: &'a Tool) -> Self {
        Self {
            name: &tool.name,
            title: (),
            description: &tool.description,
            input_schema: &tool.input_schema,
            output_schema: (),
            icons: (),
            annotations: (),
            meta: (),
            execution: (),
        }
    }
}

impl Inner {
    pub(super) async fn rpc(&self, request: Request<Incoming>) -> Response<Body> {
        let body = match body::read(request, self.body_limit).await {
            Ok(body) => body,
            Err(refused) => return refused,
        };
        let request = match jsonrpc::read(&body) {
            Ok(request) => request,
            Err(Unreadable { id, error }) => return ok(Body::full(jsonrpc::error(id, &error))),
        };
        if request.id.is_none() && !is_useful_unheard(&request.method) {
            return answer::empty(StatusCode::ACCEPTED);
        }
        let said = self.dispatch(&request).await;
        if request.id.is_none() {
            return answer::empty(StatusCode::ACCEPTED);
        }
        match said {
            Ok(Said::Result(text)) => ok(Body::full(text)),
            Ok(Said::Opened(session, text)) => ok(Body::or_else(text, move || {
                let _ = session.begin_close(CloseReason::AskerGone);
            })),
            Err(problem) => refused(request.id, &problem),
        }
    }

    async fn dispatch(&self, request: &jsonrpc::Request<'_>) -> Result<Said, Problem> {
        let params = match request.params {
            Some(params) => serde_json::from_str(params.get())
                .map_err(|error| Error::invalid_params(format!("Invalid params: {error}")))?,
            None => Params::default(),
        };
        match &*request.method {
            "openenv/session/create" => self.create(request.id).await,
            "openenv/session/close" => self.close(request.id, &params).await,
            method => {
                // The session is looked up first: an unknown one is told before an unknown method.
                let call = self.session_call(params.session_id)?;
                match method {
                    "tools/list" => self.list_tools(request.id, call).await,
                    "tools/call" => self.call_tool(request.id, call, &params).await,
                    method => Err(Error::method_not_found(method).into()),
                }
            }
        }
    }

    async fn create(&self, id: Option<&RawValue>) -> Result<Said, Problem> {
        let session = self.sessions.open(new_id()).await.map_err(|error| self.not_opened(error))?;
        let text = jsonrpc::result(id, &Opened { session_id: session.id().as_str() });
        Ok(Said::Opened(session, text))
    }

    async fn close(&self, id: Option<&RawValue>, params: &Params<'_>) -> Result<Said, Problem> {
        let required = || Error::invalid_params("Invalid params - 'session_id' is required");
        let session_id = match params.session_id.map(parse) {
            None | Some(Value::Null | Value::Bool(false)) => return Err(required().into()),
            Some(Value::String(text)) if text.is_empty() => return Err(required().into()),
            Some(Value::Number(number)) if number.as_f64() == Some(0.0) => return Err(required().into()),
            Some(Value::Array(_) | Value::Object(_)) => return Err(not_a_string().into()),
            Some(other @ (Value::String(_) | Value::Number(_) | Value::Bool(true))) => answer::shown(&other),
        };
        let refused = |refusal| refusal_of(&refusal, &session_id);
        let session = self.sessions.find(&session_id).map_err(refused)?;
        let closed = session.close().await.map_err(refused)?;
        let said = Closed { session_id: &session_id, closed: !closed.abandoned };
        Ok(Said::Result(jsonrpc::result(id, &said)))
    }

    /// Begins a call on the session that is named; `None` if none is.
    fn session_call(&self, session_id: Option<&RawValue>) -> Result<Option<SessionCall>, Problem> {
        let session_id = match session_id.map(parse) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if !text.is_empty() => text,
            Some(Value::Number(number)) if number.as_f64() != Some(0.0) => number.to_string(),
            Some(_) => return Err(not_a_string().into()),
        };
        let call = self.sessions.begin_call(&session_id);
        call.map(Some).map_err(|refusal| refusal_of(&refusal, &session_id))
    }

    async fn list_tools(&self, id: Option<&RawValue>, call: Option<SessionCall>) -> Result<Said, Problem> {
        let text = match self.ask(call, Call::ListTools).await? {
            Reply::Tools(tools) => {
                jsonrpc::result(id, &Tools { tools: tools.iter().map(Listed::new).collect() })
            }
            Reply::Raw(raw) => jsonrpc::result(id, &raw),
            other => return Err(unfitting(&other, "a list of tools").into()),
        };
        Ok(Said::Result(text))
    }

    async fn call_tool(
        &self,
        id: Option<&RawValue>,
        call: Option<SessionCall>,
        params: &Params<'_>,
    ) -> Result<Said, Problem> {
        let tool = tool_call(params)?;
        let text = match self.ask(call, Call::CallTool(tool)).await? {
            Reply::ToolResult(result) => jsonrpc::result(id, &result),
            Reply::Raw(raw) => jsonrpc::result(id, &raw),
            other => return Err(unfitting(&other, "the result of a tool").into()),
        };
        Ok(Said::Result(text))
    }

    /// Asks the session's environment, or one that is made for this request. Its teardown goes on after the answer.
    async fn ask(&self, call: Option<SessionCall>, what: Call) -> Result<Reply, Problem> {
        let answer = match call {
            Some(call) => call.run(what).await,
            None => {
                let one_shot = self.sessions.open_one_shot(new_id()).await;
                let one_shot: OneShot<_, _> = one_shot.map_err(|error| self.not_opened(error))?;
                one_shot.call(what).await
            }
        };
        let answer = answer.map_err(|error| call_error(&error))?;
        answer.map_err(|failure| failure_error(&failure).into())
    }

    fn not_opened(&self, error: OpenError) -> Problem {
        match error {
            OpenError::Refused(refusal) => refusal_of(&refusal, ""),
            OpenError::Failed { reason: CloseReason::BuildFailed, .. } => {
                let class = &self.about.class;
                let text = format!("Environment factory '{class}' failed to create instance.");
                Error::server(text, json!({ "factory_name": class })).into()
            }
            OpenError::Failed { reason: CloseReason::Shutdown, .. } => refusal_of(&Refusal::Draining, ""),
            OpenError::Failed { message, .. } => Error::server(message, Value::Null).into(),
        }
    }
}

/// Whether a notification can have an effect: a session whose id nobody hears would be of no use to anybody.
fn is_useful_unheard(method: &str) -> bool {
    matches!(method, "tools/call" | "openenv/session/close")
}

fn tool_call(params: &Params<'_>) -> Result<ToolCall, Error> {
    let missing = || Error::invalid_params("Missing 'name' in params");
    let name = match params.name.map(parse) {
        None | Some(Value::Null) => return Err(missing()),
        Some(Value::String(name)) if name.is_empty() => return Err(missing()),
        Some(Value::String(name)) => name,
        Some(_) => return Err(Error::invalid_params("Invalid params - 'name' must be a string")),
    };
    let arguments = Arguments::new(params.arguments);
    let arguments =
        arguments.ok_or_else(|| Error::invalid_params("Invalid params - 'arguments' must be an object"))?;
    Ok(ToolCall { name, arguments })
}

fn not_a_string() -> Error {
    Error::invalid_params("Invalid params - 'session_id' must be a non-empty string")
}

/// A raw value, parsed. It is valid JSON; one that is nested too deeply counts as `null`.
fn parse(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

fn ok(body: Body) -> Response<Body> {
    answer::with_body(StatusCode::OK, body)
}

fn refused(id: Option<&RawValue>, problem: &Problem) -> Response<Body> {
    let mut response = ok(Body::full(jsonrpc::error(id, &problem.error)));
    if let Some(reason) = problem.ended {
        response.headers_mut().insert(answer::SESSION_ENDED, HeaderValue::from_static(reason.as_str()));
    }
    response
}

fn refusal_of(refusal: &Refusal, session_id: &str) -> Problem {
    let unknown = || Error::invalid_params(format!("Unknown session_id: {session_id}"));
    match refusal {
        Refusal::AtCapacity { open, capacity } => {
            let text = format!(
                "Server at capacity: {open}/{capacity} sessions active. Cannot accept new connections."
            );
            Error::server(text, json!({ "active_sessions": open, "max_sessions": capacity })).into()
        }
        Refusal::TooManyOneShots { open, capacity } => {
            Error::server(refusal.to_string(), json!({ "active_requests": open, "max_requests": capacity })).into()
        }
        Refusal::TooManyAbandoned { abandoned, limit } => {
            Error::server(refusal.to_string(), json!({ "abandoned": abandoned, "limit": limit })).into()
        }
        Refusal::Draining => Error::server(refusal.to_string(), json!({ "reason": "draining" })).into(),
        Refusal::DuplicateId => Error::internal(refusal.to_string()).into(),
        Refusal::Unknown => unknown().into(),
        Refusal::StillOpening => {
            let text = format!("Session {session_id} is still initializing; retry shortly");
            Error::invalid_request(text).into()
        }
        Refusal::Closing { reason } | Refusal::Ended { reason } => {
            Problem { error: unknown(), ended: Some(*reason) }
        }
    }
}

fn call_error(error: &CallError) -> Problem {
    match error {
        CallError::Refused(refusal) => refusal_of(refusal, ""),
        CallError::Cut { reason } => {
            Error::server(error.to_string(), json!({ "reason": reason.as_str() })).into()
        }
        CallError::Panicked { .. } | CallError::ExecutorGone => Error::internal(error.to_string()).into(),
    }
}

fn failure_error(failure: &Failure) -> Error {
    match failure {
        Failure::UnknownTool(_)
        | Failure::InvalidArguments(_)
        | Failure::InvalidAction(_)
        | Failure::InvalidIndex => Error::invalid_params(failure.to_string()),
        Failure::Unsupported(_) | Failure::ToolFailed { .. } | Failure::Other(_) => {
            Error::internal(failure.to_string())
        }
    }
}

fn unfitting(reply: &Reply, expected: &str) -> Error {
    Error::internal(format!("the environment's reply is not {expected}: {reply:?}"))
}
