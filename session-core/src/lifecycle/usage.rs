//! Calls, streams and idleness (I5, I9). The hot path: two counters, no action, no allocation.

use crate::{CloseReason, Lifespan, Phase, Refusal, SessionKey, Timestamp};

impl super::Lifecycle {
    /// A call on the session begins. Its end is [`Event::CallEnded`](crate::Event::CallEnded), however it ends.
    ///
    /// # Errors
    /// The session is not open (I9); the refusal says what it is instead.
    pub fn begin_call(&mut self, key: SessionKey) -> Result<(), Refusal> {
        let session = self.registry.get_mut(key).ok_or(Refusal::Unknown)?;
        if let Phase::Active { calls, .. } = &mut session.phase {
            *calls += 1;
            self.registry.calls += 1;
            return Ok(());
        }
        Err(refusal(&session.phase))
    }

    pub(super) fn call_ended(&mut self, now: Timestamp, key: SessionKey) -> Option<()> {
        let session = self.registry.get_mut(key)?;
        let written_off = session.is_written_off();
        let (last, open) = match &mut session.phase {
            Phase::Active { calls, idle_since } => {
                *calls = calls.checked_sub(1)?;
                *idle_since = now;
                (*calls == 0, true)
            }
            Phase::Draining { calls, .. } => {
                *calls = calls.checked_sub(1)?;
                (*calls == 0, false)
            }
            Phase::Building { .. }
            | Phase::Entering { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. } => return None,
        };
        if !written_off {
            self.registry.calls -= 1;
        }
        match (last, open) {
            (true, true) => self.arm_idle_if_needed(key.index()),
            (true, false) => self.drained(now, key.index()),
            (false, _) => {}
        }
        if self.span.state == Lifespan::Draining {
            self.advance_span(now);
        }
        Some(())
    }

    /// A stream is attached: the session is not idle while it is.
    ///
    /// # Errors
    /// The session is not open, or the server is draining: a stream would only be told to go again.
    pub fn attach(&mut self, key: SessionKey) -> Result<(), Refusal> {
        let running = self.span.state == Lifespan::Running;
        let session = self.registry.get_mut(key).ok_or(Refusal::Unknown)?;
        if !matches!(session.phase, Phase::Active { .. }) {
            return Err(refusal(&session.phase));
        }
        if !running {
            return Err(Refusal::Draining);
        }
        session.attachments += 1;
        Ok(())
    }

    pub(super) fn detached(&mut self, now: Timestamp, key: SessionKey) -> Option<()> {
        let session = self.registry.get_mut(key)?;
        session.attachments = session.attachments.checked_sub(1)?;
        if session.attachments == 0
            && let Phase::Active { calls: 0, idle_since } = &mut session.phase
        {
            *idle_since = now;
            self.arm_idle_if_needed(key.index());
        }
        Some(())
    }

    /// When an open session that nothing uses any more is to be closed; `None` while it is used.
    pub(super) fn idle_deadline(&self, index: usize) -> Option<Timestamp> {
        let session = &self.registry.sessions[index];
        match session.phase {
            Phase::Active { calls: 0, idle_since } if session.attachments == 0 => {
                self.config.idle_timeout.map(|timeout| idle_since + timeout)
            }
            Phase::Active { .. }
            | Phase::Building { .. }
            | Phase::Entering { .. }
            | Phase::Draining { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. } => None,
        }
    }

    fn lifetime_end(&self, index: usize) -> Option<Timestamp> {
        self.config.max_lifetime.map(|lifetime| self.registry.sessions[index].asked + lifetime)
    }

    /// Sets the deadline of an open session.
    pub(super) fn arm_idle(&mut self, index: usize) {
        let earliest = [self.idle_deadline(index), self.lifetime_end(index)].into_iter().flatten().min();
        match earliest {
            Some(at) => self.registry.deadlines.set(index, at),
            None => self.registry.deadlines.clear(index),
        }
    }

    /// Pushing an idle deadline back costs nothing: the earlier one stays, and is set anew when it passes. While the
    /// session was used there may be none but the end of its lifetime, if it has one.
    fn arm_idle_if_needed(&mut self, index: usize) {
        let armed = self.registry.deadlines.get(index);
        if armed == self.lifetime_end(index) {
            self.arm_idle(index);
        }
    }

    /// The deadline of an open session passed, which may since have been pushed back.
    pub(super) fn open_session_overdue(&mut self, now: Timestamp, index: usize) {
        let passed = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if passed(self.lifetime_end(index)) {
            self.begin_close(now, index, CloseReason::LifetimeOver);
        } else if passed(self.idle_deadline(index)) {
            self.begin_close(now, index, CloseReason::Idle); // I6
        } else {
            self.arm_idle(index);
        }
    }
}

/// Why nothing can be asked of a session in this phase.
const fn refusal(phase: &Phase) -> Refusal {
    match phase {
        Phase::Building { doomed: Some(reason) }
        | Phase::Entering { doomed: Some(reason) }
        | Phase::Draining { reason, .. }
        | Phase::Leaving { reason }
        | Phase::Closing { reason, .. }
        | Phase::Stopping { reason } => Refusal::Closing { reason: *reason },
        Phase::Building { doomed: None } | Phase::Entering { doomed: None } | Phase::Active { .. } => {
            Refusal::StillOpening
        }
    }
}
