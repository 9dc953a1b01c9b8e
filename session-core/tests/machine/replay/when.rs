//! The model's view of time: nothing is told too early, and nothing without a cause.

use std::time::Duration;

use session_core::{CloseReason, Lifespan, SessionKey, Step, Timeouts, Timestamp};

use super::model::{Model, Running, claim};

type Checked = Result<(), String>;

/// How long a step may take.
pub(crate) const fn limit(timeouts: &Timeouts, step: Step) -> Option<Duration> {
    match step {
        Step::Build => timeouts.build,
        Step::Enter => timeouts.enter,
        Step::Drain => Some(timeouts.drain),
        Step::Leave => Some(timeouts.leave),
        Step::Close | Step::CloseAgain => Some(timeouts.close),
        Step::Stop => Some(timeouts.stop),
    }
}

/// Whether the shutdown allows a step less than its own deadline.
fn is_hurried(model: &Model, now: Timestamp, step: Step) -> bool {
    let timeouts = &model.rules.timeouts;
    let patience = if step == Step::Drain { timeouts.grace.min(timeouts.drain) } else { timeouts.grace };
    model.forced || model.asked_to_stop.is_some_and(|at| at + patience <= now)
}

fn is_overdue(model: &Model, now: Timestamp, running: Running) -> bool {
    limit(&model.rules.timeouts, running.step).is_some_and(|limit| running.since + limit <= now)
}

pub(crate) fn interrupted(model: &mut Model, now: Timestamp, key: SessionKey, step: Step) -> Checked {
    let running = model.seen(key)?.running;
    let running = running.filter(|it| it.step == step && it.interrupted.is_none());
    let running = running.ok_or_else(|| format!("{key}: {step} is not under way, or interrupted already"))?;
    let is_due = is_overdue(model, now, running) || is_hurried(model, now, step);
    claim!(is_due, "{key}: {step} is interrupted before its deadline");
    model.seen(key)?.running = Some(Running { interrupted: Some(now), ..running });
    Ok(())
}

pub(crate) fn cut_off(model: &mut Model, now: Timestamp, key: SessionKey) -> Checked {
    let seen = model.seen(key)?;
    let running = seen.running.filter(|it| it.step == Step::Drain);
    let running = running.ok_or_else(|| format!("{key}: no call has to be cut off"))?;
    let hangs = seen.closing == Some(CloseReason::ExecutorLost) || is_lost(model, key)?;
    let is_due = is_overdue(model, now, running) || is_hurried(model, now, Step::Drain);
    claim!(is_due || hangs, "{key}: calls are cut off before their deadline");
    model.seen(key)?.running = Some(Running { interrupted: running.interrupted.or(Some(now)), ..running });
    Ok(())
}

fn is_lost(model: &mut Model, key: SessionKey) -> Result<bool, String> {
    let home = model.seen(key)?.home;
    Ok(model.threads.iter().any(|it| it.lost && Some(it.key) == home))
}

pub(crate) fn closing(model: &mut Model, now: Timestamp, key: SessionKey, reason: CloseReason) -> Checked {
    let (idle, lifetime) = (model.rules.idle, model.rules.lifetime);
    let lost = is_lost(model, key)?;
    let ending = model.asked_to_stop.is_some();
    let seen = model.seen(key)?;
    claim!(seen.closing.is_none(), "{key} closes twice: {:?} and {reason}", seen.closing);
    seen.closing = Some(reason);
    match reason {
        CloseReason::Idle => {
            let used = seen.calls > 0 || seen.attachments > 0;
            let due = idle.is_some_and(|idle| seen.unused_since + idle <= now);
            claim!(seen.opened && !used && due, "I5: {key} is reaped early");
        }
        CloseReason::LifetimeOver => {
            let due = lifetime.is_some_and(|lifetime| seen.asked + lifetime <= now);
            claim!(seen.opened && due, "{key} ends before its time");
        }
        CloseReason::ExecutorLost => claim!(lost, "I7: {key} ends, but its executor is well"),
        CloseReason::Shutdown => claim!(ending, "{key} ends for a shutdown that nobody asked for"),
        CloseReason::BuildFailed => claim!(seen.entered.is_none(), "{key} was built"),
        CloseReason::ContextFailed => claim!(!seen.opened, "{key} was entered"),
        CloseReason::Requested
        | CloseReason::AskerGone
        | CloseReason::EnvironmentDied
        | CloseReason::OneShotDone => {}
    }
    if seen.calls > 0 {
        claim!(seen.running.is_none(), "{key} has calls in flight during {:?}", seen.running);
        seen.running = Some(Running { step: Step::Drain, since: now, interrupted: None });
    }
    Ok(())
}

pub(crate) fn abandoned(
    model: &mut Model,
    now: Timestamp,
    key: SessionKey,
    step: Step,
    reason: CloseReason,
) -> Checked {
    let lost = is_lost(model, key)?;
    let forced_end = model.forced && model.rules.timeouts.forced <= forced_for(model, now);
    let seen = model.seen(key)?.clone();
    claim!(!seen.abandoned, "{key} is given up twice");
    claim!(seen.closing == Some(reason), "{key} is given up for {reason}, not {:?}", seen.closing);
    claim!(
        seen.running.is_none_or(|it| it.step == step),
        "{key} is given up in {step}, not {:?}",
        seen.running
    );
    let told = seen.running.is_some_and(|it| it.interrupted.is_some() || it.step == Step::Stop);
    let had_no_chance = seen.running.is_none() && forced_end;
    claim!(told || lost || had_no_chance, "I7: {key} is given up without having been told to end");
    model.seen(key)?.abandoned = true;
    model.abandonments += 1;
    Ok(())
}

/// How long the shutdown may have been forced by now, at most.
fn forced_for(model: &Model, now: Timestamp) -> Duration {
    model.asked_to_stop.map_or(Duration::ZERO, |at| now.since(at))
}

pub(crate) fn lifespan(model: &mut Model, now: Timestamp, next: Lifespan) -> Checked {
    let place = |it: Lifespan| Lifespan::ALL.iter().position(|other| *other == it);
    let before = model.lifespan;
    claim!(place(next) == place(before).map(|at| at + 1), "{before} becomes {next}");
    claim!(model.asked_to_stop.is_some(), "nobody asked for {next}");
    let held = |model: &Model| model.those(|it| !it.gone && !it.abandoned).len();
    match next {
        Lifespan::Running => return Err("it runs again".into()),
        Lifespan::Draining => {}
        Lifespan::Closing => {
            let calls = model.sessions.iter().any(|it| !it.gone && !it.abandoned && it.calls > 0);
            claim!(!calls || is_hurried(model, now, Step::Drain), "calls are not waited for");
        }
        Lifespan::Stopping => claim!(held(model) == 0, "I2: executors stop while sessions are held"),
        Lifespan::Stopped => {
            let left = model.threads.iter().find(|it| !it.stopped && !it.lost);
            claim!(left.is_none(), "it stopped before {left:?} was stopped or given up");
            model.stopped_at = Some(now);
        }
    }
    model.lifespan = next;
    Ok(())
}
