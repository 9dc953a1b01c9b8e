//! What must hold in every recording, as claims that print what went wrong.

mod affinity;
mod after_end;
mod books;
mod once;
mod order;

use crate::event::Kind;
use crate::record::Record;
use std::fmt;

/// What a recording can break. The numbers are those of the project's invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// I1: one close that returns, or one that fails and one retry.
    ClosedOnce,
    /// I1: a context that was entered is left exactly once.
    ContextLeftOnce,
    /// I2: calls ended, context left, environment closed, executor stopped: in this order.
    Order,
    /// I2: a thread that several sessions share stops after the last session of all.
    SharedStopsLast,
    /// I3: everything that happens to an environment happens on the thread that built it.
    OneThread,
    /// I4: nothing that was begun or opened is left.
    NothingLeft,
    /// I9: nothing is called once closing began, nothing opened once draining began.
    NoWorkAfterTheEnd,
    /// What the test itself asked for: an event, or its order.
    AsExpected,
}

impl Rule {
    /// The rule in one sentence, with its number.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ClosedOnce => {
                "I1 exactly once: an environment is closed once (a failed close is retried once)"
            }
            Self::ContextLeftOnce => "I1 exactly once: an MCP context that was entered is left once",
            Self::Order => {
                "I2 order: calls end, the context is left, the environment closed, the executor stopped"
            }
            Self::SharedStopsLast => "I2 order: a shared executor stops after the last session of all",
            Self::OneThread => "I3 affinity: an environment lives on the thread that built it",
            Self::NothingLeft => "I4 books: nothing is left",
            Self::NoWorkAfterTheEnd => "I9 no work after the end",
            Self::AsExpected => "as this test expects",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// A rule that a recording breaks, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// Whose life breaks it; none if it is a matter of the whole server.
    pub session: Option<String>,
    /// What is wrong.
    pub what: String,
    /// Sequence numbers of the events that show it.
    pub at: Vec<u64>,
}

impl Violation {
    fn of(rule: Rule, session: &str, what: impl Into<String>) -> Self {
        Self { rule, session: Some(session.into()), what: what.into(), at: Vec::new() }
    }

    fn of_all(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, session: None, what: what.into(), at: Vec::new() }
    }

    fn at(mut self, sequences: impl IntoIterator<Item = u64>) -> Self {
        self.at.extend(sequences);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.session {
            Some(session) => write!(f, "[{}] session {session}: {}", self.rule, self.what),
            None => write!(f, "[{}] {}", self.rule, self.what),
        }
    }
}

/// Everything that a recording can be asked without saying what to expect.
impl Record {
    /// Every rule on every session. Empty if all hold.
    #[must_use]
    pub fn check(&self) -> Vec<Violation> {
        let mut found: Vec<_> =
            self.sessions().into_iter().flat_map(|session| self.check_session(session)).collect();
        found.extend(order::shared_stops_last(self));
        found.extend(books::nothing_left(self));
        found.extend(after_end::no_opening(self));
        found
    }

    /// Every rule on the life of one session. Empty if all hold.
    #[must_use]
    pub fn check_session(&self, session: &str) -> Vec<Violation> {
        let mut found = once::closed(self, session);
        found.extend(once::context_left(self, session));
        found.extend(order::of_session(self, session));
        if !affinity::is_free(self, session) {
            found.extend(affinity::one_thread(self, session));
        }
        found.extend(after_end::no_call(self, session));
        found
    }

    /// Panics if any rule is broken anywhere.
    #[track_caller]
    pub fn assert_all(&self) -> &Self {
        self.hold_to(self.check())
    }

    /// I1: the environment of `session` was closed by one close that returned, or by one that
    /// failed and its one retry.
    #[track_caller]
    pub fn assert_closed_once(&self, session: &str) -> &Self {
        self.hold_to(self.known(session, Rule::ClosedOnce).unwrap_or_else(|| once::closed(self, session)))
    }

    /// I1: the MCP context of `session` was left exactly once, uninterrupted, if it was entered.
    #[track_caller]
    pub fn assert_context_left_once(&self, session: &str) -> &Self {
        let unknown = self.known(session, Rule::ContextLeftOnce);
        self.hold_to(unknown.unwrap_or_else(|| once::context_left(self, session)))
    }

    /// I2: the calls of `session` ended, then its context was left, then its environment was
    /// closed, then its executor stopped.
    #[track_caller]
    pub fn assert_order(&self, session: &str) -> &Self {
        self.hold_to(self.known(session, Rule::Order).unwrap_or_else(|| order::of_session(self, session)))
    }

    /// I2: threads that several sessions shared ended after the last session of all.
    #[track_caller]
    pub fn assert_shared_stopped_last(&self) -> &Self {
        self.hold_to(order::shared_stops_last(self))
    }

    /// I3: everything that happened to the environment of `session` happened on one thread.
    #[track_caller]
    pub fn assert_one_thread(&self, session: &str) -> &Self {
        let unknown = self.known(session, Rule::OneThread);
        self.hold_to(unknown.unwrap_or_else(|| affinity::one_thread(self, session)))
    }

    /// I4: every environment is closed and dropped, every call over, every slot given back, every
    /// executor and watched thread ended, the lifespan stopped; as far as it was recorded.
    #[track_caller]
    pub fn assert_nothing_left(&self) -> &Self {
        self.hold_to(books::nothing_left(self))
    }

    /// I9: no call of `session` began after its teardown had begun.
    #[track_caller]
    pub fn assert_no_call_after_end(&self, session: &str) -> &Self {
        let unknown = self.known(session, Rule::NoWorkAfterTheEnd);
        self.hold_to(unknown.unwrap_or_else(|| after_end::no_call(self, session)))
    }

    /// The first event comes before the second: each is a session and what happened to it. Of
    /// several, the last of the former and the first of the latter count.
    #[track_caller]
    pub fn assert_before(&self, earlier: (&str, Kind), later: (&str, Kind)) -> &Self {
        self.hold_to(order::before(self, earlier, later))
    }

    /// `kind` happened to `session` exactly `times`.
    #[track_caller]
    pub fn assert_count(&self, session: &str, kind: Kind, times: usize) -> &Self {
        let at: Vec<_> = self.of(session).filter(|e| e.kind == kind).map(|e| e.sequence).collect();
        let seen = at.len();
        let what = format!("expected {kind} {times} times, recorded {seen}");
        let violation = Violation::of(Rule::AsExpected, session, what).at(at);
        self.hold_to(if seen == times { Vec::new() } else { vec![violation] })
    }

    /// A claim about a session of which nothing is known is a mistake of the test, not a truth.
    fn known(&self, session: &str, rule: Rule) -> Option<Vec<Violation>> {
        let unknown = self.lived(session).next().is_none();
        unknown.then(|| vec![Violation::of(rule, session, "nothing was recorded about it")])
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "an assertion panics: that is how a test fails")]
    fn hold_to(&self, violations: Vec<Violation>) -> &Self {
        if violations.is_empty() {
            return self;
        }
        let marks: Vec<u64> = violations.iter().flat_map(|violation| violation.at.clone()).collect();
        let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
        panic!("{}\n\n{}", texts.join("\n"), self.timeline().marking(marks));
    }
}
