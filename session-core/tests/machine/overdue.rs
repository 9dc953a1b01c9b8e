//! Deadlines that passed: told to end, then given up, and welcome back (I6, I7, I8, I10).

use session_core::{Action, CloseReason, Event, Outcome, Placement, Refusal, Shutdown, Step};

use crate::world::{Ends, World, secs};

/// Every deadline at 5 s, told to end for 1 s.
fn world() -> World {
    World::of(|config| {
        config
            .build_timeout(Some(secs(5)))
            .enter_timeout(Some(secs(5)))
            .drain_timeout(secs(5))
            .leave_timeout(secs(5))
            .close_timeout(secs(5))
            .stop_timeout(secs(5))
            .interrupt_timeout(secs(1))
            .idle_timeout(None)
    })
}

#[test]
fn an_overdue_step_is_told_to_end_and_then_given_up() {
    for step in [Step::Build, Step::Enter, Step::Leave, Step::Close] {
        let mut world = world();
        world.next(step, Ends::Never);
        let key = world.open();
        let _ = world.close(key, CloseReason::Requested);
        world.advance(secs(4));
        assert_eq!(world.count(Action::Interrupt(key, step)), 0);
        world.advance(secs(1));
        world.place(Action::Interrupt(key, step));
        assert!(!world.was_abandoned(key), "{step}");
        world.advance(secs(1));
        world.place(Action::Abandoned(key, step, CloseReason::Requested));
        let books = world.machine.books();
        assert_eq!((books.open, books.abandoned, books.leaked_executors), (0, 1, 1), "{step}");
        assert_eq!(world.machine.poll_timeout(), None, "what was given up costs no wake-ups");
    }
}

#[test]
fn a_step_that_ends_when_told_to_is_not_given_up() {
    for step in [Step::Build, Step::Enter, Step::Leave, Step::Close] {
        let mut world = world();
        world.next(step, Ends::WhenInterrupted);
        let key = world.open();
        let _ = world.close(key, CloseReason::Requested);
        world.advance(secs(6));
        world.place(Action::StepDone(key, step, Outcome::Interrupted, secs(5)));
        assert!(world.is_gone(key), "{step}");
        assert!(!world.was_abandoned(key), "{step}");
        world.assert_books_are_zero();
    }
}

#[test]
fn an_overdue_opening_is_never_opened_even_if_it_ends_well() {
    for (step, reason) in [(Step::Build, CloseReason::BuildFailed), (Step::Enter, CloseReason::ContextFailed)]
    {
        let mut world = world();
        world.next(step, Ends::Never);
        let key = world.open();
        world.advance(secs(5));
        let well = match step {
            Step::Build => Event::Built(key, Outcome::Done),
            _ => Event::Entered(key, Outcome::Done),
        };
        world.tell(well).unwrap();
        assert!(!world.was_opened(key));
        assert_eq!(world.why_gone(key), Some(reason));
    }
}

#[test]
fn a_late_end_goes_on_where_it_was() {
    let mut world = world();
    let key = world.open();
    world.next(Step::Leave, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(60));
    assert!(world.was_abandoned(key));
    world.tell(Event::Left(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    assert!(world.is_gone(key));
    world.assert_books_are_zero();
    assert_eq!(world.machine.totals().abandoned, 1, "that it was given up stays on record");
}

#[test]
fn an_abandoned_first_close_that_fails_late_is_still_retried_once() {
    let mut world = world();
    let key = world.open();
    world.next(Step::Close, Ends::Never);
    world.next(Step::CloseAgain, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(60));
    world.tell(Event::Closed(key, Outcome::Failed)).unwrap();
    assert_eq!(world.count(Action::Close(key)), 2);
    world.advance(secs(60));
    world.place(Action::Interrupt(key, Step::CloseAgain));
    world.tell(Event::Closed(key, Outcome::Failed)).unwrap();
    assert_eq!(world.count(Action::Close(key)), 2);
    assert!(world.is_gone(key));
    assert_eq!(world.machine.totals().abandoned, 1, "a session is given up once, not once a step");
}

#[test]
fn an_abandoned_build_that_succeeds_late_is_closed() {
    let mut world = world();
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.advance(secs(60));
    world.tell(Event::Built(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "close", "stop"]);
    world.assert_books_are_zero();
}

#[test]
fn the_context_is_not_left_while_a_call_that_ignores_its_end_runs_in_it() {
    let mut world = world();
    world.cut_calls = Ends::Never;
    let key = world.open();
    world.begin_call(key);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(60));
    assert!(world.was_abandoned(key));
    assert_eq!(world.steps(key), ["build", "enter"]);
    world.end_call(key);
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    world.assert_books_are_zero();
}

#[test]
fn an_executor_that_does_not_stop_is_given_up_without_being_told_twice() {
    let mut world = world();
    let key = world.open();
    world.next(Step::Stop, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(5));
    world.place(Action::Abandoned(key, Step::Stop, CloseReason::Requested));
    world.place(Action::ExecutorLost(world.home(key)));
    assert_eq!(world.count(Action::Interrupt(key, Step::Stop)), 0);
    world.tell(Event::Stopped(world.home(key), Outcome::Done)).unwrap();
    assert!(world.is_gone(key));
    assert_eq!(world.machine.books().executors, 0);
    world.assert_books_are_zero();
}

#[test]
fn without_a_deadline_an_opening_may_take_for_ever() {
    for step in [Step::Build, Step::Enter] {
        let mut world = World::of(|config| config.build_timeout(None).enter_timeout(None));
        world.next(step, Ends::Never);
        let key = world.open();
        assert_eq!(world.machine.poll_timeout(), None);
        world.advance(secs(1_000_000));
        assert!(world.machine.session(key).is_some());
        world.shut_down(Shutdown::Graceful);
        let took = world.run_until_stopped();
        assert!(took <= world.machine.config().worst_case_shutdown(), "but a shutdown ends it: {took:?}");
    }
}

#[test]
fn at_the_limit_of_abandoned_sessions_nothing_is_opened_until_one_comes_back() {
    let mut world = World::of(|config| config.placement(Placement::Tasks).abandoned_limit(2));
    let keys = [world.open(), world.open()];
    world.always(Step::Leave, Ends::Never);
    for key in keys {
        world.close(key, CloseReason::Requested).unwrap();
    }
    assert!(world.machine.is_ready());
    world.advance(secs(60));
    assert!(!world.machine.is_ready());
    let refused = world.try_open("more", session_core::Class::Kept);
    assert_eq!(refused, Err(Refusal::TooManyAbandoned { abandoned: 2, limit: 2 }));
    world.tell(Event::Left(keys[0], Outcome::Done)).unwrap();
    assert!(world.machine.is_ready());
    world.open();
}

#[test]
fn a_slot_comes_back_when_its_session_is_given_up_and_not_before() {
    let mut world = World::of(|config| config.capacity(1).leave_timeout(secs(5)).interrupt_timeout(secs(1)));
    let key = world.open();
    world.next(Step::Leave, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(5));
    let refused = world.try_open("more", session_core::Class::Kept);
    assert_eq!(refused, Err(Refusal::AtCapacity { open: 1, capacity: 1 }));
    world.advance(secs(1));
    world.open();
    let again = world.try_open("session-1", session_core::Class::Kept);
    assert_eq!(again, Err(Refusal::AtCapacity { open: 1, capacity: 1 }));
    assert_eq!(world.machine.find("session-1"), Ok(key), "it is in the books until it holds nothing");
}
