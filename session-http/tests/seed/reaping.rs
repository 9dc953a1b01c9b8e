//! Shutdown while an idle session is being reaped: the reap ends as it began, and is not repeated.

use crate::world::World;
use session_core::{CloseReason, Config, Threads};
use session_testkit::{Behaviour, FakeEnvironment, Gate, Kind, ManualClock, Stage};
use std::time::Duration;

/// Less than an idle connection lives: the client keeps its own.
const IDLE: Duration = Duration::from_secs(20);

/// On a clock that the test holds: a session is idle when the test says so.
macro_rules! on_every_kind_of_thread_by_the_clock {
    ($($kind:ident = $threads:expr),+) => {
        $(
            mod $kind {
                #[tokio::test(start_paused = true)]
                async fn a_reap_under_way_is_finished_and_not_repeated() {
                    super::reap($threads).await;
                }
            }
        )+
    };
}

on_every_kind_of_thread_by_the_clock!(
    per_session = session_core::Threads::PerSession,
    shared = session_core::Threads::Shared,
    pinned = crate::world::two_pinned()
);

async fn reap(threads: Threads) {
    let clock = ManualClock::hold();
    let gate = Gate::new();
    let fakes = FakeEnvironment::builder().on(Stage::Leave, Behaviour::gate(&gate).of(0));
    let config = Config::builder().idle_timeout(Some(IDLE)).build().unwrap();
    let mut world = World::start_with(threads, fakes, config).await;
    let idle = world.open(1).await.remove(0);
    clock.advance(IDLE - Duration::from_secs(5)).await;
    let busy = world.open(1).await.remove(0);
    clock.advance(Duration::from_secs(5)).await;
    gate.arrived(crate::world::PATIENCE).await.unwrap();
    world.record().assert_count(&idle, Kind::McpExitBegin, 1).assert_count(&busy, Kind::Closing, 0);

    let shutdown = world.begin_shutdown().await;
    // The other one goes its way while the reap stands at the gate.
    shutdown.recorder().wait_for(&busy, Kind::Gone, crate::world::PATIENCE).await.unwrap();
    shutdown.record().assert_count(&idle, Kind::McpExit, 0).assert_count(&idle, Kind::McpExitCancelled, 0);
    gate.open();
    let ended = shutdown.ended().await;
    ended.assert_clean(&[idle.clone(), busy]);
    ended.assert_closed(&[(CloseReason::Idle, 1), (CloseReason::Shutdown, 1)]);
    ended.record().assert_count(&idle, Kind::McpExitBegin, 1).assert_count(&idle, Kind::CloseBegin, 1);
}
