//! `POST /mcp`: JSON-RPC that opens, uses and closes sessions.

use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use session_core::{CallError, CloseReason, OpenError, Refusal, Session};

use super::params::Params;
use super::{Inner, answer, body, new_id};
use crate::body::Body;
use crate::environment::{Answer, Arguments, Call, Failure, Reply, Tool, ToolCall};
use crate::jsonrpc::{self, Error, Unreadable};

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
        let params = Params::read(request.params);
        let wanted = match &*request.method {
            "openenv/session/create" => return Box::pin(self.create(request.id)).await,
            "openenv/session/close" => return Box::pin(self.close(request.id, &params)).await,
            "tools/list" => Ok(Call::ListTools),
            "tools/call" => tool_call(&params).map(Call::CallTool),
            method => Err(Error::method_not_found(method)),
        };
        let session_id = named_session(&params)?;
        match wanted {
            Ok(call) => self.ask(request.id, session_id, call).await,
            // An unknown session is told before anything else that is wrong. No call is begun for a request that can't
            // be one: it would renew the session's idle clock.
            Err(error) => {
                if let Some(id) = session_id {
                    self.sessions.find(&id).map_err(|refusal| refusal_of(&refusal, &id))?;
                }
                Err(error.into())
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
        if let Err(refusal @ Refusal::StillOpening) = session.begin_call().map(drop) {
            return Err(refused(refusal)); // as OpenEnv has it; only who opens it can give it up
        }
        let closed = session.close().await.map_err(refused)?;
        let said = Closed { session_id: &session_id, closed: !closed.abandoned };
        Ok(Said::Result(jsonrpc::result(id, &said)))
    }

    /// Asks the session's environment, or one that is made for this request. Its teardown goes on after the answer.
    async fn ask(
        &self,
        id: Option<&RawValue>,
        session_id: Option<String>,
        call: Call,
    ) -> Result<Said, Problem> {
        let lists = matches!(call, Call::ListTools);
        let answer = match session_id {
            Some(name) => {
                let begun = self.sessions.begin_call(&name).map_err(|refusal| refusal_of(&refusal, &name))?;
                begun.run(call).await
            }
            None => {
                let one_shot = Box::pin(self.sessions.open_one_shot(new_id())).await;
                Box::pin(one_shot.map_err(|error| self.not_opened(error))?.call(call)).await
            }
        };
        let reply = answer.map_err(|error| call_error(&error))?.map_err(|failure| failure_error(&failure))?;
        match reply {
            Reply::Tools(tools) if lists => {
                let tools = tools.iter().map(Listed::new).collect();
                Ok(Said::Result(jsonrpc::result(id, &Tools { tools })))
            }
            Reply::ToolResult(result) if !lists => Ok(Said::Result(jsonrpc::result(id, &result))),
            Reply::Raw(raw) => Ok(Said::Result(jsonrpc::result(id, &raw))),
            other @ (Reply::Metadata(_)
            | Reply::Tools(_)
            | Reply::ToolResult(_)
            | Reply::Observation(_)
            | Reply::State(_)
            | Reply::Tasks(_)) => {
                Err(Error::internal(format!("the environment's reply does not fit: {other:?}")).into())
            }
        }
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
    Ok(ToolCall { name, arguments: Arguments::new(params.arguments) })
}

/// The session that a request names, if it names one.
fn named_session(params: &Params<'_>) -> Result<Option<String>, Error> {
    match params.session_id.map(parse) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(Value::Number(number)) if number.as_f64() != Some(0.0) => Ok(Some(number.to_string())),
        Some(Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(not_a_string())
        }
    }
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
            Error::server(refusal.to_string(), json!({ "active_requests": open, "max_requests": capacity }))
                .into()
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
        CallError::Refused(refusal) => Error::server(refusal.to_string(), Value::Null).into(),
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
