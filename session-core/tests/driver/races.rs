//! Many threads at once: every call gets a reply or a typed refusal, and the books return to zero.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::*;

const PLACES: usize = 8;

#[derive(Default)]
struct Tally {
    replies: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
    opened: AtomicU64,
}

impl Tally {
    fn count(&self, result: &Result<u32, CallError>, number: u32) {
        let counter = match result {
            Ok(reply) => {
                assert_eq!(*reply, number + 1);
                &self.replies
            }
            Err(CallError::Refused(
                Refusal::Unknown | Refusal::Ended { .. } | Refusal::Closing { .. } | Refusal::StillOpening,
            )) => &self.refused,
            Err(CallError::Cut { .. }) => &self.cut,
            Err(other) => panic!("{other:?}"),
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls whatever is there, as fast as it can.
async fn caller(sessions: Sessions, tally: Arc<Tally>, seed: usize) {
    for number in 0.. {
        let name = format!("s{}", (seed + number as usize * 7) % PLACES);
        let act = if number % 5 == 0 { Act::Sleep(secs(0)) } else { Act::Pass };
        let result = match sessions.begin_call(&name) {
            Ok(call) if number % 11 == 0 => {
                drop(call);
                continue;
            }
            Ok(call) => call.run(ask(number, act)).await,
            Err(refusal) => Err(CallError::Refused(refusal)),
        };
        tally.count(&result, number);
        if sessions.status().lifespan == Lifespan::Stopped {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Opens and closes, sometimes drops the opening half-way.
async fn owner(sessions: Sessions, tally: Arc<Tally>, place: usize) {
    let name = format!("s{place}");
    for round in 0.. {
        let opened = match round % 4 {
            0 => poll_then_drop(sessions.open(id(&name)), 1).await,
            _ => Some(sessions.open(id(&name)).await),
        };
        match opened {
            Some(Ok(session)) => {
                tally.opened.fetch_add(1, Ordering::Relaxed);
                let stream = session.attach();
                for _ in 0..round % 8 {
                    tokio::task::yield_now().await;
                }
                let _ = session.close().await;
                drop(stream);
            }
            Some(Err(OpenError::Refused(Refusal::Draining))) => return,
            Some(Err(_)) | None => tokio::task::yield_now().await,
        }
    }
}

async fn stress(kind: Kind, how: Shutdown, rounds: u64) {
    let world = World::new();
    let sessions = kind.sessions_of::<false, true>(&world, config().build().unwrap());
    let tally = Arc::new(Tally::default());
    let mut at_work = Vec::new();
    for place in 0..PLACES {
        at_work.push(tokio::spawn(owner(sessions.clone(), Arc::clone(&tally), place)));
    }
    for seed in 0..PLACES {
        at_work.push(tokio::spawn(caller(sessions.clone(), Arc::clone(&tally), seed)));
    }
    while tally.opened.load(Ordering::Relaxed) < rounds || tally.replies.load(Ordering::Relaxed) < rounds / 10
    {
        tokio::task::yield_now().await;
    }
    let report = sessions.shutdown(how).await;
    for task in at_work {
        task.await.unwrap();
    }
    assert!(report.is_clean(), "{kind:?} {how:?} {report:#?}");
    assert_books_are_empty(&sessions);
    world.record.assert_taken_apart();
    let (built, dropped) = (world.record.count(Did::Build), world.record.count(Did::Drop));
    assert_eq!(built, dropped, "{kind:?} {how:?}");
    assert_eq!(world.record.count(Did::Close), dropped, "{kind:?} {how:?}: exactly once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_race_with_opens_closes_and_a_graceful_shutdown() {
    for kind in Kind::ALL {
        stress(kind, Shutdown::Graceful, 100).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_race_with_opens_closes_and_a_forced_shutdown() {
    for kind in Kind::ALL {
        stress(kind, Shutdown::Forced, 100).await;
    }
}

/// A call that has begun just before the end is asked for is finished, one that comes later is refused: nothing between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_and_a_close_at_the_same_moment() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        for round in 0..50 {
            let session = sessions.open(id("a")).await.unwrap();
            let barrier = Arc::new(tokio::sync::Barrier::new(2));
            let closing = tokio::spawn({
                let (session, barrier) = (session.clone(), Arc::clone(&barrier));
                async move {
                    barrier.wait().await;
                    session.close().await
                }
            });
            barrier.wait().await;
            match session.call(ask(round, Act::Sleep(secs(0)))).await {
                Ok(reply) => assert_eq!(reply, round + 1),
                Err(CallError::Refused(Refusal::Closing { .. } | Refusal::Unknown)) => {}
                Err(other) => panic!("{kind:?}: {other:?}"),
            }
            assert!(closing.await.unwrap().unwrap().clean, "{kind:?}");
        }
        sessions.shutdown(Shutdown::Graceful).await;
        world.record.assert_taken_apart();
    }
}

/// Whoever closes first is told how it went, the others that it is closing; it is closed once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closes_at_the_same_moment_close_once() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        for _ in 0..25 {
            let session = sessions.open(id("a")).await.unwrap();
            let closers: Vec<_> = (0..4)
                .map(|_| {
                    let session = session.clone();
                    tokio::spawn(async move { session.close().await })
                })
                .collect();
            let mut answers = Vec::new();
            for closer in closers {
                answers.push(closer.await.unwrap());
            }
            assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{kind:?} {answers:?}");
        }
        assert_eq!(world.record.count(Did::Close), 25, "{kind:?}");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

/// However many ask at once, and each slot comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b06_opens_at_the_same_moment_never_exceed_the_capacity() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().capacity(3).build().unwrap());
        let askers: Vec<_> = (0..24)
            .map(|number| {
                let sessions = sessions.clone();
                tokio::spawn(async move {
                    let opened = sessions.open(id(&format!("s{number}"))).await;
                    assert!(sessions.status().books.open <= 3);
                    match opened {
                        Ok(session) => u64::from(session.close().await.is_ok()),
                        Err(OpenError::Refused(Refusal::AtCapacity { open: 3, capacity: 3 })) => 0,
                        Err(other) => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        let mut opened = 0;
        for asker in askers {
            opened += asker.await.unwrap();
        }
        assert!(opened >= 3, "{kind:?}");
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert_eq!(report.closed[&CloseReason::Requested], opened);
        assert_books_are_empty(&sessions);
    }
}
