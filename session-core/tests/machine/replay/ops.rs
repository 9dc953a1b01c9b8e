//! What can happen, and in which worlds.

use std::num::NonZeroUsize;
use std::time::Duration;

use proptest::prelude::*;
use session_core::{CloseReason, Config, Outcome, Placement, Shutdown, Timeouts};

/// One thing that is asked or happens. Numbers choose among what there is at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Open,
    OpenOneShot,
    /// With an id that was used before.
    OpenAgain(usize),
    BeginCall(usize),
    EndCall(usize),
    Attach(usize),
    Detach(usize),
    Close(usize, CloseReason),
    /// A step that is under way ends.
    Answer(usize, Outcome),
    /// All steps that are under way end well, and those that follow.
    Settle,
    /// A fact that can't be, for a session that is or was.
    Nonsense(usize),
    /// Time passes, but the timer is slow: facts come first.
    Tick(u64),
    /// Time passes, and the timer fires once at its end.
    Wait(u64),
    /// Time passes until the next deadline.
    NextTimeout,
    ShutDown(Shutdown),
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Done),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::Panicked),
        1 => Just(Outcome::Interrupted),
    ]
}

fn reason() -> impl Strategy<Value = CloseReason> {
    prop_oneof![
        Just(CloseReason::Requested),
        Just(CloseReason::AskerGone),
        Just(CloseReason::EnvironmentDied),
        Just(CloseReason::OneShotDone),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0..8_usize;
    prop_oneof![
        6 => Just(Op::Open),
        2 => Just(Op::OpenOneShot),
        1 => which.clone().prop_map(Op::OpenAgain),
        4 => which.clone().prop_map(Op::BeginCall),
        4 => which.clone().prop_map(Op::EndCall),
        2 => which.clone().prop_map(Op::Attach),
        2 => which.clone().prop_map(Op::Detach),
        3 => (which.clone(), reason()).prop_map(|(which, reason)| Op::Close(which, reason)),
        14 => (which.clone(), outcome()).prop_map(|(which, outcome)| Op::Answer(which, outcome)),
        5 => Just(Op::Settle),
        1 => which.prop_map(Op::Nonsense),
        1 => (1..5_u64).prop_map(Op::Tick),
        2 => (1..8_u64).prop_map(Op::Wait),
        5 => Just(Op::NextTimeout),
        1 => prop_oneof![2 => Just(Shutdown::Graceful), 1 => Just(Shutdown::Forced)].prop_map(Op::ShutDown),
    ]
}

pub(crate) fn histories() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..70)
}

fn placement() -> impl Strategy<Value = Placement> {
    let pinned = |threads| Placement::Pinned(NonZeroUsize::new(threads).unwrap());
    prop_oneof![
        Just(Placement::PerSession),
        Just(Placement::Tasks),
        Just(pinned(1)),
        Just(pinned(1)),
        Just(pinned(2)),
    ]
}

fn secs(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_secs)
}

fn maybe_secs(range: std::ops::Range<u64>) -> impl Strategy<Value = Option<Duration>> {
    prop::option::weighted(0.7, secs(range))
}

/// The limits of a world. What it may be asked for again, its configuration knows.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) placement: Placement,
    pub(crate) capacity: usize,
    pub(crate) one_shots: usize,
    pub(crate) abandoned: usize,
    pub(crate) close_concurrency: usize,
    pub(crate) remembered: usize,
    pub(crate) idle: Option<Duration>,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) timeouts: Timeouts,
}

impl Rules {
    pub(crate) fn config(&self) -> Config {
        let times = &self.timeouts;
        let config = Config::builder()
            .placement(self.placement)
            .capacity(self.capacity)
            .one_shot_capacity(self.one_shots)
            .abandoned_limit(self.abandoned)
            .close_concurrency(self.close_concurrency)
            .remembered(self.remembered)
            .idle_timeout(self.idle)
            .max_lifetime(self.lifetime)
            .build_timeout(times.build)
            .enter_timeout(times.enter)
            .drain_timeout(times.drain)
            .leave_timeout(times.leave)
            .close_timeout(times.close)
            .stop_timeout(times.stop)
            .interrupt_timeout(times.interrupt)
            .grace_period(times.grace)
            .forced_period(times.forced);
        config.build().unwrap()
    }
}

fn timeouts() -> impl Strategy<Value = Timeouts> {
    let opening = (maybe_secs(1..5), maybe_secs(1..4));
    let closing = (secs(0..5), secs(0..4), secs(0..4), secs(0..4));
    let whole = (secs(0..3), secs(0..9), secs(0..4));
    (opening, closing, whole).prop_map(|((build, enter), (drain, leave, close, stop), whole)| {
        let (interrupt, grace, forced) = whole;
        Timeouts { build, enter, drain, leave, close, stop, interrupt, grace, forced }
    })
}

/// Small numbers, so that limits are met and deadlines coincide.
pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    let limits = (placement(), 1..5_usize, 1..3_usize, 1..4_usize, 1..4_usize, 0..4_usize);
    let times = (maybe_secs(2..8), maybe_secs(5..30), timeouts());
    (limits, times).prop_map(|(limits, (idle, lifetime, timeouts))| {
        let (placement, capacity, one_shots, abandoned, close_concurrency, remembered) = limits;
        Rules {
            placement,
            capacity,
            one_shots,
            abandoned,
            close_concurrency,
            remembered,
            idle,
            lifetime,
            timeouts,
        }
    })
}
