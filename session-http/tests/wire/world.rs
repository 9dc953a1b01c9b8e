//! A server with the built-in environment on a free port.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream;
use serde_json::{Value, json};
use session_core::{Config, ConfigBuilder, Control, SessionId, Sessions, Shutdown, Threads};
use session_http::{EchoEnvironment, Exit, OpenEnv, Server, Service};
use session_testkit::http::{Client, RpcClient};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) control: Control,
    signal: oneshot::Sender<()>,
    serving: JoinHandle<Exit>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|config| config, |service| service).await
    }

    pub(crate) async fn with(
        config: impl FnOnce(ConfigBuilder) -> ConfigBuilder,
        service: impl FnOnce(OpenEnv) -> OpenEnv,
    ) -> Self {
        let config = config(Config::builder()).build().unwrap();
        let factory = |_: &SessionId| Ok(EchoEnvironment::new());
        let sessions = Sessions::on_threads(config, Threads::Shared, factory);
        let service = service(OpenEnv::new(sessions, EchoEnvironment::about()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, control) = (listener.local_addr().unwrap(), service.control());
        let (signal, signalled) = oneshot::channel();
        let signals = Box::pin(stream::once(async {
            let _ = signalled.await;
            Shutdown::Graceful
        }));
        let server = Server::new().listen(listener);
        let serving = tokio::spawn(async move { server.serve(service, signals).await.unwrap() });
        Self { address, control, signal, serving }
    }

    pub(crate) async fn http(&self) -> Client {
        Client::connect(self.address).await.unwrap()
    }

    pub(crate) async fn rpc(&self) -> RpcClient {
        RpcClient::connect(self.address).await.unwrap()
    }

    /// Begins the end, waits for it, and checks that nothing is left.
    pub(crate) async fn end(self) {
        drop(self.exit().await);
    }

    /// The same, and how it ended.
    pub(crate) async fn exit(self) -> Exit {
        let _ = self.signal.send(());
        let exit = tokio::time::timeout(Duration::from_secs(20), self.serving).await.unwrap().unwrap();
        assert_eq!(exit.code(), 0, "{exit}");
        let books = self.control.status().books;
        assert_eq!((books.open, books.one_shots, books.executors), (0, 0, 0), "{books:?}");
        exit
    }
}

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
