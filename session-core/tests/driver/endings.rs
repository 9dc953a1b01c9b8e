//! I1, I2: every way into closing leads through the same teardown, in order, once, wherever the environment lives.

use crate::support::*;

const TEARDOWN: [Did; 3] = [Did::Leave, Did::Close, Did::Drop];

/// What the report says of a teardown that went well.
fn clean_steps(kind: Kind) -> Vec<(Step, Outcome)> {
    let steps = [Step::Build, Step::Enter, Step::Leave, Step::Close, Step::Stop];
    let own_thread = kind == Kind::PerSession;
    let steps = steps.into_iter().filter(|step| own_thread || *step != Step::Stop);
    steps.map(|step| (step, Outcome::Done)).collect()
}

struct Case {
    kind: Kind,
    world: World,
    sessions: Sessions,
    events: Subscription,
    clock: Clock,
}

impl Case {
    fn of(kind: Kind, config: ConfigBuilder) -> Self {
        let world = World::new();
        let sessions = kind.sessions(&world, config.build().unwrap());
        let events = sessions.subscribe();
        Self { kind, world, sessions, events, clock: Clock::hold() }
    }

    async fn ends_cleanly(mut self, reason: CloseReason) {
        let report = until_gone(&mut self.events, "a").await;
        assert_eq!((report.reason, report.abandoned), (reason, false), "{:?}", self.kind);
        assert_eq!(outcomes(&report), clean_steps(self.kind), "{:?} {reason}", self.kind);
        assert_eq!(self.world.record.of("a")[2..], TEARDOWN, "{:?} {reason}", self.kind);
        self.ends().await;
    }

    async fn ends(self) {
        self.world.record.assert_taken_apart();
        let report = self.sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{report:#?}");
        assert_books_are_empty(&self.sessions);
        assert_eq!(self.world.record.count(Did::Close), self.world.record.count(Did::Drop));
    }
}

#[tokio::test(start_paused = true)]
async fn asked_for() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config());
        let session = case.sessions.open(id("a")).await.unwrap();
        let closed = session.close().await.unwrap();
        assert_eq!(closed, Closed { reason: CloseReason::Requested, clean: true, abandoned: false });
        assert_eq!(session.closed().await, closed); // whoever comes later hears the same
        case.ends_cleanly(CloseReason::Requested).await;
    }
}

/// I5, I6.
#[tokio::test(start_paused = true)]
async fn idle_but_not_while_it_is_used() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config().idle_timeout(Some(secs(60))));
        let session = case.sessions.open(id("a")).await.unwrap();
        let call = session.begin_call().unwrap();
        case.clock.advance(secs(600)).await;
        drop(call);
        let stream = session.attach().unwrap();
        case.clock.advance(secs(600)).await;
        drop(stream);
        case.clock.advance(secs(59)).await;
        assert_eq!(case.sessions.status().books.open, 1, "{kind:?}");
        case.clock.advance(secs(1)).await;
        case.ends_cleanly(CloseReason::Idle).await;
    }
}

#[tokio::test(start_paused = true)]
async fn lifetime_over() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config().max_lifetime(Some(secs(60))));
        let session = case.sessions.open(id("a")).await.unwrap();
        let _stream = session.attach().unwrap();
        case.clock.advance(secs(60)).await;
        case.ends_cleanly(CloseReason::LifetimeOver).await;
    }
}

#[tokio::test(start_paused = true)]
async fn its_environment_died() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config());
        let session = case.sessions.open(id("a")).await.unwrap();
        session.begin_close(CloseReason::EnvironmentDied).unwrap();
        assert_eq!(session.closed().await.reason, CloseReason::EnvironmentDied);
        case.ends_cleanly(CloseReason::EnvironmentDied).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_shot_done() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config());
        drop(case.sessions.open_one_shot(id("a")).await.unwrap());
        case.ends_cleanly(CloseReason::OneShotDone).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown() {
    for kind in Kind::ALL {
        for how in [Shutdown::Graceful, Shutdown::Forced] {
            let case = Case::of(kind, config());
            case.sessions.open(id("a")).await.unwrap();
            case.sessions.begin_shutdown(how);
            case.ends_cleanly(CloseReason::Shutdown).await;
        }
    }
}

/// The asker goes while the context is entered: that is finished, then taken apart.
#[tokio::test(start_paused = true)]
async fn asker_gone() {
    for kind in Kind::ALL {
        let case = Case::of(kind, config());
        let gate = Gate::new();
        case.world.plan("a", Stage::Enter, [Act::Await(gate.clone())]);
        let asker = tokio::spawn({
            let sessions = case.sessions.clone();
            async move { sessions.open(id("a")).await }
        });
        case.world.record.until("a", Did::Enter).await;
        asker.abort();
        asker.await.unwrap_err();
        gate.open();
        case.ends_cleanly(CloseReason::AskerGone).await;
    }
}

#[tokio::test(start_paused = true)]
async fn build_failed() {
    for kind in Kind::ALL {
        let mut case = Case::of(kind, config());
        case.world.plan("a", Stage::Build, [Act::Fail]);
        case.sessions.open(id("a")).await.unwrap_err();
        let report = until_gone(&mut case.events, "a").await;
        assert_eq!(report.reason, CloseReason::BuildFailed);
        assert_eq!(report.steps[0].message.as_deref(), Some("the build failed"));
        assert_eq!(case.world.record.of("a"), [Did::Build]);
        case.ends().await;
    }
}

#[tokio::test(start_paused = true)]
async fn context_failed() {
    for kind in Kind::ALL {
        let mut case = Case::of(kind, config());
        case.world.plan("a", Stage::Enter, [Act::Fail]);
        case.sessions.open(id("a")).await.unwrap_err();
        let report = until_gone(&mut case.events, "a").await;
        assert_eq!(report.reason, CloseReason::ContextFailed);
        assert_eq!(report.steps[1].message.as_deref(), Some("Enter failed"));
        assert_eq!(case.world.record.of("a"), [Did::Build, Did::Enter, Did::Close, Did::Drop]);
        case.ends().await;
    }
}

/// The neighbour hangs in a call; the executor that both share is given up, and comes back in the end.
#[tokio::test(start_paused = true)]
async fn executor_lost() {
    let mut case = Case::of(Kind::Shared, config());
    let session = case.sessions.open(id("a")).await.unwrap();
    let hanging = case.sessions.open(id("hanging")).await.unwrap();
    let gate = Gate::new();
    let call = tokio::spawn(hanging.begin_call().unwrap().run(ask(1, Act::Block(gate.clone()))));
    case.world.record.until("hanging", Did::Call(1)).await;
    hanging.begin_close(CloseReason::Requested).unwrap();
    case.clock.advance(secs(10)).await; // drain
    assert_eq!(call.await.unwrap(), Err(CallError::Cut { reason: CloseReason::Requested }));
    case.clock.advance(secs(1)).await; // interrupt
    assert_eq!(session.closed().await.reason, CloseReason::ExecutorLost);
    gate.open();
    until_gone(&mut case.events, "a").await;
    assert_eq!(case.world.record.of("a")[2..], TEARDOWN);
    case.world.record.assert_one_thread("a");
    let stopped = |kind: &ObservedKind| matches!(kind, ObservedKind::ExecutorStopped { .. });
    until(&mut case.events, stopped).await;
    case.ends().await;
}

/// Sessions go first, the executor that they share last (I2).
#[tokio::test(start_paused = true)]
async fn a_shared_executor_stops_after_the_last_session() {
    for kind in [Kind::Shared, Kind::Pinned] {
        let mut case = Case::of(kind, config());
        for name in ["a", "b", "c"] {
            case.sessions.open(id(name)).await.unwrap();
        }
        case.sessions.begin_shutdown(Shutdown::Graceful);
        let stopped = |kind: &ObservedKind| matches!(kind, ObservedKind::Lifespan(Lifespan::Stopped));
        let seen = until(&mut case.events, stopped).await;
        let last_gone = seen.iter().rposition(|event| matches!(event.kind, ObservedKind::Gone(_)));
        let first_stop =
            seen.iter().position(|event| matches!(event.kind, ObservedKind::ExecutorStopped { .. }));
        assert!(last_gone < first_stop, "{kind:?} {seen:#?}");
        case.ends().await;
    }
}
