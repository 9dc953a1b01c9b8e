//! Every public future can be dropped at every await point, and nothing is leaked (B02, B05).
//!
//! The harness: poll k times, each time when woken, then drop; for every k until the future is ready by itself.

use std::future::Future;

use crate::support::*;

/// More polls than any of these futures needs.
const ENOUGH: usize = 50;

/// Runs a case with 0, 1, 2 ... polls, in a new world each, until its future is ready by itself.
async fn at_every_await_point<T, F, Fut>(kind: Kind, case: F)
where
    F: Fn(World, Sessions, usize) -> Fut,
    Fut: Future<Output = Option<T>>,
{
    for polls in 0..ENOUGH {
        let world = World::new();
        let sessions = kind.sessions_of::<true, false>(&world, config().build().unwrap());
        let ready = case(world.clone(), sessions.clone(), polls).await.is_some();
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{kind:?} after {polls} polls: {report:#?}");
        assert_books_are_empty(&sessions);
        world.record.assert_taken_apart();
        let (built, dropped) = (world.record.count(Did::Build), world.record.count(Did::Drop));
        assert_eq!(built, dropped, "{kind:?} after {polls} polls\n{}", world.record.show());
        if ready {
            return;
        }
    }
    panic!("{kind:?}: still not ready");
}

#[tokio::test]
async fn b02_open() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |world: World, sessions: Sessions, polls| {
            world.plan("a", Stage::Enter, [Act::Sleep(secs(0))]);
            poll_then_drop(sessions.open(id("a")), polls).await
        })
        .await;
    }
}

#[tokio::test]
async fn b02_open_one_shot() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            poll_then_drop(sessions.open_one_shot(id("a")), polls).await
        })
        .await;
    }
}

#[tokio::test]
async fn an_open_that_fails() {
    for kind in Kind::ALL {
        for stage in [Stage::Build, Stage::Enter] {
            for polls in 0..3 {
                let world = World::new();
                world.plan("a", stage, [Act::Fail]);
                let sessions = kind.sessions(&world, config().build().unwrap());
                poll_then_drop(sessions.open(id("a")), polls).await;
                sessions.shutdown(Shutdown::Graceful).await;
                assert_books_are_empty(&sessions);
                world.record.assert_taken_apart();
            }
        }
    }
}

#[tokio::test]
async fn session_call() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            let session = sessions.open(id("a")).await.unwrap();
            poll_then_drop(session.call(ask(1, Act::Sleep(secs(0)))), polls).await
        })
        .await;
    }
}

#[tokio::test]
async fn call_run_that_waits_for_its_turn() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |world: World, sessions: Sessions, polls| {
            let session = sessions.open(id("a")).await.unwrap();
            let gate = Gate::new();
            let first = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Await(gate.clone()))));
            world.record.until("a", Did::Call(1)).await;
            let second = session.begin_call().unwrap().run(ask(2, Act::Pass));
            let mut second = std::pin::pin!(second);
            let early = poll_then_drop(second.as_mut(), polls.min(1)).await;
            gate.open();
            let late = poll_then_drop(second, polls.saturating_sub(1)).await;
            first.await.unwrap().unwrap();
            early.or(late)
        })
        .await;
    }
}

#[tokio::test]
async fn session_close() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |world: World, sessions: Sessions, polls| {
            world.plan("a", Stage::Close, [Act::Fail]);
            let session = sessions.open(id("a")).await.unwrap();
            let closed = poll_then_drop(session.close(), polls).await;
            if polls > 0 {
                assert_eq!(session.closed().await.reason, CloseReason::Requested); // what has begun goes on
            }
            closed
        })
        .await;
    }
}

#[tokio::test]
async fn session_closed() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            let session = sessions.open(id("a")).await.unwrap();
            let mut closed = std::pin::pin!(session.closed());
            let early = poll_then_drop(closed.as_mut(), polls.min(1)).await;
            assert_eq!(early, None);
            session.begin_close(CloseReason::Requested).unwrap();
            poll_then_drop(closed, polls.saturating_sub(1)).await
        })
        .await;
    }
}

#[tokio::test]
async fn sessions_shutdown_and_stopped() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            sessions.open(id("a")).await.unwrap();
            poll_then_drop(sessions.shutdown(Shutdown::Graceful), polls).await
        })
        .await;
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            sessions.open(id("a")).await.unwrap();
            sessions.begin_shutdown(Shutdown::Graceful);
            poll_then_drop(sessions.stopped(), polls).await
        })
        .await;
    }
}

/// What one dropped future did not take, the next one gets.
#[tokio::test]
async fn subscription_recv_loses_nothing() {
    let world = World::new();
    let sessions = Kind::PerSession.sessions(&world, config().build().unwrap());
    let mut events = sessions.subscribe();
    let mut sequence = 0;
    sessions.open(id("a")).await.unwrap();
    sessions.begin_shutdown(Shutdown::Graceful);
    for polls in [0, 1, 0, 2, 1].into_iter().cycle() {
        let Some(event) = poll_then_drop(events.recv(), polls).await else { continue };
        let event = event.unwrap();
        sequence += 1;
        assert_eq!(event.sequence, sequence);
        if event.kind == ObservedKind::Lifespan(Lifespan::Stopped) {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn attachment_told_to_go() {
    for kind in Kind::ALL {
        at_every_await_point(kind, async |_, sessions: Sessions, polls| {
            let session = sessions.open(id("a")).await.unwrap();
            let stream = session.attach().unwrap();
            let mut told = std::pin::pin!(stream.told_to_go());
            assert_eq!(poll_then_drop(told.as_mut(), polls.min(1)).await, None);
            session.begin_close(CloseReason::Requested).unwrap();
            poll_then_drop(told, polls.saturating_sub(1)).await
        })
        .await;
    }
}

/// The answer is on its way, and nobody is there to take it: the session is closed like any other.
#[tokio::test]
async fn b02_an_asker_that_goes_between_opened_and_the_answer() {
    for kind in Kind::ALL {
        let world = World::new();
        let gate = Gate::new();
        world.plan("a", Stage::Enter, [Act::Await(gate.clone())]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        {
            let mut opening = Box::pin(sessions.open(id("a")));
            assert!(poll_then_drop(opening.as_mut(), 1).await.is_none());
            gate.open();
            until(&mut events, |kind| matches!(kind, ObservedKind::Opened { .. })).await;
        }
        let report = until_gone(&mut events, "a").await;
        assert_eq!(report.reason, CloseReason::AskerGone, "{kind:?}");
        assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Drop]);
        assert_eq!(sessions.status().books.open, 0);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// A build can't be interrupted: the opening is finished, and what it made is taken apart, on its thread.
#[tokio::test]
async fn b02_an_asker_that_goes_during_the_build() {
    for kind in Kind::THREADS {
        let world = World::new();
        let gate = Gate::new();
        world.plan("a", Stage::Build, [Act::Block(gate.clone())]);
        let sessions = kind.sessions(&world, config().capacity(1).build().unwrap());
        let mut events = sessions.subscribe();
        let asker = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.open(id("a")).await }
        });
        world.record.until("a", Did::Build).await;
        asker.abort();
        asker.await.unwrap_err();
        assert_eq!(sessions.status().books.open, 1, "{kind:?}: it still holds something");
        gate.open();
        until_gone(&mut events, "a").await;
        assert_eq!(
            world.record.of("a"),
            [Did::Build, Did::Enter, Did::Leave, Did::Close, Did::Drop],
            "{kind:?}"
        );
        world.record.assert_one_thread("a");
        sessions.open(id("b")).await.unwrap(); // the slot is back
        sessions.shutdown(Shutdown::Graceful).await;
    }
}
