//! I8: from the request to shut down until `Stopped` it never takes longer than the configuration says.

use std::time::Duration;

use crate::support::*;

const STEP: Duration = Duration::from_millis(100);

fn short() -> ConfigBuilder {
    config().grace_period(secs(10)).drain_timeout(secs(4)).forced_period(secs(2))
}

/// Moves the clock until everything has stopped. How long that took, by the clock.
async fn stop(sessions: &Sessions, clock: &Clock, how: Shutdown) -> Duration {
    let limit = short().build().unwrap().worst_case_shutdown() * 2;
    let began = tokio::time::Instant::now();
    sessions.begin_shutdown(how);
    while sessions.status().lifespan != Lifespan::Stopped {
        assert!(began.elapsed() < limit, "{:?} {:#?}", sessions.status(), sessions.list());
        clock.advance(STEP).await;
    }
    began.elapsed()
}

/// Opens three sessions that block their threads for ever in this stage (or in a call), and a fourth that is well.
async fn stuck(kind: Kind, stage: Option<Stage>) -> (World, Sessions, Gate) {
    let world = World::new();
    let sessions = kind.sessions(&world, short().build().unwrap());
    let gate = Gate::new();
    sessions.open(id("well")).await.unwrap();
    for name in ["a", "b", "c"] {
        if let Some(stage) = stage {
            world.plan(name, stage, [Act::Block(gate.clone()), Act::Block(gate.clone())]);
        }
        let opening = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.open(id(name)).await }
        });
        if stage == Some(Stage::Build) {
            tokio::task::yield_now().await;
            continue;
        }
        let session = opening.await.unwrap().unwrap();
        if stage.is_none() {
            drop(tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Block(gate.clone())))));
            tokio::task::yield_now().await;
        }
    }
    (world, sessions, gate)
}

#[tokio::test(start_paused = true)]
async fn whatever_blocks_its_thread_for_ever_the_end_comes_in_time() {
    let worst_case = short().build().unwrap().worst_case_shutdown();
    for kind in Kind::THREADS {
        for stage in [Some(Stage::Build), None, Some(Stage::Leave), Some(Stage::Close), Some(Stage::Drop)] {
            // Of sessions that share a thread, one that hangs while it is opened or called keeps others from opening.
            if kind != Kind::PerSession && stage.is_none() {
                continue;
            }
            for how in [Shutdown::Graceful, Shutdown::Forced] {
                let clock = Clock::hold();
                let (world, sessions, gate) = stuck(kind, stage).await;
                let took = stop(&sessions, &clock, how).await;
                let what = format!("{kind:?} {stage:?} {how:?} took {took:?}");
                assert!(took <= worst_case + STEP, "{what}");
                let report = sessions.stopped().await;
                assert!(!report.is_clean() && report.abandoned > 0, "{what} {report:#?}");
                assert!(report.leaked_threads > 0, "{what} {report:#?}");
                let forced_in = short().build().unwrap().timeouts().forced + secs(1);
                assert!(how == Shutdown::Graceful || took <= forced_in, "{what}");
                gate.open();
                world
                    .record
                    .until("a", if stage == Some(Stage::Build) { Did::Build } else { Did::Drop })
                    .await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_be_interrupted_leaves_nothing_behind() {
    let worst_case = short().build().unwrap().worst_case_shutdown();
    for kind in Kind::ALL {
        for how in [Shutdown::Graceful, Shutdown::Forced] {
            let clock = Clock::hold();
            let world = World::new();
            let sessions = kind.sessions(&world, short().build().unwrap());
            for name in ["a", "b", "c"] {
                world.plan(name, Stage::Leave, [Act::Hang]);
                world.plan(name, Stage::Close, [Act::Hang, Act::Hang]);
                let session = sessions.open(id(name)).await.unwrap();
                drop(tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Hang))));
                world.record.until(name, Did::Call(1)).await;
            }
            let took = stop(&sessions, &clock, how).await;
            assert!(took <= worst_case + STEP, "{kind:?} {how:?}: {took:?}");
        }
    }
}

/// The end of the grace period forces, and the report says so.
#[tokio::test(start_paused = true)]
async fn the_end_of_the_grace_period_forces() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let world = World::new();
        let sessions = kind.sessions(&world, short().drain_timeout(secs(20)).build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let call = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Hang)));
        world.record.until("a", Did::Call(1)).await;
        sessions.begin_shutdown(Shutdown::Graceful);
        clock.advance(secs(9)).await;
        assert_eq!(sessions.status().lifespan, Lifespan::Draining, "{kind:?}");
        clock.advance(secs(1)).await;
        let report = sessions.stopped().await;
        assert!(report.forced && report.is_clean(), "{kind:?} {report:#?}");
        assert_eq!(report.took, secs(10), "{kind:?}");
        assert_eq!(call.await.unwrap(), Err(CallError::Cut { reason: CloseReason::Shutdown }));
    }
}

/// The calls of a draining server are cut at the drain deadline, long before the grace period ends.
#[tokio::test(start_paused = true)]
async fn the_drain_deadline_cuts_and_the_rest_goes_on_gracefully() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let world = World::new();
        let sessions = kind.sessions(&world, short().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let call = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Hang)));
        world.record.until("a", Did::Call(1)).await;
        sessions.begin_shutdown(Shutdown::Graceful);
        clock.advance(secs(4)).await;
        assert_eq!(call.await.unwrap(), Err(CallError::Cut { reason: CloseReason::Shutdown }), "{kind:?}");
        let report = sessions.stopped().await;
        assert!(report.is_clean() && !report.forced, "{kind:?} {report:#?}");
        assert_eq!(report.took, secs(4));
    }
}

#[tokio::test(start_paused = true)]
async fn the_report_names_the_slowest_step() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let world = World::new();
        let sessions = kind.sessions(&world, short().build().unwrap());
        let mut events = sessions.subscribe();
        let gate = Gate::new();
        world.plan("slow", Stage::Leave, [Act::Await(gate.clone())]);
        for name in ["quick", "slow"] {
            sessions.open(id(name)).await.unwrap();
        }
        sessions.begin_shutdown(Shutdown::Graceful);
        world.record.until("slow", Did::Leave).await;
        until_gone(&mut events, "quick").await;
        clock.advance(secs(3)).await;
        gate.open();
        let report = sessions.stopped().await;
        let (session, step) = report.slowest().unwrap();
        assert_eq!((session.id.as_str(), step.step, step.took), ("slow", Step::Leave, secs(3)), "{kind:?}");
        assert_eq!(session.teardown_took(), secs(3));
    }
}

/// The deadline of the shared thread itself: it has nobody left on it and does not end.
#[tokio::test(start_paused = true)]
async fn a_shared_executor_that_does_not_stop_is_leaked_and_reported() {
    let clock = Clock::hold();
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, short().build().unwrap());
    let session = sessions.open(id("a")).await.unwrap();
    let gate = Gate::new();
    session.call(ask(1, Act::Linger(gate.clone()))).await.unwrap();
    sessions.begin_shutdown(Shutdown::Graceful);
    sessions.lifespan().wait_for(|it| *it == Lifespan::Stopping).await.unwrap();
    clock.advance(secs(5)).await;
    let report = sessions.stopped().await;
    assert_eq!((report.abandoned, report.leaked_threads, report.is_clean()), (0, 1, false));
    gate.open();
    assert!(thread_is_gone(&world.record.assert_one_thread("a").tid));
}
