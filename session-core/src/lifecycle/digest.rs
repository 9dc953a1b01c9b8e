//! What decides the machine's future, for checkers that compare states.

use core::hash::{Hash, Hasher};

use crate::session::Session;
use crate::{Phase, SessionKey, Shutdown, Timestamp};

impl super::Lifecycle {
    /// Feeds everything that decides what this machine will do into a hasher: times relative to `now`, sessions in the
    /// given order, without what only reports (totals, remembered endings, when a step began).
    ///
    /// Two machines with equal digests behave alike from here on. A checker that explores every interleaving uses it to
    /// recognise a state; by trying every order of interchangeable sessions and keeping the smallest hash, it merges
    /// symmetric ones. Sessions that are not in `order` are left out: give it all of [`sessions`](Self::sessions).
    pub fn digest<H: Hasher>(&self, now: Timestamp, order: &[SessionKey], hasher: &mut H) {
        let label = |key: SessionKey| order.iter().position(|it| *it == key);
        for key in order {
            let session = self.registry.get(*key);
            session.map(|session| self.digest_session(now, session, hasher)).is_some().hash(hasher);
        }
        let residents = self.registry.sessions.iter().map(|(_, session)| (session.key, session.executor));
        self.executors.digest(&label, residents, hasher);
        self.span.digest(now, hasher);
        for key in &self.turns {
            label(*key).hash(hasher); // of those that are gone, none
        }
        self.actions.hash(hasher);
    }

    fn digest_session<H: Hasher>(&self, now: Timestamp, session: &Session, hasher: &mut H) {
        let phase = match session.phase {
            // While it is used, since when it was not is meaningless.
            Phase::Active { calls, .. } if calls > 0 || session.attachments > 0 => {
                Phase::Active { calls, idle_since: Timestamp::ORIGIN }
            }
            Phase::Active { calls, idle_since } if self.config.idle_timeout.is_some() => {
                Phase::Active { calls, idle_since: Timestamp::ORIGIN + now.since(idle_since) }
            }
            Phase::Active { calls, .. } => Phase::Active { calls, idle_since: Timestamp::ORIGIN },
            phase @ (Phase::Building { .. }
            | Phase::Entering { .. }
            | Phase::Draining { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. }) => phase,
        };
        (session.class, phase, session.stance, session.standing, session.turn).hash(hasher);
        session.attachments.hash(hasher);
        self.config.max_lifetime.map(|_| now.since(session.asked)).hash(hasher);
        let deadline = self.registry.deadlines.get(session.key.index());
        deadline.map(|at| at.since(now)).hash(hasher);
    }
}

impl super::lifespan::Span {
    fn digest<H: Hasher>(&self, now: Timestamp, hasher: &mut H) {
        (self.state, self.how).hash(hasher);
        self.deadline().map(|at| at.since(now)).hash(hasher);
        // Deadlines of steps are cut to these.
        if self.how == Shutdown::Graceful {
            self.drain_end().map(|at| at.since(now)).hash(hasher);
            self.grace_end().map(|at| at.since(now)).hash(hasher);
        }
    }
}
