//! Random lives under the real driver: whatever environments do and askers undo, every rule holds.
//!
//! A failure names its seed; the same seed makes the same choices again (though not the same race).

use session_core::{Config, Session, SessionId, Sessions, Shutdown, Threads};
use session_testkit::{Behaviour, FakeEnvironment, FakeReply, Kind, Record, Recorder, Stage, within};
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
const ASKERS: u64 = 8;

/// A linear congruential generator: enough chance for a test, and no dependency.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len() as u64);
        from[usize::try_from(at).unwrap()].clone()
    }

    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.below(3_000))
    }

    fn behaviour(&mut self, stage: Stage) -> Behaviour {
        let behaviour = match self.below(4) {
            0 => Behaviour::fail("told to fail"),
            1 => Behaviour::panic("told to panic"),
            2 => Behaviour::delay(self.moment()),
            _ => Behaviour::delay(self.moment()).blocking(),
        };
        let behaviour = if self.below(2) == 0 { behaviour.first(1) } else { behaviour };
        // A build that failed for all would leave nothing to see.
        let all = stage != Stage::Build && self.below(3) == 0;
        if all { behaviour } else { behaviour.of(usize::try_from(self.below(ASKERS)).unwrap()) }
    }
}

#[test]
fn whatever_happens_every_rule_holds() {
    // The panics are part of the play: they should not fill the output of the test.
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload_as_str() != Some("told to panic") {
            eprintln!("{panic}");
        }
    }));
    for seed in 0..60 {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let record = runtime.block_on(live(seed));
        let violations = record.check();
        let texts: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let marks: Vec<_> = violations.into_iter().flat_map(|violation| violation.at).collect();
        assert!(texts.is_empty(), "seed {seed}: {texts:#?}\n{}", record.timeline().marking(marks));
    }
}

async fn live(seed: u64) -> Record {
    let mut chance = Chance(seed);
    let recorder = Recorder::new();
    let mut fakes = FakeEnvironment::builder().recording(&recorder);
    let stages = [Stage::Build, Stage::Enter, Stage::Call, Stage::Leave, Stage::Close, Stage::Drop];
    for _ in 0..chance.below(5) {
        let stage = chance.pick(&stages);
        fakes = fakes.on(stage, chance.behaviour(stage));
    }
    let fakes = fakes.build();
    let two = NonZeroUsize::new(2).unwrap();
    let sessions = match chance.below(4) {
        0 => Sessions::as_tasks(Config::default(), fakes.as_tasks()),
        1 => Sessions::on_threads(Config::default(), Threads::PerSession, fakes.clone()),
        2 => Sessions::on_threads(Config::default(), Threads::Shared, fakes.clone()),
        _ => Sessions::on_threads(Config::default(), Threads::Pinned(two), fakes.clone()),
    };
    let _observation = recorder.observe(sessions.subscribe());
    let mut askers = JoinSet::new();
    for asker in 0..ASKERS {
        askers.spawn(ask(sessions.clone(), asker, Chance(seed * 1000 + asker)));
    }
    // sleep: no event is awaited, the shutdown is to come at any moment.
    tokio::time::sleep(chance.moment()).await;
    let report = within(PATIENCE, sessions.shutdown(Shutdown::Graceful)).await.unwrap();
    assert!(report.is_clean(), "seed {seed}: {report:?}");
    askers.join_all().await;
    recorder.stopped(PATIENCE).await.unwrap();
    recorder.record_so_far()
}

/// Opens, calls and closes, and loses patience anywhere.
async fn ask(sessions: Sessions<String, FakeReply>, name: u64, mut chance: Chance) {
    let id = SessionId::new(&format!("s{name}")).unwrap();
    let patience = if chance.below(3) == 0 { chance.moment() } else { PATIENCE };
    let Ok(Ok(session)) = timeout(patience, sessions.open(id)).await else { return };
    for _ in 0..chance.below(4) {
        let patience = if chance.below(3) == 0 { chance.moment() } else { PATIENCE };
        let _ = timeout(patience, session.call("hello".into())).await;
    }
    close(&session, &mut chance).await;
}

async fn close(session: &Session<String, FakeReply>, chance: &mut Chance) {
    match chance.below(3) {
        0 => drop(session.close().await),
        1 => drop(timeout(chance.moment(), session.close()).await),
        _ => {}
    }
}

#[test]
fn the_play_is_not_empty() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let records: Vec<_> = (0..5).map(|seed| runtime.block_on(live(seed))).collect();
    let happened = |kind| records.iter().any(|record| record.events().iter().any(|event| event.kind == kind));
    assert!(happened(Kind::CallEnd) && happened(Kind::Closed) && happened(Kind::Gone));
}
