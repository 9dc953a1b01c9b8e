//! Every interleaving of a small world, on the real machine: from each reachable state, each fact that a driver could
//! report next, each request, and time passing to the next deadline. Breadth first, symmetric states merged.
//!
//! `EXPLORATION=large cargo test --release -p session-core --test exploration` explores bigger worlds.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that says how far it came and how long it took"
)]

mod model;
mod search;
mod world;

use session_core::{Config, ConfigBuilder, Placement};
use std::num::NonZeroUsize;
use std::time::Duration;

use search::explore;
use world::Bounds;

fn config(placement: Placement) -> ConfigBuilder {
    let second = Duration::from_secs(1);
    Config::builder()
        .placement(placement)
        .capacity(2)
        .abandoned_limit(2)
        .close_concurrency(1)
        .remembered(0)
        .idle_timeout(None)
        .build_timeout(Some(4 * second))
        .enter_timeout(Some(4 * second))
        .drain_timeout(4 * second)
        .leave_timeout(4 * second)
        .close_timeout(4 * second)
        .stop_timeout(4 * second)
        .interrupt_timeout(second)
        .grace_period(8 * second)
        .forced_period(4 * second)
}

fn pinned(threads: usize) -> Placement {
    Placement::Pinned(NonZeroUsize::new(threads).unwrap())
}

fn is_large() -> bool {
    std::env::var("EXPLORATION").is_ok_and(|size| size == "large")
}

/// One session with everything that can happen to it.
#[test]
fn every_order_of_one_session_with_every_failure() {
    let bounds = Bounds { sessions: 1, calls: 2, streams: 1, failures: 3, closes: true };
    for placement in [Placement::PerSession, pinned(1), Placement::Tasks] {
        let config = config(placement).idle_timeout(Some(Duration::from_secs(3))).build().unwrap();
        explore(&format!("one session, {placement:?}"), config, bounds);
    }
}

/// A second session shows what they share: slots, turns, executors, the lifespan; a third, who waits for whom.
#[test]
fn every_order_of_sessions_that_share_something() {
    let quiet = Bounds { sessions: 2, calls: 0, streams: 0, failures: 0, closes: false };
    let closed = Bounds { closes: true, ..quiet };
    let called = Bounds { calls: 1, ..quiet };
    let everything = Bounds { sessions: 2, calls: 1, streams: 1, failures: 3, closes: true };
    let small = [(pinned(1), quiet), (Placement::Tasks, closed), (Placement::Tasks, called)];
    let large = [
        (Placement::PerSession, everything),
        (pinned(1), everything),
        (pinned(2), everything),
        (Placement::Tasks, everything),
        (pinned(1), Bounds { sessions: 3, ..quiet }),
    ];
    for (placement, bounds) in if is_large() { large.as_slice() } else { &small } {
        let config = config(*placement).build().unwrap();
        explore(&format!("{placement:?}, {bounds:?}"), config, *bounds);
    }
}
