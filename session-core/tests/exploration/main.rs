//! Every interleaving of a small world, on the real machine: from each reachable state, each fact that a driver could
//! report next, each request, and time passing to the next deadline. Breadth first, symmetric states merged.
//!
//! `EXPLORATION=large cargo test --release -p session-core --test exploration` explores bigger worlds.

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

/// A second session shows what they share: slots, turns, executors, the lifespan.
#[test]
fn every_order_of_two_sessions() {
    let (calls, failures) = if is_large() { (1, 3) } else { (1, 1) };
    let bounds = Bounds { sessions: 2, calls, streams: 0, failures, closes: true };
    for placement in [Placement::PerSession, pinned(1), pinned(2), Placement::Tasks] {
        let config = config(placement).build().unwrap();
        explore(&format!("two sessions, {placement:?}"), config, bounds);
    }
}

/// Three sessions on one executor with one turn: who waits for whom.
#[test]
fn every_order_of_three_sessions_that_share_everything() {
    let failures = usize::from(is_large());
    let bounds = Bounds { sessions: 3, calls: 0, streams: 0, failures, closes: false };
    let config = config(pinned(1)).capacity(3).abandoned_limit(3).build().unwrap();
    explore("three sessions, shared", config, bounds);
}
