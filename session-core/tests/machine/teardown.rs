//! The one teardown: each environment closed once or tried twice (I1), in order (I2), so many at a time.

use session_core::{Action, CloseReason, Event, Outcome, Placement, Refusal, Shutdown, Step};

use crate::world::{Ends, SHARED, World, secs};

const FAILURES: [Outcome; 3] = [Outcome::Failed, Outcome::Panicked, Outcome::Interrupted];

#[test]
fn the_context_is_left_before_the_environment_is_closed_before_its_executor_is_stopped() {
    let mut world = World::on(Placement::PerSession);
    let key = world.open();
    world.close(key, CloseReason::Requested).unwrap();
    let executor = world.home(key);
    let order = [
        Action::Closing(key, CloseReason::Requested),
        Action::Leave(key),
        Action::StepDone(key, Step::Leave, Outcome::Done, secs(0)),
        Action::Close(key),
        Action::StepDone(key, Step::Close, Outcome::Done, secs(0)),
        Action::StopExecutor(executor),
        Action::StepDone(key, Step::Stop, Outcome::Done, secs(0)),
        Action::Gone(key, CloseReason::Requested),
    ];
    assert_eq!(world.told[world.told.len() - order.len()..], order);
}

#[test]
fn a_session_on_a_shared_executor_or_on_none_stops_nothing() {
    for placement in [SHARED, Placement::Tasks] {
        let mut world = World::on(placement);
        let key = world.open();
        world.close(key, CloseReason::Requested).unwrap();
        assert_eq!(world.steps(key), ["build", "enter", "leave", "close"]);
        assert!(world.is_gone(key));
    }
}

#[test]
fn a_failed_close_is_retried_exactly_once() {
    for first in FAILURES {
        for second in [Outcome::Done, Outcome::Failed, Outcome::Panicked] {
            let mut world = World::of(|config| config);
            let key = world.open();
            world.next(Step::Close, Ends::With(first));
            world.next(Step::CloseAgain, Ends::With(second));
            world.close(key, CloseReason::Requested).unwrap();
            assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "close", "stop"]);
            assert!(world.is_gone(key));
            world.place(Action::StepDone(key, Step::Close, first, secs(0)));
            world.place(Action::StepDone(key, Step::CloseAgain, second, secs(0)));
        }
    }
}

#[test]
fn a_close_that_returned_is_never_repeated() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.next(Step::Stop, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    assert!(world.tell(Event::Closed(key, Outcome::Failed)).is_err());
    world.shut_down(Shutdown::Graceful);
    world.shut_down(Shutdown::Forced);
    world.run_until_stopped();
    assert_eq!(world.count(Action::Close(key)), 1);
}

#[test]
fn a_context_that_could_not_be_left_is_not_left_again_and_the_environment_is_closed() {
    for outcome in FAILURES {
        let mut world = World::of(|config| config);
        let key = world.open();
        world.next(Step::Leave, Ends::With(outcome));
        world.close(key, CloseReason::Requested).unwrap();
        assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    }
}

#[test]
fn an_executor_that_panicked_while_stopping_is_gone_all_the_same() {
    let mut world = World::of(|config| config);
    let key = world.open();
    world.next(Step::Stop, Ends::With(Outcome::Panicked));
    world.close(key, CloseReason::Requested).unwrap();
    assert!(world.is_gone(key));
    assert_eq!(world.machine.totals().faults, 1);
    world.assert_books_are_zero();
}

#[test]
fn every_reason_leads_through_the_same_teardown_and_is_kept() {
    for reason in [CloseReason::Requested, CloseReason::EnvironmentDied, CloseReason::OneShotDone] {
        let mut world = World::of(|config| config);
        let key = world.open();
        world.close(key, reason).unwrap();
        assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
        assert_eq!(world.why_gone(key), Some(reason));
        assert_eq!(world.machine.find("session-1"), Err(Refusal::Ended { reason }));
        assert_eq!(world.machine.totals().ended(reason), 1);
    }
}

#[test]
fn only_so_many_are_taken_apart_at_once_and_all_of_them_are() {
    let mut world = World::of(|config| config.placement(Placement::Tasks).close_concurrency(2));
    let keys: Vec<_> = (0..7).map(|_| world.open()).collect();
    world.always(Step::Close, Ends::Never);
    for key in &keys {
        world.close(*key, CloseReason::Requested).unwrap();
    }
    let mut closed = Vec::new();
    while closed.len() < keys.len() {
        let begun: Vec<_> = keys.iter().filter(|key| world.count(Action::Close(**key)) == 1).collect();
        let under_way: Vec<_> = begun.into_iter().filter(|key| !closed.contains(*key)).copied().collect();
        assert_eq!(under_way.len(), 2.min(keys.len() - closed.len()));
        closed.push(under_way[0]);
        world.tell(Event::Closed(under_way[0], Outcome::Done)).unwrap();
    }
    assert_eq!(closed, keys, "in the order in which they were asked for");
    world.assert_books_are_zero();
}

#[test]
fn a_session_that_waits_for_its_turn_has_no_deadline_running() {
    let mut world = World::of(|config| {
        config.placement(Placement::Tasks).close_concurrency(1).leave_timeout(secs(5)).idle_timeout(None)
    });
    let (first, second) = (world.open(), world.open());
    world.next(Step::Leave, Ends::Never);
    world.close(first, CloseReason::Requested).unwrap();
    world.close(second, CloseReason::Requested).unwrap();
    world.advance(secs(4));
    world.next(Step::Leave, Ends::Never);
    world.tell(Event::Left(first, Outcome::Done)).unwrap();
    world.advance(secs(4));
    assert_eq!(world.count(Action::Interrupt(second, Step::Leave)), 0);
    world.advance(secs(1));
    world.place(Action::Interrupt(second, Step::Leave));
}

#[test]
fn an_abandoned_session_gives_its_turn_back() {
    let mut world = World::of(|config| config.placement(Placement::Tasks).close_concurrency(1));
    let (first, second) = (world.open(), world.open());
    world.next(Step::Leave, Ends::Never);
    world.close(first, CloseReason::Requested).unwrap();
    world.close(second, CloseReason::Requested).unwrap();
    assert!(!world.is_gone(second));
    world.advance(secs(6));
    assert!(world.was_abandoned(first));
    assert!(world.is_gone(second), "one that hangs does not hold up the others (I7)");
}

#[test]
fn a_build_that_came_to_nothing_waits_for_no_turn() {
    let mut world = World::of(|config| config.close_concurrency(1));
    let hanging = world.open();
    world.next(Step::Leave, Ends::Never);
    world.close(hanging, CloseReason::Requested).unwrap();
    world.next(Step::Build, Ends::With(Outcome::Failed));
    let failed = world.open();
    assert!(world.is_gone(failed), "there is nothing to take apart");
}
