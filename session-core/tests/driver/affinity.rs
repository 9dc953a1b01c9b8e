//! I3: an environment lives on one thread, from its construction to its drop. Threads say what they serve, and end.

use crate::support::*;

/// Opens, calls and closes sessions of these names, and shuts down.
async fn live(kind: Kind, world: &World, names: &[&str]) -> ShutdownReport {
    let sessions = kind.sessions(world, config().build().unwrap());
    for (number, name) in (1..).zip(names) {
        sessions.open(id(name)).await.unwrap();
        let call = sessions.begin_call(name).unwrap();
        assert_eq!(call.run(ask(number, Act::Pass)).await, Ok(number + 1));
    }
    sessions.find(names[0]).unwrap().close().await.unwrap();
    let report = sessions.shutdown(Shutdown::Graceful).await;
    assert_books_are_empty(&sessions);
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_life_happens_on_one_thread() {
    for kind in Kind::THREADS {
        let world = World::new();
        let report = live(kind, &world, &["a", "b", "c"]).await;
        assert!(report.is_clean(), "{report:#?}");
        let runtime = std::thread::current().id();
        for (number, name) in (1..).zip(["a", "b", "c"]) {
            assert_ne!(world.record.assert_one_thread(name).thread, runtime, "{kind:?}");
            let life = [
                Did::Build,
                Did::Enter,
                Did::Call(number),
                Did::Reply(number),
                Did::Leave,
                Did::Close,
                Did::Drop,
            ];
            assert_eq!(world.record.of(name), life, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn it_does_so_with_calls_that_wait_and_a_close_that_is_tried_again() {
    for kind in Kind::THREADS {
        let world = World::new();
        world.plan("a", Stage::Enter, [Act::Sleep(std::time::Duration::from_millis(1))]);
        world.plan("a", Stage::Close, [Act::Fail]);
        let sessions = kind.sessions_of::<false, true>(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let gate = Gate::new();
        let slow = tokio::spawn({
            let session = session.clone();
            let gate = gate.clone();
            async move { session.call(ask(1, Act::Await(gate))).await }
        });
        world.record.until("a", Did::Call(1)).await;
        assert_eq!(session.call(ask(2, Act::Pass)).await, Ok(3)); // overtakes
        gate.open();
        assert_eq!(slow.await.unwrap(), Ok(2));
        session.close().await.unwrap();
        world.record.assert_one_thread("a");
        assert_eq!(world.record.count(Did::Close), 2);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn each_session_has_its_own_thread_all_share_one_or_a_pool_of_two() {
    for (kind, threads) in [(Kind::PerSession, 4), (Kind::Shared, 1), (Kind::Pinned, 2)] {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        for name in ["a", "b", "c", "d"] {
            sessions.open(id(name)).await.unwrap();
        }
        assert_eq!(sessions.status().books.executors, threads, "{kind:?}");
        let mut seen: Vec<_> = world.record.all().into_iter().map(|entry| entry.tid).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), threads, "{kind:?}\n{}", world.record.show());
        sessions.shutdown(Shutdown::Graceful).await;
        assert_books_are_empty(&sessions);
    }
}

#[tokio::test]
async fn a_thread_is_named_after_what_it_serves() {
    for (kind, expected) in
        [(Kind::PerSession, "session a"), (Kind::Shared, "sessions-"), (Kind::Pinned, "sessions-")]
    {
        let world = World::new();
        live(kind, &world, &["a"]).await;
        let name = world.record.assert_one_thread("a").name;
        assert!(name.starts_with(expected), "{kind:?}: {name}");
    }
}

#[tokio::test]
async fn after_stopped_no_executor_has_a_thread() {
    for kind in Kind::THREADS {
        let world = World::new();
        live(kind, &world, &["a", "b", "c"]).await;
        for entry in world.record.all() {
            assert!(thread_is_gone(&entry.tid), "{kind:?}: {entry:?}");
        }
    }
}

#[tokio::test]
async fn a_session_with_a_thread_of_its_own_is_closed_once_the_thread_is_gone() {
    let world = World::new();
    let sessions = Kind::PerSession.sessions(&world, config().build().unwrap());
    let session = sessions.open(id("a")).await.unwrap();
    assert!(session.close().await.unwrap().clean);
    assert!(thread_is_gone(&world.record.assert_one_thread("a").tid));
    assert_eq!(sessions.status().books.executors, 0);
}

/// B55: the drop of a value that was never opened is part of its life, too.
#[tokio::test]
async fn b55_what_failed_to_open_is_taken_apart_on_its_thread() {
    for kind in Kind::THREADS {
        let world = World::new();
        world.plan("a", Stage::Enter, [Act::Fail]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        sessions.open(id("a")).await.unwrap_err();
        assert_eq!(world.record.of("a"), [Did::Build, Did::Enter, Did::Close, Did::Drop]);
        world.record.assert_one_thread("a");
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn environments_without_a_thread_start_none() {
    let world = World::new();
    let sessions = Kind::Tasks.sessions(&world, config().build().unwrap());
    let session = sessions.open(id("a")).await.unwrap();
    assert_eq!(session.call(ask(1, Act::Pass)).await, Ok(2));
    assert_eq!(sessions.status().books.executors, 0);
    let here = std::thread::current().id(); // the only thread of this runtime
    assert_eq!(world.record.assert_one_thread("a").thread, here);
    assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
}

/// A task environment can be given a thread, too.
#[tokio::test]
async fn a_task_environment_can_live_on_a_thread() {
    let world = World::new();
    let factory = world.factory::<AsTask<true, false>>();
    let sessions = Sessions::on_threads(config().build().unwrap(), Threads::Shared, factory);
    let session = sessions.open(id("a")).await.unwrap();
    assert_eq!(session.call(ask(1, Act::Pass)).await, Ok(2));
    sessions.shutdown(Shutdown::Graceful).await;
    assert_ne!(world.record.assert_one_thread("a").thread, std::thread::current().id());
}
