//! I4: nothing is left.

use super::order::ends_a_call;
use super::{Rule, Violation};
use crate::event::{Event, Kind};
use crate::record::Record;

pub(super) fn nothing_left(record: &Record) -> Vec<Violation> {
    let mut found = Vec::new();
    for session in record.sessions() {
        found.extend(of_environment(record, session));
        found.extend(of_driver(record, session));
    }
    found.extend(threads(record));
    found.extend(executors(record));
    found.extend(lifespan(record));
    found
}

fn left(session: &str, what: &str, event: &Event) -> Violation {
    Violation::of(Rule::NothingLeft, session, what).at([event.sequence])
}

fn of_environment(record: &Record, session: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let ends = |kinds: &[Kind]| record.lived(session).any(|event| kinds.contains(&event.kind));
    if let Some(began) = record.first(session, Kind::Constructing)
        && !ends(&[Kind::Constructed, Kind::ConstructFailed])
    {
        found.push(left(session, "its construction never ended", began));
    }
    if let Some(built) = record.first(session, Kind::Constructed) {
        if !ends(&[Kind::Closed, Kind::CloseRaised]) {
            found.push(left(session, "constructed and not closed", built));
        }
        // Whether drops are recorded at all is the environment's business.
        let drops = record.events().iter().any(|event| event.kind == Kind::Dropped);
        if drops && !ends(&[Kind::Dropped]) {
            found.push(left(session, "constructed and never dropped", built));
        }
    }
    if let Some(entered) = record.first(session, Kind::McpEnter)
        && !ends(&[Kind::McpExit, Kind::McpExitRaised])
    {
        found.push(left(session, "its context was entered and not left", entered));
    }
    let begun = record.lived(session).filter(|e| matches!(e.kind, Kind::CallBegin | Kind::ToolBegin));
    let ended = record.lived(session).filter(|e| ends_a_call(e.kind)).count();
    found.extend(begun.skip(ended).map(|call| left(session, "a call never ended", call)));
    found
}

fn of_driver(record: &Record, session: &str) -> Vec<Violation> {
    // One that came back after all is gone in the end.
    let abandoned = record.first(session, Kind::Abandoned).filter(|_| record.count(session, Kind::Gone) == 0);
    let abandoned = abandoned.map(|event| left(session, "the driver abandoned it", event));
    let open = record.first(session, Kind::Opening).filter(|_| record.count(session, Kind::Gone) == 0);
    let open = open.map(|event| left(session, "its slot was never given back (no gone)", event));
    abandoned.into_iter().chain(open).collect()
}

fn threads(record: &Record) -> Vec<Violation> {
    let of = |kind| record.events().iter().filter(move |event| event.kind == kind);
    of(Kind::ThreadWatched)
        .filter(|watched| !of(Kind::ThreadEnded).any(|ended| ended.thread == watched.thread))
        .map(|watched| {
            let what = format!("thread {} never ended", watched.thread);
            Violation::of_all(Rule::NothingLeft, what).at([watched.sequence])
        })
        .collect()
}

fn executors(record: &Record) -> Vec<Violation> {
    let of = |kind| record.events().iter().filter(move |event| event.kind == kind);
    of(Kind::ExecutorStarted)
        .filter(|start| {
            !of(Kind::ExecutorStopped).any(|stop| stop.extra("executor") == start.extra("executor"))
        })
        .map(|start| {
            let what = format!("executor {} was never stopped", start.extra("executor").unwrap_or("?"));
            Violation::of_all(Rule::NothingLeft, what).at([start.sequence])
        })
        .collect()
}

fn lifespan(record: &Record) -> Option<Violation> {
    let last = record.events().iter().rfind(|event| event.kind == Kind::Lifespan)?;
    let at = last.extra("lifespan").unwrap_or_default();
    let what = format!("the server's lifespan ended as {at}, not as stopped");
    (at != "stopped").then(|| Violation::of_all(Rule::NothingLeft, what).at([last.sequence]))
}
