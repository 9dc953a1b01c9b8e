//! I7: a panic is the failure of one session. Its neighbours, on the same thread, do not notice.

use crate::support::*;

/// A session with a neighbour on the same executor, if it is one that can be shared.
async fn with_neighbour(kind: Kind) -> (World, Sessions, Session) {
    let world = World::new();
    let sessions = match kind {
        // Of three sessions on two threads two share one.
        Kind::Pinned => {
            let sessions = kind.sessions(&world, config().build().unwrap());
            sessions.open(id("other")).await.unwrap();
            sessions.open(id("neighbour")).await.unwrap();
            sessions
        }
        Kind::PerSession | Kind::Shared | Kind::Tasks => {
            let sessions = kind.sessions(&world, config().build().unwrap());
            sessions.open(id("neighbour")).await.unwrap();
            sessions
        }
    };
    let neighbour = sessions.find("neighbour").unwrap();
    (world, sessions, neighbour)
}

async fn all_is_well(kind: Kind, world: &World, sessions: &Sessions, neighbour: &Session) {
    assert_eq!(neighbour.call(ask(7, Act::Pass)).await, Ok(8), "{kind:?}");
    sessions.open(id("later")).await.unwrap();
    let report = sessions.shutdown(Shutdown::Graceful).await;
    assert!(report.is_clean(), "{report:#?}");
    assert_books_are_empty(sessions);
    world.record.assert_taken_apart();
    let last = [Did::Leave, Did::Close, Did::Drop];
    assert_eq!(world.record.of("neighbour")[4..], last, "{kind:?}");
}

#[tokio::test]
async fn in_the_factory() {
    for kind in Kind::ALL {
        let (world, sessions, neighbour) = with_neighbour(kind).await;
        world.plan("a", Stage::Build, [Act::Panic]);
        let error = sessions.open(id("a")).await.unwrap_err();
        let message = "the build panicked on purpose".into();
        assert_eq!(error, OpenError::Failed { reason: CloseReason::BuildFailed, message }, "{kind:?}");
        all_is_well(kind, &world, &sessions, &neighbour).await;
    }
}

#[tokio::test]
async fn in_entering() {
    for kind in Kind::ALL {
        for (act, message) in [
            (Act::Panic, "Enter panicked on purpose"),
            (Act::PanicAtOnce, "Enter panicked at once, on purpose"),
        ] {
            let (world, sessions, neighbour) = with_neighbour(kind).await;
            world.plan("a", Stage::Enter, [act]);
            let error = sessions.open(id("a")).await.unwrap_err();
            let message = message.into();
            assert_eq!(error, OpenError::Failed { reason: CloseReason::ContextFailed, message }, "{kind:?}");
            all_is_well(kind, &world, &sessions, &neighbour).await;
        }
    }
}

#[tokio::test]
async fn in_a_call_after_which_the_session_goes_on() {
    for kind in Kind::ALL {
        for act in [Act::Panic, Act::PanicAtOnce] {
            let (world, sessions, neighbour) = with_neighbour(kind).await;
            let session = sessions.open(id("a")).await.unwrap();
            let panicked = session.call(ask(1, act)).await;
            assert!(matches!(panicked, Err(CallError::Panicked { .. })), "{kind:?} {panicked:?}");
            assert_eq!(sessions.status().books.calls, 0);
            assert_eq!(session.call(ask(2, Act::Pass)).await, Ok(3), "{kind:?}"); // the turn was given back
            all_is_well(kind, &world, &sessions, &neighbour).await;
        }
    }
}

#[tokio::test]
async fn in_leaving_closing_and_dropping_all_together() {
    for kind in Kind::ALL {
        for act in [Act::Panic, Act::PanicAtOnce] {
            let (world, sessions, neighbour) = with_neighbour(kind).await;
            world.plan("a", Stage::Leave, [act.clone()]);
            world.plan("a", Stage::Close, [act.clone(), act.clone()]);
            world.plan("a", Stage::Drop, [act]);
            let closed = sessions.open(id("a")).await.unwrap().close().await.unwrap();
            assert!(!closed.clean && !closed.abandoned, "{kind:?}");
            assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Close, Did::Drop]);
            all_is_well(kind, &world, &sessions, &neighbour).await;
        }
    }
}

/// The drop of a future that was cancelled is the environment's code, too.
#[tokio::test]
async fn in_the_drop_of_a_call_that_was_cancelled() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions_of::<true, true>(&world, config().build().unwrap());
        let neighbour = sessions.open(id("neighbour")).await.unwrap();
        let session = sessions.open(id("a")).await.unwrap();
        let call = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::HangAndPanic)));
        world.record.until("a", Did::Call(1)).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled(), "{kind:?}: it is not the caller's panic");
        assert_eq!(session.call(ask(2, Act::Pass)).await, Ok(3), "{kind:?}");
        all_is_well(kind, &world, &sessions, &neighbour).await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_the_drop_of_a_step_that_was_interrupted() {
    for kind in Kind::ALL {
        let clock = Clock::hold();
        let (world, sessions, neighbour) = with_neighbour(kind).await;
        world.plan("a", Stage::Close, [Act::HangAndPanic]);
        let session = sessions.open(id("a")).await.unwrap();
        session.begin_close(CloseReason::Requested).unwrap();
        world.record.until("a", Did::Close).await;
        clock.advance(secs(10)).await;
        assert!(!session.closed().await.clean, "{kind:?}");
        assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Close, Did::Drop]);
        all_is_well(kind, &world, &sessions, &neighbour).await;
    }
}

/// A reply that nobody hears is dropped on the environment's thread.
#[tokio::test]
async fn in_the_drop_of_a_reply_that_nobody_hears() {
    struct Harsh;
    struct Reply;
    impl Drop for Reply {
        fn drop(&mut self) {
            panic!("the reply's drop panicked on purpose");
        }
    }
    impl Environment for Harsh {
        type Call = Act;
        type Reply = Reply;
        async fn call(&self, act: Act) -> Reply {
            act.perform(Stage::Enter).await.unwrap();
            Reply
        }
    }
    drop(World::new()); // keeps planned panics quiet
    let factory = |_: &SessionId| Ok(Harsh);
    let sessions = session_core::Sessions::on_threads(config().build().unwrap(), Threads::Shared, factory);
    let session = sessions.open(id("a")).await.unwrap();
    let gate = Gate::new();
    for act in [Act::Block(gate.clone()), Act::Await(gate.clone())] {
        assert!(poll_then_drop(session.call(act), 1).await.is_none());
    }
    gate.open();
    let other = sessions.open(id("b")).await.unwrap(); // on the same thread, which lives
    let (mine, theirs) = (session.close().await.unwrap(), other.close().await.unwrap());
    assert!(mine.clean && theirs.clean);
    assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
}

/// Error texts are the environment's code, too.
#[tokio::test]
async fn in_the_text_of_an_error() {
    #[derive(Debug)]
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("the text panicked on purpose");
        }
    }
    impl std::error::Error for Unspeakable {}
    struct Grim;
    impl TaskEnvironment for Grim {
        type Call = ();
        type Reply = ();
        async fn call(&self, (): ()) {}
        async fn close(&self) -> Result<(), BoxError> {
            Err(Unspeakable.into())
        }
    }
    drop(World::new());
    let factory = |id: &SessionId| if id.as_str() == "bad" { Err(Unspeakable.into()) } else { Ok(Grim) };
    let config = config().build().unwrap();
    let on_thread = session_core::Sessions::on_threads(config.clone(), Threads::Shared, factory);
    for sessions in [on_thread, session_core::Sessions::as_tasks(config, factory)] {
        let error = sessions.open(id("bad")).await.unwrap_err();
        assert_eq!(error.to_string(), "the text panicked on purpose");
        let session = sessions.open(id("a")).await.unwrap();
        session.call(()).await.unwrap();
        let closed = session.close().await.unwrap();
        assert!(!closed.clean && !closed.abandoned);
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
    }
}
