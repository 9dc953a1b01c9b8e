//! The shutdown: refuses, drains, closes, stops, reports; by itself if nobody is left who could ask for it.

use crate::support::*;

#[tokio::test]
async fn opening_is_refused_from_the_moment_draining_begins() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let busy = session.begin_call().unwrap();
        assert!(sessions.status().ready);
        sessions.begin_shutdown(Shutdown::Graceful);
        assert!(!sessions.status().ready);
        let refused = OpenError::Refused(Refusal::Draining);
        assert_eq!(sessions.open(id("b")).await.unwrap_err(), refused, "{kind:?}");
        drop(busy);
        sessions.stopped().await;
        assert_eq!(sessions.open(id("b")).await.unwrap_err(), refused, "{kind:?}");
        assert_eq!(world.record.of("b"), []);
    }
}

/// I9, B39: an opening that is under way is not finished for anybody; what it made is taken apart.
#[tokio::test]
async fn b39_a_session_that_is_being_opened_is_never_opened() {
    for kind in Kind::ALL {
        let world = World::new();
        let gate = Gate::new();
        world.plan("a", Stage::Enter, [Act::Await(gate.clone())]);
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        let asker = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.open(id("a")).await }
        });
        world.record.until("a", Did::Enter).await;
        sessions.begin_shutdown(Shutdown::Graceful);
        gate.open();
        let error = asker.await.unwrap().unwrap_err();
        let message = "shutdown".into();
        assert_eq!(error, OpenError::Failed { reason: CloseReason::Shutdown, message }, "{kind:?}");
        let report = until_gone(&mut events, "a").await;
        assert!(report.faults().next().is_none());
        assert_eq!(world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Drop]);
        assert!(sessions.stopped().await.is_clean());
    }
}

#[tokio::test]
async fn calls_in_flight_may_finish() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let gate = Gate::new();
        let session = sessions.open(id("a")).await.unwrap();
        let call = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Await(gate.clone()))));
        world.record.until("a", Did::Call(1)).await;
        let ending = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.shutdown(Shutdown::Graceful).await }
        });
        sessions.lifespan().wait_for(|it| *it == Lifespan::Draining).await.unwrap();
        gate.open();
        assert_eq!(call.await.unwrap(), Ok(2), "{kind:?}");
        let report = ending.await.unwrap();
        assert!(report.is_clean() && !report.forced);
        assert_eq!(report.closed[&CloseReason::Shutdown], 1);
        assert!(world.record.position("a", Did::Reply(1)) < world.record.position("a", Did::Leave));
    }
}

#[tokio::test]
async fn a_forced_one_cuts_calls_off_at_once_and_they_hear_why() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let running = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Hang)));
        world.record.until("a", Did::Call(1)).await;
        let waiting = tokio::spawn(session.begin_call().unwrap().run(ask(2, Act::Pass)));
        let held = session.begin_call().unwrap();
        tokio::task::yield_now().await;
        sessions.begin_shutdown(Shutdown::Graceful);
        let report = sessions.shutdown(Shutdown::Forced).await;
        assert!(report.forced && report.is_clean(), "{kind:?} {report:#?}");
        let cut = Err(CallError::Cut { reason: CloseReason::Shutdown });
        assert_eq!(running.await.unwrap(), cut, "{kind:?}");
        assert_eq!(waiting.await.unwrap(), cut, "{kind:?}");
        assert_eq!(held.run(ask(3, Act::Pass)).await, cut, "{kind:?}");
        let life = [Did::Call(1), Did::Lost(1), Did::Leave, Did::Close, Did::Drop];
        assert_eq!(world.record.of("a")[2..], life, "{kind:?}");
        assert_books_are_empty(&sessions);
    }
}

#[tokio::test]
async fn the_lifespan_goes_through_every_state_in_order() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        sessions.open(id("a")).await.unwrap();
        sessions.begin_shutdown(Shutdown::Graceful);
        let stopped = |kind: &ObservedKind| *kind == ObservedKind::Lifespan(Lifespan::Stopped);
        let seen = until(&mut events, stopped).await;
        let states = seen.into_iter().filter_map(|event| match event.kind {
            ObservedKind::Lifespan(state) => Some(state),
            _ => None,
        });
        let all = [Lifespan::Draining, Lifespan::Closing, Lifespan::Stopping, Lifespan::Stopped];
        assert!(states.eq(all), "{kind:?}");
        // A second one has nothing left to do and says the same.
        let report = sessions.shutdown(Shutdown::Forced).await;
        assert_eq!(report, sessions.stopped().await);
        assert!(!report.forced);
    }
}

#[tokio::test]
async fn dropping_the_last_handle_begins_it() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let mut events = sessions.subscribe();
        let session = sessions.open(id("a")).await.unwrap();
        let control = sessions.control();
        drop(sessions);
        assert_eq!(session.call(ask(1, Act::Pass)).await, Ok(2), "a control keeps it running");
        drop(control);
        assert_eq!(session.closed().await.reason, CloseReason::Shutdown, "{kind:?}");
        world.record.assert_taken_apart();
        drop(session);
        while events.recv().await.is_some() {} // resolves: nothing keeps the sessions alive
        if kind != Kind::Tasks {
            assert!(thread_is_gone(&world.record.assert_one_thread("a").tid));
        }
    }
}

/// The environment itself may hold the last handle, and drops it on its own thread.
#[tokio::test]
async fn an_environment_may_drop_the_last_handle() {
    struct Holds(std::sync::Mutex<Option<Control>>);
    impl TaskEnvironment for Holds {
        type Call = Control;
        type Reply = ();
        async fn call(&self, control: Control) {
            *self.0.lock().unwrap() = Some(control);
        }
    }
    let factory = |_: &SessionId| Ok(Holds(std::sync::Mutex::new(None)));
    let config = config().build().unwrap();
    let on_thread = session_core::Sessions::on_threads(config.clone(), Threads::PerSession, factory);
    for sessions in [on_thread, session_core::Sessions::as_tasks(config, factory)] {
        let session = sessions.open(id("a")).await.unwrap();
        session.call(sessions.control()).await.unwrap();
        drop(sessions);
        session.begin_close(CloseReason::Requested).unwrap();
        let closed = session.closed().await;
        assert!(closed.clean, "{closed:?}");
    }
}

/// A hundred at once: only so many are taken apart at a time, all are, and each has its own line in the report.
#[tokio::test]
async fn b40_every_session_is_closed_a_bounded_number_at_a_time() {
    for kind in Kind::ALL {
        let world = World::new();
        let config = config().close_concurrency(3).build().unwrap();
        let sessions = kind.sessions(&world, config);
        for number in 0..40 {
            let name = format!("s{number}");
            world.plan(&name, Stage::Leave, [Act::Sleep(std::time::Duration::from_micros(10))]);
            sessions.open(id(&name)).await.unwrap();
        }
        let report = sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{kind:?}");
        assert_eq!((report.closed[&CloseReason::Shutdown], report.sessions.len()), (40, 40));
        let (mut at_once, mut most) = (0, 0);
        for entry in world.record.all() {
            match entry.did {
                Did::Leave => at_once += 1,
                Did::Drop => at_once -= 1,
                _ => {}
            }
            most = most.max(at_once);
        }
        assert!(most <= 3, "{kind:?}: {most}");
        world.record.assert_taken_apart();
        assert_books_are_empty(&sessions);
    }
}
