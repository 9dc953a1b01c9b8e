//! I9: no work after the end.

use super::{Rule, Violation};
use crate::event::Kind;
use crate::record::Record;

pub(super) fn no_call(record: &Record, session: &str) -> Vec<Violation> {
    let is_end = |kind| matches!(kind, Kind::McpExitBegin | Kind::CloseBegin | Kind::Dropped);
    let is_work = |kind| matches!(kind, Kind::CallBegin | Kind::ToolBegin | Kind::Reset);
    let Some(end) = record.lived(session).find(|event| is_end(event.kind)) else { return Vec::new() };
    let late: Vec<_> =
        record.lived(session).filter(|e| is_work(e.kind) && e.sequence > end.sequence).collect();
    let Some(first) = late.first() else { return Vec::new() };
    let wrong = format!("{} after {}", first.kind, end.kind);
    let at = late.iter().map(|event| event.sequence);
    vec![Violation::of(Rule::NoWorkAfterTheEnd, session, wrong).at([end.sequence]).at(at)]
}

/// The driver tells its own events in its own order, so these two compare.
pub(super) fn no_opening(record: &Record) -> Vec<Violation> {
    let has_left_running = |event: &&crate::event::Event| {
        event.kind == Kind::Lifespan && event.extra("lifespan").is_some_and(|now| now != "running")
    };
    let Some(end) = record.events().iter().find(has_left_running) else { return Vec::new() };
    let late = record.events().iter().filter(|e| e.kind == Kind::Opening && e.sequence > end.sequence);
    late.map(|opening| {
        let now = end.extra("lifespan").unwrap_or_default();
        let wrong = format!("opening began when the server was {now} already");
        Violation::of(Rule::NoWorkAfterTheEnd, &opening.session, wrong).at([end.sequence, opening.sequence])
    })
    .collect()
}
