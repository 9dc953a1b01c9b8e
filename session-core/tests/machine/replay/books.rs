//! I4: the machine's books against a recount of what was seen.

use session_core::{Books, Class, Lifespan, Phase, Refusal, SessionKey, SessionView};

use super::model::{Model, Seen, claim};
use super::sim::Sim;

type Checked = Result<(), String>;

pub(crate) fn add_up(sim: &Sim) -> Checked {
    let (model, books) = (&sim.model, sim.machine.books());
    let recount = recount(model);
    claim!(books == recount, "I4: the books say {books:?}, a recount {recount:?}");
    claim!(books.open <= model.rules.capacity, "I4: over capacity: {books:?}");
    claim!(books.one_shots <= model.rules.one_shots, "I4: too many one-shots: {books:?}");
    let totals = sim.machine.totals();
    let gone = model.sessions.iter().filter(|it| it.gone).count();
    let counts = (totals.accepted, totals.gone, totals.abandoned, totals.faults);
    let recount = (model.sessions.len() as u64, gone as u64, model.abandonments, model.faults);
    claim!(counts == recount, "I10: the totals say {counts:?}, a recount {recount:?}");
    let frees = |it: &Seen| !it.gone && !it.abandoned && it.class == Class::Kept && it.closing.is_some();
    let is_full = books.open == model.rules.capacity;
    let ready = model.lifespan == Lifespan::Running && books.abandoned < model.rules.abandoned;
    claim!(sim.machine.is_ready() == ready, "readiness is not {ready}");
    let waits = ready && is_full && model.sessions.iter().any(frees);
    claim!(sim.machine.slot_wait().is_some() == waits, "whether a slot will be free soon is not {waits}");
    claim!(sim.machine.lifespan() == model.lifespan, "the lifespan was not told");
    each_session_is_as_seen(sim)?;
    endings_are_remembered(sim)
}

fn recount(model: &Model) -> Books {
    let count =
        |which: &dyn Fn(&Seen) -> bool| model.sessions.iter().filter(|it| !it.gone && which(it)).count();
    let calls = model.sessions.iter().filter(|it| !it.gone && !it.abandoned).map(|it| it.calls as usize);
    let up = model.threads.iter().filter(|it| !it.stopped);
    Books {
        open: count(&|it| !it.abandoned && it.class == Class::Kept),
        one_shots: count(&|it| !it.abandoned && it.class == Class::OneShot),
        abandoned: count(&|it| it.abandoned),
        calls: calls.sum(),
        executors: up.clone().count(),
        leaked_executors: up.filter(|it| it.lost).count(),
    }
}

fn each_session_is_as_seen(sim: &Sim) -> Checked {
    let mut views: Vec<SessionView> = sim.machine.sessions().collect();
    views.sort_by_key(|view| view.key.generation());
    let live = sim.model.sessions.iter().filter(|it| !it.gone);
    let keys: Vec<SessionKey> = live.clone().map(|it| it.key).collect();
    let listed: Vec<SessionKey> = views.iter().map(|view| view.key).collect();
    claim!(keys == listed, "I4: {listed:?} are in the books, {keys:?} hold something");
    for (view, seen) in views.iter().zip(live) {
        let is_open = matches!(view.phase, Phase::Active { .. });
        claim!(is_open == (seen.opened && seen.closing.is_none()), "{} is in {:?}", view.key, view.phase);
        let calls = match view.phase {
            Phase::Active { calls, .. } | Phase::Draining { calls, .. } => calls,
            Phase::Building { .. }
            | Phase::Entering { .. }
            | Phase::Leaving { .. }
            | Phase::Closing { .. }
            | Phase::Stopping { .. } => 0,
        };
        let counted = (calls, view.attachments, view.abandoned);
        let seen = (seen.calls, seen.attachments, seen.abandoned);
        claim!(counted == seen, "{}: (calls, streams, abandoned) = {counted:?}, seen {seen:?}", view.key);
        let found = sim.machine.find(view.id.as_str());
        claim!(found == Ok(view.key), "{:?} is {found:?}, not {}", view.id, view.key);
    }
    Ok(())
}

fn endings_are_remembered(sim: &Sim) -> Checked {
    for gone in sim.model.sessions.iter().filter(|it| it.gone) {
        let alive = sim.model.sessions.iter().any(|it| !it.gone && it.id == gone.id);
        let ended = sim.model.ended.iter().find(|(id, _)| *id == gone.id);
        let expected = ended.map_or(Refusal::Unknown, |(_, reason)| Refusal::Ended { reason: *reason });
        let found = sim.machine.find(&format!("id-{}", gone.id));
        claim!(alive || found == Err(expected), "id-{} is {found:?}, not {expected:?}", gone.id);
    }
    Ok(())
}
