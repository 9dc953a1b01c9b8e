//! I1: exactly once.

use super::{Rule, Violation};
use crate::event::Kind;
use crate::record::Record;

/// One run of `close`.
struct Attempt {
    began: u64,
    end: Option<Kind>,
}

fn attempts(record: &Record, session: &str) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for event in record.lived(session) {
        if event.kind == Kind::CloseBegin {
            attempts.push(Attempt { began: event.sequence, end: None });
        } else if matches!(event.kind, Kind::Closed | Kind::CloseRaised | Kind::CloseCancelled) {
            match attempts.last_mut() {
                Some(attempt) if attempt.end.is_none() => attempt.end = Some(event.kind),
                // Whoever records no beginnings is judged by the ends.
                Some(_) | None => attempts.push(Attempt { began: event.sequence, end: Some(event.kind) }),
            }
        }
    }
    attempts
}

pub(super) fn closed(record: &Record, session: &str) -> Vec<Violation> {
    let attempts = attempts(record, session);
    let wrong = match (record.first(session, Kind::Constructed), attempts.as_slice()) {
        (None, []) => return Vec::new(),
        (None, [..]) => "closed, though it was never constructed".into(),
        (Some(built), []) => {
            let violation = Violation::of(Rule::ClosedOnce, session, "constructed and never closed");
            return vec![violation.at([built.sequence])];
        }
        (Some(_), attempts) => match judge(attempts) {
            None => return Vec::new(),
            Some(wrong) => wrong,
        },
    };
    let at = attempts.iter().map(|attempt| attempt.began);
    vec![Violation::of(Rule::ClosedOnce, session, wrong).at(at)]
}

fn judge(attempts: &[Attempt]) -> Option<String> {
    let failed = |attempt: &Attempt| attempt.end.is_some_and(|end| end != Kind::Closed);
    match attempts {
        [.., last] if last.end.is_none() => Some("a close began and never ended".into()),
        [only] if failed(only) => Some("its close failed and was not tried again".into()),
        [_] => None,
        [first, _] if failed(first) => None,
        [earlier @ .., _] if earlier.iter().any(|attempt| !failed(attempt)) => {
            Some(format!("closed {} times, again after a close that had returned", attempts.len()))
        }
        _ => Some(format!("{} attempts to close it: a failed close is retried once", attempts.len())),
    }
}

pub(super) fn context_left(record: &Record, session: &str) -> Vec<Violation> {
    let times = |kinds: &[Kind]| -> Vec<u64> {
        record.lived(session).filter(|event| kinds.contains(&event.kind)).map(|e| e.sequence).collect()
    };
    let entered = times(&[Kind::McpEnter]);
    let begun = times(&[Kind::McpExitBegin]);
    let left = times(&[Kind::McpExit, Kind::McpExitRaised]);
    let cancelled = times(&[Kind::McpExitCancelled]);
    let wrong = match (entered.len(), left.len(), cancelled.len()) {
        (0, 0, 0) | (1, 1, 0) => return Vec::new(),
        (0, _, _) => "its context was left, but never entered".into(),
        (1, 0, 0) if begun.is_empty() => "its context was entered and never left".into(),
        (1, 0, 0) => "leaving its context began and never ended".into(),
        (1, 0, _) => "leaving its context was interrupted".into(),
        (1, exits, cuts) => format!("its context was left {} times", exits + cuts),
        (enters, _, _) => format!("its context was entered {enters} times"),
    };
    let at = [entered, begun, left, cancelled].into_iter().flatten();
    vec![Violation::of(Rule::ContextLeftOnce, session, wrong).at(at)]
}
