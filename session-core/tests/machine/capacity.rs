//! The books: a slot is held from the request until nothing is held any more (I4).

use session_core::{Class, CloseReason, Event, Outcome, Refusal, Step};

use crate::world::{Ends, World};

const FULL: Refusal = Refusal::AtCapacity { open: 2, capacity: 2 };

#[test]
fn sessions_that_are_being_built_hold_a_slot() {
    let mut world = World::of(|config| config.capacity(2));
    world.always(Step::Build, Ends::Never);
    world.open();
    world.open();
    assert_eq!(world.try_open("third", Class::Kept), Err(FULL));
    assert_eq!(world.machine.books().open, 2);
}

#[test]
fn a_closing_session_holds_its_slot_until_its_executor_has_stopped() {
    for step in [Step::Leave, Step::Close, Step::Stop] {
        let mut world = World::of(|config| config.capacity(2));
        let (key, _other) = (world.open(), world.open());
        world.next(step, Ends::Never);
        world.close(key, CloseReason::Requested).unwrap();
        assert_eq!(world.try_open("third", Class::Kept), Err(FULL), "while it is in {step}");
        let end = match step {
            Step::Leave => Event::Left(key, Outcome::Done),
            Step::Close => Event::Closed(key, Outcome::Done),
            _ => Event::Stopped(world.home(key), Outcome::Done),
        };
        world.tell(end).unwrap();
        world.open();
    }
}

#[test]
fn a_refusal_changes_nothing() {
    let mut world = World::of(|config| config.capacity(2));
    world.open();
    world.open();
    let (books, totals, told) = (world.machine.books(), *world.machine.totals(), world.told.len());
    for _ in 0..3 {
        assert_eq!(world.try_open("third", Class::Kept), Err(FULL));
    }
    assert_eq!((world.machine.books(), *world.machine.totals()), (books, totals));
    assert_eq!(world.told.len(), told);
    assert_eq!(world.machine.find("third"), Err(Refusal::Unknown));
}

#[test]
fn one_shot_sessions_have_a_limit_of_their_own() {
    let mut world = World::of(|config| config.capacity(1).one_shot_capacity(1));
    world.open();
    let shot = world.try_open("shot", Class::OneShot).unwrap();
    let refused = world.try_open("another", Class::OneShot);
    assert_eq!(refused, Err(Refusal::TooManyOneShots { open: 1, capacity: 1 }));
    let books = world.machine.books();
    assert_eq!((books.open, books.one_shots), (1, 1));
    world.close(shot, CloseReason::OneShotDone).unwrap();
    world.try_open("another", Class::OneShot).unwrap();
}

#[test]
fn an_id_belongs_to_one_session_at_a_time() {
    let mut world = World::of(|config| config);
    let first = world.try_open("id", Class::Kept).unwrap();
    assert_eq!(world.try_open("id", Class::Kept), Err(Refusal::DuplicateId));
    assert_eq!(world.try_open("id", Class::OneShot), Err(Refusal::DuplicateId));
    world.close(first, CloseReason::Requested).unwrap();
    let second = world.try_open("id", Class::Kept).unwrap();
    assert_ne!(first, second);
    assert_eq!(world.machine.find("id"), Ok(second), "the living comes before the remembered");
}

#[test]
fn so_many_endings_are_remembered_and_the_oldest_is_forgotten_first() {
    let mut world = World::of(|config| config.remembered(2));
    for reason in [CloseReason::Requested, CloseReason::EnvironmentDied, CloseReason::Requested] {
        let key = world.open();
        world.close(key, reason).unwrap();
    }
    assert_eq!(world.machine.find("session-1"), Err(Refusal::Unknown));
    let died = Refusal::Ended { reason: CloseReason::EnvironmentDied };
    assert_eq!(world.machine.find("session-2"), Err(died));
    let requested = Refusal::Ended { reason: CloseReason::Requested };
    assert_eq!(world.machine.find("session-3"), Err(requested));
}

#[test]
fn an_id_that_ends_twice_pushes_no_other_out_of_memory() {
    let mut world = World::of(|config| config.remembered(2));
    for id in ["a", "b", "b", "b"] {
        let key = world.try_open(id, Class::Kept).unwrap();
        world.close(key, CloseReason::Requested).unwrap();
    }
    let ended = Refusal::Ended { reason: CloseReason::Requested };
    assert_eq!(world.machine.find("a"), Err(ended));
    assert_eq!(world.machine.find("b"), Err(ended));
}

#[test]
fn nothing_is_remembered_of_one_shots_or_if_so_configured() {
    let mut world = World::of(|config| config);
    let shot = world.try_open("shot", Class::OneShot).unwrap();
    world.close(shot, CloseReason::OneShotDone).unwrap();
    assert_eq!(world.machine.find("shot"), Err(Refusal::Unknown));
    let mut world = World::of(|config| config.remembered(0));
    let key = world.open();
    world.close(key, CloseReason::Requested).unwrap();
    assert_eq!(world.machine.find("session-1"), Err(Refusal::Unknown));
}

#[test]
fn totals_add_up() {
    let mut world = World::of(|config| config);
    world.next(Step::Build, Ends::With(Outcome::Failed));
    world.open();
    let key = world.open();
    world.next(Step::Close, Ends::With(Outcome::Panicked));
    world.close(key, CloseReason::Requested).unwrap();
    world.open();
    let totals = world.machine.totals();
    assert_eq!((totals.accepted, totals.gone, totals.abandoned, totals.faults), (3, 2, 0, 2));
    let ended: u64 = CloseReason::ALL.iter().map(|reason| totals.ended(*reason)).sum();
    assert_eq!(ended, totals.gone);
}
