//! I4: the slots. At capacity nothing is built; the slot of a session that is closing is worth waiting for.

use tokio::task::JoinHandle;

use crate::support::*;

const FULL: OpenError = OpenError::Refused(Refusal::AtCapacity { open: 1, capacity: 1 });

/// One session in the one slot that there is, whose context is left when the gate opens; its end has begun.
async fn closing(kind: Kind) -> (World, Sessions, Session, Gate) {
    let world = World::new();
    let sessions = kind.sessions(&world, config().capacity(1).build().unwrap());
    let gate = Gate::new();
    world.plan("a", Stage::Leave, [Act::Await(gate.clone())]);
    let session = sessions.open(id("a")).await.unwrap();
    session.begin_close(CloseReason::Requested).unwrap();
    world.record.until("a", Did::Leave).await;
    (world, sessions, session, gate)
}

fn ask_for(sessions: &Sessions, name: &'static str) -> JoinHandle<Result<Session, OpenError>> {
    let sessions = sessions.clone();
    tokio::spawn(async move { sessions.open(id(name)).await })
}

#[tokio::test]
async fn at_capacity_nothing_is_built() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().capacity(1).build().unwrap());
        let first = sessions.open(id("a")).await.unwrap();
        assert_eq!(poll_then_drop(sessions.open(id("b")), 1).await.unwrap().unwrap_err(), FULL); // at once
        assert_eq!(world.record.of("b"), []);
        first.close().await.unwrap();
        sessions.open(id("b")).await.unwrap();
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// The slot is taken until the session holds nothing any more, and then it is free at once.
#[tokio::test(start_paused = true)]
async fn an_opening_waits_for_the_slot_of_a_session_that_is_closing() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let (world, sessions, _, gate) = closing(kind).await;
        let asker = ask_for(&sessions, "b");
        clock.advance(std::time::Duration::from_millis(900)).await;
        assert!(!asker.is_finished(), "{kind:?}");
        assert_eq!(world.record.of("b"), []);
        gate.open();
        asker.await.unwrap().unwrap();
        assert!(world.record.position("a", Did::Drop) < world.record.position("b", Did::Build), "{kind:?}");
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
        assert_books_are_empty(&sessions);
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_moment_only() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let (world, sessions, session, gate) = closing(kind).await;
        let asker = ask_for(&sessions, "b");
        tokio::task::yield_now().await;
        clock.advance(secs(1)).await;
        assert_eq!(asker.await.unwrap().unwrap_err(), FULL, "{kind:?}");
        gate.open();
        session.closed().await;
        assert_eq!(world.record.of("b"), []);
        sessions.shutdown(Shutdown::Graceful).await;
        assert_books_are_empty(&sessions);
    }
}

/// One that is given up gives its slot back, too.
#[tokio::test(start_paused = true)]
async fn a_slot_that_was_given_up_is_free() {
    for kind in Kind::THREADS {
        let clock = Clock::hold();
        let world = World::new();
        let config = config().capacity(1).slot_wait(secs(60)).build().unwrap();
        let sessions = kind.sessions(&world, config);
        let gate = Gate::new();
        world.plan("a", Stage::Leave, [Act::Block(gate.clone())]);
        let session = sessions.open(id("a")).await.unwrap();
        session.begin_close(CloseReason::Requested).unwrap();
        world.record.until("a", Did::Leave).await;
        let asker = ask_for(&sessions, "b");
        tokio::task::yield_now().await;
        clock.advance(secs(5)).await;
        clock.advance(secs(1)).await;
        asker.await.unwrap().unwrap();
        assert_eq!(sessions.status().books.abandoned, 1, "{kind:?}");
        gate.open();
        world.record.until("a", Did::Drop).await;
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn whoever_waits_for_a_slot_is_refused_when_draining_begins() {
    for kind in Kind::ALL {
        let (world, sessions, _, gate) = closing(kind).await;
        let asker = ask_for(&sessions, "b");
        tokio::task::yield_now().await;
        sessions.begin_shutdown(Shutdown::Graceful);
        assert_eq!(asker.await.unwrap().unwrap_err(), OpenError::Refused(Refusal::Draining), "{kind:?}");
        gate.open();
        assert!(sessions.stopped().await.is_clean());
        assert_eq!(world.record.of("b"), []);
    }
}

/// There is no queue to hold a place in: who goes while waiting leaves nothing behind.
#[tokio::test]
async fn b02_an_asker_that_goes_while_it_waits_for_a_slot() {
    for kind in Kind::ALL {
        for polls in 0..4 {
            let (world, sessions, session, gate) = closing(kind).await;
            {
                let mut opening = Box::pin(sessions.open(id("b")));
                assert!(poll_then_drop(opening.as_mut(), polls.min(1)).await.is_none(), "{kind:?}");
                gate.open();
                session.closed().await;
                poll_then_drop(opening.as_mut(), polls.saturating_sub(1)).await;
            }
            sessions.shutdown(Shutdown::Graceful).await;
            assert_books_are_empty(&sessions);
            world.record.assert_taken_apart();
        }
    }
}

/// As many as there are slots get in, whoever comes, and all do in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_go_round_among_many() {
    for kind in Kind::ALL {
        let world = World::new();
        let config = config().capacity(3).slot_wait(secs(600)).build().unwrap();
        let sessions = kind.sessions(&world, config);
        let askers: Vec<_> = (0..8)
            .map(|number| tokio::spawn(open_and_close(sessions.clone(), format!("s{number}"), 10)))
            .collect();
        for asker in askers {
            asker.await.unwrap();
        }
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert_eq!(report.closed[&CloseReason::Requested], 80, "{kind:?}");
        world.record.assert_taken_apart();
    }
}

async fn open_and_close(sessions: Sessions, name: String, times: usize) {
    let mut opened = 0;
    while opened < times {
        match sessions.open(id(&name)).await {
            Ok(session) => {
                assert!(sessions.status().books.open <= 3);
                opened += 1;
                session.close().await.unwrap();
            }
            // None of the three was closing just then.
            Err(OpenError::Refused(Refusal::AtCapacity { .. })) => tokio::task::yield_now().await,
            Err(other) => panic!("{other:?}"),
        }
    }
}
