//! Which sessions there are, and the one place where one leaves (I4).

use alloc::collections::VecDeque;
use core::time::Duration;

use hashbrown::HashMap;
use slab::Slab;

use super::deadlines::Deadlines;
use crate::session::{Session, Stance, Standing, Turn};
use crate::{Class, CloseReason, Config, Outcome, Phase, Refusal, SessionId, SessionKey, Timestamp};

#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    pub(super) sessions: Slab<Session>,
    pub(super) deadlines: Deadlines,
    ids: HashMap<SessionId, SessionKey>,
    generation: u32,
    kept: usize,
    one_shots: usize,
    /// Those of `kept` whose end has begun: their slots will be free soon.
    closing: usize,
    pub(super) written_off: usize,
    /// Calls in flight of sessions that were not written off.
    pub(super) calls: usize,
    ended: HashMap<SessionId, CloseReason>,
    ended_order: VecDeque<SessionId>,
    totals: Totals,
}

/// How much there is at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Books {
    /// Sessions that hold a slot: those being built or closed included.
    pub open: usize,
    /// One-shot sessions that hold anything.
    pub one_shots: usize,
    /// Sessions that were given up and have not come back.
    pub abandoned: usize,
    /// Calls in flight, those of abandoned sessions not counted.
    pub calls: usize,
    /// Executors that are started and not stopped, those given up included.
    pub executors: usize,
    /// Executors that were given up and have not come back: threads that leaked.
    pub leaked_executors: usize,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions that were asked for and accepted.
    pub accepted: u64,
    /// Sessions that are gone.
    pub gone: u64,
    /// Sessions that were given up, those that came back later included.
    pub abandoned: u64,
    /// Steps that did not end as they should.
    pub faults: u64,
    by_reason: [u64; CloseReason::ALL.len()],
}

impl Totals {
    /// Sessions that ended for this reason.
    #[must_use]
    pub const fn ended(&self, reason: CloseReason) -> u64 {
        self.by_reason[reason as usize]
    }
}

/// One session, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Its key.
    pub key: SessionKey,
    /// Its id.
    pub id: SessionId,
    /// What it is meant for.
    pub class: Class,
    /// Where it is in its life.
    pub phase: Phase,
    /// Streams attached.
    pub attachments: u32,
    /// Whether it was given up.
    pub abandoned: bool,
    /// When it was asked for.
    pub asked: Timestamp,
    /// When its present phase began.
    pub since: Timestamp,
}

impl Registry {
    pub(super) fn get(&self, key: SessionKey) -> Option<&Session> {
        self.sessions.get(key.index()).filter(|session| session.key == key)
    }

    pub(super) fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.sessions.get_mut(key.index()).filter(|session| session.key == key)
    }

    pub(super) fn find(&self, id: &str) -> Result<SessionKey, Refusal> {
        match (self.ids.get(id), self.ended.get(id)) {
            (Some(key), _) => Ok(*key),
            (None, Some(reason)) => Err(Refusal::Ended { reason: *reason }),
            (None, None) => Err(Refusal::Unknown),
        }
    }

    /// Whether there is room for one more; the check and the entry are one step, so the cap can't be overshot.
    pub(super) fn admit(&self, id: &SessionId, class: Class, config: &Config) -> Result<(), Refusal> {
        if self.written_off >= config.abandoned_limit {
            let (abandoned, limit) = (self.written_off, config.abandoned_limit);
            return Err(Refusal::TooManyAbandoned { abandoned, limit });
        }
        match class {
            Class::Kept if self.kept >= config.capacity => {
                Err(Refusal::AtCapacity { open: self.kept, capacity: config.capacity })
            }
            Class::OneShot if self.one_shots >= config.one_shot_capacity => {
                Err(Refusal::TooManyOneShots { open: self.one_shots, capacity: config.one_shot_capacity })
            }
            Class::Kept | Class::OneShot if self.ids.contains_key(id) => Err(Refusal::DuplicateId),
            Class::Kept | Class::OneShot => Ok(()),
        }
    }

    pub(super) fn insert(&mut self, now: Timestamp, id: SessionId, class: Class) -> usize {
        self.generation = self.generation.wrapping_add(1);
        let entry = self.sessions.vacant_entry();
        let index = entry.key();
        let key = SessionKey::new(index as u32, self.generation);
        entry.insert(Session {
            key,
            id: id.clone(),
            class,
            executor: None,
            phase: Phase::Building { doomed: None },
            stance: Stance::Queued,
            standing: Standing::Held,
            turn: Turn::NotDue,
            asked: now,
            since: now,
            attachments: 0,
        });
        self.ids.insert(id, key);
        *self.held(class) += 1;
        self.totals.accepted += 1;
        index
    }

    pub(super) fn note_closing(&mut self, key: SessionKey) {
        let counts = |session: &Session| session.class == Class::Kept && !session.is_written_off();
        if self.get(key).is_some_and(counts) {
            self.closing += 1;
        }
    }

    /// One of those that are closing gives its slot back.
    fn forget_closing(&mut self, class: Class, reason: Option<CloseReason>) {
        if class == Class::Kept && reason.is_some() {
            self.closing -= 1;
        }
    }

    fn held(&mut self, class: Class) -> &mut usize {
        match class {
            Class::Kept => &mut self.kept,
            Class::OneShot => &mut self.one_shots,
        }
    }

    /// The slot is free again though the session still holds something. Returns whether it was not so before.
    pub(super) fn write_off(&mut self, index: usize) -> bool {
        let session = &mut self.sessions[index];
        if session.is_written_off() {
            return false;
        }
        session.standing = Standing::WrittenOff;
        let (class, calls, reason) = (session.class, session.calls(), session.reason());
        self.forget_closing(class, reason);
        self.calls -= calls as usize;
        *self.held(class) -= 1;
        self.written_off += 1;
        self.totals.abandoned += 1;
        true
    }

    /// The only way out of the books.
    pub(super) fn remove(&mut self, index: usize, reason: CloseReason, config: &Config) -> Session {
        let session = self.sessions.remove(index);
        self.deadlines.clear(index);
        self.ids.remove(&session.id);
        if session.is_written_off() {
            self.written_off -= 1;
        } else {
            *self.held(session.class) -= 1;
            self.forget_closing(session.class, session.reason());
        }
        self.totals.gone += 1;
        self.totals.by_reason[reason as usize] += 1;
        if session.class == Class::Kept {
            self.remember(&session.id, reason, config.remembered);
        }
        session
    }

    fn remember(&mut self, id: &SessionId, reason: CloseReason, limit: usize) {
        if limit == 0 {
            return;
        }
        if self.ended.insert(id.clone(), reason).is_some() {
            return; // an id that was used again keeps its place
        }
        self.ended_order.push_back(id.clone());
        if self.ended_order.len() > limit
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    pub(super) const fn count_step(&mut self, outcome: Outcome) {
        if !outcome.is_done() {
            self.totals.faults += 1;
        }
    }

    pub(super) const fn held_total(&self) -> usize {
        self.kept + self.one_shots
    }
}

impl super::Lifecycle {
    /// The key of the session with this id, whatever its phase.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], or [`Refusal::Ended`] if it is one of the last that were closed.
    pub fn find(&self, id: &str) -> Result<SessionKey, Refusal> {
        self.registry.find(id)
    }

    /// One session.
    #[must_use]
    pub fn session(&self, key: SessionKey) -> Option<SessionView> {
        self.registry.get(key).map(view)
    }

    /// All sessions, abandoned ones included, in no particular order.
    pub fn sessions(&self) -> impl Iterator<Item = SessionView> + '_ {
        self.registry.sessions.iter().map(|(_, session)| view(session))
    }

    /// How long it is worth waiting for a slot: only while every slot is taken and one of them is about to be free.
    #[must_use]
    pub fn slot_wait(&self) -> Option<Duration> {
        let full = self.registry.kept >= self.config.capacity && self.is_ready();
        (full && self.registry.closing > 0 && !self.config.slot_wait.is_zero())
            .then_some(self.config.slot_wait)
    }

    /// How much there is at this moment (I4).
    #[must_use]
    pub fn books(&self) -> Books {
        Books {
            open: self.registry.kept,
            one_shots: self.registry.one_shots,
            abandoned: self.registry.written_off,
            calls: self.registry.calls,
            executors: self.executors.started(),
            leaked_executors: self.executors.lost(),
        }
    }

    /// What has happened so far.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.registry.totals
    }
}

fn view(session: &Session) -> SessionView {
    SessionView {
        key: session.key,
        id: session.id.clone(),
        class: session.class,
        phase: session.phase,
        attachments: session.attachments,
        abandoned: session.is_written_off(),
        asked: session.asked,
        since: session.since,
    }
}
