//! The fakes under the real driver: what the claims say of a good server, and of a hanging one.

use session_core::{CloseReason, Config, SessionId, Sessions, Shutdown, Threads};
use session_testkit::{
    Behaviour, ClientState, FakeEnvironment, FakeReply, Fakes, Gate, Kind, ManualClock, Recorder, Stage,
    within,
};
use std::num::NonZeroUsize;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const MINUTE: Duration = Duration::from_secs(60);

type FakeSessions = Sessions<String, FakeReply>;

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

/// Opens three sessions, calls each, shuts down; the recording of it.
async fn lives_of_three(fakes: &Fakes, sessions: FakeSessions) -> session_testkit::Record {
    let recorder = fakes.recorder().clone();
    let observation = recorder.observe(sessions.subscribe());
    for name in ["a", "b", "c"] {
        let session = sessions.open(id(name)).await.unwrap();
        assert_eq!(session.call("hello".into()).await.unwrap(), Ok("hello".into()));
    }
    assert_eq!(fakes.count(ClientState::Connected), 3);
    let report = within(PATIENCE, sessions.shutdown(Shutdown::Graceful)).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.closed[&CloseReason::Shutdown], 3);
    recorder.stopped(PATIENCE).await.unwrap();
    drop((sessions, observation));
    recorder.record_so_far()
}

#[tokio::test]
async fn every_kind_of_executor_keeps_every_rule() {
    let two = NonZeroUsize::new(2).unwrap();
    for threads in [Threads::PerSession, Threads::Shared, Threads::Pinned(two)] {
        let fakes = FakeEnvironment::builder().on(Stage::Close, Behaviour::fail("no").first(1).of(1)).build();
        let sessions = Sessions::on_threads(Config::default(), threads, fakes.clone());
        let record = lives_of_three(&fakes, sessions).await;
        record.assert_all().assert_count("b", Kind::CloseRaised, 1).assert_count("b", Kind::Closed, 1);
        assert_eq!(fakes.count(ClientState::Disconnected), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn environments_without_threads_keep_every_rule() {
    let fakes = FakeEnvironment::builder().build();
    let sessions = Sessions::as_tasks(Config::default(), fakes.as_tasks());
    // I3 is not asked for: they may move.
    lives_of_three(&fakes, sessions).await.assert_all();
}

#[tokio::test(start_paused = true)]
async fn idleness_is_a_matter_of_the_clock_that_the_test_holds() {
    let clock = ManualClock::hold();
    let config = Config::builder().idle_timeout(Some(10 * MINUTE)).build().unwrap();
    let gate = Gate::new();
    let fakes = FakeEnvironment::builder().on(Stage::Call, Behaviour::gate(&gate).blocking()).build();
    let recorder = fakes.recorder().clone();
    let sessions = Sessions::on_threads(config, Threads::PerSession, fakes.clone());
    let _observation = recorder.observe(sessions.subscribe());
    let session = within(PATIENCE, sessions.open(id("a"))).await.unwrap().unwrap();
    let call = tokio::spawn(async move { session.call("hello".into()).await });
    gate.arrived(PATIENCE).await.unwrap();
    // I5: an hour in a call is not an idle hour.
    clock.advance(60 * MINUTE).await;
    recorder.record_so_far().assert_count("a", Kind::Closing, 0);
    gate.open();
    within(PATIENCE, call).await.unwrap().unwrap().unwrap().unwrap();
    clock.advance(9 * MINUTE).await;
    assert_eq!(sessions.status().books.open, 1);
    clock.advance(MINUTE).await;
    let closing = recorder.wait_for("a", Kind::Closing, PATIENCE).await.unwrap();
    assert_eq!(closing.extra("reason"), Some("idle"));
    recorder.wait_for("a", Kind::Gone, PATIENCE).await.unwrap();
    recorder.record_so_far().assert_closed_once("a").assert_order("a");
}

#[tokio::test(start_paused = true)]
async fn a_close_that_hangs_is_seen_as_left() {
    let clock = ManualClock::hold();
    let recorder = Recorder::new();
    // Blocking: it can't be interrupted. The gate lets the thread go when the test is over.
    let gate = Gate::new();
    let fakes = FakeEnvironment::builder()
        .recording(&recorder)
        .on(Stage::Close, Behaviour::gate(&gate).blocking().of(0))
        .build();
    let sessions = Sessions::on_threads(Config::default(), Threads::PerSession, fakes);
    let _observation = recorder.observe(sessions.subscribe());
    for name in ["a", "b"] {
        within(PATIENCE, sessions.open(id(name))).await.unwrap().unwrap();
    }
    sessions.begin_shutdown(Shutdown::Graceful);
    gate.arrived(PATIENCE).await.unwrap();
    recorder.wait_for("b", Kind::Gone, PATIENCE).await.unwrap();
    while recorder.wait_for("a", Kind::Abandoned, Duration::from_millis(50)).await.is_err() {
        clock.advance(Duration::from_secs(1)).await;
    }
    let record = recorder.record_so_far();
    record.assert_closed_once("b");
    let wrong: Vec<_> = record.check_session("a").into_iter().map(|violation| violation.what).collect();
    assert_eq!(wrong, ["a close began and never ended"]);
    gate.open();
    recorder.wait_for("a", Kind::Gone, PATIENCE).await.unwrap();
}
