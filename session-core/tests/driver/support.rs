//! The kit of these tests: environments that do as they are told, a record of what they did and where, a held clock.

mod clock;
mod fake;
mod record;

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

pub(crate) use session_core::*;

pub(crate) use clock::Clock;
pub(crate) use fake::{Act, AsTask, Ask, Gate, OnThread, Stage, World, ask};
pub(crate) use record::{Did, thread_is_gone};

pub(crate) type Sessions = session_core::Sessions<Ask, u32>;
pub(crate) type Session = session_core::Session<Ask, u32>;

/// Every kind of home that an environment can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    PerSession,
    Shared,
    Pinned,
    Tasks,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::PerSession, Self::Shared, Self::Pinned, Self::Tasks];
    pub(crate) const THREADS: [Self; 3] = [Self::PerSession, Self::Shared, Self::Pinned];

    /// Sessions of this kind, whose calls are serialised and finish unheard.
    pub(crate) fn sessions(self, world: &World, config: Config) -> Sessions {
        self.sessions_of::<true, false>(world, config)
    }

    /// The same with the environment's choices: whether calls are serialised, and cancelled when unheard.
    pub(crate) fn sessions_of<const SERIALISED: bool, const CANCEL: bool>(
        self,
        world: &World,
        config: Config,
    ) -> Sessions {
        let threads = match self {
            Self::PerSession => Threads::PerSession,
            Self::Shared => Threads::Shared,
            Self::Pinned => Threads::Pinned(NonZeroUsize::new(2).unwrap()),
            Self::Tasks => {
                return Sessions::as_tasks(config, world.factory::<AsTask<SERIALISED, CANCEL>>());
            }
        };
        Sessions::on_threads(config, threads, world.factory::<OnThread<SERIALISED, CANCEL>>())
    }
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// Limits that no test meets by accident.
pub(crate) fn config() -> ConfigBuilder {
    Config::builder().idle_timeout(None)
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Polls a future that many times, each time when it was woken, and then drops it unless it is ready.
pub(crate) async fn poll_then_drop<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Waits for an event; those before it are returned with it.
pub(crate) async fn until(events: &mut Subscription, is_it: impl Fn(&ObservedKind) -> bool) -> Vec<Observed> {
    let mut seen = Vec::new();
    loop {
        let event = events.recv().await.expect("the sessions live");
        let found = is_it(&event.kind);
        seen.push(event);
        if found {
            return seen;
        }
    }
}

pub(crate) async fn until_gone(events: &mut Subscription, name: &str) -> SessionReport {
    let seen = until(events, |kind| matches!(kind, ObservedKind::Gone(report) if report.id.as_str() == name));
    match seen.await.pop().map(|event| event.kind) {
        Some(ObservedKind::Gone(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// What is left when everything has ended: nothing.
pub(crate) fn assert_books_are_empty(sessions: &Sessions) {
    let books = sessions.status().books;
    let left = (books.open, books.one_shots, books.abandoned, books.calls, books.executors);
    assert_eq!(left, (0, 0, 0, 0, 0), "{books:?}");
    assert_eq!(sessions.list(), []);
}

/// The steps of a session in the order of its report.
pub(crate) fn outcomes(report: &SessionReport) -> Vec<(Step, Outcome)> {
    report.steps.iter().map(|step| (step.step, step.outcome)).collect()
}
