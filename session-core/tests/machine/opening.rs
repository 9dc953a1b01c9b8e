//! Opening is a transaction: it succeeds, or what was built is taken apart.

use session_core::{Action, CloseReason, Event, Outcome, Refusal, Shutdown, Step, Timestamp};

use crate::world::{Ends, SHARED, World, secs};

#[test]
fn a_session_is_built_then_entered_then_open() {
    let mut world = World::of(|config| config);
    let key = world.open();
    let executor = world.home(key);
    let zero = secs(0);
    assert_eq!(
        world.told,
        [
            Action::StartExecutor(executor),
            Action::Build(key, Some(executor)),
            Action::StepDone(key, Step::Build, Outcome::Done, zero),
            Action::Enter(key),
            Action::StepDone(key, Step::Enter, Outcome::Done, zero),
            Action::Opened(key),
        ]
    );
}

#[test]
fn nothing_can_be_asked_of_a_session_that_is_not_open_yet() {
    for step in [Step::Build, Step::Enter] {
        let mut world = World::of(|config| config);
        world.next(step, Ends::Never);
        let key = world.open();
        assert_eq!(world.machine.begin_call(key), Err(Refusal::StillOpening));
        assert_eq!(world.machine.attach(key), Err(Refusal::StillOpening));
        assert_eq!(world.machine.find("session-1"), Ok(key));
    }
}

#[test]
fn a_build_that_ends_after_its_asker_left_is_finished_taken_apart_and_never_opened() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.close(key, CloseReason::AskerGone).unwrap();
    assert!(!world.is_gone(key), "a build under way can't be taken back");
    world.tell(Event::Built(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    assert!(!world.was_opened(key));
    assert_eq!(world.why_gone(key), Some(CloseReason::AskerGone));
}

#[test]
fn under_force_a_build_that_ends_is_closed_without_being_entered() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.shut_down(Shutdown::Forced);
    world.tell(Event::Built(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "close", "stop"]);
    assert!(!world.was_opened(key));
}

#[test]
fn a_context_that_is_entered_after_its_asker_left_is_left_and_never_open() {
    let mut world = World::of(|config| config);
    world.next(Step::Enter, Ends::Never);
    let key = world.open();
    world.close(key, CloseReason::AskerGone).unwrap();
    world.tell(Event::Entered(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    assert!(!world.was_opened(key));
}

#[test]
fn a_failed_build_leaves_nothing_to_close() {
    for outcome in [Outcome::Failed, Outcome::Panicked] {
        let mut world = World::of(|config| config);
        world.next(Step::Build, Ends::With(outcome));
        let key = world.open();
        assert_eq!(world.steps(key), ["build", "stop"]);
        assert_eq!(world.why_gone(key), Some(CloseReason::BuildFailed));
        world.assert_books_are_zero();
    }
}

#[test]
fn a_failed_enter_closes_but_does_not_leave() {
    for outcome in [Outcome::Failed, Outcome::Panicked] {
        let mut world = World::of(|config| config);
        world.next(Step::Enter, Ends::With(outcome));
        let key = world.open();
        assert_eq!(world.steps(key), ["build", "enter", "close", "stop"]);
        assert_eq!(world.why_gone(key), Some(CloseReason::ContextFailed));
        world.assert_books_are_zero();
    }
}

#[test]
fn a_build_that_fails_after_its_asker_left_keeps_the_first_reason() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.close(key, CloseReason::AskerGone).unwrap();
    world.tell(Event::Built(key, Outcome::Failed)).unwrap();
    assert_eq!(world.why_gone(key), Some(CloseReason::AskerGone));
    assert_eq!(world.machine.totals().ended(CloseReason::AskerGone), 1);
    assert_eq!(world.machine.totals().ended(CloseReason::BuildFailed), 0);
}

#[test]
fn the_end_of_an_opening_is_decided_once() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.close(key, CloseReason::AskerGone).unwrap();
    let again = world.close(key, CloseReason::Requested);
    assert_eq!(again, Err(Refusal::Closing { reason: CloseReason::AskerGone }));
    assert_eq!(world.machine.begin_call(key), Err(Refusal::Closing { reason: CloseReason::AskerGone }));
    world.place(Action::Closing(key, CloseReason::AskerGone));
}

#[test]
fn a_build_that_waits_for_its_executor_is_never_begun_once_its_asker_left() {
    let mut world = World::on(SHARED);
    world.next(Step::Build, Ends::Never);
    let first = world.open();
    let second = world.open();
    world.close(second, CloseReason::AskerGone).unwrap();
    assert!(world.is_gone(second), "it holds nothing, so it is gone at once");
    world.tell(Event::Built(first, Outcome::Done)).unwrap();
    assert!(world.was_opened(first));
    assert!(world.steps(second).iter().all(|step| *step != "build"));
}

#[test]
fn an_answer_is_taken_once() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    for early in [Event::Entered(key, Outcome::Done), Event::Closed(key, Outcome::Done)] {
        assert!(world.tell(early).is_err(), "{early:?} answers nothing that was asked");
    }
    world.tell(Event::Built(key, Outcome::Done)).unwrap();
    for late in [Event::Built(key, Outcome::Done), Event::Entered(key, Outcome::Done)] {
        assert_eq!(world.tell(late).unwrap_err().event, late);
    }
}

#[test]
fn a_step_reports_how_long_it_took() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::Never);
    let key = world.open();
    world.advance(secs(3));
    world.tell(Event::Built(key, Outcome::Done)).unwrap();
    world.place(Action::StepDone(key, Step::Build, Outcome::Done, secs(3)));
    assert_eq!(world.machine.session(key).unwrap().asked, Timestamp::ORIGIN);
}
