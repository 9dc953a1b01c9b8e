//! Fakes behave as told, and record the truth about it. No driver here: the calls are made by hand.

use session_core::{BoxError, Environment, Factory, SessionId};
use session_testkit::{
    Behaviour, ClientState, FakeEnvironment, FakeMcpClient, Fakes, Gate, Kind, Recorder, Stage,
};
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn text(result: Result<(), BoxError>) -> String {
    result.unwrap_err().to_string()
}

/// A whole life, as the driver leads it.
async fn live(fakes: &Fakes, name: &str) {
    let environment = fakes.build(&id(name)).unwrap();
    environment.enter().await.unwrap();
    assert_eq!(environment.call("hello".into()).await, Ok("hello".into()));
    environment.leave().await.unwrap();
    if environment.close().await.is_err() {
        environment.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_fake_that_was_told_nothing_lives_a_good_life() {
    let fakes = FakeEnvironment::builder().build();
    live(&fakes, "a").await;
    let record = fakes.recorder().record_so_far();
    record.assert_closed_once("a").assert_context_left_once("a").assert_order("a").assert_one_thread("a");
    record.assert_count("a", Kind::Dropped, 1).assert_count("a", Kind::CallEnd, 1);
    assert_eq!(fakes.count(ClientState::Disconnected), 1);
}

#[tokio::test]
async fn every_stage_can_fail() {
    let fails = |stage| FakeEnvironment::builder().on(stage, Behaviour::fail("told to")).build();
    let fakes = fails(Stage::Build);
    assert_eq!(fakes.build(&id("a")).unwrap_err().to_string(), "told to");
    fakes.recorder().record_so_far().assert_count("a", Kind::ConstructFailed, 1);

    let fakes = fails(Stage::Enter);
    assert_eq!(text(fakes.build(&id("a")).unwrap().enter().await), "told to");
    fakes.recorder().record_so_far().assert_count("a", Kind::McpEnterFailed, 1);

    let environment = fails(Stage::Call).build(&id("a")).unwrap();
    environment.enter().await.unwrap();
    assert_eq!(environment.call("x".into()).await, Err("told to".into()));

    let environment = fails(Stage::Leave).build(&id("a")).unwrap();
    environment.enter().await.unwrap();
    assert_eq!(text(environment.leave().await), "told to");
    assert_eq!(environment.client().state(), ClientState::Disconnected, "it left nevertheless");

    assert_eq!(text(fails(Stage::Close).build(&id("a")).unwrap().close().await), "told to");
}

#[tokio::test]
async fn a_behaviour_can_be_limited_to_the_first_times_and_to_one_instance() {
    let close = Behaviour::fail("once").first(1).of(1);
    let fakes = FakeEnvironment::builder().on(Stage::Close, close).build();
    for name in ["a", "b", "c"] {
        live(&fakes, name).await;
    }
    let record = fakes.recorder().record_so_far();
    record.assert_count("b", Kind::CloseRaised, 1).assert_closed_once("b");
    record.assert_count("a", Kind::CloseRaised, 0).assert_count("c", Kind::CloseRaised, 0);
}

#[tokio::test]
async fn only_the_first_builds_fail() {
    let fakes = FakeEnvironment::builder().on(Stage::Build, Behaviour::fail("full").first(2)).build();
    let built = ["a", "b", "c"].map(|name| fakes.build(&id(name)).is_ok());
    assert_eq!(built, [false, false, true]);
}

#[tokio::test]
async fn a_panic_is_recorded_as_an_end() {
    let fakes = FakeEnvironment::builder().on(Stage::Close, Behaviour::panic("told to").first(1)).build();
    let there = fakes.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let environment = there.build(&id("a")).unwrap();
        runtime.block_on(environment.close())
    });
    thread.join().unwrap_err();
    let record = fakes.recorder().record_so_far();
    record.assert_count("a", Kind::CloseRaised, 1).assert_count("a", Kind::Dropped, 1).assert_one_thread("a");
    record.assert_before(("a", Kind::Dropped), ("", Kind::ThreadEnded));
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_hangs_can_be_interrupted_and_is_recorded_so() {
    let fakes = FakeEnvironment::builder()
        .on(Stage::Leave, Behaviour::hang())
        .on(Stage::Close, Behaviour::delay(Duration::from_secs(60)))
        .build();
    let environment = fakes.build(&id("a")).unwrap();
    environment.enter().await.unwrap();
    timeout(Duration::from_secs(1), environment.leave()).await.unwrap_err();
    timeout(Duration::from_secs(1), environment.close()).await.unwrap_err();
    let client = environment.client();
    drop(environment);
    client.reaches(ClientState::Lost, PATIENCE).await.unwrap();
    let record = fakes.recorder().record_so_far();
    record.assert_count("a", Kind::McpExitCancelled, 1).assert_count("a", Kind::CloseCancelled, 1);
}

#[tokio::test]
async fn a_gate_holds_a_thread_that_builds() {
    let gate = Gate::new();
    let fakes = FakeEnvironment::builder().on(Stage::Build, Behaviour::gate(&gate)).build();
    let there = fakes.clone();
    let thread = std::thread::spawn(move || drop(there.build(&id("a"))));
    gate.arrived(PATIENCE).await.unwrap();
    fakes.recorder().record_so_far().assert_count("a", Kind::Constructed, 0);
    gate.open();
    fakes.recorder().wait_for("a", Kind::Dropped, PATIENCE).await.unwrap();
    thread.join().unwrap();
}

#[tokio::test]
async fn a_call_after_the_leave_finds_no_client() {
    let environment = FakeEnvironment::builder().build().build(&id("a")).unwrap();
    environment.enter().await.unwrap();
    environment.leave().await.unwrap();
    assert_eq!(environment.call("x".into()).await, Err("the MCP client is not connected".into()));
}

#[tokio::test]
async fn a_client_is_connected_for_real() {
    let client = FakeMcpClient::new();
    let watch = client.watch();
    assert_eq!(watch.state(), ClientState::New);
    assert!(client.ping().await.is_err());
    client.connect().await.unwrap();
    assert!(client.is_connected() && client.connect().await.is_err());
    client.ping().await.unwrap();
    client.disconnect().await.unwrap();
    assert_eq!(watch.state(), ClientState::Disconnected);
    assert!(client.disconnect().await.is_err());
}

#[tokio::test]
async fn a_client_that_was_only_dropped_is_lost() {
    let client = FakeMcpClient::new();
    let watch = client.watch();
    client.connect().await.unwrap();
    drop(client);
    watch.reaches(ClientState::Lost, PATIENCE).await.unwrap();
    assert!(!watch.is_connected());
}

#[tokio::test]
async fn fakes_that_share_a_recorder_are_told_apart() {
    let recorder = Recorder::new();
    let fakes = FakeEnvironment::builder().recording(&recorder).build();
    live(&fakes, "a").await;
    live(&fakes, "b").await;
    assert_eq!(recorder.record_so_far().sessions(), ["a", "b"]);
}
