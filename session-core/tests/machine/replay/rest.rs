//! Once everything was told: nobody is stuck (I7, I8), nothing is overdue (I6), and the timer is set.

use session_core::{Lifespan, Outcome, Timestamp};

use super::model::{Model, Running, Seen, claim};
use super::sim::Sim;
use super::when;

type Checked = Result<(), String>;

/// Each session is in use, in a step, or waits for something that is really taken.
pub(crate) fn nothing_is_stuck(sim: &Sim) -> Checked {
    let model = &sim.model;
    let turns = model.sessions.iter().filter(|it| it.in_teardown && !it.gone && !it.abandoned).count();
    let limit = model.rules.close_concurrency;
    claim!(turns <= limit || model.forced, "{turns} sessions are taken apart at once, not {limit}");
    // A session that waits for its executor may have its turn already.
    let queued =
        model.sessions.iter().filter(|it| waits_for_its_turn(it) && waits_for_its_executor(model, it));
    let turns_are_free = turns + queued.count() < limit || model.forced;
    for seen in model.sessions.iter().filter(|it| !it.gone) {
        let in_use = seen.opened && seen.closing.is_none();
        let waits = waits_for_its_executor(model, seen) || (waits_for_its_turn(seen) && !turns_are_free);
        claim!(in_use || seen.running.is_some() || waits, "I8: {} is stuck: {seen:#?}", seen.key);
    }
    let goes = |seen: &Seen| seen.closing.is_some() || model.asked_to_stop.is_some();
    let deaf = |seen: &Seen| !seen.gone && seen.attachments > 0 && goes(seen) && !seen.streams_told;
    let deaf = model.sessions.iter().find(|it| deaf(it));
    claim!(deaf.is_none(), "the streams of {deaf:?} were not told to go");
    let is_lost = |seen: &Seen| model.threads.iter().any(|it| it.lost && Some(it.key) == seen.home);
    let kept = model.sessions.iter().find(|it| !it.gone && !it.abandoned && is_lost(it));
    claim!(kept.is_none(), "I7: the executor of {kept:?} hangs, but it was not given up");
    let closing = matches!(model.lifespan, Lifespan::Closing | Lifespan::Stopping | Lifespan::Stopped);
    let open = model.sessions.iter().find(|it| closing && !it.gone && it.closing.is_none());
    claim!(open.is_none(), "I8: {open:?} is not being closed while {}", model.lifespan);
    Ok(())
}

fn waits_for_its_executor(model: &Model, seen: &Seen) -> bool {
    let next_blocks = match seen.built {
        None => true,
        Some(_) => seen.entered != Some(Outcome::Done) || seen.left.is_some(),
    };
    // A queued build has no home yet that anybody could know of: any blocked executor may be its own.
    let blocked = |other: &Seen| {
        other.is_blocking() && other.home.is_some() && (seen.home.is_none() || other.home == seen.home)
    };
    next_blocks && model.sessions.iter().any(blocked)
}

const fn waits_for_its_turn(seen: &Seen) -> bool {
    seen.built.is_some()
        && !seen.gone
        && seen.running.is_none()
        && seen.closing.is_some()
        && !seen.in_teardown
        && !seen.abandoned
}

/// After the timer fired.
pub(crate) fn nothing_is_overdue(sim: &Sim) -> Checked {
    let (model, now) = (&sim.model, sim.now);
    let next = sim.machine.poll_timeout();
    claim!(next.is_none_or(|at| at > now), "the timer fired at {now:?} and is set to {next:?} again");
    let latest = model.sessions.iter().filter(|it| !it.gone).filter_map(|it| latest(model, it)).min();
    if let Some(latest) = latest {
        claim!(latest > now, "I6: something is overdue since {latest:?}");
        claim!(next.is_some_and(|at| at <= latest), "I6: the timer is set to {next:?}, not to {latest:?}");
    }
    if let Some(asked) = model.asked_to_stop {
        let drained = model.lifespan != Lifespan::Draining || asked + model.rules.timeouts.drain > now;
        claim!(drained, "I8: still draining at {now:?}");
        let latest = asked + sim.machine.config().worst_case_shutdown();
        let stopped = model.lifespan == Lifespan::Stopped;
        // A timer that fires late does not shorten what it begins.
        claim!(stopped || now < latest || sim.has_slept, "I8: still {} at {now:?}", model.lifespan);
    }
    Ok(())
}

/// When something must have become of the session.
fn latest(model: &Model, seen: &Seen) -> Option<Timestamp> {
    match seen.running {
        Some(running) => step_end(model, seen, running),
        None if seen.opened && seen.closing.is_none() => open_end(model, seen),
        None => None,
    }
}

fn step_end(model: &Model, seen: &Seen, running: Running) -> Option<Timestamp> {
    if seen.abandoned {
        return None;
    }
    match running.interrupted {
        Some(at) => Some(at + model.rules.timeouts.interrupt),
        None => when::limit(&model.rules.timeouts, running.step).map(|limit| running.since + limit),
    }
}

fn open_end(model: &Model, seen: &Seen) -> Option<Timestamp> {
    let used = seen.calls > 0 || seen.attachments > 0;
    let idle = model.rules.idle.filter(|_| !used).map(|idle| seen.unused_since + idle);
    let lifetime = model.rules.lifetime.map(|lifetime| seen.asked + lifetime);
    idle.into_iter().chain(lifetime).min()
}
