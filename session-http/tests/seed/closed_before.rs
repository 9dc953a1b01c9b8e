//! Sessions that were closed explicitly before the shutdown: it does not touch them again.

use crate::world::World;
use session_core::{CloseReason, Threads};
use session_testkit::{ClientState, FakeEnvironment, Kind};

on_every_kind_of_thread!(a_session_closed_before_is_not_closed_again, all_sessions_closed_before);

async fn a_session_closed_before_is_not_closed_again(threads: Threads) {
    let mut world = World::start(threads, FakeEnvironment::builder()).await;
    let sessions = world.open(3).await;
    world.close(&sessions[0]).await;
    // The answer comes when the teardown is over.
    world.record().assert_closed_once(&sessions[0]).assert_context_left_once(&sessions[0]);
    assert_eq!(world.fakes().count(ClientState::Connected), 2);
    let ended = world.shut_down().await;
    ended.assert_clean(&sessions);
    ended.assert_closed(&[(CloseReason::Requested, 1), (CloseReason::Shutdown, 2)]);
    ended.record().assert_before((&sessions[0], Kind::Closed), (&sessions[1], Kind::CloseBegin));
}

async fn all_sessions_closed_before(threads: Threads) {
    let mut world = World::start(threads, FakeEnvironment::builder()).await;
    let sessions = world.open(2).await;
    for session in &sessions {
        world.close(session).await;
    }
    let ended = world.shut_down().await;
    ended.assert_clean(&sessions);
    ended.assert_closed(&[(CloseReason::Requested, 2)]);
}
