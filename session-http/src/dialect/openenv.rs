//! OpenEnv 0.10 over HTTP: <https://github.com/meta-pytorch/OpenEnv>.
//!
//! Where its own server does what nobody should copy (ids that get lost, plain-text errors on a JSON-RPC endpoint, calls
//! that die under a close), this one does the better thing that its clients understand as well.

mod answer;
mod body;
mod docs;
mod params;
mod rest;
mod route;
mod rpc;
mod tasks;
mod validate;

use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use session_core::{Control, SessionId, Sessions};
use uuid::Uuid;

use self::route::{Found, Route};
use crate::body::Body;
use crate::environment::{About, Answer, Call};

/// Whether clients control episodes over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// They do: `/reset`, `/step` and `/state` are there.
    #[default]
    Simulation,
    /// They don't.
    Production,
}

/// The service that OpenEnv's clients talk to. Cheap to clone.
///
/// `POST /mcp` is JSON-RPC: `openenv/session/create` and `close`, `tools/list` and `tools/call`, with a session or
/// without. `/reset`, `/step`, `/state`, `/metadata` and the task routes build an environment for the one request. Beside
/// OpenEnv's `/health` there are `/livez` (always 200) and `/readyz` (503 as soon as no new session is welcome).
#[derive(Clone, Debug)]
pub struct OpenEnv {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    sessions: Sessions<Call, Answer>,
    about: About,
    mode: Mode,
    body_limit: usize,
    tool_timeout: Duration,
    /// Set by the lame duck: unready, and nothing else.
    has_stepped_back: Arc<AtomicBool>,
}

impl OpenEnv {
    /// Serves these sessions as this environment, in simulation mode, with bodies of at most 64 MiB and tool calls in
    /// steps of at most 30 s.
    #[must_use]
    pub fn new(sessions: Sessions<Call, Answer>, about: About) -> Self {
        let (body_limit, tool_timeout) = (64 << 20, Duration::from_secs(30));
        Self {
            inner: Arc::new(Inner {
                sessions,
                about,
                mode: Mode::default(),
                body_limit,
                tool_timeout,
                has_stepped_back: Arc::default(),
            }),
        }
    }

    /// The same in another mode.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        self.with(|inner| inner.mode = mode)
    }

    /// The same with another limit of a request's body, in bytes.
    #[must_use]
    pub fn body_limit(self, bytes: usize) -> Self {
        self.with(|inner| inner.body_limit = bytes)
    }

    /// The same with another time for tool calls in steps that don't say `timeout_s`.
    #[must_use]
    pub fn tool_timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.tool_timeout = timeout)
    }

    fn with(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match route::find(request.uri().path(), self.inner.mode) {
            // The hot path, without the size of all the others: hyper moves this future for each request.
            Found::Route(Route::Mcp) if request.method() == Method::POST => self.inner.rpc(request).await,
            Found::Route(route) => Box::pin(self.enter(route, request)).await,
            Found::Slash(path) => answer::redirect(&request, path),
            Found::Nothing => answer::detail(StatusCode::NOT_FOUND, "Not Found"),
        }
    }

    async fn enter(&self, route: Route, request: Request<Incoming>) -> Response<Body> {
        let allowed = route.method();
        let is_head = request.method() == Method::HEAD && allowed == Method::GET;
        if request.method() != allowed && !is_head {
            return answer::method_not_allowed(&allowed);
        }
        match (is_head, self.inner.at_once(&route)) {
            // A probe never builds an environment.
            (true, known) => answer::without_body(known.unwrap_or_else(|| answer::json(StatusCode::OK, ""))),
            (false, Some(known)) => known,
            (false, None) => self.inner.take(route, request).await,
        }
    }
}

impl Inner {
    /// What needs no environment and no body.
    fn at_once(&self, route: &Route) -> Option<Response<Body>> {
        match route {
            Route::Health => Some(answer::json(StatusCode::OK, br#"{"status":"healthy"}"#.as_slice())),
            Route::Livez => Some(answer::json(StatusCode::OK, br#"{"status":"alive"}"#.as_slice())),
            Route::Readyz => Some(self.readiness()),
            Route::Schema => Some(self.schema()),
            Route::OpenApi => Some(docs::openapi(self)),
            Route::Docs => Some(docs::page(self)),
            Route::ListEnvironments => Some(answer::value(StatusCode::OK, &[&self.about.name])),
            Route::Mcp | Route::Metadata | Route::Reset | Route::Step | Route::State | Route::Tasks(_, _) => {
                None
            }
        }
    }

    async fn take(&self, route: Route, request: Request<Incoming>) -> Response<Body> {
        match route {
            Route::Mcp => self.rpc(request).await,
            Route::Metadata => self.metadata().await,
            Route::Reset => self.reset(request).await,
            Route::Step => self.step(request).await,
            Route::State => self.state().await,
            Route::Tasks(route, environment) => self.tasks(route, &environment, request).await,
            Route::Health
            | Route::Livez
            | Route::Readyz
            | Route::Schema
            | Route::OpenApi
            | Route::Docs
            | Route::ListEnvironments => answer::detail(StatusCode::NOT_FOUND, "Not Found"), // answered at once
        }
    }
}

impl crate::Service for OpenEnv {
    fn call(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send {
        self.answer(request)
    }

    fn control(&self) -> Control {
        self.inner.sessions.control()
    }

    fn step_back(&self) {
        self.inner.has_stepped_back.store(true, Ordering::Relaxed);
    }
}

/// A name for a new session: 122 bits from the system's random source.
fn new_id() -> SessionId {
    SessionId::from_random(Uuid::new_v4().into_bytes())
}
