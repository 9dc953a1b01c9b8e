//! Observers see everything, in order, and disturb nothing (I10).

use std::collections::HashMap;

use crate::support::*;

/// How much a subscriber may be behind.
const BACKLOG: u64 = 4096;

fn stopped(kind: &ObservedKind) -> bool {
    *kind == ObservedKind::Lifespan(Lifespan::Stopped)
}

/// The session that an event is about.
fn subject(kind: &ObservedKind) -> Option<SessionKey> {
    match kind {
        ObservedKind::Opening { key, .. }
        | ObservedKind::Opened { key, .. }
        | ObservedKind::Closing { key, .. }
        | ObservedKind::StepDone { key, .. }
        | ObservedKind::Abandoned { key, .. } => Some(*key),
        ObservedKind::Gone(report) => Some(report.key),
        ObservedKind::ExecutorStarted { .. }
        | ObservedKind::ExecutorStopped { .. }
        | ObservedKind::ExecutorLost { .. }
        | ObservedKind::Lifespan(_)
        | ObservedKind::Missed(_) => None,
    }
}

fn word(kind: &ObservedKind) -> String {
    match kind {
        ObservedKind::Opening { .. } => "opening".into(),
        ObservedKind::Opened { .. } => "opened".into(),
        ObservedKind::Closing { reason, .. } => format!("closing: {reason}"),
        ObservedKind::StepDone { step, outcome, .. } => format!("{step} {outcome}"),
        ObservedKind::Gone(report) => format!("gone: {}", report.reason),
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_one_session_tell_its_life_in_order() {
    for kind in Kind::ALL {
        let world = World::new();
        world.plan("b", Stage::Close, [Act::Fail]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        let mut lives = HashMap::new();
        for name in ["a", "b", "c"] {
            lives.insert(sessions.open(id(name)).await.unwrap().key(), name);
        }
        sessions.begin_shutdown(Shutdown::Graceful);
        let seen = until(&mut events, stopped).await;
        for (key, name) in lives {
            let mine = seen.iter().filter(|event| subject(&event.kind) == Some(key));
            let words: Vec<_> = mine.map(|event| word(&event.kind)).collect();
            let closes = if name == "b" { "close failed,close again done" } else { "close done" };
            let stop = if kind == Kind::PerSession { ",stop done" } else { "" };
            let expected = format!(
                "opening,build done,enter done,opened,closing: shutdown,leave done,{closes}{stop},gone: shutdown"
            );
            assert_eq!(words.join(","), expected, "{kind:?}");
        }
        let numbers: Vec<_> = seen.iter().map(|event| event.sequence).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{kind:?}");
        assert!(seen.is_sorted_by_key(|event| event.at), "{kind:?}");
    }
}

/// An executor has started before anything happens on it, and has stopped after all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_frames_what_happens_on_it() {
    for kind in Kind::THREADS {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        world.plan("a", Stage::Build, [Act::Fail]); // the shortest of lives
        for _ in 0..20 {
            sessions.open(id("a")).await.ok();
        }
        sessions.begin_shutdown(Shutdown::Graceful);
        let seen = until(&mut events, stopped).await;
        let mut running = 0_i32;
        let (mut started, mut ended) = (0, 0);
        for event in seen {
            match event.kind {
                ObservedKind::ExecutorStarted { thread, .. } => {
                    assert!(thread.starts_with("session"), "{thread}");
                    (running, started) = (running + 1, started + 1);
                }
                ObservedKind::ExecutorStopped { .. } => (running, ended) = (running - 1, ended + 1),
                ObservedKind::StepDone { step: Step::Build, .. } => assert!(running > 0, "{kind:?}"),
                _ => {}
            }
            assert!(running >= 0, "{kind:?}");
        }
        assert!(started > 0 && started == ended, "{kind:?}: {started} {ended}");
    }
}

#[tokio::test]
async fn b53_a_slow_observer_loses_the_oldest_is_told_how_many_and_disturbs_nothing() {
    let world = World::new();
    let sessions = Kind::Tasks.sessions(&world, config().build().unwrap());
    let mut slow = sessions.subscribe();
    let mut quick = sessions.subscribe();
    let mut total = 0;
    while total < BACKLOG + 100 {
        sessions.open(id("a")).await.unwrap().close().await.unwrap();
        while let Some(Some(event)) = poll_then_drop(quick.recv(), 1).await {
            total += 1;
            assert_eq!(event.sequence, total);
        }
    }
    let first = slow.recv().await.unwrap();
    assert_eq!(first, Observed { sequence: 0, at: secs(0), kind: ObservedKind::Missed(total - BACKLOG) });
    for sequence in total - BACKLOG + 1..=total {
        assert_eq!(slow.recv().await.unwrap().sequence, sequence);
    }
    assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
}

#[tokio::test]
async fn without_an_observer_events_are_counted_all_the_same() {
    let world = World::new();
    let sessions = Kind::Tasks.sessions(&world, config().build().unwrap());
    sessions.open(id("a")).await.unwrap(); // opening, build, enter, opened
    let mut late = sessions.subscribe();
    sessions.begin_shutdown(Shutdown::Graceful);
    assert_eq!(late.recv().await.unwrap().sequence, 5);
    sessions.stopped().await;
}

#[tokio::test]
async fn a_subscription_ends_with_the_sessions_and_does_not_keep_them() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        sessions.open(id("a")).await.unwrap();
        drop(sessions);
        let mut last = None;
        while let Some(event) = events.recv().await {
            last = Some(event);
        }
        let last = last.unwrap();
        assert!(stopped(&last.kind), "{kind:?} {last:?}");
    }
}

/// Each change of the lifespan can be watched, too.
#[tokio::test]
async fn the_lifespan_can_be_watched() {
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, config().build().unwrap());
    let control = sessions.control();
    let mut lifespan = control.lifespan();
    assert_eq!(*lifespan.borrow_and_update(), Lifespan::Running);
    sessions.open(id("a")).await.unwrap();
    control.begin_shutdown(Shutdown::Graceful);
    lifespan.wait_for(|it| *it == Lifespan::Stopped).await.unwrap();
    assert_eq!(control.status().lifespan, Lifespan::Stopped);
    assert!(control.stopped().await.is_clean());
}
