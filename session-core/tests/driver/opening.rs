//! Opening: refused, failed, or open; never half.

use crate::support::*;

#[tokio::test]
async fn a_failed_build_says_why_in_the_environments_own_words() {
    for kind in Kind::ALL {
        let world = World::new();
        world.plan("a", Stage::Build, [Act::Fail]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let error = sessions.open(id("a")).await.unwrap_err();
        let expected =
            OpenError::Failed { reason: CloseReason::BuildFailed, message: "the build failed".into() };
        assert_eq!(error, expected, "{kind:?}");
        assert_eq!(world.record.of("a"), [Did::Build]); // nothing was built, so nothing is closed
        assert_eq!(sessions.status().books.open, 0);
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
    }
}

#[tokio::test]
async fn a_failed_context_is_not_left_and_the_environment_is_closed() {
    for kind in Kind::ALL {
        let world = World::new();
        world.plan("a", Stage::Enter, [Act::Fail]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let error = sessions.open(id("a")).await.unwrap_err();
        let expected =
            OpenError::Failed { reason: CloseReason::ContextFailed, message: "Enter failed".into() };
        assert_eq!(error, expected, "{kind:?}");
        assert_eq!(world.record.of("a"), [Did::Build, Did::Enter, Did::Close, Did::Drop]);
        assert_eq!(sessions.status().books.open, 0);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_failure_does_not_keep_the_next_one_from_opening() {
    for kind in Kind::ALL {
        for stage in [Stage::Build, Stage::Enter] {
            let world = World::new();
            world.plan("a", stage, [Act::Fail]);
            let sessions = kind.sessions(&world, config().capacity(1).build().unwrap());
            sessions.open(id("a")).await.unwrap_err();
            sessions.open(id("a")).await.unwrap(); // the id and the slot are free again
            sessions.shutdown(Shutdown::Graceful).await;
            world.record.assert_taken_apart();
        }
    }
}

#[tokio::test]
async fn two_of_one_id_are_refused_without_harm_to_the_first() {
    let world = World::new();
    let sessions = Kind::Shared.sessions(&world, config().build().unwrap());
    let first = sessions.open(id("a")).await.unwrap();
    let refused = sessions.open(id("a")).await.unwrap_err();
    assert_eq!(refused, OpenError::Refused(Refusal::DuplicateId));
    assert_eq!(first.call(ask(1, Act::Pass)).await, Ok(2));
    sessions.shutdown(Shutdown::Graceful).await;
}

/// Nothing can be called before it is complete; a close that arrives meanwhile is remembered and carried out.
#[tokio::test]
async fn b08_a_close_during_the_opening_is_carried_out_and_the_asker_told() {
    for kind in Kind::ALL {
        let world = World::new();
        let gate = Gate::new();
        world.plan("a", Stage::Enter, [Act::Await(gate.clone())]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let asker = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.open(id("a")).await }
        });
        world.record.until("a", Did::Enter).await;
        assert_eq!(sessions.begin_call("a").unwrap_err(), Refusal::StillOpening);
        let session = sessions.find("a").unwrap();
        assert_eq!(session.attach().unwrap_err(), Refusal::StillOpening);
        session.begin_close(CloseReason::Requested).unwrap();
        let closing = Refusal::Closing { reason: CloseReason::Requested };
        assert_eq!(sessions.begin_call("a").unwrap_err(), closing);
        gate.open();
        let expected = OpenError::Failed { reason: CloseReason::Requested, message: "requested".into() };
        assert_eq!(asker.await.unwrap().unwrap_err(), expected);
        assert_eq!(world.record.of("a"), [Did::Build, Did::Enter, Did::Leave, Did::Close, Did::Drop]);
        sessions.shutdown(Shutdown::Graceful).await;
    }
}

#[tokio::test]
async fn a_one_shot_lives_as_long_as_its_handle_and_has_a_limit_of_its_own() {
    for kind in Kind::ALL {
        let world = World::new();
        let config = config().capacity(1).one_shot_capacity(1).build().unwrap();
        let sessions = kind.sessions(&world, config);
        let mut events = sessions.subscribe();
        sessions.open(id("a")).await.unwrap();
        let one_shot = sessions.open_one_shot(id("b")).await.unwrap();
        let refused = sessions.open_one_shot(id("c")).await.unwrap_err();
        assert_eq!(refused, OpenError::Refused(Refusal::TooManyOneShots { open: 1, capacity: 1 }));
        assert_eq!(one_shot.call(ask(1, Act::Pass)).await, Ok(2));
        drop(one_shot);
        let report = until_gone(&mut events, "b").await;
        assert_eq!(report.reason, CloseReason::OneShotDone);
        drop(sessions.open_one_shot(id("c")).await.unwrap());
        sessions.shutdown(Shutdown::Graceful).await;
        world.record.assert_taken_apart();
    }
}

const NO_THREADS: &str = "SESSION_CORE_TEST_NO_THREADS";

/// Threads whose stack is larger than memory can't be started. Set for a whole process, hence in one of its own.
#[test]
fn a_thread_that_can_not_be_started_fails_its_sessions_and_nothing_else() {
    let this = std::env::current_exe().unwrap();
    let child = std::process::Command::new(this)
        .args(["--exact", "--ignored", "--test-threads=1", "opening::in_a_process_without_threads"])
        .env(NO_THREADS, "1")
        .env("RUST_MIN_STACK", (1_u64 << 50).to_string())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && told.contains("1 passed"), "{told}");
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn in_a_process_without_threads() {
    if std::env::var_os(NO_THREADS).is_none() {
        return;
    }
    for kind in Kind::THREADS {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        for name in ["a", "b", "c"] {
            let Err(OpenError::Failed { reason, message }) = sessions.open(id(name)).await else {
                panic!("{name} was opened");
            };
            assert_eq!(reason, CloseReason::BuildFailed, "{kind:?}");
            assert!(message.starts_with("no thread could be started"), "{kind:?}: {message}");
            // The next one tries again: it may be better then.
            assert_eq!(sessions.status().books.executors, 0, "{kind:?}");
        }
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
        assert_books_are_empty(&sessions);
    }
}
