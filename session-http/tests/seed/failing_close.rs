//! A close that fails: the others are closed nevertheless, and it is tried again once.

use crate::world::World;
use session_core::{CloseReason, Outcome, Step, Threads};
use session_testkit::{Behaviour, FakeEnvironment, Kind, Stage};

on_every_kind_of_thread!(
    a_close_that_fails_once_is_tried_again,
    a_close_that_fails_twice_is_given_up_and_named,
    a_close_that_panics_is_tried_again,
);

async fn a_close_that_fails_once_is_tried_again(threads: Threads) {
    retried(threads, Behaviour::fail("the disk is full"), Outcome::Failed).await;
}

async fn a_close_that_panics_is_tried_again(threads: Threads) {
    retried(threads, Behaviour::panic("the disk is full"), Outcome::Panicked).await;
}

async fn retried(threads: Threads, failing: Behaviour, outcome: Outcome) {
    let fakes = FakeEnvironment::builder().on(Stage::Close, failing.of(1).first(1));
    let mut world = World::start(threads, fakes).await;
    let sessions = world.open(3).await;
    let ended = world.shut_down().await;
    ended.assert_clean(&sessions);
    ended.assert_closed(&[(CloseReason::Shutdown, 3)]);
    let failed = &sessions[1];
    ended.record().assert_count(failed, Kind::CloseRaised, 1).assert_count(failed, Kind::Closed, 1);
    assert_eq!(ended.faults_of(failed), [(Step::Close, outcome, Some("the disk is full".into()))]);
    for other in [&sessions[0], &sessions[2]] {
        ended.record().assert_count(other, Kind::CloseBegin, 1);
        assert_eq!(ended.faults_of(other), []);
    }
}

async fn a_close_that_fails_twice_is_given_up_and_named(threads: Threads) {
    let fakes = FakeEnvironment::builder().on(Stage::Close, Behaviour::fail("the disk is full").of(0));
    let mut world = World::start(threads, fakes).await;
    let sessions = world.open(3).await;
    let ended = world.shut_down().await;
    // Nothing is left of it that could be held: to fail is not to be abandoned.
    ended.assert_clean(&sessions);
    let failed = &sessions[0];
    ended.record().assert_count(failed, Kind::CloseRaised, 2).assert_count(failed, Kind::Closed, 0);
    let text = Some("the disk is full".to_owned());
    let faults = [(Step::Close, Outcome::Failed, text.clone()), (Step::CloseAgain, Outcome::Failed, text)];
    assert_eq!(ended.faults_of(failed), faults);
}
