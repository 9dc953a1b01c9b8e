//! I1: a close that fails is tried once more, on its own thread, and then never again.

use crate::support::*;

fn close_steps(report: &SessionReport) -> Vec<(Step, Outcome)> {
    let steps = outcomes(report).into_iter();
    steps.filter(|(step, _)| matches!(step, Step::Close | Step::CloseAgain)).collect()
}

async fn close_that(kind: Kind, acts: impl IntoIterator<Item = Act>) -> (World, Closed, SessionReport) {
    let world = World::new();
    world.plan("a", Stage::Close, acts);
    let sessions = kind.sessions(&world, config().build().unwrap());
    let mut events = sessions.subscribe();
    let neighbour = sessions.open(id("neighbour")).await.unwrap();
    let closed = sessions.open(id("a")).await.unwrap().close().await.unwrap();
    let report = until_gone(&mut events, "a").await;
    assert_eq!(neighbour.call(ask(1, Act::Pass)).await, Ok(2));
    assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
    world.record.assert_taken_apart();
    assert_books_are_empty(&sessions);
    (world, closed, report)
}

#[tokio::test]
async fn a_close_that_fails_is_retried_once_on_its_thread() {
    for kind in Kind::ALL {
        for (act, outcome) in [
            (Act::Fail, Outcome::Failed),
            (Act::Panic, Outcome::Panicked),
            (Act::PanicAtOnce, Outcome::Panicked),
        ] {
            let (world, closed, report) = close_that(kind, [act]).await;
            assert!(!closed.clean && !closed.abandoned, "{kind:?} {closed:?}");
            let expected = [(Step::Close, outcome), (Step::CloseAgain, Outcome::Done)];
            assert_eq!(close_steps(&report), expected, "{kind:?}");
            assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Close, Did::Drop]);
            if kind != Kind::Tasks {
                world.record.assert_one_thread("a");
            }
        }
    }
}

#[tokio::test]
async fn a_close_that_fails_twice_is_not_tried_a_third_time() {
    for kind in Kind::ALL {
        for act in [Act::Fail, Act::Panic, Act::PanicAtOnce] {
            let (world, closed, report) = close_that(kind, [act.clone(), act.clone(), act]).await;
            assert!(!closed.clean, "{kind:?}");
            assert_eq!(close_steps(&report).len(), 2, "{kind:?}");
            assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Close, Did::Drop]);
        }
    }
}

#[tokio::test]
async fn a_close_that_went_well_is_not_repeated_though_the_drop_panics() {
    for kind in Kind::ALL {
        let world = World::new();
        world.plan("a", Stage::Drop, [Act::Panic]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        let closed = sessions.open(id("a")).await.unwrap().close().await.unwrap();
        assert!(!closed.clean, "{kind:?}");
        let report = until_gone(&mut events, "a").await;
        let faults: Vec<_> = report.faults().filter_map(|step| step.message.as_deref()).collect();
        assert_eq!(faults, ["the drop panicked on purpose"], "{kind:?}");
        assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Drop]);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_context_that_can_not_be_left_is_left_once_and_the_environment_is_closed() {
    for kind in Kind::ALL {
        for act in [Act::Fail, Act::Panic, Act::PanicAtOnce] {
            let world = World::new();
            world.plan("a", Stage::Leave, [act]);
            let sessions = kind.sessions(&world, config().build().unwrap());
            let closed = sessions.open(id("a")).await.unwrap().close().await.unwrap();
            assert!(!closed.clean, "{kind:?}");
            assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Drop], "{kind:?}");
            sessions.shutdown(Shutdown::Graceful).await;
        }
    }
}

/// I10: what failed is in the report of the shutdown, in the environment's own words.
#[tokio::test]
async fn a_fault_before_the_shutdown_is_in_its_report() {
    for kind in Kind::ALL {
        let world = World::new();
        world.plan("a", Stage::Close, [Act::Fail]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        sessions.open(id("a")).await.unwrap().close().await.unwrap();
        let fine = sessions.open(id("b")).await.unwrap();
        fine.close().await.unwrap();
        sessions.open(id("c")).await.unwrap();
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{kind:?}: nothing was left behind");
        let told: Vec<_> = report.sessions.iter().map(|it| (it.id.as_str(), it.during_shutdown)).collect();
        assert_eq!(told, [("a", false), ("c", true)], "{kind:?}");
        let fault = report.sessions[0].faults().next().unwrap();
        assert_eq!((fault.step, fault.message.as_deref()), (Step::Close, Some("Close failed")));
        assert_eq!(report.closed[&CloseReason::Requested], 2);
        assert_eq!(report.closed[&CloseReason::Shutdown], 1);
    }
}
