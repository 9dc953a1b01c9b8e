//! What must be refused, with which words, and that a refusal changes nothing.

use session_core::{Class, CloseReason, Event, ExecutorKey, Outcome, Refusal, SessionKey};

use super::model::{Model, Seen, claim};
use super::sim::{Due, Sim};

type Checked = Result<(), String>;

pub(crate) fn of_open(model: &Model, id: usize, class: Class) -> Result<(), Refusal> {
    let rules = &model.rules;
    let count =
        |which: &dyn Fn(&Seen) -> bool| model.sessions.iter().filter(|it| !it.gone && which(it)).count();
    let abandoned = count(&|it| it.abandoned);
    let open = count(&|it| !it.abandoned && it.class == class);
    if model.asked_to_stop.is_some() {
        return Err(Refusal::Draining);
    }
    if abandoned >= rules.abandoned {
        return Err(Refusal::TooManyAbandoned { abandoned, limit: rules.abandoned });
    }
    match class {
        Class::Kept if open >= rules.capacity => Err(Refusal::AtCapacity { open, capacity: rules.capacity }),
        Class::OneShot if open >= rules.one_shots => {
            Err(Refusal::TooManyOneShots { open, capacity: rules.one_shots })
        }
        Class::Kept | Class::OneShot if count(&|it| it.id == id) > 0 => Err(Refusal::DuplicateId),
        Class::Kept | Class::OneShot => Ok(()),
    }
}

/// What using it answers (I9).
const fn of_use(seen: &Seen) -> Result<(), Refusal> {
    match (seen.closing, seen.opened) {
        (Some(reason), _) => Err(Refusal::Closing { reason }),
        (None, false) => Err(Refusal::StillOpening),
        (None, true) => Ok(()),
    }
}

pub(crate) fn begin_call(sim: &mut Sim, at: usize) -> Checked {
    let seen = &sim.model.sessions[at];
    let (key, expected) = (seen.key, of_use(seen));
    compare(sim, expected, |sim| sim.machine.begin_call(key))?;
    claim!(sim.machine.poll_action().is_none(), "{key}: a call that begins emits an action");
    sim.model.sessions[at].calls += u32::from(expected.is_ok());
    Ok(())
}

pub(crate) fn attach(sim: &mut Sim, at: usize) -> Checked {
    let seen = &sim.model.sessions[at];
    let draining = sim.model.asked_to_stop.is_some();
    let expected = of_use(seen).and(if draining { Err(Refusal::Draining) } else { Ok(()) });
    let key = seen.key;
    compare(sim, expected, |sim| sim.machine.attach(key))?;
    sim.model.sessions[at].attachments += u32::from(expected.is_ok());
    Ok(())
}

pub(crate) fn close(sim: &mut Sim, at: usize, reason: CloseReason) -> Checked {
    let seen = &sim.model.sessions[at];
    let expected = seen.closing.map_or(Ok(()), |reason| Err(Refusal::Closing { reason }));
    let key = seen.key;
    compare(sim, expected, |sim| sim.machine.close(sim.now, key, reason))
}

fn compare(
    sim: &mut Sim,
    expected: Result<(), Refusal>,
    request: impl FnOnce(&mut Sim) -> Result<(), Refusal>,
) -> Checked {
    let before = expected.err().and_then(|_| sim.snapshot());
    let answer = request(sim);
    claim!(answer == expected, "the answer was {answer:?}, not {expected:?}");
    sim.unchanged(before)
}

/// Tells everything about a session that can't be, and asks for what is gone.
pub(crate) fn nonsense(sim: &mut Sim, which: usize) -> Checked {
    let count = sim.model.sessions.len();
    if count == 0 {
        return Ok(());
    }
    let seen = sim.model.sessions[which % count].clone();
    let mut events = about(seen.key, seen.home);
    events.extend(sim.answered(which));
    events.retain(|event| !can_happen(&sim.model, *event));
    let before = sim.snapshot();
    for event in events {
        let answer = sim.machine.handle_event(sim.now, event);
        claim!(answer.is_err(), "{event:?} can't be, and was taken");
    }
    if seen.gone {
        let (now, key) = (sim.now, seen.key);
        let answers = [
            sim.machine.begin_call(key),
            sim.machine.attach(key),
            sim.machine.close(now, key, CloseReason::Requested),
        ];
        claim!(answers == [Err(Refusal::Unknown); 3], "{key} is gone, but answers {answers:?}");
    }
    sim.unchanged(before)
}

fn about(key: SessionKey, home: Option<ExecutorKey>) -> Vec<Event> {
    let mut events = vec![Event::CallEnded(key), Event::Detached(key)];
    for outcome in [Outcome::Done, Outcome::Failed] {
        let steps = [Due::Build(key), Due::Enter(key), Due::Leave(key), Due::Close(key)];
        events.extend(steps.map(|due| due.answer(outcome)));
        events.extend(home.map(|home| Event::Stopped(home, outcome)));
    }
    events
}

fn can_happen(model: &Model, event: Event) -> bool {
    let those = |which: &dyn Fn(&Seen) -> bool| model.sessions.iter().any(|it| !it.gone && which(it));
    match event {
        Event::CallEnded(key) => those(&|it| it.key == key && it.calls > 0),
        Event::Detached(key) => those(&|it| it.key == key && it.attachments > 0),
        // A pooled executor on which nobody lives may end by itself.
        Event::Stopped(home, _) if !model.has_own_threads() && !those(&|it| it.home == Some(home)) => true,
        Event::Built(_, outcome)
        | Event::Entered(_, outcome)
        | Event::Left(_, outcome)
        | Event::Closed(_, outcome)
        | Event::Stopped(_, outcome) => model.due().iter().any(|due| due.answer(outcome) == event),
    }
}
