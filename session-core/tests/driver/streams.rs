//! Streams: attached, told to go, and refused once draining began.

use crate::support::*;

#[tokio::test]
async fn a_stream_is_told_to_go_when_its_session_closes() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let (session, other) = (sessions.open(id("a")).await.unwrap(), sessions.open(id("b")).await.unwrap());
        let (stream, theirs) = (session.attach().unwrap(), other.attach().unwrap());
        assert!(poll_then_drop(stream.told_to_go(), 1).await.is_none());
        session.begin_close(CloseReason::Requested).unwrap();
        stream.told_to_go().await;
        assert!(
            poll_then_drop(theirs.told_to_go(), 1).await.is_none(),
            "{kind:?}: a neighbour's stream stays"
        );
        assert!(session.closed().await.clean); // a stream holds nothing up
        drop(stream); // outlived its session: harmless
        drop(theirs);
        assert!(sessions.shutdown(Shutdown::Graceful).await.is_clean());
    }
}

/// B34: at the shutdown streams go at once, before calls in flight are waited for.
#[tokio::test]
async fn b34_streams_are_told_to_go_as_soon_as_draining_begins() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let stream = session.attach().unwrap();
        let gate = Gate::new();
        let call = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Await(gate.clone()))));
        world.record.until("a", Did::Call(1)).await;
        sessions.begin_shutdown(Shutdown::Graceful);
        stream.told_to_go().await;
        assert_eq!(sessions.status().lifespan, Lifespan::Draining, "{kind:?}");
        gate.open();
        assert_eq!(call.await.unwrap(), Ok(2));
        assert!(sessions.stopped().await.is_clean());
    }
}

#[tokio::test]
async fn from_draining_on_streams_are_refused_and_calls_go_on() {
    for kind in Kind::ALL {
        let world = World::new();
        let sessions = kind.sessions_of::<false, false>(&world, config().build().unwrap());
        let session = sessions.open(id("a")).await.unwrap();
        let busy = session.begin_call().unwrap();
        sessions.begin_shutdown(Shutdown::Graceful);
        assert_eq!(session.attach().unwrap_err(), Refusal::Draining, "{kind:?}");
        assert_eq!(session.call(ask(1, Act::Pass)).await, Ok(2), "{kind:?}");
        assert_eq!(busy.run(ask(2, Act::Pass)).await, Ok(3));
        assert!(sessions.stopped().await.is_clean());
    }
}

/// I5, and everybody who waits is told.
#[tokio::test(start_paused = true)]
async fn several_streams_keep_a_session_and_all_are_told() {
    let world = World::new();
    let clock = Clock::hold();
    let config = config().idle_timeout(Some(secs(10))).build().unwrap();
    let sessions = Kind::Tasks.sessions(&world, config);
    let session = sessions.open(id("a")).await.unwrap();
    let mut streams: Vec<_> = (0..3).map(|_| session.attach().unwrap()).collect();
    while streams.len() > 1 {
        streams.pop();
        clock.advance(secs(60)).await;
    }
    assert_eq!(sessions.list()[0].attachments, 1);
    let waiting: Vec<_> =
        streams.into_iter().map(|stream| tokio::spawn(async move { stream.told_to_go().await })).collect();
    sessions.begin_shutdown(Shutdown::Graceful);
    for stream in waiting {
        stream.await.unwrap();
    }
    assert!(sessions.stopped().await.is_clean());
}
