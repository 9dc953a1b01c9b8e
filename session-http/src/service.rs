//! What a server serves.

use http::{Request, Response};
use hyper::body::Incoming;
use session_core::Control;

use crate::Body;

/// Answers requests, and knows the sessions behind them. What a [`Server`](crate::Server) serves.
///
/// It is cloned for each request: keep what is in it behind one `Arc`.
pub trait Service: Clone + Send + Sync + 'static {
    /// Answers one request. The future is dropped when the client goes away: whatever must be finished has to run
    /// elsewhere. A panic in it becomes the answer 500 and nothing else.
    fn call(&self, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;

    /// The sessions: the server shuts them down, and reports what became of them.
    fn control(&self) -> Control;

    /// The lame duck begins: from now on the readiness probe fails, and everything else goes on as before. Called once,
    /// before the shutdown begins, if the server has a [`lame_duck`](crate::Server::lame_duck). By default it does
    /// nothing.
    fn step_back(&self) {}
}
