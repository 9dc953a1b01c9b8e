//! Calls and streams: what may be asked of a session, and when it no longer may (I9).

use session_core::{Action, CloseReason, Event, Outcome, Refusal, Shutdown, Step};

use crate::world::{Ends, World, secs};

const CLOSING: Refusal = Refusal::Closing { reason: CloseReason::Requested };

#[test]
fn a_call_on_an_active_session_emits_no_action() {
    let mut world = World::of(|config| config);
    let key = world.open();
    for _ in 0..3 {
        world.machine.begin_call(key).unwrap();
        assert_eq!(world.machine.poll_action(), None);
        world.advance(secs(1));
    }
    for _ in 0..3 {
        world.machine.handle_event(world.now, Event::CallEnded(key)).unwrap();
        assert_eq!(world.machine.poll_action(), None);
    }
}

#[test]
fn a_stream_that_comes_and_goes_emits_no_action() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.machine.attach(key).unwrap();
    assert_eq!(world.machine.session(key).unwrap().attachments, 1);
    world.machine.handle_event(world.now, Event::Detached(key)).unwrap();
    assert_eq!(world.machine.poll_action(), None);
}

#[test]
fn calls_in_flight_end_before_the_context_is_left() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.begin_call(key);
    world.begin_call(key);
    world.close(key, CloseReason::Requested).unwrap();
    world.end_call(key);
    assert_eq!(world.steps(key), ["build", "enter"], "one call is still in flight");
    world.advance(secs(2));
    world.end_call(key);
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    world.place(Action::StepDone(key, Step::Drain, Outcome::Done, secs(2)));
}

#[test]
fn no_call_and_no_stream_begins_once_closing_began() {
    for step in [Step::Leave, Step::Close, Step::Stop] {
        let mut world = World::of(|config| config);
        let key = world.open();
        world.next(step, Ends::Never);
        world.close(key, CloseReason::Requested).unwrap();
        assert_eq!(world.machine.begin_call(key), Err(CLOSING), "in {step}");
        assert_eq!(world.machine.attach(key), Err(CLOSING), "in {step}");
        assert_eq!(world.close(key, CloseReason::Idle), Err(CLOSING), "in {step}");
    }
}

#[test]
fn no_call_begins_while_others_are_drained() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.begin_call(key);
    world.close(key, CloseReason::Requested).unwrap();
    assert_eq!(world.machine.begin_call(key), Err(CLOSING));
}

#[test]
fn streams_are_told_to_go_when_closing_begins_and_may_outlive_it() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.machine.attach(key).unwrap();
    world.next(Step::Leave, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    assert!(world.place(Action::TellStreams(key)) < world.place(Action::Leave(key)));
    world.tell(Event::Detached(key)).unwrap();
    assert_eq!(world.machine.session(key).unwrap().attachments, 0);
}

#[test]
fn what_never_began_cannot_end() {
    let mut world = World::of(|config| config);
    let key = world.open();
    assert!(world.tell(Event::CallEnded(key)).is_err());
    assert!(world.tell(Event::Detached(key)).is_err());
    world.begin_call(key);
    world.end_call(key);
    assert!(world.tell(Event::CallEnded(key)).is_err(), "it ended once");
}

#[test]
fn a_stale_key_never_reaches_the_next_session_in_its_place() {
    let mut world = World::of(|config| config);
    let old = world.open();
    world.close(old, CloseReason::Requested).unwrap();
    let new = world.open();
    assert_eq!((old.index(), old.generation() + 1), (new.index(), new.generation()));
    assert_eq!(world.machine.begin_call(old), Err(Refusal::Unknown));
    assert_eq!(world.machine.attach(old), Err(Refusal::Unknown));
    assert_eq!(world.close(old, CloseReason::Requested), Err(Refusal::Unknown));
    assert_eq!(world.machine.session(old), None);
    world.begin_call(new);
    let stale = [Event::CallEnded(old), Event::Detached(old), Event::Left(old, Outcome::Done)];
    for event in stale {
        assert!(world.tell(event).is_err(), "{event:?}");
    }
    assert_eq!(world.machine.books().calls, 1, "the new one's call is still in flight");
}

#[test]
fn calls_that_are_cut_off_say_so_in_the_step() {
    let mut world = World::of(|config| config.drain_timeout(secs(4)));
    let key = world.open();
    world.begin_call(key);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(4));
    world.place(Action::CutOff(key));
    world.place(Action::StepDone(key, Step::Drain, Outcome::Interrupted, secs(4)));
    assert!(world.is_gone(key));
}

#[test]
fn a_call_that_ends_late_on_an_abandoned_session_is_still_taken() {
    let mut world = World::of(|config| config.drain_timeout(secs(4)));
    world.cut_calls = Ends::Never;
    let key = world.open();
    world.begin_call(key);
    world.shut_down(Shutdown::Graceful);
    world.run_until_stopped();
    assert!(world.was_abandoned(key));
    assert_eq!(world.machine.books().calls, 0, "calls of abandoned sessions hold nothing up");
    world.end_call(key);
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    world.assert_books_are_zero();
}

#[test]
fn a_call_that_never_began_does_not_push_the_idle_deadline_back() {
    let mut world = World::of(|config| config.idle_timeout(Some(secs(10))));
    let key = world.open();
    world.advance(secs(5));
    assert!(world.tell(Event::CallEnded(key)).is_err());
    assert!(world.tell(Event::Detached(key)).is_err());
    world.advance(secs(5));
    assert_eq!(world.why_gone(key), Some(CloseReason::Idle));
}
