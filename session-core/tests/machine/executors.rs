//! Executors: who lives where, one blocking step at a time, and what becomes of one that hangs (I7).

use session_core::{Action, CloseReason, Event, Outcome, Placement, SessionKey, Shutdown, Step};

use crate::world::{Ends, SHARED, TWO, World, secs};

fn open_many(world: &mut World, count: usize) -> Vec<SessionKey> {
    (0..count).map(|_| world.open()).collect()
}

#[test]
fn each_session_has_an_executor_of_its_own_or_none() {
    let mut world = World::on(Placement::PerSession);
    let keys = open_many(&mut world, 3);
    assert_eq!(world.machine.books().executors, 3);
    assert_ne!(world.home(keys[0]), world.home(keys[1]));
    world.close(keys[0], CloseReason::Requested).unwrap();
    assert_eq!(world.machine.books().executors, 2);
    let mut world = World::on(Placement::Tasks);
    open_many(&mut world, 3);
    assert_eq!(world.machine.books().executors, 0);
}

#[test]
fn a_pool_is_started_on_demand_shared_evenly_and_kept() {
    let mut world = World::on(TWO);
    let keys = open_many(&mut world, 4);
    let on_first = keys.iter().filter(|key| world.home(**key) == world.home(keys[0])).count();
    assert_eq!(on_first, 2);
    for key in keys {
        world.close(key, CloseReason::Requested).unwrap();
    }
    assert_eq!(world.machine.books().executors, 2, "a pooled executor outlives its sessions");
    open_many(&mut world, 4);
    let started = world.told.iter().filter(|told| matches!(told, Action::StartExecutor(_))).count();
    assert_eq!(started, 2);
}

#[test]
fn builds_on_one_executor_come_one_after_another() {
    let mut world = World::on(SHARED);
    world.always(Step::Build, Ends::Never);
    let keys = open_many(&mut world, 3);
    let builds = |world: &World| world.told.iter().filter(|told| matches!(told, Action::Build(..))).count();
    for (place, key) in keys.iter().enumerate() {
        assert_eq!(builds(&world), place + 1);
        world.tell(Event::Built(*key, Outcome::Done)).unwrap();
    }
}

#[test]
fn closes_on_one_executor_come_one_after_another_and_a_retry_goes_to_the_back() {
    let mut world = World::on(SHARED);
    let keys = open_many(&mut world, 2);
    world.always(Step::Close, Ends::Never);
    world.always(Step::CloseAgain, Ends::Never);
    for key in &keys {
        world.close(*key, CloseReason::Requested).unwrap();
    }
    assert_eq!(world.count(Action::Close(keys[1])), 0);
    world.tell(Event::Closed(keys[0], Outcome::Failed)).unwrap();
    assert_eq!((world.count(Action::Close(keys[0])), world.count(Action::Close(keys[1]))), (1, 1));
    world.tell(Event::Closed(keys[1], Outcome::Done)).unwrap();
    assert_eq!(world.count(Action::Close(keys[0])), 2);
}

#[test]
fn a_deadline_never_counts_the_time_in_its_executors_queue() {
    let mut world = World::of(|config| config.placement(SHARED).build_timeout(Some(secs(10))));
    world.always(Step::Build, Ends::Never);
    let keys = open_many(&mut world, 2);
    world.advance(secs(9));
    world.tell(Event::Built(keys[0], Outcome::Done)).unwrap();
    world.advance(secs(9));
    assert_eq!(world.count(Action::Interrupt(keys[1], Step::Build)), 0);
    world.advance(secs(1));
    world.place(Action::Interrupt(keys[1], Step::Build));
}

#[test]
fn an_executor_that_hangs_is_replaced_and_its_sessions_are_given_up_with_it() {
    let mut world = World::on(SHARED);
    let keys = open_many(&mut world, 3);
    world.next(Step::Close, Ends::Never);
    world.always(Step::Leave, Ends::Never);
    world.next(Step::Leave, Ends::With(Outcome::Done));
    world.close(keys[0], CloseReason::Requested).unwrap();
    world.advance(secs(60));
    let lost = world.home(keys[0]);
    world.place(Action::ExecutorLost(lost));
    assert!(keys.iter().all(|key| world.was_abandoned(*key)));
    world.place(Action::Closing(keys[1], CloseReason::ExecutorLost));
    let new = world.open();
    assert_ne!(world.home(new), lost);
    assert!(world.was_opened(new));
    let books = world.machine.books();
    assert_eq!((books.open, books.abandoned, books.executors, books.leaked_executors), (1, 3, 2, 1));
}

#[test]
fn late_ends_on_a_lost_executor_go_on_until_it_can_stop() {
    let mut world = World::on(SHARED);
    let keys = open_many(&mut world, 3);
    world.begin_call(keys[2]);
    world.next(Step::Leave, Ends::Never);
    world.close(keys[0], CloseReason::Requested).unwrap();
    world.cut_calls = Ends::Never;
    world.always(Step::Leave, Ends::Never);
    world.advance(secs(60));
    assert_eq!(world.machine.books().abandoned, 3);
    world.always(Step::Leave, Ends::With(Outcome::Done));
    world.tell(Event::Left(keys[0], Outcome::Done)).unwrap();
    world.tell(Event::Left(keys[1], Outcome::Done)).unwrap();
    let lost = world.home(keys[0]);
    assert_eq!(world.count(Action::StopExecutor(lost)), 0, "a call still runs there");
    world.end_call(keys[2]);
    for key in keys {
        assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    }
    assert_eq!(world.machine.books().executors, 0);
    world.assert_books_are_zero();
}

#[test]
fn builds_that_wait_for_a_lost_executor_go_elsewhere() {
    let mut world = World::of(|config| config.placement(SHARED).build_timeout(Some(secs(10))));
    world.next(Step::Build, Ends::Never);
    let keys = open_many(&mut world, 4);
    world.advance(secs(11));
    assert!(world.was_abandoned(keys[0]));
    for key in &keys[1..] {
        assert!(world.was_opened(*key));
        assert_ne!(world.home(*key), world.home(keys[0]));
    }
    world.tell(Event::Built(keys[0], Outcome::Done)).unwrap();
    assert!(world.is_gone(keys[0]));
    assert_eq!(world.count(Action::StopExecutor(world.home(keys[0]))), 1);
    assert_eq!(world.machine.books().leaked_executors, 0);
}

#[test]
fn closes_that_wait_for_a_lost_executor_are_begun_if_it_comes_back() {
    let mut world = World::on(SHARED);
    let keys = open_many(&mut world, 3);
    world.next(Step::Close, Ends::Never);
    for key in &keys {
        world.close(*key, CloseReason::Requested).unwrap();
    }
    world.advance(secs(60));
    assert!(keys.iter().all(|key| world.was_abandoned(*key)));
    world.tell(Event::Closed(keys[0], Outcome::Done)).unwrap();
    assert!(keys.iter().all(|key| world.is_gone(*key)));
    assert!(keys.iter().all(|key| world.count(Action::Close(*key)) == 1));
    world.assert_books_are_zero();
}

#[test]
fn the_other_executors_of_a_pool_are_untouched_by_one_that_hangs() {
    let mut world = World::on(TWO);
    let keys = open_many(&mut world, 2);
    world.next(Step::Close, Ends::Never);
    world.close(keys[0], CloseReason::Requested).unwrap();
    world.advance(secs(60));
    assert!(world.was_abandoned(keys[0]));
    assert!(!world.was_abandoned(keys[1]));
    world.begin_call(keys[1]);
}

#[test]
fn a_lost_executor_is_not_told_to_stop_and_holds_nothing_up() {
    let mut world = World::on(SHARED);
    let key = world.open();
    world.next(Step::Close, Ends::Never);
    world.close(key, CloseReason::Requested).unwrap();
    world.advance(secs(60));
    world.shut_down(Shutdown::Graceful);
    assert_eq!(world.machine.lifespan(), session_core::Lifespan::Stopped);
    assert_eq!(world.count(Action::StopExecutor(world.home(key))), 0);
}

#[test]
fn an_executor_with_sessions_on_it_cannot_have_stopped() {
    for placement in [Placement::PerSession, SHARED] {
        let mut world = World::on(placement);
        let key = world.open();
        assert!(world.tell(Event::Stopped(world.home(key), Outcome::Done)).is_err());
        world.begin_call(key);
    }
}
