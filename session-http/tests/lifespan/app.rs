//! A server under test, and a service with a handler that can be held and one that panics.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use http::{Request, Response};
use hyper::body::Incoming;
use session_core::{BoxError, Config, Control, Lifespan, SessionId, Sessions, Shutdown};
use session_http::{Answer, Body, Call, EchoEnvironment, Exit, OpenEnv, Server, Service, StartError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::client::Client;

/// OpenEnv's routes, and `/held` (answers once released), `/panic`, and `/block` (holds its thread until released).
#[derive(Clone)]
pub(crate) struct App {
    openenv: OpenEnv,
    pub(crate) sessions: Sessions<Call, Answer>,
    /// Gets a permit for each request that arrived at `/held`.
    pub(crate) arrived: Arc<Semaphore>,
    /// Each permit lets one of them go.
    pub(crate) release: Arc<Semaphore>,
    pub(crate) stepped_back: Arc<AtomicBool>,
}

impl App {
    pub(crate) fn new() -> Self {
        let build = |_: &SessionId| Ok::<_, BoxError>(EchoEnvironment::new());
        Self::over(Sessions::as_tasks(Config::default(), build))
    }

    pub(crate) fn over(sessions: Sessions<Call, Answer>) -> Self {
        Self {
            openenv: OpenEnv::new(sessions.clone(), EchoEnvironment::about()),
            sessions,
            arrived: Arc::new(Semaphore::new(0)),
            release: Arc::new(Semaphore::new(0)),
            stepped_back: Arc::default(),
        }
    }

    pub(crate) async fn open(&self, id: &str) -> session_core::Session<Call, Answer> {
        self.sessions.open(SessionId::new(id).unwrap()).await.unwrap()
    }

    /// Waits until a request is inside `/held`.
    pub(crate) async fn has_arrived(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    pub(crate) async fn is_at(&self, at: Lifespan) {
        self.sessions.lifespan().wait_for(|lifespan| *lifespan >= at).await.unwrap();
    }
}

impl Service for App {
    async fn call(&self, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            "/panic" => panic!("the handler's own words"),
            "/held" => {
                self.arrived.add_permits(1);
                self.release.acquire().await.unwrap().forget();
                Response::new(Body::full("released"))
            }
            "/block" => {
                self.arrived.add_permits(1);
                while self.release.try_acquire().is_err() {
                    std::thread::park_timeout(Duration::from_millis(1));
                }
                Response::new(Body::full("released"))
            }
            _ => self.openenv.call(request).await,
        }
    }

    fn control(&self) -> Control {
        self.sessions.control()
    }

    fn step_back(&self) {
        self.stepped_back.store(true, Ordering::SeqCst);
    }
}

/// A server that runs in the background.
pub(crate) struct Running {
    pub(crate) address: String,
    signals: mpsc::UnboundedSender<Shutdown>,
    serving: JoinHandle<Result<Exit, StartError>>,
}

impl Running {
    /// Serves on a free port, with what `settings` makes of the server.
    pub(crate) async fn start(app: &App, settings: impl FnOnce(Server) -> Server) -> Self {
        let server = settings(Server::bind("127.0.0.1:0").await.unwrap());
        let address = server.urls()[0].strip_prefix("http://").unwrap().to_owned();
        let (signals, heard) = mpsc::unbounded_channel();
        let serving = tokio::spawn(server.serve(app.clone(), stream_of(heard)));
        Self { address, signals, serving }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.address).await
    }

    pub(crate) fn signal(&self, how: Shutdown) {
        self.signals.send(how).unwrap();
    }

    /// What it said at its end, without a signal.
    pub(crate) async fn ended(self) -> Result<Exit, StartError> {
        self.serving.await.unwrap()
    }

    /// Asks for the end, and waits for it.
    pub(crate) async fn end(self) -> Exit {
        self.signal(Shutdown::Graceful);
        self.ended().await.unwrap()
    }
}

fn stream_of(heard: mpsc::UnboundedReceiver<Shutdown>) -> impl Stream<Item = Shutdown> + Send {
    stream::unfold(heard, |mut heard| async {
        let next = heard.recv().await;
        next.map(|how| (how, heard))
    })
}

/// A hook that never ends.
pub(crate) fn stuck() -> impl Future<Output = Result<(), BoxError>> + Send {
    pending()
}
