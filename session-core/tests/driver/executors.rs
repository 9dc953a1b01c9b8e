//! Executors that are shared: hung, given up, replaced; and fair to all who live on them (I7).

use crate::support::*;

fn executors(sessions: &Sessions) -> (usize, usize) {
    let books = sessions.status().books;
    (books.executors, books.leaked_executors)
}

/// Blocks the thread of this session in a call, and closes the session until it is given up.
async fn hang(sessions: &Sessions, world: &World, clock: &Clock, name: &str) -> Gate {
    let gate = Gate::new();
    let session = sessions.open(id(name)).await.unwrap();
    drop(tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Block(gate.clone())))));
    world.record.until(name, Did::Call(1)).await;
    session.begin_close(CloseReason::Requested).unwrap();
    clock.advance(secs(10)).await;
    clock.advance(secs(1)).await;
    assert!(session.closed().await.abandoned);
    gate
}

#[tokio::test(start_paused = true)]
async fn a_hung_shared_executor_is_replaced_counted_and_welcomed_back() {
    for kind in [Kind::Shared, Kind::Pinned] {
        let clock = Clock::hold();
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        let gate = hang(&sessions, &world, &clock, "hung").await;
        assert_eq!(executors(&sessions), (1, 1), "{kind:?}");
        let fine = sessions.open(id("fine")).await.unwrap();
        assert_eq!(fine.call(ask(2, Act::Pass)).await, Ok(3), "{kind:?}");
        assert_eq!(executors(&sessions), (2, 1), "{kind:?}");
        let (hung, new) = (world.record.assert_one_thread("hung"), world.record.assert_one_thread("fine"));
        assert_ne!(hung.tid, new.tid);
        gate.open();
        until_gone(&mut events, "hung").await;
        let stopped = |kind: &ObservedKind| matches!(kind, ObservedKind::ExecutorStopped { .. });
        until(&mut events, stopped).await;
        assert!(thread_is_gone(&hung.tid), "{kind:?}");
        assert_eq!(executors(&sessions), (1, 0), "{kind:?}");
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
        assert_books_are_empty(&sessions);
        world.record.assert_taken_apart();
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_one_that_never_comes_back_is_in_the_report() {
    let clock = Clock::hold();
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, config().build().unwrap());
    let gate = hang(&sessions, &world, &clock, "hung").await;
    sessions.open(id("fine")).await.unwrap();
    let report = sessions.shutdown(Shutdown::Graceful).await;
    assert!(!report.is_clean());
    assert_eq!((report.abandoned, report.leaked_threads), (1, 1));
    let lines: Vec<_> = report.sessions.iter().map(|it| (it.id.as_str(), it.abandoned)).collect();
    assert_eq!(lines, [("fine", false), ("hung", true)]);
    let expected = Some(&(Step::Drain, Outcome::Abandoned));
    assert_eq!(outcomes(&report.sessions[1]).last(), expected);
    assert!(!report.sessions[1].during_shutdown, "it was given up before");
    assert_eq!(report.slowest().map(|(session, _)| session.id.as_str()), Some("fine"));
    gate.open();
}

/// Those that were not built yet lose nothing but time.
#[tokio::test(start_paused = true)]
async fn whoever_waits_to_be_built_there_is_built_elsewhere() {
    let clock = Clock::hold();
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, config().build().unwrap());
    let gate = Gate::new();
    world.plan("hung", Stage::Build, [Act::Block(gate.clone())]);
    let open = |name: &'static str| {
        let sessions = sessions.clone();
        tokio::spawn(async move { sessions.open(id(name)).await })
    };
    let hung = open("hung");
    world.record.until("hung", Did::Build).await;
    let waiting = [open("a"), open("b")];
    tokio::task::yield_now().await;
    clock.advance(secs(60)).await;
    clock.advance(secs(1)).await;
    hung.await.unwrap().unwrap_err();
    for asker in waiting {
        let session = asker.await.unwrap().unwrap();
        assert_eq!(session.call(ask(1, Act::Pass)).await, Ok(2));
    }
    gate.open();
    world.record.until("hung", Did::Drop).await;
    sessions.shutdown(Shutdown::Graceful).await;
    world.record.assert_taken_apart();
}

#[tokio::test(start_paused = true)]
async fn a_hang_on_one_thread_of_a_pool_does_not_touch_the_other() {
    let clock = Clock::hold();
    let world = World::new();
    let sessions = Kind::Pinned.sessions(&world, config().build().unwrap());
    let fine = sessions.open(id("fine")).await.unwrap();
    let gate = hang(&sessions, &world, &clock, "hung").await;
    assert_eq!(fine.call(ask(1, Act::Pass)).await, Ok(2));
    assert!(fine.close().await.unwrap().clean);
    gate.open();
    world.record.until("hung", Did::Drop).await;
}

#[tokio::test(start_paused = true)]
async fn beyond_a_limit_of_abandoned_sessions_nothing_is_opened_until_they_come_back() {
    for kind in Kind::THREADS {
        let clock = Clock::hold();
        let world = World::new();
        let sessions = kind.sessions(&world, config().abandoned_limit(2).build().unwrap());
        let mut events = sessions.subscribe();
        let one = hang(&sessions, &world, &clock, "one").await;
        assert!(sessions.status().ready);
        let two = hang(&sessions, &world, &clock, "two").await;
        assert!(!sessions.status().ready, "{kind:?}");
        let refused = OpenError::Refused(Refusal::TooManyAbandoned { abandoned: 2, limit: 2 });
        assert_eq!(sessions.open(id("a")).await.unwrap_err(), refused, "{kind:?}");
        one.open();
        until_gone(&mut events, "one").await;
        assert!(sessions.status().ready, "{kind:?}");
        sessions.open(id("a")).await.unwrap();
        two.open();
        until_gone(&mut events, "two").await;
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// A deadline never counts time in a queue: each of the three takes most of it.
#[tokio::test(start_paused = true)]
async fn closes_on_one_executor_wait_for_each_other_without_being_late() {
    let clock = Clock::hold();
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, config().build().unwrap());
    let mut events = sessions.subscribe();
    let gates = ["a", "b", "c"].map(|name| (name, Gate::new()));
    for (name, gate) in &gates {
        world.plan(name, Stage::Close, [Act::Await(gate.clone())]);
        sessions.open(id(name)).await.unwrap();
    }
    for (name, _) in &gates {
        sessions.find(name).unwrap().begin_close(CloseReason::Requested).unwrap();
    }
    for (name, gate) in &gates {
        world.record.until(name, Did::Close).await;
        clock.advance(secs(8)).await;
        gate.open();
        until_gone(&mut events, name).await;
    }
    let report = sessions.shutdown(Shutdown::Graceful).await;
    assert!(report.sessions.is_empty(), "none had a fault: {report:#?}");
}

/// One that always has something to do at once leaves room for one that waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_session_does_not_starve_its_neighbour() {
    for kind in [Kind::Shared, Kind::Pinned] {
        let world = World::new();
        let sessions = kind.sessions_of::<false, false>(&world, config().build().unwrap());
        let busy = sessions.open(id("busy")).await.unwrap();
        let other = sessions.open(id("other")).await.unwrap();
        let quiet = sessions.open(id("quiet")).await.unwrap(); // where `busy` lives
        let flood = tokio::spawn(async move {
            loop {
                let calls: Vec<_> =
                    (0..200).map(|n| busy.begin_call().unwrap().run(ask(n, Act::Pass))).collect();
                for call in calls {
                    call.await.unwrap();
                }
            }
        });
        world.record.until("busy", Did::Call(50)).await;
        for session in [&quiet, &other] {
            assert_eq!(session.call(ask(1, Act::Sleep(std::time::Duration::from_millis(1)))).await, Ok(2));
        }
        flood.abort();
        assert!(flood.await.unwrap_err().is_cancelled());
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
    }
}

/// The tables of the driver do not grow with the number of sessions that there were.
#[tokio::test]
async fn places_of_sessions_and_executors_are_used_again() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        for _ in 0..50 {
            let session = sessions.open(id("a")).await.unwrap();
            assert_eq!(session.key().index(), 0, "{kind:?}");
            session.close().await.unwrap();
        }
        sessions.begin_shutdown(Shutdown::Graceful);
        let stopped = |kind: &ObservedKind| *kind == ObservedKind::Lifespan(Lifespan::Stopped);
        for event in until(&mut events, stopped).await {
            if let ObservedKind::ExecutorStarted { key, .. } = event.kind {
                assert_eq!(key.index(), 0, "{kind:?}");
            }
        }
    }
}
