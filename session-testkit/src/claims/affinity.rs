//! I3: affinity.

use super::{Rule, Violation};
use crate::event::{AS_TASKS, Kind, LIVES};
use crate::record::Record;

/// Whether the environment said that it has no thread: tasks move, and nobody promised otherwise.
pub(super) fn is_free(record: &Record, session: &str) -> bool {
    record.first(session, Kind::Constructing).is_some_and(|event| event.extra(LIVES) == Some(AS_TASKS))
}

pub(super) fn one_thread(record: &Record, session: &str) -> Vec<Violation> {
    // A note may come from the test itself.
    let mut lived = record.lived(session).filter(|event| event.kind != Kind::Note);
    let Some(first) = lived.next() else { return Vec::new() };
    let strays: Vec<_> = lived.filter(|event| event.thread != first.thread).collect();
    let Some(stray) = strays.first() else { return Vec::new() };
    let wrong = format!(
        "{} on {}, {} on {} ({} events away from home)",
        first.kind,
        first.thread,
        stray.kind,
        stray.thread,
        strays.len()
    );
    let at = strays.iter().map(|event| event.sequence);
    vec![Violation::of(Rule::OneThread, session, wrong).at([first.sequence]).at(at)]
}
