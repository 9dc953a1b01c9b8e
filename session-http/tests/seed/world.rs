//! A server with fakes in it, and a client.

use crate::ended::Ended;
use futures_util::stream;
use session_core::{Config, Control, Sessions, Shutdown, Threads};
use session_http::{About, Exit, OpenEnv, Server, StartError};
use session_testkit::http::RpcClient;
use session_testkit::{FakeBuilder, Fakes, Observation, Record, Recorder, within};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Real time: far more than anything here takes, for what would otherwise hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn two_pinned() -> Threads {
    Threads::Pinned(NonZeroUsize::new(2).unwrap())
}

/// A server that runs.
pub(crate) struct World {
    client: RpcClient,
    running: Running,
}

impl World {
    pub(crate) async fn start(threads: Threads, fakes: FakeBuilder) -> Self {
        Self::start_with(threads, fakes, Config::default()).await
    }

    pub(crate) async fn start_with(threads: Threads, fakes: FakeBuilder, config: Config) -> Self {
        let recorder = Recorder::new();
        let fakes = fakes.recording(&recorder).build();
        let sessions = Sessions::on_threads(config, threads, fakes.over_http());
        let control = sessions.control();
        let observation = recorder.observe(control.subscribe());
        let server = Server::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = server.urls()[0].strip_prefix("http://").unwrap().parse().unwrap();
        let (stop, stopped) = oneshot::channel();
        // A test that failed has dropped its end: then the server stops, too.
        let signals = stream::once(async { stopped.await.unwrap_or(Shutdown::Forced) });
        let service = OpenEnv::new(sessions, About::tools("fake", "FakeEnvironment"));
        let server = tokio::spawn(async { server.serve(service, Box::pin(signals)).await });
        let client = RpcClient::connect(address).await.unwrap();
        Self {
            client,
            running: Running { fakes, control, server, stop: Some(stop), _observation: observation },
        }
    }

    /// Opens sessions, one after the other; their ids.
    pub(crate) async fn open(&mut self, how_many: usize) -> Vec<String> {
        let mut sessions = Vec::new();
        for _ in 0..how_many {
            sessions.push(within(PATIENCE, self.client.create()).await.unwrap().unwrap());
        }
        sessions
    }

    pub(crate) async fn call(&mut self, session: &str) {
        let call = self.client.call(session, "say", serde_json::json!({"text": "hello"}));
        let answer = within(PATIENCE, call).await.unwrap().unwrap();
        assert_eq!(answer["is_error"], false, "{answer}");
    }

    pub(crate) async fn close(&mut self, session: &str) {
        let answer = within(PATIENCE, self.client.close(session)).await.unwrap().unwrap();
        assert_eq!(answer["closed"], true, "{answer}");
    }

    pub(crate) fn fakes(&self) -> &Fakes {
        &self.running.fakes
    }

    /// What has happened so far.
    pub(crate) fn record(&self) -> Record {
        self.running.record()
    }

    /// Asks the server to stop. The client's connection stays open and idle: it must not hold the server up.
    pub(crate) async fn begin_shutdown(mut self) -> ShuttingDown {
        self.running.stop.take().unwrap().send(Shutdown::Graceful).unwrap();
        let mut lifespan = self.running.control.lifespan();
        let left = lifespan.wait_for(|lifespan| *lifespan != session_core::Lifespan::Running);
        within(PATIENCE, left).await.unwrap().unwrap();
        ShuttingDown { running: self.running, _client: self.client }
    }

    pub(crate) async fn shut_down(self) -> Ended {
        self.begin_shutdown().await.ended().await
    }
}

struct Running {
    fakes: Fakes,
    control: Control,
    server: JoinHandle<Result<Exit, StartError>>,
    stop: Option<oneshot::Sender<Shutdown>>,
    _observation: Observation,
}

impl Running {
    fn record(&self) -> Record {
        self.fakes.recorder().record_so_far()
    }
}

/// A server that was told to stop.
pub(crate) struct ShuttingDown {
    running: Running,
    _client: RpcClient,
}

impl ShuttingDown {
    pub(crate) fn recorder(&self) -> &Recorder {
        self.running.fakes.recorder()
    }

    pub(crate) fn record(&self) -> Record {
        self.running.record()
    }

    pub(crate) async fn ended(self) -> Ended {
        let Running { fakes, control, server, _observation, .. } = self.running;
        let exit = within(PATIENCE, server).await.unwrap().unwrap().unwrap();
        fakes.recorder().stopped(PATIENCE).await.unwrap();
        let record = fakes.recorder().record_so_far();
        Ended { record, fakes, control, exit_code: exit.code(), report: exit.sessions }
    }
}
