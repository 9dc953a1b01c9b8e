//! Idleness and lifetime: no early reap (I5), no lost reap (I6).

use session_core::{CloseReason, Event, Timestamp};

use crate::world::{World, secs};

fn idle_after_ten() -> World {
    World::of(|config| config.idle_timeout(Some(secs(10))))
}

#[test]
fn an_idle_session_is_closed_at_its_deadline_and_not_before() {
    let mut world = idle_after_ten();
    let key = world.open();
    world.advance(secs(9));
    assert!(!world.is_gone(key));
    world.advance(secs(1));
    assert_eq!(world.why_gone(key), Some(CloseReason::Idle));
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
}

#[test]
fn a_session_with_a_call_in_flight_is_not_idle() {
    let mut world = idle_after_ten();
    let key = world.open();
    world.begin_call(key);
    world.advance(secs(1000));
    assert!(!world.is_gone(key));
    assert_eq!(world.machine.poll_timeout(), None, "a busy session costs no wake-ups");
    world.end_call(key);
    world.advance(secs(9));
    assert!(!world.is_gone(key), "idleness counts from the end of the call");
    world.advance(secs(1));
    assert_eq!(world.why_gone(key), Some(CloseReason::Idle));
}

#[test]
fn a_session_with_a_stream_attached_is_not_idle() {
    let mut world = idle_after_ten();
    let key = world.open();
    world.machine.attach(key).unwrap();
    world.advance(secs(1000));
    world.begin_call(key);
    world.end_call(key);
    world.advance(secs(1000));
    assert!(!world.is_gone(key));
    world.tell(Event::Detached(key)).unwrap();
    world.advance(secs(9));
    assert!(!world.is_gone(key), "idleness counts from the end of the stream");
    world.advance(secs(1));
    assert!(world.is_gone(key));
}

#[test]
fn idleness_counts_from_the_end_of_the_last_of_several_calls_and_streams() {
    let mut world = idle_after_ten();
    let key = world.open();
    world.begin_call(key);
    world.begin_call(key);
    world.machine.attach(key).unwrap();
    world.end_call(key);
    world.advance(secs(20));
    world.tell(Event::Detached(key)).unwrap();
    world.advance(secs(20));
    world.end_call(key);
    world.advance(secs(9));
    assert!(!world.is_gone(key));
    world.advance(secs(1));
    assert!(world.is_gone(key));
}

#[test]
fn activity_pushes_the_deadline_back_without_setting_it() {
    let mut world = idle_after_ten();
    let key = world.open();
    for _ in 0..5 {
        world.advance(secs(1));
        world.begin_call(key);
        world.end_call(key);
    }
    assert_eq!(world.machine.poll_timeout(), Some(Timestamp::ORIGIN + secs(10)), "it was left alone");
    world.advance(secs(5));
    assert_eq!(world.machine.poll_timeout(), Some(Timestamp::ORIGIN + secs(15)), "and set anew once");
    world.advance(secs(4));
    assert!(!world.is_gone(key));
    world.advance(secs(1));
    assert!(world.is_gone(key));
}

#[test]
fn without_an_idle_timeout_an_open_session_has_no_deadline() {
    let mut world = World::of(|config| config.idle_timeout(None));
    let key = world.open();
    world.begin_call(key);
    world.end_call(key);
    assert_eq!(world.machine.poll_timeout(), None);
    world.advance(secs(1_000_000));
    assert!(!world.is_gone(key));
}

#[test]
fn a_session_whose_lifetime_is_over_is_closed_even_while_it_is_used() {
    let mut world = World::of(|config| config.max_lifetime(Some(secs(60))).drain_timeout(secs(5)));
    let key = world.open();
    world.begin_call(key);
    world.machine.attach(key).unwrap();
    world.advance(secs(64));
    assert!(!world.is_gone(key), "its call may finish");
    world.end_call(key);
    assert_eq!(world.why_gone(key), Some(CloseReason::LifetimeOver));
}

#[test]
fn whichever_of_idleness_and_lifetime_comes_first_closes() {
    for (idle, lifetime, reason) in [
        (30, 60, CloseReason::Idle),
        (60, 30, CloseReason::LifetimeOver),
        (30, 30, CloseReason::LifetimeOver),
    ] {
        let mut world =
            World::of(|config| config.idle_timeout(Some(secs(idle))).max_lifetime(Some(secs(lifetime))));
        let key = world.open();
        world.advance(secs(29));
        assert!(!world.is_gone(key));
        world.advance(secs(1));
        assert_eq!(world.why_gone(key), Some(reason));
    }
}

#[test]
fn a_used_session_falls_back_from_its_lifetime_to_its_idle_deadline() {
    let mut world = World::of(|config| config.idle_timeout(Some(secs(10))).max_lifetime(Some(secs(100))));
    let key = world.open();
    world.begin_call(key);
    world.advance(secs(50));
    world.end_call(key);
    world.advance(secs(10));
    assert_eq!(world.why_gone(key), Some(CloseReason::Idle));
}

#[test]
fn a_timeout_that_is_handled_late_closes_all_that_are_due_and_no_other() {
    let mut world = idle_after_ten();
    let first = world.open();
    world.advance(secs(1));
    let second = world.open();
    world.advance(secs(5));
    let third = world.open();
    world.now = world.now + secs(6);
    world.machine.handle_timeout(world.now);
    world.advance(secs(0));
    let view = |key| world.machine.session(key).map(|session| session.phase);
    assert!(!matches!(view(first), Some(session_core::Phase::Active { .. })));
    assert!(!matches!(view(second), Some(session_core::Phase::Active { .. })));
    assert!(matches!(view(third), Some(session_core::Phase::Active { .. })));
}
