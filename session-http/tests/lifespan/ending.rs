//! The six steps of the end, in order.

use std::sync::atomic::Ordering;
use std::time::Duration;

use session_core::{CloseReason, Lifespan, Shutdown};
use session_http::Limits;
use tokio::net::TcpStream;

use crate::app::{App, Running};

const LONG: Duration = Duration::from_secs(600);
const CREATE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"openenv/session/create","params":{}}"#;

#[tokio::test]
async fn from_draining_on_it_is_unready_and_refuses_to_open_while_it_still_answers() {
    let app = App::new();
    let running = Running::start(&app, |server| server).await;
    let in_flight = app.open("busy").await.begin_call().unwrap();
    assert_eq!(running.client().await.get("/readyz").await.status, 200);
    running.signal(Shutdown::Graceful);
    app.is_at(Lifespan::Draining).await;
    let mut late = running.client().await;
    assert_eq!(late.get("/readyz").await.status, 503);
    assert_eq!(late.get("/livez").await.status, 200);
    assert_eq!(late.get("/health").await.status, 200);
    let refused = late.post("/mcp", CREATE).await;
    assert!(refused.body.contains("error"), "{refused:?}");
    drop(in_flight);
    let exit = running.ended().await.unwrap();
    assert_eq!(exit.code(), 0);
    assert_eq!(exit.sessions.closed, [(CloseReason::Shutdown, 1)].into());
}

#[tokio::test]
async fn an_answer_in_flight_is_delivered_after_the_sessions_have_stopped() {
    let app = App::new();
    let limits = Limits { connection_drain: LONG, ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let mut client = running.client().await;
    client.ask("/held").await;
    app.has_arrived().await;
    running.signal(Shutdown::Graceful);
    app.is_at(Lifespan::Stopped).await;
    app.release.add_permits(1);
    assert_eq!(client.reply().await.body, "released");
    let exit = running.ended().await.unwrap();
    assert_eq!((exit.connections.served, exit.connections.cut), (1, 0));
    client.closed().await;
}

#[tokio::test]
async fn idle_and_silent_connections_do_not_delay_the_end() {
    let app = App::new();
    let limits = Limits { connection_drain: LONG, header_timeout: LONG, ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let silent = running.client().await;
    let mut idle = running.client().await;
    assert_eq!(idle.get("/health").await.status, 200);
    let address = running.address.clone();
    let exit = tokio::time::timeout(LONG / 20, running.end()).await.unwrap();
    assert_eq!((exit.connections.served, exit.connections.cut), (2, 0));
    idle.closed().await;
    drop(silent);
    TcpStream::connect(address).await.expect_err("the listener is gone");
}

#[tokio::test]
async fn an_answer_that_never_comes_is_cut_at_the_deadline_and_counted() {
    let app = App::new();
    let limits = Limits { connection_drain: Duration::from_millis(50), ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let mut client = running.client().await;
    client.ask("/held").await;
    app.has_arrived().await;
    let exit = running.end().await;
    assert_eq!((exit.code(), exit.connections.cut), (0, 1));
    client.closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_its_thread_does_not_keep_the_server_from_ending() {
    let app = App::new();
    let limits = Limits { connection_drain: Duration::from_millis(50), ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let mut client = running.client().await;
    client.ask("/block").await;
    app.has_arrived().await;
    let exit = tokio::time::timeout(LONG / 20, running.end()).await;
    app.release.add_permits(1);
    assert_eq!(exit.unwrap().connections.cut, 1);
}

#[tokio::test]
async fn a_further_signal_cuts_connections_that_are_waited_for() {
    let app = App::new();
    let limits = Limits { connection_drain: LONG, ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let mut client = running.client().await;
    client.ask("/held").await;
    app.has_arrived().await;
    running.signal(Shutdown::Graceful);
    app.is_at(Lifespan::Stopped).await;
    running.signal(Shutdown::Graceful);
    assert_eq!(running.ended().await.unwrap().connections.cut, 1);
}

#[tokio::test]
async fn a_second_signal_forces() {
    let app = App::new();
    let running = Running::start(&app, |server| server).await;
    let in_flight = app.open("busy").await.begin_call().unwrap();
    running.signal(Shutdown::Graceful);
    app.is_at(Lifespan::Draining).await;
    running.signal(Shutdown::Graceful);
    let exit = running.ended().await.unwrap();
    assert!(exit.sessions.forced);
    assert!(exit.to_string().starts_with("forced shutdown took"), "{exit}");
    drop(in_flight);
}

#[tokio::test]
async fn during_the_lame_duck_it_opens_sessions_still_and_a_second_signal_ends_it() {
    let app = App::new();
    let running = Running::start(&app, |server| server.lame_duck(LONG)).await;
    let mut client = running.client().await;
    client.ask("/held").await;
    app.has_arrived().await;
    running.signal(Shutdown::Graceful);
    app.release.add_permits(1);
    client.reply().await;
    while !app.stepped_back.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    assert_eq!(app.sessions.status().lifespan, Lifespan::Running);
    let created = client.post("/mcp", CREATE).await;
    assert!(created.body.contains("session_id"), "{created:?}");
    running.signal(Shutdown::Graceful);
    let exit = running.ended().await.unwrap();
    assert!(exit.sessions.forced);
    assert_eq!((exit.code(), exit.sessions.sessions.len()), (0, 1));
}

#[tokio::test]
async fn a_shutdown_that_somebody_else_began_ends_the_server_without_a_lame_duck() {
    let app = App::new();
    let running = Running::start(&app, |server| server.lame_duck(LONG)).await;
    assert_eq!(running.client().await.get("/health").await.status, 200);
    app.sessions.shutdown(Shutdown::Graceful).await;
    assert_eq!(running.ended().await.unwrap().code(), 0);
}
