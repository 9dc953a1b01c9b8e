//! Answers over HTTP.

use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Body as _;
use serde::Serialize;
use serde_json::{Value, json};
use session_core::{CallError, OpenError, Refusal};

use crate::body::Body;
use crate::environment::{Failure, Invalid};

/// Why a session that was asked for is no more.
pub(super) const SESSION_ENDED: HeaderName = HeaderName::from_static("session-ended");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// After how many seconds a refused client may try again.
const AGAIN: HeaderValue = HeaderValue::from_static("1");

pub(super) fn json(status: StatusCode, body: impl Into<bytes::Bytes>) -> Response<Body> {
    with_body(status, Body::full(body))
}

pub(super) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A value as JSON.
pub(super) fn value(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(body) => json(status, body),
        Err(error) => detail(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// `{"detail": TEXT}`.
pub(super) fn detail(status: StatusCode, text: &str) -> Response<Body> {
    json(status, json!({ "detail": text }).to_string())
}

/// 422 with everything that is wrong.
pub(super) fn invalid(problems: &[Invalid]) -> Response<Body> {
    value(StatusCode::UNPROCESSABLE_ENTITY, &json!({ "detail": problems }))
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The answer to HEAD: the same, with the length of what is left out.
pub(super) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        head.headers.insert(CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Body::empty())
}

pub(super) fn html(page: String) -> Response<Body> {
    let mut response = json(StatusCode::OK, page);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

pub(super) fn method_not_allowed(allowed: &Method) -> Response<Body> {
    let mut response = detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    if let Ok(allowed) = HeaderValue::from_str(allowed.as_str()) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// 307 to this path of the host that was asked.
pub(super) fn redirect<B>(request: &Request<B>, path: &str) -> Response<Body> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let origin = host.map(|host| format!("http://{host}")).unwrap_or_default();
    let mut response = empty(StatusCode::TEMPORARY_REDIRECT);
    // Only what is a URI again: the host is the client's word.
    let target = format!("{origin}{path}{query}").parse::<Uri>().ok();
    if let Some(location) = target.and_then(|target| HeaderValue::from_str(&target.to_string()).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// 503, and when to try again.
pub(super) fn unavailable(text: &str) -> Response<Body> {
    let mut response = detail(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(RETRY_AFTER, AGAIN);
    response
}

/// An environment for one request could not be had.
pub(super) fn not_opened(error: &OpenError) -> Response<Body> {
    match error {
        OpenError::Refused(refusal) => unavailable(&refusal.to_string()),
        OpenError::Failed { reason: session_core::CloseReason::Shutdown, .. } => {
            unavailable(&Refusal::Draining.to_string())
        }
        // What OpenEnv's server answers, to the letter.
        OpenError::Failed { reason: session_core::CloseReason::BuildFailed, .. } => {
            let mut response = json(StatusCode::INTERNAL_SERVER_ERROR, b"Internal Server Error".as_slice());
            let text = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, text);
            response
        }
        OpenError::Failed { message, .. } => detail(StatusCode::INTERNAL_SERVER_ERROR, message),
    }
}

/// A call that has no reply.
pub(super) fn not_called(error: &CallError) -> Response<Body> {
    match error {
        CallError::Refused(_) | CallError::Cut { .. } => unavailable(&error.to_string()),
        CallError::Panicked { .. } | CallError::ExecutorGone => {
            detail(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
        }
    }
}

/// An environment said no.
pub(super) fn failed(failure: &Failure) -> Response<Body> {
    let status = match failure {
        Failure::InvalidAction(problems) => return invalid(problems),
        Failure::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
        Failure::InvalidIndex => StatusCode::BAD_REQUEST,
        Failure::UnknownTool(_) => StatusCode::NOT_FOUND,
        Failure::InvalidArguments(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Failure::ToolFailed { .. } | Failure::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    detail(status, &failure.to_string())
}

/// What an environment answered does not answer the question: its author's mistake.
pub(super) fn unfitting(what: &str) -> Response<Body> {
    detail(StatusCode::INTERNAL_SERVER_ERROR, &format!("the environment's reply is not {what}"))
}

/// The value as it stands in JSON, for texts.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
