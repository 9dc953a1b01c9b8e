//! I2: order.

use super::{Rule, Violation};
use crate::event::{Event, Kind};
use crate::record::Record;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn of_session(record: &Record, session: &str) -> Vec<Violation> {
    let mut found = Vec::from_iter(under_a_call(record, session));
    let pairs = [
        (Kind::Constructed, Kind::McpEnter, "its context was entered before it was constructed"),
        (Kind::McpEnter, Kind::McpExitBegin, "its context was left before it was entered"),
    ];
    for (earlier, later, wrong) in pairs {
        found.extend(swapped(record.last(session, earlier), record.first(session, later), session, wrong));
    }
    found.extend(teardown(record, session));
    found
}

/// I2 proper: left, closed, dropped, gone, thread ended.
fn teardown(record: &Record, session: &str) -> Vec<Violation> {
    let last_of = |kinds: &[Kind]| record.lived(session).rfind(|event| kinds.contains(&event.kind));
    let left = last_of(&[Kind::McpExitBegin, Kind::McpExit, Kind::McpExitRaised, Kind::McpExitCancelled]);
    let entered = record.first(session, Kind::McpEnter);
    let closing = record.first(session, Kind::CloseBegin);
    let closed = last_of(&[Kind::CloseBegin, Kind::Closed, Kind::CloseRaised, Kind::CloseCancelled]);
    let dropped = record.first(session, Kind::Dropped);
    let last = record.lived(session).rfind(|event| event.kind != Kind::Note);
    let home = record.first(session, Kind::Constructing).map(|event| &event.thread);
    let ended = record
        .events()
        .iter()
        .find(|event| event.kind == Kind::ThreadEnded && home.is_some_and(|home| *home == event.thread));
    [
        swapped(left.or(entered), closing, session, "it was closed before its context was left"),
        swapped(closed.or(left), dropped, session, "it was dropped before it was closed"),
        // The driver tells late: what it told before the event was certainly said too early.
        swapped(last, record.first(session, Kind::Gone), session, "the driver called it gone before it was"),
        swapped(last, ended, session, "its thread ended before it was torn down"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn swapped(earlier: Option<&Event>, later: Option<&Event>, session: &str, wrong: &str) -> Option<Violation> {
    let (earlier, later) = (earlier?, later?);
    let wrong = Violation::of(Rule::Order, session, wrong).at([later.sequence, earlier.sequence]);
    (earlier.sequence > later.sequence).then_some(wrong)
}

/// Nothing is torn down while a call or a tool of the session runs.
fn under_a_call(record: &Record, session: &str) -> Option<Violation> {
    let mut running: Vec<u64> = Vec::new();
    for event in record.lived(session) {
        if matches!(event.kind, Kind::CallBegin | Kind::ToolBegin) {
            running.push(event.sequence);
        } else if ends_a_call(event.kind) {
            running.pop();
        } else if matches!(event.kind, Kind::McpExitBegin | Kind::CloseBegin) && !running.is_empty() {
            let wrong = format!("{} while {} of its calls ran", event.kind, running.len());
            return Some(Violation::of(Rule::Order, session, wrong).at(running).at([event.sequence]));
        }
    }
    None
}

pub(super) fn ends_a_call(kind: Kind) -> bool {
    matches!(kind, Kind::CallEnd | Kind::CallCancelled | Kind::ToolEnd | Kind::ToolCancelled)
}

/// A thread that several sessions were built on is shared: its end is the last thing of all.
pub(super) fn shared_stops_last(record: &Record) -> Vec<Violation> {
    let mut residents: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for event in record.events().iter().filter(|event| event.kind == Kind::Constructing) {
        residents.entry(event.thread.number()).or_default().insert(&event.session);
    }
    let shared = |event: &&Event| {
        event.kind == Kind::ThreadEnded && residents.get(&event.thread.number()).is_some_and(|r| r.len() > 1)
    };
    let is_end = |event: &&Event| matches!(event.kind, Kind::Closed | Kind::CloseRaised | Kind::McpExit);
    let ended: Vec<&Event> = record.events().iter().filter(shared).collect();
    let Some(last) = record.events().iter().rfind(is_end) else { return Vec::new() };
    ended
        .into_iter()
        .filter(|end| end.sequence < last.sequence)
        .map(|end| {
            let wrong = format!("{} ended before session {} was torn down", end.thread, last.session);
            Violation::of_all(Rule::SharedStopsLast, wrong).at([end.sequence, last.sequence])
        })
        .collect()
}

pub(super) fn before(record: &Record, earlier: (&str, Kind), later: (&str, Kind)) -> Vec<Violation> {
    let absent = |(session, kind): (&str, Kind)| {
        vec![Violation::of(Rule::AsExpected, session, format!("{kind} was never recorded"))]
    };
    let Some(first) = record.last(earlier.0, earlier.1) else { return absent(earlier) };
    let Some(second) = record.first(later.0, later.1) else { return absent(later) };
    if first.sequence < second.sequence {
        return Vec::new();
    }
    let wrong = format!("{} came after {} of session {}", earlier.1, later.1, later.0);
    vec![Violation::of(Rule::AsExpected, earlier.0, wrong).at([second.sequence, first.sequence])]
}
