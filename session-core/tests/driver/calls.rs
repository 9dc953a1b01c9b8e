//! Calls: their order, their overlap, their end, and what becomes of them when nobody listens.

use tokio::task::JoinHandle;

use crate::support::*;

fn spawn_call(session: &Session, call: Ask) -> JoinHandle<Result<u32, CallError>> {
    let call = session.begin_call().unwrap().run(call);
    tokio::spawn(call)
}

#[tokio::test]
async fn serialised_calls_run_one_after_the_other_in_the_order_they_were_asked() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions_of::<true, false>(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let gate = Gate::new();
        let first = spawn_call(&session, ask(1, Act::Await(gate.clone())));
        world.record.until("a", Did::Call(1)).await;
        let others: Vec<_> =
            (2..6).map(|number| spawn_call(&session, ask(number, Act::Sleep(secs(0))))).collect();
        tokio::task::yield_now().await; // each was polled once
        gate.open();
        assert_eq!(first.await.unwrap(), Ok(2));
        for (number, other) in (2..6).zip(others) {
            assert_eq!(other.await.unwrap(), Ok(number + 1));
        }
        let expected: Vec<_> = (1..6).flat_map(|number| [Did::Call(number), Did::Reply(number)]).collect();
        assert_eq!(world.record.of("a")[2..], expected, "{kind:?}");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn concurrent_calls_overlap_and_a_fast_one_overtakes() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions_of::<false, false>(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let gate = Gate::new();
        let slow = spawn_call(&session, ask(1, Act::Await(gate.clone())));
        world.record.until("a", Did::Call(1)).await;
        assert_eq!(session.call(ask(2, Act::Pass)).await, Ok(3));
        assert_eq!(sessions.status().books.calls, 1);
        gate.open();
        assert_eq!(slow.await.unwrap(), Ok(2));
        assert_eq!(sessions.status().books.calls, 0);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_waiting_call_of_one_session_does_not_hold_up_another() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let slow = sessions.open(id("slow")).await.unwrap();
        let quick = sessions.open(id("quick")).await.unwrap();
        let gate = Gate::new();
        let waiting = spawn_call(&slow, ask(1, Act::Await(gate.clone())));
        world.record.until("slow", Did::Call(1)).await;
        assert_eq!(quick.call(ask(1, Act::Pass)).await, Ok(2));
        quick.close().await.unwrap();
        gate.open();
        assert_eq!(waiting.await.unwrap(), Ok(2));
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// The call whose caller goes is under way; what follows waits for it.
async fn caller_goes<const CANCEL: bool>(kind: Kind) -> (World, Sessions, Gate) {
    let world = World::new();
    let sessions = kind.sessions_of::<true, CANCEL>(&world, config().build().unwrap());
    let session = sessions.open(id("a")).await.unwrap();
    let gate = Gate::new();
    let call = spawn_call(&session, ask(1, Act::Await(gate.clone())));
    world.record.until("a", Did::Call(1)).await;
    call.abort();
    call.await.unwrap_err();
    (world, sessions, gate)
}

#[tokio::test]
async fn b14_an_unheard_call_is_cancelled_if_the_environment_says_so() {
    for kind in Kind::ALL {
        let (world, sessions, _gate) = caller_goes::<true>(kind).await;
        world.record.until("a", Did::Lost(1)).await;
        assert_eq!(sessions.find("a").unwrap().call(ask(2, Act::Pass)).await, Ok(3), "{kind:?}");
        assert_eq!(sessions.status().books.calls, 0);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn b14_an_unheard_call_runs_to_its_end_if_the_environment_says_so() {
    for kind in Kind::ALL {
        let (world, sessions, gate) = caller_goes::<false>(kind).await;
        assert_eq!(sessions.status().books.calls, 1, "{kind:?}"); // in flight until it really ended
        let next = spawn_call(&sessions.find("a").unwrap(), ask(2, Act::Pass));
        gate.open();
        assert_eq!(next.await.unwrap(), Ok(3));
        let expected = [Did::Call(1), Did::Reply(1), Did::Call(2), Did::Reply(2)];
        assert_eq!(world.record.of("a")[2..], expected, "{kind:?}");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_close_waits_for_an_unheard_call_that_runs_to_its_end() {
    for kind in Kind::ALL {
        let (world, sessions, gate) = caller_goes::<false>(kind).await;
        let mut events = sessions.subscribe();
        sessions.find("a").unwrap().begin_close(CloseReason::Requested).unwrap();
        gate.open();
        let report = until_gone(&mut events, "a").await;
        assert_eq!(report.steps[2].outcome, Outcome::Done, "{kind:?} {report:?}");
        let end = [Did::Call(1), Did::Reply(1), Did::Leave, Did::Close, Did::Drop];
        assert_eq!(world.record.of("a")[2..], end, "{kind:?}");
    }
}

/// It is on its way to a thread that is busy when its caller goes: it never reaches the environment.
#[tokio::test]
async fn an_unheard_call_that_is_to_be_cancelled_does_not_begin() {
    for kind in Kind::THREADS {
        let world = World::new();
        let sessions = kind.sessions_of::<false, true>(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let gate = Gate::new();
        let blocking = spawn_call(&session, ask(1, Act::Block(gate.clone())));
        world.record.until("a", Did::Call(1)).await;
        let unheard = session.begin_call().unwrap().run(ask(2, Act::Pass));
        assert_eq!(poll_then_drop(unheard, 1).await, None);
        gate.open();
        assert_eq!(blocking.await.unwrap(), Ok(2));
        assert_eq!(session.call(ask(3, Act::Pass)).await, Ok(4));
        assert_eq!(world.record.count(Did::Call(2)), 0, "{kind:?}");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_call_that_begins_and_is_not_run_ends_when_it_is_dropped() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let call = session.begin_call().unwrap();
        assert_eq!((call.id().as_str(), sessions.status().books.calls), ("a", 1));
        drop(call);
        assert_eq!(sessions.status().books.calls, 0);
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean());
        assert_eq!(world.record.of("a"), [Did::Build, Did::Enter, Did::Leave, Did::Close, Did::Drop]);
    }
}

/// I9, and the refusal says why.
#[tokio::test]
async fn nothing_is_called_once_closing_began() {
    for kind in Kind::ALL {
        let world = World::new();
        let gate = Gate::new();
        world.plan("a", Stage::Leave, [Act::Await(gate.clone())]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let closing = tokio::spawn({
            let session = session.clone();
            async move { session.close().await }
        });
        world.record.until("a", Did::Leave).await;
        let refusal = Refusal::Closing { reason: CloseReason::Requested };
        assert_eq!(session.call(ask(1, Act::Pass)).await, Err(CallError::Refused(refusal)));
        assert_eq!(session.attach().unwrap_err(), refusal);
        assert_eq!(session.close().await, Err(refusal));
        gate.open();
        assert!(closing.await.unwrap().unwrap().clean);
        let ended = Refusal::Ended { reason: CloseReason::Requested };
        assert_eq!(sessions.begin_call("a").unwrap_err(), ended);
        assert_eq!(sessions.find("a").unwrap_err(), ended);
        assert_eq!(session.begin_call().unwrap_err(), Refusal::Unknown); // its key is stale
        assert_eq!(sessions.begin_call("b").unwrap_err(), Refusal::Unknown);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// The hot path never meets the dispatcher: nothing that could be observed happens.
#[tokio::test]
async fn a_call_on_an_open_session_is_no_event() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, Config::default());
        let mut events = sessions.subscribe();
        let session = sessions.open(id("a")).await.unwrap();
        until(&mut events, |kind| matches!(kind, ObservedKind::Opened { .. })).await;
        for number in 0..100 {
            session.call(ask(number, Act::Pass)).await.unwrap();
            let _attached = session.attach().unwrap();
        }
        session.begin_close(CloseReason::Requested).unwrap();
        let next = events.recv().await.unwrap();
        assert!(matches!(next.kind, ObservedKind::Closing { .. }), "{kind:?}: {next:?}");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}
