//! Any history: whatever is asked and whatever happens, in any order, the invariants hold after every step.
//!
//! `PROPTEST_CASES=200000 cargo test --release -p session-core --no-default-features --test machine replay` digs deeper.

mod books;
mod finish;
mod model;
mod ops;
mod refusals;
mod rest;
mod sim;
mod told;
mod when;

use self::ops::{Op, Rules, histories, rules};
use self::sim::Sim;
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, FileFailurePersistence};

fn runs(cases: u32) -> Runs {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(cases);
    Runs {
        cases,
        max_shrink_iters: Runs::default().max_shrink_iters.min(20_000),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/machine/proptest-regressions.txt",
        ))),
        ..Runs::default()
    }
}

/// Lives through a history. At every so manieth moment it looks what would come of a shutdown now.
fn live(rules: Rules, history: &[Op], ends: fn(&Sim) -> Result<(), String>) -> Result<(), TestCaseError> {
    let mut sim = Sim::new(rules);
    for (place, op) in history.iter().enumerate() {
        sim.apply(*op).map_err(TestCaseError::fail)?;
        if place % 8 == 7 || place + 1 == history.len() {
            ends(&sim).map_err(TestCaseError::fail)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(runs(800))]

    #[test]
    fn any_history_can_be_shut_down_though_everything_hangs(rules in rules(), history in histories()) {
        live(rules, &history, finish::everything_hangs)?;
    }

    #[test]
    fn any_history_ends_with_empty_books_if_all_goes_well(rules in rules(), history in histories()) {
        live(rules, &history, finish::everything_goes_well)?;
    }

    #[test]
    fn any_history_can_be_shut_down_though_everything_is_slow(rules in rules(), history in histories()) {
        live(rules, &history, finish::everything_ends_at_the_last_moment)?;
    }

    #[test]
    fn what_ends_when_it_is_told_to_is_never_given_up(rules in rules(), history in histories()) {
        live(rules, &history, finish::everything_ends_when_told_to)?;
    }
}
