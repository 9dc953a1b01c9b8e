//! The end of everything: in order, in time, whatever environments do (I8, I9).

use session_core::{
    Action, Class, CloseReason, Event, Lifespan, Outcome, Placement, Refusal, SessionKey, Shutdown, Step,
};

use crate::world::{Ends, SHARED, TWO, World, secs};

const PLACEMENTS: [Placement; 4] = [Placement::PerSession, SHARED, TWO, Placement::Tasks];

fn lifespans(world: &World) -> Vec<Lifespan> {
    let each = world.told.iter().filter_map(|told| match told {
        Action::Lifespan(lifespan) => Some(*lifespan),
        _ => None,
    });
    each.collect()
}

const IN_ORDER: [Lifespan; 4] =
    [Lifespan::Draining, Lifespan::Closing, Lifespan::Stopping, Lifespan::Stopped];

#[test]
fn an_empty_server_stops_at_once() {
    for placement in PLACEMENTS {
        for how in [Shutdown::Graceful, Shutdown::Forced] {
            let mut world = World::on(placement);
            world.shut_down(how);
            assert_eq!(lifespans(&world), IN_ORDER);
            assert_eq!(world.machine.poll_timeout(), None);
        }
    }
}

#[test]
fn several_idle_sessions_are_all_closed_at_once_in_order_and_shared_executors_stop_last() {
    for placement in PLACEMENTS {
        let mut world = World::on(placement);
        let keys: Vec<SessionKey> = (0..5).map(|_| world.open()).collect();
        world.shut_down(Shutdown::Graceful);
        assert_eq!(lifespans(&world), IN_ORDER);
        for key in keys {
            assert_eq!(world.why_gone(key), Some(CloseReason::Shutdown));
            let order = [Action::Leave(key), Action::Close(key), Action::Gone(key, CloseReason::Shutdown)];
            assert!(order.map(|action| world.place(action)).is_sorted());
        }
        let stopping = world.place(Action::Lifespan(Lifespan::Stopping));
        let last_gone = world.told.iter().rposition(|told| matches!(told, Action::Gone(..))).unwrap();
        assert!(last_gone < stopping);
        if let Placement::Pinned(_) = placement {
            let stop = world.told.iter().position(|told| matches!(told, Action::StopExecutor(_)));
            assert!(stopping < stop.unwrap(), "I2: shared executors stop after the last session");
        }
        world.assert_books_are_zero();
        assert_eq!(world.machine.books().executors, 0);
    }
}

#[test]
fn while_draining_calls_go_on_and_sessions_and_streams_are_refused() {
    let mut world = World::of(|config| config);
    let (busy, idle) = (world.open(), world.open());
    world.begin_call(busy);
    world.shut_down(Shutdown::Graceful);
    assert_eq!(world.machine.lifespan(), Lifespan::Draining);
    assert!(!world.machine.is_ready());
    assert_eq!(world.try_open("new", Class::Kept), Err(Refusal::Draining));
    assert_eq!(world.machine.attach(idle), Err(Refusal::Draining));
    world.begin_call(idle);
    world.end_call(busy);
    assert_eq!(world.machine.lifespan(), Lifespan::Draining, "another call is in flight");
    world.end_call(idle);
    assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
}

#[test]
fn streams_are_told_to_go_as_soon_as_draining_begins_and_hold_nothing_up() {
    let mut world = World::of(|config| config);
    let (streaming, busy) = (world.open(), world.open());
    world.machine.attach(streaming).unwrap();
    world.begin_call(busy);
    world.shut_down(Shutdown::Graceful);
    assert_eq!(world.count(Action::TellStreams(streaming)), 1);
    assert_eq!(world.count(Action::Closing(streaming, CloseReason::Shutdown)), 0);
    world.end_call(busy);
    assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
}

#[test]
fn a_session_that_is_being_opened_when_draining_begins_is_never_open() {
    for step in [Step::Build, Step::Enter] {
        let mut world = World::of(|config| config);
        world.next(step, Ends::Never);
        let key = world.open();
        world.shut_down(Shutdown::Graceful);
        world
            .tell(if step == Step::Build {
                Event::Built(key, Outcome::Done)
            } else {
                Event::Entered(key, Outcome::Done)
            })
            .unwrap();
        assert!(!world.was_opened(key));
        assert_eq!(world.why_gone(key), Some(CloseReason::Shutdown));
        assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
    }
}

#[test]
fn at_the_drain_deadline_calls_are_cut_off() {
    let mut world = World::of(|config| config.drain_timeout(secs(10)));
    let key = world.open();
    world.begin_call(key);
    world.shut_down(Shutdown::Graceful);
    world.advance(secs(9));
    assert_eq!(world.count(Action::CutOff(key)), 0);
    world.advance(secs(1));
    world.place(Action::CutOff(key));
    assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
    assert_eq!(world.machine.books().abandoned, 0);
}

#[test]
fn a_drain_deadline_is_over_once_it_was_handled() {
    let mut world = World::of(|config| config.drain_timeout(secs(10)));
    world.cut_calls = Ends::Never;
    let key = world.open();
    world.begin_call(key);
    world.shut_down(Shutdown::Graceful);
    world.now = world.now + secs(10);
    world.machine.handle_timeout(world.now);
    let next = world.machine.poll_timeout();
    assert!(next > Some(world.now), "no second call for the same moment: {next:?}");
}

#[test]
fn the_end_of_the_grace_period_forces() {
    let mut world = World::of(|config| config.grace_period(secs(25)).leave_timeout(secs(1000)));
    let key = world.open();
    world.next(Step::Leave, Ends::WhenInterrupted);
    world.shut_down(Shutdown::Graceful);
    world.advance(secs(24));
    assert!(!world.machine.was_forced());
    world.advance(secs(2));
    assert!(world.machine.was_forced());
    assert_eq!(world.why_gone(key), Some(CloseReason::Shutdown), "told to end, it ended");
    assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
    assert_eq!(world.machine.totals().abandoned, 0);
}

#[test]
fn a_forced_shutdown_cuts_calls_off_at_once_and_takes_all_sessions_apart_together() {
    let mut world = World::of(|config| config.placement(Placement::Tasks).close_concurrency(1));
    let keys: Vec<SessionKey> = (0..4).map(|_| world.open()).collect();
    world.always(Step::Leave, Ends::Never);
    world.begin_call(keys[0]);
    world.shut_down(Shutdown::Graceful);
    assert_eq!(world.machine.lifespan(), Lifespan::Draining);
    world.shut_down(Shutdown::Forced);
    world.advance(secs(0));
    world.place(Action::CutOff(keys[0]));
    for key in keys {
        world.place(Action::Leave(key));
    }
}

#[test]
fn a_shutdown_never_becomes_less_urgent() {
    let mut world = World::of(|config| config);
    world.always(Step::Leave, Ends::Never);
    world.open();
    world.shut_down(Shutdown::Forced);
    let deadline = world.machine.poll_timeout();
    let told = world.told.len();
    world.advance(secs(0));
    world.shut_down(Shutdown::Graceful);
    world.shut_down(Shutdown::Forced);
    assert!(world.machine.was_forced());
    assert_eq!(world.machine.poll_timeout(), deadline);
    assert_eq!(world.told.len(), told);
}

#[test]
fn whatever_hangs_the_whole_stops_within_its_worst_case_and_says_what_was_given_up() {
    let steps = [Step::Build, Step::Enter, Step::Drain, Step::Leave, Step::Close, Step::Stop];
    for (placement, how) in
        PLACEMENTS.into_iter().flat_map(|it| [(it, Shutdown::Graceful), (it, Shutdown::Forced)])
    {
        for step in steps {
            let mut world = World::of(|config| config.placement(placement).close_concurrency(2));
            world.cut_calls = Ends::Never;
            world.always(step, Ends::Never);
            let keys: Vec<SessionKey> = (0..5).map(|_| world.open()).collect();
            for key in keys.iter().filter(|_| step == Step::Drain) {
                world.begin_call(*key);
            }
            world.shut_down(how);
            let took = world.run_until_stopped();
            assert!(took <= world.machine.config().worst_case_shutdown(), "{placement:?} {step}: {took:?}");
            let (books, left) = (world.machine.books(), world.machine.sessions().count());
            assert_eq!((books.open, books.calls), (0, 0), "{placement:?} {step}");
            assert_eq!(books.abandoned, left, "{placement:?} {step}");
            for session in world.machine.sessions() {
                assert!(world.was_abandoned(session.key), "{placement:?} {step}");
            }
        }
    }
}

#[test]
fn a_shared_executor_that_does_not_stop_is_given_up_and_may_stop_later() {
    let mut world = World::on(SHARED);
    let key = world.open();
    world.next(Step::Stop, Ends::Never);
    world.shut_down(Shutdown::Graceful);
    let executor = world.home(key);
    assert_eq!(world.machine.lifespan(), Lifespan::Stopping);
    world.run_until_stopped();
    world.place(Action::ExecutorLost(executor));
    assert_eq!(world.machine.books().leaked_executors, 1);
    world.tell(Event::Stopped(executor, Outcome::Done)).unwrap();
    assert_eq!(world.machine.books().executors, 0);
}

#[test]
fn a_session_reaped_while_shutdown_begins_is_closed_once() {
    let mut world = World::of(|config| config.idle_timeout(Some(secs(10))));
    let key = world.open();
    world.next(Step::Leave, Ends::Never);
    world.advance(secs(10));
    world.place(Action::Closing(key, CloseReason::Idle));
    world.shut_down(Shutdown::Graceful);
    assert_eq!(world.machine.lifespan(), Lifespan::Closing, "the reap under way is waited for");
    world.tell(Event::Left(key, Outcome::Done)).unwrap();
    assert_eq!(world.steps(key), ["build", "enter", "leave", "close", "stop"]);
    assert_eq!(world.why_gone(key), Some(CloseReason::Idle));
    assert_eq!(world.machine.lifespan(), Lifespan::Stopped);
}

#[test]
fn what_ends_after_everything_stopped_is_still_taken_apart() {
    let mut world = World::on(SHARED);
    let key = world.open();
    world.next(Step::Close, Ends::Never);
    world.shut_down(Shutdown::Forced);
    world.run_until_stopped();
    assert_eq!(world.machine.books().leaked_executors, 1);
    world.tell(Event::Closed(key, Outcome::Done)).unwrap();
    assert!(world.place(Action::Gone(key, CloseReason::Shutdown)) < world.told.len() - 1);
    world.place(Action::StopExecutor(world.home(key)));
    world.assert_books_are_zero();
}
