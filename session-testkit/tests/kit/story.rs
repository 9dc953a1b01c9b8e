//! Recordings written by hand, and ways to break them.

use session_testkit::{Event, Kind, Record, Rule, Thread};
use std::time::Duration;

/// A recording that can still be changed.
#[derive(Clone, Default)]
pub(crate) struct Story {
    lines: Vec<Line>,
}

#[derive(Clone)]
struct Line {
    thread: u64,
    session: String,
    kind: Kind,
    extras: Vec<(&'static str, &'static str)>,
}

/// Two sessions on one thread, as the shared executor runs them, told by everybody who can tell.
pub(crate) fn good() -> Story {
    use Kind::*;
    let mut story = Story::default();
    story.tell(1, "", &[ThreadWatched]);
    story.say(0, "", ExecutorStarted, &[("executor", "x1")]);
    for session in ["a", "b"] {
        story.tell(0, session, &[Opening]);
        story.tell(1, session, &[Constructing, Constructed, McpEnter]);
        story.tell(0, session, &[Opened]);
        story.say(1, session, CallBegin, &[("call", "count")]);
        story.say(1, session, CallEnd, &[("call", "count")]);
    }
    story.say(0, "", Lifespan, &[("lifespan", "draining")]);
    for session in ["a", "b"] {
        story.say(0, session, Closing, &[("reason", "shutdown")]);
        story.tell(1, session, &[McpExitBegin, McpExit, CloseBegin, Closed, Dropped]);
        story.tell(0, session, &[Gone]);
    }
    story.tell(1, "", &[ThreadEnded]);
    story.say(0, "", ExecutorStopped, &[("executor", "x1")]);
    story.say(0, "", Lifespan, &[("lifespan", "stopped")]);
    story
}

impl Story {
    pub(crate) fn tell(&mut self, thread: u64, session: &str, kinds: &[Kind]) {
        kinds.iter().for_each(|kind| self.say(thread, session, *kind, &[]));
    }

    pub(crate) fn say(
        &mut self,
        thread: u64,
        session: &str,
        kind: Kind,
        extras: &[(&'static str, &'static str)],
    ) {
        self.lines.push(Line { thread, session: session.into(), kind, extras: extras.into() });
    }

    fn find(&self, session: &str, kind: Kind) -> usize {
        self.lines.iter().position(|line| line.session == session && line.kind == kind).unwrap()
    }

    /// As if it had never happened.
    pub(crate) fn without(mut self, session: &str, kind: Kind) -> Self {
        let at = self.find(session, kind);
        self.lines.remove(at);
        self
    }

    /// Something else in its place.
    pub(crate) fn instead(mut self, session: &str, kind: Kind, other: Kind) -> Self {
        let at = self.find(session, kind);
        self.lines[at].kind = other;
        self
    }

    /// It happens elsewhere.
    pub(crate) fn on(mut self, thread: u64, session: &str, kind: Kind) -> Self {
        let at = self.find(session, kind);
        self.lines[at].thread = thread;
        self
    }

    /// More of `session`, on the thread of `kind` and right behind it.
    pub(crate) fn then(mut self, session: &str, kind: Kind, more: &[Kind]) -> Self {
        let at = self.find(session, kind);
        for (offset, more) in more.iter().enumerate() {
            let line = Line { kind: *more, ..self.lines[at].clone() };
            self.lines.insert(at + 1 + offset, line);
        }
        self
    }

    /// `kind` happens later than it did: right behind `behind` of the session `of`.
    pub(crate) fn later(mut self, session: &str, kind: Kind, of: &str, behind: Kind) -> Self {
        let at = self.find(session, kind);
        let line = self.lines.remove(at);
        let target = self.find(of, behind);
        self.lines.insert(target + 1, line);
        self
    }

    pub(crate) fn record(&self) -> Record {
        let events = self.lines.iter().enumerate().map(|(at, line)| {
            let name = if line.thread == 0 { "test".into() } else { format!("shared-{}", line.thread) };
            Event {
                sequence: at as u64,
                at: Duration::from_micros(at as u64 * 1_500),
                unix: 0.0,
                thread: Thread::imagined(line.thread, &name),
                session: line.session.as_str().into(),
                kind: line.kind,
                extras: line.extras.iter().map(|(key, value)| (*key, (*value).into())).collect(),
            }
        });
        Record::new(events.collect())
    }

    /// The rules that are broken, each once.
    pub(crate) fn broken(&self) -> Vec<Rule> {
        let mut rules: Vec<_> = self.record().check().into_iter().map(|violation| violation.rule).collect();
        rules.sort();
        rules.dedup();
        rules
    }
}
