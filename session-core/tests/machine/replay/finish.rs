//! What comes of a shutdown at any moment (I8): in four worlds, each on a copy.

use std::time::Duration;

use session_core::{Books, Lifespan, Outcome, Placement, Shutdown, Step};

use super::model::{Running, claim};
use super::ops::Op;
use super::sim::Sim;

type Checked = Result<(), String>;

/// More deadlines than any shutdown of so few sessions has.
const MANY: usize = 300;

/// No step ever ends, no call ends, no stream goes, and clients go on asking.
pub(crate) fn everything_hangs(sim: &Sim) -> Checked {
    let mut sim = sim.copy();
    sim.apply(Op::ShutDown(Shutdown::Graceful))?;
    for _ in 0..MANY {
        if sim.model.lifespan == Lifespan::Stopped {
            return in_time(&sim);
        }
        for which in 0..sim.model.sessions.len() {
            sim.apply(Op::BeginCall(which))?;
        }
        let next = sim.machine.poll_timeout();
        claim!(next.is_some(), "{}", sim.story("I8: nothing is waited for"));
        sim.apply(Op::NextTimeout)?;
    }
    Err(sim.story("I8: it never stops"))
}

/// Every step that is under way, and all that follow, succeed at once; calls end and streams go.
pub(crate) fn everything_goes_well(sim: &Sim) -> Checked {
    let mut sim = sim.copy();
    let given_up = sim.model.abandonments;
    sim.apply(Op::ShutDown(Shutdown::Graceful))?;
    for turn in 0..MANY {
        if !sim.model.due().is_empty() {
            sim.apply(Op::Answer(turn, Outcome::Done))?;
        } else if sim.model.sessions.iter().any(|it| it.calls > 0) {
            sim.apply(Op::EndCall(turn))?;
        } else {
            break;
        }
    }
    let nothing = Books { open: 0, one_shots: 0, abandoned: 0, calls: 0, executors: 0, leaked_executors: 0 };
    let (books, lifespan) = (sim.machine.books(), sim.model.lifespan);
    claim!(lifespan == Lifespan::Stopped, "{}", sim.story(&format!("I8: still {lifespan}")));
    claim!(books == nothing, "{}", sim.story(&format!("I4: all is gone, but {books:?}")));
    claim!(sim.model.abandonments == given_up, "{}", sim.story("something was given up without need"));
    claim!(sim.machine.poll_timeout().is_none(), "{}", sim.story("I4: all is gone, but a timer is set"));
    Ok(())
}

/// Every step ends when it is interrupted, calls when they are cut off.
pub(crate) fn everything_ends_when_told_to(sim: &Sim) -> Checked {
    let times = &sim.model.rules.timeouts;
    let too_short = times.interrupt.min(times.forced) < Duration::from_secs(1);
    // On a shared thread steps wait for each other, so that all together may be too late.
    let shared = matches!(sim.model.rules.placement, Placement::Pinned(_));
    let hangs = sim.model.sessions.iter().any(|it| it.running.is_some_and(|it| it.interrupted.is_some()));
    if too_short || shared || hangs || sim.model.asked_to_stop.is_some() || sim.has_slept {
        return Ok(());
    }
    let mut sim = sim.copy();
    let given_up = sim.model.abandonments;
    sim.apply(Op::ShutDown(Shutdown::Graceful))?;
    for _ in 0..MANY {
        obey(&mut sim)?;
        if sim.model.lifespan == Lifespan::Stopped {
            break;
        }
        sim.apply(Op::NextTimeout)?;
    }
    let lifespan = sim.model.lifespan;
    claim!(lifespan == Lifespan::Stopped, "{}", sim.story(&format!("I8: still {lifespan}")));
    claim!(sim.model.abandonments == given_up, "{}", sim.story("I8: what ended when told to was given up"));
    Ok(())
}

/// Every step ends badly at the last moment before it would be given up, which is the longest way there is.
pub(crate) fn everything_ends_at_the_last_moment(sim: &Sim) -> Checked {
    let mut sim = sim.copy();
    sim.apply(Op::ShutDown(Shutdown::Graceful))?;
    for _ in 0..MANY {
        if sim.model.lifespan == Lifespan::Stopped {
            return in_time(&sim);
        }
        let next = sim.machine.poll_timeout().ok_or_else(|| sim.story("I8: nothing is waited for"))?;
        sim.now = sim.now.max(next);
        let now = sim.now;
        end_all(&mut sim, |it| match (it.interrupted, it.step) {
            (Some(at), _) => at < now,
            (None, step) => step == Step::Stop && it.since < now,
        })?;
        sim.apply(Op::NextTimeout)?;
    }
    Err(sim.story("I8: it never stops"))
}

fn in_time(sim: &Sim) -> Checked {
    let (Some(asked), Some(stopped)) = (sim.model.asked_to_stop, sim.model.stopped_at) else { return Ok(()) };
    let most = sim.machine.config().worst_case_shutdown();
    let late = stopped.since(asked).saturating_sub(most);
    // Whoever was late before the copy was made is not to blame the machine for it.
    claim!(late.is_zero() || sim.has_slept, "{}", sim.story(&format!("I8: stopped {late:?} too late")));
    Ok(())
}

fn obey(sim: &mut Sim) -> Checked {
    end_all(sim, |it| it.interrupted.is_some() || it.step == Step::Stop)
}

/// Ends all those steps, and calls that are cut off, until there are none.
fn end_all(sim: &mut Sim, which: impl Fn(Running) -> bool) -> Checked {
    while let Some(at) = sim.model.those(|it| it.running.is_some_and(&which)).first().copied() {
        let seen = &sim.model.sessions[at];
        if seen.calls > 0 {
            let place = sim.model.those(|it| it.calls > 0).iter().position(|it| *it == at);
            sim.apply(Op::EndCall(place.unwrap_or(0)))?;
            continue;
        }
        let (stops, home, key) = (seen.running.map(|it| it.step) == Some(Step::Stop), seen.home, seen.key);
        let due = sim.model.due();
        let mine = due.iter().position(|due| due.concerns(key) || (stops && due.stops(home)));
        sim.apply(Op::Answer(mine.unwrap_or(0), Outcome::Interrupted))?;
    }
    Ok(())
}
