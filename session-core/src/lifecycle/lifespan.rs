//! Running -> Draining -> Closing -> Stopping -> Stopped.

use crate::{Action, CloseReason, Lifespan, Phase, Shutdown, Timestamp};

#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) state: Lifespan,
    pub(super) how: Shutdown,
    /// When calls in flight are cut off.
    drain_end: Timestamp,
    /// When a graceful shutdown becomes forced.
    grace_end: Timestamp,
    /// When everything that is left is given up. Meaningful once forced.
    forced_end: Timestamp,
    /// When shared executors that did not stop are given up. Meaningful while stopping.
    stop_end: Timestamp,
}

impl Default for Span {
    fn default() -> Self {
        let never = Timestamp::from_nanos(u64::MAX);
        Self {
            state: Lifespan::Running,
            how: Shutdown::Graceful,
            drain_end: never,
            grace_end: never,
            forced_end: never,
            stop_end: never,
        }
    }
}

impl Span {
    pub(super) fn drain_end(&self) -> Option<Timestamp> {
        (self.state != Lifespan::Running).then_some(self.drain_end.min(self.grace_end))
    }

    pub(super) fn grace_end(&self) -> Option<Timestamp> {
        (self.state != Lifespan::Running).then_some(self.grace_end)
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match (self.state, self.how) {
            (Lifespan::Running | Lifespan::Stopped, _) => None,
            (Lifespan::Draining, Shutdown::Graceful) => Some(self.drain_end.min(self.grace_end)),
            (Lifespan::Closing, Shutdown::Graceful) => Some(self.grace_end),
            (Lifespan::Draining | Lifespan::Closing, Shutdown::Forced) => Some(self.forced_end),
            (Lifespan::Stopping, _) => Some(self.stop_end),
        }
    }
}

impl super::Lifecycle {
    /// Asks for the end of everything, or for it to be more urgent. A second request of the same urgency does nothing.
    pub fn shut_down(&mut self, now: Timestamp, how: Shutdown) {
        if self.span.state == Lifespan::Running {
            self.begin_draining(now);
        }
        if how == Shutdown::Forced {
            self.force(now);
        }
    }

    /// Whether the shutdown is, or became, forced.
    #[must_use]
    pub const fn was_forced(&self) -> bool {
        matches!(self.span.how, Shutdown::Forced)
    }

    fn begin_draining(&mut self, now: Timestamp) {
        let timeouts = &self.config.timeouts;
        self.span.drain_end = now + timeouts.drain;
        self.span.grace_end = now + timeouts.grace;
        self.go_on(Lifespan::Draining);
        let all: alloc::vec::Vec<usize> = self.registry.sessions.iter().map(|(index, _)| index).collect();
        for index in all {
            let Some(session) = self.registry.sessions.get(index) else { continue };
            match session.phase {
                Phase::Building { .. } | Phase::Entering { .. } => {
                    self.begin_close(now, index, CloseReason::Shutdown); // I9: never opened
                }
                Phase::Active { .. } if session.attachments > 0 => {
                    self.actions.push_back(Action::TellStreams(session.key));
                }
                Phase::Active { .. }
                | Phase::Draining { .. }
                | Phase::Leaving { .. }
                | Phase::Closing { .. }
                | Phase::Stopping { .. } => {}
            }
        }
        self.advance_span(now);
    }

    fn go_on(&mut self, state: Lifespan) {
        self.span.state = state;
        self.actions.push_back(Action::Lifespan(state));
    }

    /// Goes on to the next state of the lifespan once nothing holds it in the present one.
    pub(super) fn advance_span(&mut self, now: Timestamp) {
        if self.span.state == Lifespan::Draining && self.registry.calls == 0 {
            return self.begin_closing(now);
        }
        if self.span.state == Lifespan::Closing && self.registry.held_total() == 0 {
            self.begin_stopping(now);
        }
        if self.span.state == Lifespan::Stopping && !self.shared_executors_are_stopping() {
            self.go_on(Lifespan::Stopped);
        }
    }

    fn begin_closing(&mut self, now: Timestamp) {
        self.go_on(Lifespan::Closing);
        self.close_all(now);
        self.advance_span(now);
    }

    fn begin_stopping(&mut self, now: Timestamp) {
        let timeouts = &self.config.timeouts;
        let whole = match self.span.how {
            Shutdown::Graceful => self.span.grace_end,
            Shutdown::Forced => self.span.forced_end,
        };
        // Even when the time for the whole is over, executors get a moment to hear it.
        self.span.stop_end = (now + timeouts.stop).min(whole).max(now + timeouts.interrupt);
        self.go_on(Lifespan::Stopping);
        self.stop_shared_executors();
    }

    fn force(&mut self, now: Timestamp) {
        if self.span.how == Shutdown::Forced || self.span.state == Lifespan::Stopped {
            return;
        }
        self.span.how = Shutdown::Forced;
        self.span.forced_end = now + self.config.timeouts.forced;
        if self.span.state == Lifespan::Stopping {
            self.span.stop_end = self.span.stop_end.min(now + self.forced_share());
        }
        self.collapse_deadlines(now);
        self.give_turns(now);
        if self.span.state == Lifespan::Draining {
            self.begin_closing(now);
        }
    }

    /// A deadline of the whole passed.
    pub(super) fn span_overdue(&mut self, now: Timestamp) {
        while self.span.deadline().is_some_and(|at| at <= now) {
            match (self.span.state, self.span.how) {
                (Lifespan::Running | Lifespan::Stopped, _) => return,
                (Lifespan::Draining, Shutdown::Graceful) if self.span.drain_end < self.span.grace_end => {
                    self.begin_closing(now);
                }
                (Lifespan::Draining | Lifespan::Closing, Shutdown::Graceful) => self.force(now),
                (Lifespan::Draining | Lifespan::Closing, Shutdown::Forced) => self.abandon_all(now),
                (Lifespan::Stopping, _) => {
                    self.lose_stopping_executors();
                    self.advance_span(now);
                }
            }
        }
    }
}
