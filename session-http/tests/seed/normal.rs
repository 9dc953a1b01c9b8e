//! Normal shutdown with several open sessions.

use crate::world::World;
use session_core::{CloseReason, Threads};
use session_testkit::{ClientState, FakeEnvironment};

on_every_kind_of_thread!(open_sessions_are_closed_at_shutdown, a_server_without_sessions_stops);

async fn open_sessions_are_closed_at_shutdown(threads: Threads) {
    let mut world = World::start(threads, FakeEnvironment::builder()).await;
    let sessions = world.open(4).await;
    for session in &sessions {
        world.call(session).await;
    }
    assert_eq!(world.fakes().count(ClientState::Connected), 4);
    let ended = world.shut_down().await;
    ended.assert_clean(&sessions);
    ended.assert_closed(&[(CloseReason::Shutdown, 4)]);
}

async fn a_server_without_sessions_stops(threads: Threads) {
    let world = World::start(threads, FakeEnvironment::builder()).await;
    let ended = world.shut_down().await;
    ended.assert_clean(&[]);
    ended.assert_closed(&[]);
}
