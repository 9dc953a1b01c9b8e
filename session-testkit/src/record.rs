//! A recording to look at and to assert on.

use crate::event::{Event, Kind, Teller};
use crate::timeline::Timeline;
use std::collections::BTreeSet;
use std::fmt;

/// What was recorded: events in one total order. Printed, it shows swim lanes (see [`Timeline`]).
///
/// The claims that can be made about it are the `assert_…` methods; [`check`](Self::check) makes
/// all of them and panics at none.
#[derive(Clone, Debug, Default)]
pub struct Record {
    events: Vec<Event>,
}

impl Record {
    /// A recording of these events, in this order.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self { events }
    }

    /// All events, oldest first.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The sessions that anything happened to, in the order in which they appeared.
    #[must_use]
    pub fn sessions(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.events.iter().map(|event| &*event.session);
        names.filter(|name| !name.is_empty() && seen.insert(*name)).collect()
    }

    /// The events of one session, oldest first.
    pub fn of<'a>(&'a self, session: &str) -> impl DoubleEndedIterator<Item = &'a Event> + Clone {
        self.events.iter().filter(move |event| *event.session == *session)
    }

    /// What the session's environment told, without what the driver told about it.
    pub(crate) fn lived<'a>(&'a self, session: &str) -> impl DoubleEndedIterator<Item = &'a Event> + Clone {
        self.of(session).filter(|event| event.kind.teller() == Teller::Environment)
    }

    /// How often `kind` happened to `session`.
    #[must_use]
    pub fn count(&self, session: &str, kind: Kind) -> usize {
        self.of(session).filter(|event| event.kind == kind).count()
    }

    /// The first `kind` of `session`.
    #[must_use]
    pub fn first(&self, session: &str, kind: Kind) -> Option<&Event> {
        self.of(session).find(|event| event.kind == kind)
    }

    /// The last `kind` of `session`.
    #[must_use]
    pub fn last(&self, session: &str, kind: Kind) -> Option<&Event> {
        self.of(session).rfind(|event| event.kind == kind)
    }

    /// The same recording without one session: for claims about all the others.
    #[must_use]
    pub fn without(&self, session: &str) -> Self {
        self.filtered(|event| *event.session != *session)
    }

    /// The events of one session, and those of threads and of the server as a whole.
    #[must_use]
    pub fn only(&self, session: &str) -> Self {
        self.filtered(|event| event.session.is_empty() || *event.session == *session)
    }

    fn filtered(&self, keep: impl Fn(&Event) -> bool) -> Self {
        Self { events: self.events.iter().filter(|event| keep(event)).cloned().collect() }
    }

    /// The recording as swim lanes.
    #[must_use]
    pub fn timeline(&self) -> Timeline<'_> {
        Timeline::new(self)
    }
}

/// The swim lanes.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.timeline(), f)
    }
}
