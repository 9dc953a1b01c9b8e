//! What was seen, by somebody who knows the invariants and nothing of how the machine keeps them.

use session_core::{
    Class, CloseReason, Event, ExecutorKey, Lifespan, Outcome, Placement, SessionKey, Shutdown, Step,
    Timestamp,
};

use super::ops::Rules;
use super::sim::Due;

/// Fails with the claim that is violated.
macro_rules! claim {
    ($holds:expr, $($claim:tt)+) => {
        if !$holds {
            return Err(format!($($claim)+));
        }
    };
}
pub(crate) use claim;

type Checked = Result<(), String>;

/// A step that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) step: Step,
    pub(crate) since: Timestamp,
    pub(crate) interrupted: Option<Timestamp>,
}

/// All that was seen of one session.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a tally of what was seen, not the state of a machine")]
pub(crate) struct Seen {
    pub(crate) key: SessionKey,
    pub(crate) id: usize,
    pub(crate) class: Class,
    pub(crate) home: Option<ExecutorKey>,
    pub(crate) asked: Timestamp,
    pub(crate) running: Option<Running>,
    pub(crate) built: Option<Outcome>,
    /// Whether its build was neither interrupted nor given up.
    pub(crate) built_in_time: bool,
    pub(crate) entered: Option<Outcome>,
    pub(crate) left: Option<Outcome>,
    pub(crate) closes: Vec<Outcome>,
    pub(crate) own_stopped: bool,
    pub(crate) opened: bool,
    pub(crate) closing: Option<CloseReason>,
    /// Whether leaving or closing has begun.
    pub(crate) in_teardown: bool,
    pub(crate) abandoned: bool,
    pub(crate) gone: bool,
    pub(crate) calls: u32,
    pub(crate) attachments: u32,
    /// Whether its streams were told to go.
    pub(crate) streams_told: bool,
    pub(crate) unused_since: Timestamp,
}

impl Seen {
    /// Whether nothing is left of the environment, or there never was one (I1).
    pub(crate) fn environment_is_gone(&self) -> bool {
        let closed = self.closes.len() == 2 || self.closes.last() == Some(&Outcome::Done);
        match self.built {
            Some(Outcome::Done) => closed,
            Some(_) | None => self.closes.is_empty(),
        }
    }

    pub(crate) fn is_blocking(&self) -> bool {
        let blocks = |running: Running| matches!(running.step, Step::Build | Step::Close | Step::CloseAgain);
        self.running.is_some_and(blocks)
    }

    pub(crate) fn begin(&mut self, step: Step, now: Timestamp) -> Checked {
        claim!(self.running.is_none(), "{}: {step} begins during {:?}", self.key, self.running);
        self.running = Some(Running { step, since: now, interrupted: None });
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) key: ExecutorKey,
    pub(crate) told_to_stop: bool,
    pub(crate) stopped: bool,
    pub(crate) lost: bool,
}

#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) rules: Rules,
    pub(crate) sessions: Vec<Seen>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) lifespan: Lifespan,
    pub(crate) asked_to_stop: Option<Timestamp>,
    pub(crate) stopped_at: Option<Timestamp>,
    pub(crate) asked_to_force: bool,
    pub(crate) forced: bool,
    pub(crate) abandonments: u64,
    pub(crate) faults: u64,
    /// Ids of the kept sessions that ended, the oldest first, and why.
    pub(crate) ended: Vec<(usize, CloseReason)>,
    /// A step that ended and has to be told: whose, which, how.
    pub(crate) owed: Option<(SessionKey, Step, Outcome, Timestamp)>,
}

impl Model {
    pub(crate) const fn new(rules: Rules) -> Self {
        Self {
            rules,
            sessions: Vec::new(),
            threads: Vec::new(),
            lifespan: Lifespan::Running,
            asked_to_stop: None,
            stopped_at: None,
            asked_to_force: false,
            forced: false,
            abandonments: 0,
            faults: 0,
            ended: Vec::new(),
            owed: None,
        }
    }

    pub(crate) fn opening(&mut self, key: SessionKey, id: usize, class: Class, now: Timestamp) {
        self.sessions.push(Seen {
            key,
            id,
            class,
            home: None,
            asked: now,
            running: None,
            built: None,
            built_in_time: false,
            entered: None,
            left: None,
            closes: Vec::new(),
            own_stopped: false,
            opened: false,
            closing: None,
            in_teardown: false,
            abandoned: false,
            gone: false,
            calls: 0,
            attachments: 0,
            streams_told: false,
            unused_since: now,
        });
    }

    pub(crate) fn shut_down(&mut self, now: Timestamp, how: Shutdown) {
        self.asked_to_stop = self.asked_to_stop.or(Some(now));
        self.asked_to_force |= how == Shutdown::Forced;
    }

    pub(crate) fn those(&self, which: impl Fn(&Seen) -> bool) -> Vec<usize> {
        (0..self.sessions.len()).filter(|at| which(&self.sessions[*at])).collect()
    }

    pub(crate) fn has_own_threads(&self) -> bool {
        self.rules.placement == Placement::PerSession
    }

    /// What can be answered now.
    pub(crate) fn due(&self) -> Vec<Due> {
        let steps = self.sessions.iter().filter_map(|it| {
            Some(match it.running?.step {
                Step::Build => Due::Build(it.key),
                Step::Enter => Due::Enter(it.key),
                Step::Leave => Due::Leave(it.key),
                Step::Close | Step::CloseAgain => Due::Close(it.key),
                Step::Stop | Step::Drain => return None,
            })
        });
        let threads = self.threads.iter().filter(|it| it.told_to_stop && !it.stopped);
        steps.chain(threads.map(|it| Due::Stop(it.key))).collect()
    }

    pub(crate) fn seen(&mut self, key: SessionKey) -> Result<&mut Seen, String> {
        let seen = self.sessions.iter_mut().rev().find(|it| it.key == key);
        let seen = seen.ok_or_else(|| format!("{key} was never opened"))?;
        claim!(!seen.gone, "I4: {key} is gone already");
        Ok(seen)
    }

    pub(crate) fn thread(&mut self, key: ExecutorKey) -> Result<&mut Thread, String> {
        let thread = self.threads.iter_mut().rev().find(|it| it.key == key);
        thread.ok_or_else(|| format!("executor {key} was never started"))
    }

    /// A fact, which the machine is about to hear.
    pub(crate) fn happened(&mut self, now: Timestamp, event: Event) -> Checked {
        match event {
            Event::Built(key, outcome) => {
                let seen = self.seen(key)?;
                seen.built_in_time = seen.running.is_some_and(|it| it.interrupted.is_none());
                self.end(key, outcome)?;
                self.seen(key)?.built = Some(outcome);
            }
            Event::Entered(key, outcome) => {
                self.end(key, outcome)?;
                self.seen(key)?.entered = Some(outcome);
            }
            Event::Left(key, outcome) => {
                self.end(key, outcome)?;
                self.seen(key)?.left = Some(outcome);
            }
            Event::Closed(key, outcome) => {
                self.end(key, outcome)?;
                self.seen(key)?.closes.push(outcome);
            }
            Event::Stopped(executor, outcome) => {
                self.thread(executor)?.stopped = true;
                let own = self.sessions.iter_mut().find(|it| !it.gone && it.home == Some(executor));
                if let Some(seen) = own {
                    seen.own_stopped = true;
                    let key = seen.key;
                    self.end(key, outcome)?;
                }
            }
            Event::CallEnded(key) => self.call_ended(now, key)?,
            Event::Detached(key) => {
                let seen = self.seen(key)?;
                seen.attachments -= 1;
                seen.unused_since = now;
            }
        }
        Ok(())
    }

    fn end(&mut self, key: SessionKey, outcome: Outcome) -> Checked {
        let running = self.seen(key)?.running.take();
        let running = running.ok_or_else(|| format!("nothing of {key} is under way"))?;
        self.owe(key, running, outcome);
        Ok(())
    }

    fn owe(&mut self, key: SessionKey, running: Running, outcome: Outcome) {
        self.owed = Some((key, running.step, outcome, running.since));
        self.faults += u64::from(!outcome.is_done());
    }

    fn call_ended(&mut self, now: Timestamp, key: SessionKey) -> Checked {
        let seen = self.seen(key)?;
        seen.calls -= 1;
        seen.unused_since = now;
        if seen.calls == 0
            && let Some(drain) = seen.running.take()
        {
            let cut = drain.interrupted.is_some();
            self.owe(key, drain, if cut { Outcome::Interrupted } else { Outcome::Done });
        }
        Ok(())
    }

    /// Whether everything that ended was told.
    pub(crate) fn nothing_is_owed(&self) -> Checked {
        claim!(self.owed.is_none(), "I10: nothing was told of {:?}", self.owed);
        Ok(())
    }
}
