//! The lifespan wrapper: start, serve, and end in order.

use core::fmt;
use core::future::pending;
use core::panic::AssertUnwindSafe;
use core::pin::{Pin, pin};
use core::time::Duration;
use std::io;

use futures_util::FutureExt;
use futures_util::stream::{FusedStream, Stream, StreamExt};
use session_core::{BoxError, Control, Lifespan, Shutdown, ShutdownReport};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::panic_text;
use crate::lifespan::accept::Accepting;
use crate::lifespan::budget::Budget;
use crate::lifespan::exit::{ConnectionReport, Exit};
use crate::lifespan::log;
use crate::listener::{self, AnyListener};
use crate::{Limits, Listener, Service};

type Hook = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// Runs a [`Service`] from the start to the exit.
///
/// At the end it does, in this order and each within its time:
/// 1. it is no longer ready: the readiness probe fails, no session is opened, and whoever asks is told why (before
///    that, during the [`lame_duck`](Self::lame_duck), only the probe fails);
/// 2. calls in flight may finish;
/// 3. every session is closed;
/// 4. shared executors stop;
/// 5. answers in flight are delivered, idle connections are closed, the listeners go;
/// 6. the report.
///
/// Until step 5 connections are accepted and requests answered, so that probes and late clients hear the truth.
///
/// ```no_run
/// # async fn example(service: impl session_http::Service) -> Result<(), Box<dyn std::error::Error>> {
/// use session_http::{Server, signals};
///
/// let exit = Server::bind("127.0.0.1:8000").await?.serve(service, signals()?).await?;
/// assert_eq!(exit.code(), 0, "{exit}");
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "a server does nothing until `serve`"]
pub struct Server {
    listeners: Vec<Box<dyn AnyListener>>,
    limits: Limits,
    lame_duck: Duration,
    hooks: Vec<Hook>,
}

/// Why a server did not start. Nothing was served.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}")]
    Bind {
        /// What was asked for.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// There is no listener.
    #[error("the server has no listener")]
    NoListener,
    /// A start-up hook failed or panicked. Sessions that it opened are closed again.
    #[error("start-up failed: {0}")]
    Hook(#[source] BoxError),
}

impl Server {
    /// A server without a listener.
    pub fn new() -> Self {
        Self::default()
    }

    /// A server that listens on a TCP address, such as `127.0.0.1:8000` or `[::]:8000`; port 0 is any free one.
    ///
    /// # Errors
    /// The address can't be had.
    pub async fn bind(address: &str) -> Result<Self, StartError> {
        Ok(Self::new().listen(listener::bind(address).await?))
    }

    /// Listens here too.
    pub fn listen(mut self, listener: impl Listener) -> Self {
        self.listeners.push(Box::new(listener));
        self
    }

    /// The limits of connections. Default: [`Limits::default`].
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs before anything is served, after the hooks given earlier. If it fails or panics, the server does not start; if
    /// the shutdown is asked for meanwhile, it is dropped and nothing is served.
    pub fn on_start(mut self, hook: impl Future<Output = Result<(), BoxError>> + Send + 'static) -> Self {
        self.hooks.push(Box::pin(hook));
        self
    }

    /// How long to serve on, unready, before the shutdown begins: the time that a load balancer needs to notice.
    /// Default: none. A second signal ends it.
    pub const fn lame_duck(mut self, lame_duck: Duration) -> Self {
        self.lame_duck = lame_duck;
        self
    }

    /// Where it listens, as URLs.
    pub fn urls(&self) -> Vec<String> {
        self.listeners.iter().map(|listener| listener.url()).collect()
    }

    /// Starts, serves until the first item of `signals` (or until somebody else shuts the sessions down), and ends. A
    /// further item makes it a forced shutdown. A stream that ends asks for nothing.
    ///
    /// Not cancel safe: dropped, it cuts every connection, and the sessions end only with the last handle to them.
    ///
    /// # Errors
    /// It did not start. A hook that fails does so after every session is closed again.
    pub async fn serve<S, G>(self, service: S, signals: G) -> Result<Exit, StartError>
    where
        S: Service,
        G: Stream<Item = Shutdown> + Send,
    {
        if self.listeners.is_empty() {
            return Err(StartError::NoListener);
        }
        let (urls, control) = (self.urls(), service.control());
        let budget = Budget::of(&self.limits, self.lame_duck, control.worst_case_shutdown());
        let mut log = Following(tokio::spawn(log::follow(control.subscribe(), control.clone())));
        let mut signals = pin!(signals.fuse());
        let exit = match start(self.hooks, signals.as_mut()).await {
            Ok(Started::Ready) => {
                let accepting = Accepting::begin(self.listeners, &service, self.limits);
                for url in urls {
                    tracing::info!("listening on {url}");
                }
                tracing::info!("{budget}");
                let asked = until_asked(signals.as_mut(), &control).await;
                Ok(end(&service, asked, &budget, accepting, signals).await)
            }
            // What has not started up must not answer anybody.
            Ok(Started::Called(how)) => {
                let began = Instant::now();
                let sessions = stop(&control, how, signals).await;
                Ok(Exit { sessions, connections: ConnectionReport::default(), took: began.elapsed() })
            }
            Err(error) => {
                let _ = stop(&control, Shutdown::Graceful, signals).await;
                Err(StartError::Hook(error))
            }
        };
        log.rest().await;
        exit
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut server = f.debug_struct("Server");
        server.field("urls", &self.urls()).field("limits", &self.limits).field("lame_duck", &self.lame_duck);
        server.field("hooks", &self.hooks.len()).finish()
    }
}

/// How the start went.
enum Started {
    Ready,
    /// The end was asked for meanwhile.
    Called(Shutdown),
}

async fn start<G>(hooks: Vec<Hook>, signals: Pin<&mut G>) -> Result<Started, BoxError>
where
    G: FusedStream<Item = Shutdown>,
{
    tokio::select! {
        biased;
        how = next(signals) => Ok(Started::Called(how)),
        ran = run_all(hooks) => ran.map(|()| Started::Ready),
    }
}

/// Runs the hooks one after the other. A panic is a failure: unwinding from here would leave sessions open.
async fn run_all(hooks: Vec<Hook>) -> Result<(), BoxError> {
    for hook in hooks {
        match AssertUnwindSafe(hook).catch_unwind().await {
            Ok(ran) => ran?,
            Err(panic) => return Err(format!("a hook panicked: {}", panic_text(panic.as_ref())).into()),
        }
    }
    Ok(())
}

/// The next signal. Cancel safe.
async fn next<G: FusedStream<Item = Shutdown>>(mut signals: Pin<&mut G>) -> Shutdown {
    match signals.next().await {
        Some(how) => how,
        None => pending().await,
    }
}

/// Who wants the end.
enum Asked {
    Signal(Shutdown),
    /// Whoever else has the sessions: they are ending already.
    Elsewhere,
}

/// Waits until somebody wants the end. Cancel safe.
async fn until_asked<G: FusedStream<Item = Shutdown>>(signals: Pin<&mut G>, control: &Control) -> Asked {
    let mut lifespan = control.lifespan();
    tokio::select! {
        how = next(signals) => Asked::Signal(how),
        _ = lifespan.wait_for(|lifespan| *lifespan != Lifespan::Running) => Asked::Elsewhere,
    }
}

/// Ends every session. A signal meanwhile makes it urgent.
async fn stop<G>(control: &Control, how: Shutdown, mut signals: Pin<&mut G>) -> ShutdownReport
where
    G: FusedStream<Item = Shutdown>,
{
    control.begin_shutdown(how);
    loop {
        tokio::select! {
            report = control.stopped() => return report,
            _ = next(signals.as_mut()) => control.begin_shutdown(Shutdown::Forced),
        }
    }
}

/// The end has been asked for: the six steps.
async fn end<S, G>(
    service: &S,
    asked: Asked,
    budget: &Budget,
    accepting: Accepting,
    mut signals: Pin<&mut G>,
) -> Exit
where
    S: Service,
    G: FusedStream<Item = Shutdown>,
{
    let (control, began) = (service.control(), Instant::now());
    let how = match asked {
        Asked::Signal(Shutdown::Graceful) if !budget.lame_duck.is_zero() => {
            service.step_back();
            // Only now: whoever reads it may ask at once.
            tracing::info!(lame_duck = ?budget.lame_duck, "unready, and serving on");
            tokio::select! {
                () = sleep(budget.lame_duck) => Shutdown::Graceful,
                asked = until_asked(signals.as_mut(), &control) => match asked {
                    Asked::Signal(_) => Shutdown::Forced,
                    Asked::Elsewhere => Shutdown::Graceful,
                },
            }
        }
        Asked::Signal(how) => how,
        Asked::Elsewhere => Shutdown::Graceful,
    };
    let sessions = stop(&control, how, signals.as_mut()).await;
    let until = async {
        tokio::select! {
            () = sleep(budget.connections) => {}
            _ = next(signals) => {}
        }
    };
    let connections = accepting.finish(until).await;
    Exit { sessions, connections, took: began.elapsed() }
}

/// The log's task; ends with the server's.
struct Following(JoinHandle<()>);

/// How long the log may take for what it has not written yet.
const LOG_REST: Duration = Duration::from_secs(1);

impl Following {
    /// Lets it write what has happened until now.
    async fn rest(&mut self) {
        // Too late or panicked: then the log lacks some lines, and the report has them all.
        let _ = timeout(LOG_REST, &mut self.0).await;
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}
