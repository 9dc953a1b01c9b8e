//! Start-up hooks and listeners.

use session_core::Shutdown;
use session_http::{Server, StartError};
use tokio::net::TcpStream;

use crate::app::{App, Running, stuck};
use crate::client::Client;

#[tokio::test]
async fn a_hook_that_fails_ends_the_start_before_anything_is_served_and_closes_what_it_opened() {
    let app = App::new();
    let hooked = app.clone();
    let running = Running::start(&app, |server| {
        server.on_start(async move {
            hooked.open("early").await;
            Err("no database".into())
        })
    })
    .await;
    let address = running.address.clone();
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "start-up failed: no database");
    assert!(matches!(error, StartError::Hook(_)));
    assert_eq!(app.sessions.status().books.open, 0);
    TcpStream::connect(address).await.expect_err("the listener is gone");
}

#[tokio::test]
async fn hooks_run_in_order_before_the_first_answer() {
    let app = App::new();
    let (first, second) = (app.arrived.clone(), app.arrived.clone());
    let running = Running::start(&app, |server| {
        let server = server.on_start(async move {
            first.add_permits(1);
            Ok(())
        });
        server.on_start(async move {
            second.try_acquire().map_err(|_| "the first has not run")?.forget();
            Ok(())
        })
    })
    .await;
    assert_eq!(running.client().await.get("/health").await.status, 200);
    assert_eq!(running.end().await.code(), 0);
}

#[tokio::test]
async fn a_hook_that_panics_fails_the_start_and_closes_what_was_opened() {
    let app = App::new();
    let hooked = app.clone();
    let running = Running::start(&app, |server| {
        server.on_start(async move {
            hooked.open("early").await;
            panic!("no luck")
        })
    })
    .await;
    let error = running.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "start-up failed: a hook panicked: no luck");
    assert_eq!(app.sessions.status().books.open, 0);
}

#[tokio::test]
async fn a_signal_ends_a_start_that_hangs_and_nobody_is_answered() {
    let app = App::new();
    let an_hour = std::time::Duration::from_secs(3600);
    let running = Running::start(&app, |server| server.lame_duck(an_hour).on_start(stuck())).await;
    let mut early = running.client().await;
    early.ask("/health").await;
    running.signal(Shutdown::Graceful);
    let exit = running.ended().await.unwrap();
    assert_eq!((exit.code(), exit.connections.served), (0, 0));
    assert!(early.closed().await.is_empty());
}

#[tokio::test]
async fn a_server_without_a_listener_does_not_start() {
    let signals = futures_util::stream::pending();
    let error = Server::new().serve(App::new(), signals).await.unwrap_err();
    assert!(matches!(error, StartError::NoListener));
}

#[tokio::test]
async fn a_taken_port_says_which() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = Server::bind(&address).await.unwrap_err();
    assert!(error.to_string().contains(&address), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn several_listeners_serve_the_same_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let unix = tokio::net::UnixListener::bind(&path).unwrap();
    let app = App::new();
    let running = Running::start(&app, |server| server.listen(unix)).await;
    assert_eq!(running.client().await.get("/health").await.status, 200);
    let mut other = Client::over(tokio::net::UnixStream::connect(&path).await.unwrap());
    assert_eq!(other.get("/health").await.status, 200);
    assert_eq!(running.end().await.connections.served, 2);
}
