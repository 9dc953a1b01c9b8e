//! What must hold, written down without looking at the machine: it knows only actions, facts and the invariants.

use session_core::{Action, ExecutorKey, SessionKey, Step};

/// One session, as far as the invariants care.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a list of what has happened, ticked off")]
pub(crate) struct Life {
    pub(crate) key: SessionKey,
    pub(crate) executor: Option<ExecutorKey>,
    pub(crate) under_way: Option<Step>,
    pub(crate) interrupted: bool,
    pub(crate) built: bool,
    pub(crate) entered: bool,
    pub(crate) left: bool,
    pub(crate) opened: bool,
    pub(crate) closing: bool,
    pub(crate) failed_closes: u8,
    pub(crate) closed: bool,
    pub(crate) abandoned: bool,
    pub(crate) gone: bool,
    pub(crate) calls: u8,
    pub(crate) streams: u8,
}

impl Life {
    pub(crate) fn new(key: SessionKey) -> Self {
        Self {
            key,
            executor: None,
            under_way: None,
            interrupted: false,
            built: false,
            entered: false,
            left: false,
            opened: false,
            closing: false,
            failed_closes: 0,
            closed: false,
            abandoned: false,
            gone: false,
            calls: 0,
            streams: 0,
        }
    }

    /// All of it but its names: the machine's digest tells who lives where.
    pub(crate) fn flags(&self) -> impl std::hash::Hash {
        let lived = (self.built, self.entered, self.left, self.opened, self.closing, self.closed);
        let stands = (self.interrupted, self.abandoned, self.gone, self.failed_closes);
        (self.under_way, lived, stands, self.calls, self.streams)
    }

    /// Whether its environment needs nothing more.
    pub(crate) fn is_taken_apart(&self) -> bool {
        !self.built || ((!self.entered || self.left) && (self.closed || self.failed_closes == 2))
    }

    fn begin(&mut self, step: Step) -> Result<(), String> {
        if let Some(other) = self.under_way {
            return Err(format!("{step} begun while {other} is under way"));
        }
        if self.gone {
            return Err(format!("{step} begun after it was gone"));
        }
        self.under_way = Some(step);
        self.interrupted = false;
        Ok(())
    }
}

/// What an action means for the session that it names; an error is a violation.
pub(crate) fn told(life: &mut Life, action: &Action) -> Result<(), String> {
    match action {
        Action::Build(_, executor) => {
            ensure(!life.built, "I1: built twice")?;
            ensure(!life.closing, "I9: built though its end was decided")?;
            life.executor = *executor;
            life.begin(Step::Build)
        }
        Action::Enter(_) => {
            ensure(life.built && !life.entered, "entered twice or before it was built")?;
            life.begin(Step::Enter)
        }
        Action::Leave(_) => {
            ensure(life.entered && !life.left, "I1: left twice or without having been entered")?;
            ensure(life.calls == 0, "I2: context left under a running call")?;
            ensure(life.closing, "left without a reason")?;
            life.begin(Step::Leave)
        }
        Action::Close(_) => {
            ensure(life.built && !life.closed, "I1: closed again, or without having been built")?;
            ensure(life.failed_closes < 2, "I1: more than one retry")?;
            ensure(!life.entered || life.left, "I2: closed before its context was left")?;
            ensure(life.calls == 0, "I2: closed under a running call")?;
            life.begin(Step::Close)
        }
        Action::Interrupt(_, _) => {
            ensure(life.under_way.is_some(), "interrupted though nothing is under way")?;
            life.interrupted = true;
            Ok(())
        }
        Action::Opened(_) => {
            ensure(life.entered && !life.closing && !life.opened, "I9: opened though its end was decided")?;
            life.opened = true;
            Ok(())
        }
        Action::Closing(_, _) => {
            ensure(!life.closing, "its end began twice")?;
            life.closing = true;
            Ok(())
        }
        Action::Gone(_, _) => {
            ensure(!life.gone && life.under_way.is_none(), "gone twice or with a step under way")?;
            ensure(life.is_taken_apart() && life.calls == 0, "I1: gone though it still holds something")?;
            ensure(life.closing, "gone without a reason")?;
            life.gone = true;
            Ok(())
        }
        Action::Abandoned(_, _, _) => {
            ensure(!life.gone && !life.abandoned, "abandoned twice or after it was gone")?;
            life.abandoned = true;
            Ok(())
        }
        Action::TellStreams(_) => ensure(life.streams > 0, "streams told that are not there"),
        Action::CutOff(_) => ensure(life.calls > 0, "calls cut off that are not there"),
        Action::StepDone(_, _, _, _)
        | Action::StartExecutor(_)
        | Action::StopExecutor(_)
        | Action::ExecutorLost(_)
        | Action::Lifespan(_) => Ok(()),
    }
}

/// The session that an action names.
pub(crate) fn names(action: &Action) -> Option<SessionKey> {
    match action {
        Action::Build(key, _)
        | Action::Enter(key)
        | Action::Leave(key)
        | Action::Close(key)
        | Action::Interrupt(key, _)
        | Action::TellStreams(key)
        | Action::CutOff(key)
        | Action::Opened(key)
        | Action::Closing(key, _)
        | Action::StepDone(key, _, _, _)
        | Action::Gone(key, _)
        | Action::Abandoned(key, _, _) => Some(*key),
        Action::StartExecutor(_)
        | Action::StopExecutor(_)
        | Action::ExecutorLost(_)
        | Action::Lifespan(_) => None,
    }
}

pub(crate) fn ensure(holds: bool, claim: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(claim.to_owned()) }
}
