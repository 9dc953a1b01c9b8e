//! Broken recordings, one for each way to break a rule: each is caught, and by the right rule.

use crate::story::{Story, good};
use session_testkit::{Kind::*, Record, Rule};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn message_of(claim: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(claim)).expect_err("the claim holds");
    *panic.downcast::<String>().unwrap()
}

#[test]
fn a_good_recording_breaks_no_rule() {
    let record = good().record();
    assert_eq!(record.check(), []);
    record
        .assert_all()
        .assert_closed_once("a")
        .assert_context_left_once("a")
        .assert_order("b")
        .assert_one_thread("b")
        .assert_no_call_after_end("b")
        .assert_shared_stopped_last()
        .assert_nothing_left()
        .assert_before(("a", McpExit), ("a", Closed))
        .assert_count("a", CallBegin, 1);
}

#[test]
fn a_failed_close_with_its_retry_is_fine() {
    let retried = good().instead("a", Closed, CloseRaised).then("a", CloseRaised, &[CloseBegin, Closed]);
    assert_eq!(retried.broken(), []);
    let twice = good().instead("a", Closed, CloseRaised).then("a", CloseRaised, &[CloseBegin, CloseRaised]);
    assert_eq!(twice.broken(), []);
}

#[test]
fn a_leave_that_raised_has_left() {
    assert_eq!(good().instead("a", McpExit, McpExitRaised).broken(), []);
}

#[test]
fn a_construction_that_failed_needs_no_close() {
    let mut story = Story::default();
    story.tell(1, "a", &[Constructing, ConstructFailed]);
    assert_eq!(story.broken(), []);
}

#[test]
fn i1_a_missing_close_is_caught() {
    let story = good().without("a", CloseBegin).without("a", Closed);
    assert_eq!(story.broken(), [Rule::ClosedOnce, Rule::NothingLeft]);
}

#[test]
fn i1_a_close_that_never_ended_is_caught() {
    assert_eq!(good().without("a", Closed).broken(), [Rule::ClosedOnce, Rule::NothingLeft]);
}

#[test]
fn i1_a_second_close_is_caught() {
    assert_eq!(good().then("a", Closed, &[CloseBegin, Closed]).broken(), [Rule::ClosedOnce]);
}

#[test]
fn i1_a_close_after_a_good_retry_is_caught() {
    let retried = good().instead("a", Closed, CloseRaised);
    let again = retried.then("a", CloseRaised, &[CloseBegin, Closed, CloseBegin, Closed]);
    assert_eq!(again.broken(), [Rule::ClosedOnce]);
}

#[test]
fn i1_a_third_attempt_is_caught() {
    let retried = good().instead("a", Closed, CloseRaised);
    let again = retried.then("a", CloseRaised, &[CloseBegin, CloseRaised, CloseBegin, Closed]);
    assert_eq!(again.broken(), [Rule::ClosedOnce]);
}

#[test]
fn i1_a_failed_close_without_retry_is_caught() {
    assert_eq!(good().instead("a", Closed, CloseRaised).broken(), [Rule::ClosedOnce]);
}

#[test]
fn i1_an_interrupted_close_without_retry_is_caught() {
    let broken = good().instead("a", Closed, CloseCancelled).broken();
    assert_eq!(broken, [Rule::ClosedOnce, Rule::NothingLeft]);
}

#[test]
fn i1_a_close_of_what_was_never_constructed_is_caught() {
    let broken = good().instead("a", Constructed, ConstructFailed).broken();
    assert_eq!(broken, [Rule::ClosedOnce]);
}

#[test]
fn i1_a_context_never_left_is_caught() {
    let broken = good().without("a", McpExitBegin).without("a", McpExit).broken();
    assert_eq!(broken, [Rule::ContextLeftOnce, Rule::NothingLeft]);
}

#[test]
fn i1_a_leave_that_never_ended_is_caught() {
    assert_eq!(good().without("a", McpExit).broken(), [Rule::ContextLeftOnce, Rule::NothingLeft]);
}

#[test]
fn i1_an_interrupted_leave_is_caught() {
    let broken = good().instead("a", McpExit, McpExitCancelled).broken();
    assert_eq!(broken, [Rule::ContextLeftOnce, Rule::NothingLeft]);
}

#[test]
fn i1_a_second_leave_is_caught() {
    assert_eq!(good().then("a", McpExit, &[McpExitBegin, McpExit]).broken(), [Rule::ContextLeftOnce]);
}

#[test]
fn i1_a_leave_repeated_after_an_interruption_is_caught() {
    let cut = good().instead("a", McpExit, McpExitCancelled);
    assert_eq!(cut.then("a", McpExitCancelled, &[McpExitBegin, McpExit]).broken(), [Rule::ContextLeftOnce]);
}

#[test]
fn i1_leaving_what_was_not_entered_is_caught() {
    assert_eq!(good().without("a", McpEnter).broken(), [Rule::ContextLeftOnce]);
}

#[test]
fn i2_a_close_before_the_leave_is_caught() {
    let story = good().later("a", McpExitBegin, "a", Closed).later("a", McpExit, "a", McpExitBegin);
    assert_eq!(story.broken(), [Rule::Order]);
}

#[test]
fn i2_a_close_inside_the_leave_is_caught() {
    assert_eq!(good().later("a", McpExit, "a", Closed).broken(), [Rule::Order]);
}

#[test]
fn i2_a_drop_before_the_close_is_caught() {
    let story = good().later("a", CloseBegin, "a", Dropped).later("a", Closed, "a", CloseBegin);
    assert_eq!(story.broken(), [Rule::Order]);
}

#[test]
fn i2_a_teardown_under_a_call_is_caught() {
    assert_eq!(good().later("a", CallEnd, "a", McpExit).broken(), [Rule::Order]);
}

#[test]
fn i2_gone_before_closed_is_caught() {
    assert_eq!(good().later("a", Dropped, "a", Gone).broken(), [Rule::Order]);
}

#[test]
fn i2_a_shared_thread_that_ends_too_early_is_caught() {
    let broken = good().later("", ThreadEnded, "a", Gone).broken();
    assert_eq!(broken, [Rule::Order, Rule::SharedStopsLast]);
}

#[test]
fn i3_a_close_on_another_thread_is_caught() {
    assert_eq!(good().on(2, "a", Closed).broken(), [Rule::OneThread]);
}

#[test]
fn i3_a_call_on_another_thread_is_caught() {
    assert_eq!(good().on(2, "b", CallBegin).broken(), [Rule::OneThread]);
}

#[test]
fn i3_a_drop_on_another_thread_is_caught() {
    assert_eq!(good().on(2, "b", Dropped).broken(), [Rule::OneThread]);
}

#[test]
fn i4_a_value_never_dropped_is_caught() {
    assert_eq!(good().without("a", Dropped).broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_a_construction_that_never_ended_is_caught() {
    let mut story = Story::default();
    story.tell(1, "a", &[Constructing]);
    assert_eq!(story.broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_a_call_that_never_ended_is_caught() {
    let broken = good().without("a", CallEnd).broken();
    assert_eq!(broken, [Rule::Order, Rule::NothingLeft]);
}

#[test]
fn i4_a_slot_never_given_back_is_caught() {
    assert_eq!(good().without("a", Gone).broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_an_abandoned_session_is_caught() {
    let abandoned = good().then("a", Closed, &[Abandoned]);
    assert_eq!(abandoned.broken(), [], "it came back");
    assert_eq!(abandoned.without("a", Gone).broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_a_thread_that_never_ended_is_caught() {
    assert_eq!(good().without("", ThreadEnded).broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_an_executor_never_stopped_is_caught() {
    assert_eq!(good().without("", ExecutorStopped).broken(), [Rule::NothingLeft]);
}

#[test]
fn i4_a_lifespan_that_did_not_stop_is_caught() {
    let story = good().later("", Lifespan, "", ExecutorStopped);
    let mut record = story.record().events().to_vec();
    record.pop();
    let rules: Vec<_> = Record::new(record).check().into_iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::NothingLeft]);
}

#[test]
fn i9_a_call_after_the_leave_is_caught() {
    let story = good().then("a", McpExit, &[CallBegin, CallEnd]);
    assert_eq!(story.broken(), [Rule::NoWorkAfterTheEnd]);
}

#[test]
fn i9_an_opening_while_draining_is_caught() {
    assert_eq!(good().later("b", Opening, "", Lifespan).broken(), [Rule::NoWorkAfterTheEnd]);
}

#[test]
fn a_claim_about_an_unknown_session_does_not_hold() {
    let record = good().record();
    assert!(
        message_of(|| {
            record.assert_closed_once("c");
        })
        .contains("nothing was recorded about it")
    );
    assert!(
        message_of(|| {
            record.assert_before(("a", Reset), ("a", Closed));
        })
        .contains("never recorded")
    );
}

#[test]
fn an_order_that_was_expected_is_checked() {
    let record = good().record();
    let text = message_of(|| {
        record.assert_before(("b", Closed), ("a", Closed));
    });
    assert!(text.contains("closed came after closed of session a"), "{text}");
    assert!(
        message_of(|| {
            record.assert_count("a", Reset, 1);
        })
        .contains("recorded 0")
    );
}

#[test]
fn claims_can_leave_a_session_out() {
    let record = good().then("a", Closed, &[CloseBegin, Closed]).record();
    record.without("a").assert_all();
    record.only("b").assert_closed_once("b");
    assert_eq!(record.sessions(), ["a", "b"]);
}

#[test]
fn a_broken_claim_names_its_rule_and_shows_the_lanes() {
    let record = good().then("a", Closed, &[CloseBegin, Closed]).record();
    let text = message_of(|| {
        record.assert_closed_once("a");
    });
    assert!(text.starts_with("[I1 exactly once: "), "{text}");
    assert!(text.contains("session a: closed 2 times, again after a close that had returned"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with('>')).count(), 2, "{text}");
}
