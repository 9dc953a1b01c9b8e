//! Everything that can hang has a deadline: told to end, then given up; a late end goes on where it was (I6, I7, I8).

use crate::support::*;

/// A session "a" on a held clock, with the default deadlines.
struct Case {
    kind: Kind,
    world: World,
    sessions: Sessions,
    events: Subscription,
    clock: Clock,
}

impl Case {
    fn of(kind: Kind) -> Self {
        let world = World::new();
        let sessions = kind.sessions(&world, config().build().unwrap());
        let events = sessions.subscribe();
        Self { kind, world, sessions, events, clock: Clock::hold() }
    }

    /// Asks for the session; the answer comes later.
    fn ask_for(&self) -> tokio::task::JoinHandle<Result<Session, OpenError>> {
        let sessions = self.sessions.clone();
        tokio::spawn(async move { sessions.open(id("a")).await })
    }

    async fn report(&mut self) -> SessionReport {
        until_gone(&mut self.events, "a").await
    }

    async fn abandoned(&mut self) -> Step {
        let is_it = |kind: &ObservedKind| matches!(kind, ObservedKind::Abandoned { .. });
        match until(&mut self.events, is_it).await.pop().unwrap().kind {
            ObservedKind::Abandoned { step, .. } => step,
            other => panic!("{other:?}"),
        }
    }

    async fn ends_cleanly(mut self) {
        if self.sessions.status().books.executors > 0 && self.sessions.status().books.leaked_executors > 0 {
            let stopped = |kind: &ObservedKind| matches!(kind, ObservedKind::ExecutorStopped { .. });
            until(&mut self.events, stopped).await;
        }
        let report = self.sessions.shutdown(Shutdown::Graceful).await;
        assert!(report.is_clean(), "{:?} {report:#?}", self.kind);
        assert_books_are_empty(&self.sessions);
        self.world.record.assert_taken_apart();
        if self.kind != Kind::Tasks {
            self.world.record.assert_one_thread("a");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_overdue_entering_is_interrupted_and_taken_apart() {
    for kind in Kind::ALL {
        let mut case = Case::of(kind);
        case.world.plan("a", Stage::Enter, [Act::Hang]);
        let asker = case.ask_for();
        case.world.record.until("a", Did::Enter).await;
        case.clock.advance(secs(30)).await;
        let message = "context failed: enter was interrupted".into();
        let failed = OpenError::Failed { reason: CloseReason::ContextFailed, message };
        assert_eq!(asker.await.unwrap().unwrap_err(), failed, "{kind:?}");
        let steps = outcomes(&case.report().await);
        assert_eq!(steps[1], (Step::Enter, Outcome::Interrupted), "{kind:?}");
        assert_eq!(case.world.record.of("a"), [Did::Build, Did::Enter, Did::Close, Did::Drop]);
        case.ends_cleanly().await;
    }
}

/// Its asker is answered and its slot is free while its thread is stuck; when it comes back, it is taken apart there.
#[tokio::test(start_paused = true)]
async fn a_build_that_blocks_is_abandoned_and_its_late_end_taken_apart() {
    for kind in Kind::THREADS {
        let mut case = Case::of(kind);
        let gate = Gate::new();
        case.world.plan("a", Stage::Build, [Act::Block(gate.clone())]);
        let asker = case.ask_for();
        case.world.record.until("a", Did::Build).await;
        case.clock.advance(secs(60)).await;
        case.clock.advance(secs(1)).await;
        let message = "build failed: build was abandoned".into();
        let failed = OpenError::Failed { reason: CloseReason::BuildFailed, message };
        assert_eq!(asker.await.unwrap().unwrap_err(), failed, "{kind:?}");
        let books = case.sessions.status().books;
        assert_eq!((books.open, books.abandoned, books.leaked_executors), (0, 1, 1), "{kind:?}");
        gate.open();
        let report = case.report().await;
        assert!(!report.abandoned, "it came back");
        assert_eq!(case.world.record.of("a"), [Did::Build, Did::Close, Did::Drop], "{kind:?}");
        case.ends_cleanly().await;
    }
}

#[tokio::test(start_paused = true)]
async fn overdue_steps_of_a_teardown_are_interrupted_one_after_the_other() {
    for kind in Kind::ALL {
        let mut case = Case::of(kind);
        case.world.plan("a", Stage::Leave, [Act::Hang]);
        case.world.plan("a", Stage::Close, [Act::Hang, Act::Hang]);
        let session = case.sessions.open(id("a")).await.unwrap();
        session.begin_close(CloseReason::Requested).unwrap();
        case.world.record.until("a", Did::Leave).await;
        case.clock.advance(secs(5)).await;
        case.world.record.until("a", Did::Close).await;
        case.clock.advance(secs(10)).await;
        while case.world.record.count(Did::Close) < 2 {
            tokio::task::yield_now().await;
        }
        case.clock.advance(secs(10)).await;
        let closed = session.closed().await;
        assert!(!closed.clean && !closed.abandoned, "{kind:?} {closed:?}");
        let steps = outcomes(&case.report().await);
        let hung = [Step::Leave, Step::Close, Step::CloseAgain].map(|step| (step, Outcome::Interrupted));
        assert_eq!(steps[2..5], hung, "{kind:?}");
        case.ends_cleanly().await;
    }
}

/// A cut call hears it at once, though its thread is stuck in it, and so do those that wait behind it.
#[tokio::test(start_paused = true)]
async fn a_call_that_blocks_its_thread_is_cut_and_the_session_abandoned() {
    for kind in Kind::THREADS {
        let mut case = Case::of(kind);
        let gate = Gate::new();
        let session = case.sessions.open(id("a")).await.unwrap();
        let stuck = tokio::spawn(session.begin_call().unwrap().run(ask(1, Act::Block(gate.clone()))));
        let behind = tokio::spawn(session.begin_call().unwrap().run(ask(2, Act::Pass)));
        case.world.record.until("a", Did::Call(1)).await;
        session.begin_close(CloseReason::Requested).unwrap();
        case.clock.advance(secs(10)).await;
        let cut = Err(CallError::Cut { reason: CloseReason::Requested });
        assert_eq!(stuck.await.unwrap(), cut, "{kind:?}");
        assert_eq!(behind.await.unwrap(), cut, "{kind:?}");
        case.clock.advance(secs(1)).await;
        assert_eq!(case.abandoned().await, Step::Drain);
        let closed = session.closed().await;
        assert_eq!((closed.clean, closed.abandoned), (false, true), "{kind:?}");
        assert_eq!(case.sessions.status().books.calls, 0);
        gate.open();
        case.report().await;
        assert_eq!(case.world.record.count(Did::Call(2)), 0, "I9: it was cut before it began");
        assert_eq!(session.closed().await, closed, "the first word stands");
        case.ends_cleanly().await;
    }
}

/// A call that nobody runs can't hold anything up: there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_and_never_run_ends_at_the_drain_deadline() {
    for kind in Kind::ALL {
        let mut case = Case::of(kind);
        let session = case.sessions.open(id("a")).await.unwrap();
        let held = session.begin_call().unwrap();
        session.begin_close(CloseReason::Requested).unwrap();
        case.clock.advance(secs(10)).await;
        assert!(!session.closed().await.abandoned, "{kind:?}");
        let steps = outcomes(&case.report().await);
        assert_eq!(steps[2], (Step::Drain, Outcome::Interrupted), "{kind:?}");
        let cut = Err(CallError::Cut { reason: CloseReason::Requested });
        assert_eq!(held.run(ask(1, Act::Pass)).await, cut, "{kind:?}");
        case.ends_cleanly().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_that_blocks_is_abandoned_and_its_late_end_finishes_the_teardown() {
    for kind in Kind::THREADS {
        let mut case = Case::of(kind);
        let gate = Gate::new();
        case.world.plan("a", Stage::Close, [Act::Block(gate.clone())]);
        let session = case.sessions.open(id("a")).await.unwrap();
        session.begin_close(CloseReason::Requested).unwrap();
        case.world.record.until("a", Did::Close).await;
        case.clock.advance(secs(10)).await;
        case.clock.advance(secs(1)).await;
        assert_eq!(case.abandoned().await, Step::Close, "{kind:?}");
        assert!(session.closed().await.abandoned);
        gate.open();
        let report = case.report().await;
        let last = if kind == Kind::PerSession { 5 } else { 4 };
        let expected = [(Step::Close, Outcome::Abandoned), (Step::Close, Outcome::Done)];
        assert_eq!(outcomes(&report)[3..=last][..2], expected, "{kind:?}");
        // It ended well after all: it is not closed again.
        assert_eq!(case.world.record.of("a")[2..], [Did::Leave, Did::Close, Did::Drop], "{kind:?}");
        case.ends_cleanly().await;
    }
}

/// A late failure is tried again, as an early one is (I1).
#[tokio::test(start_paused = true)]
async fn a_close_that_fails_late_is_still_retried_once() {
    let mut case = Case::of(Kind::Shared);
    let gate = Gate::new();
    case.world.plan("a", Stage::Leave, [Act::Block(gate.clone())]);
    case.world.plan("a", Stage::Close, [Act::Fail]);
    let session = case.sessions.open(id("a")).await.unwrap();
    session.begin_close(CloseReason::Requested).unwrap();
    case.world.record.until("a", Did::Leave).await;
    case.clock.advance(secs(5)).await;
    case.clock.advance(secs(1)).await;
    assert_eq!(case.abandoned().await, Step::Leave);
    gate.open();
    let report = case.report().await;
    assert!(
        outcomes(&report).ends_with(&[(Step::Close, Outcome::Failed), (Step::CloseAgain, Outcome::Done)])
    );
    case.ends_cleanly().await;
}

/// The thread itself does not end: the destructor of one of its thread-locals hangs. Others are not held up (I7).
#[tokio::test(start_paused = true)]
async fn a_thread_that_does_not_stop_is_abandoned_alone() {
    let mut case = Case::of(Kind::PerSession);
    let session = case.sessions.open(id("a")).await.unwrap();
    let gate = Gate::new();
    session.call(ask(1, Act::Linger(gate.clone()))).await.unwrap();
    session.begin_close(CloseReason::Requested).unwrap();
    case.world.record.until("a", Did::Drop).await;
    let closed = |kind: &ObservedKind| matches!(kind, ObservedKind::StepDone { step: Step::Close, .. });
    until(&mut case.events, closed).await;
    let other = case.sessions.open(id("b")).await.unwrap();
    assert!(other.close().await.unwrap().clean);
    case.clock.advance(secs(5)).await;
    assert_eq!(case.abandoned().await, Step::Stop);
    assert!(session.closed().await.abandoned);
    assert_eq!(case.sessions.status().books.leaked_executors, 1);
    gate.open();
    case.report().await;
    case.ends_cleanly().await;
}
