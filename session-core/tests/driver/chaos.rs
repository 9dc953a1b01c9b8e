//! Everything at once: environments that fail, panic, hang and block at random, callers and askers that go, deadlines
//! that pass. Each seed is a story of its own; when all that blocked has come back, nothing is left.

use std::time::Duration;

use crate::support::*;

/// A small generator of numbers (xorshift): the same seed, the same story, up to the scheduling of threads.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Mostly nothing special.
    fn act(&mut self, kind: Kind, gate: &Gate) -> Act {
        match self.below(16) {
            0 => Act::Fail,
            1 => Act::Panic,
            2 => Act::PanicAtOnce,
            3 => Act::Hang,
            4 => Act::Await(gate.clone()),
            5 if kind != Kind::Tasks => Act::Block(gate.clone()),
            6 => Act::Sleep(Duration::from_millis(1)),
            _ => Act::Pass,
        }
    }
}

fn hasty() -> ConfigBuilder {
    let moment = Duration::from_millis(4);
    config()
        .build_timeout(Some(moment))
        .enter_timeout(Some(moment))
        .drain_timeout(moment)
        .leave_timeout(moment)
        .close_timeout(moment)
        .stop_timeout(moment)
        .interrupt_timeout(Duration::from_millis(1))
        .grace_period(Duration::from_millis(40))
        .forced_period(Duration::from_millis(20))
        .close_concurrency(3)
        .abandoned_limit(1000)
        .capacity(16)
}

/// One client: opens (or goes meanwhile), calls (or goes meanwhile), closes (or not).
async fn client(sessions: Sessions, name: String, mut dice: Dice, kind: Kind, gate: Gate) {
    let opening = sessions.open(id(&name));
    let opened = match dice.below(4) {
        0 => poll_then_drop(opening, 1).await,
        _ => Some(opening.await),
    };
    let Some(Ok(session)) = opened else { return };
    let stream = session.attach();
    for number in 0..3 {
        let call = session.call(ask(number, dice.act(kind, &gate)));
        match dice.below(3) {
            0 => drop(poll_then_drop(call, 1).await),
            1 => drop(session.begin_call()),
            _ => drop(tokio::time::timeout(Duration::from_millis(3), call).await),
        }
    }
    if dice.below(2) == 0 {
        let _ = session.close().await;
    }
    drop(stream);
}

type Clients = tokio::task::JoinSet<()>;

/// Twelve clients, and what their environments will do.
fn let_loose(dice: &mut Dice, kind: Kind, world: &World, sessions: &Sessions, gate: &Gate) -> Clients {
    let mut clients = Clients::new();
    for number in 0..12 {
        let name = format!("s{number}");
        for stage in [Stage::Build, Stage::Enter, Stage::Leave, Stage::Close, Stage::Close, Stage::Drop] {
            world.plan(&name, stage, [dice.act(kind, gate)]);
        }
        let theirs = Dice(dice.below(u64::MAX - 1) + 1);
        clients.spawn(client(sessions.clone(), name, theirs, kind, gate.clone()));
    }
    clients
}

/// Each of them ends, whatever happens to it: with a session, a call, a close or without.
async fn until_some_ended(clients: &mut Clients, how_many: u64) {
    for _ in 0..how_many {
        let Some(client) = clients.join_next().await else { return };
        client.unwrap();
    }
}

async fn until_books_are_empty(sessions: &Sessions, events: &mut Subscription) {
    let mut books = sessions.status().books;
    while (books.open, books.abandoned, books.executors) != (0, 0, 0) {
        events.recv().await.unwrap();
        books = sessions.status().books;
    }
    assert_books_are_empty(sessions);
}

async fn story(kind: Kind, seed: u64) {
    println!("{kind:?}, CHAOS_SEED={seed} CHAOS_STORIES=1"); // shown if it fails
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let world = World::new();
    let sessions = match dice.below(2) {
        0 => kind.sessions_of::<true, false>(&world, hasty().build().unwrap()),
        _ => kind.sessions_of::<false, true>(&world, hasty().build().unwrap()),
    };
    let mut events = sessions.subscribe();
    let gate = Gate::new();
    let mut clients = let_loose(&mut dice, kind, &world, &sessions, &gate);
    until_some_ended(&mut clients, dice.below(16)).await;
    if dice.below(2) == 0 {
        gate.open();
    }
    let how = if dice.below(2) == 0 { Shutdown::Graceful } else { Shutdown::Forced };
    sessions.shutdown(how).await; // I8: it returns
    gate.open();
    until_some_ended(&mut clients, u64::MAX).await;
    until_books_are_empty(&sessions, &mut events).await;
    world.record.assert_taken_apart();
    assert!(world.record.count(Did::Drop) <= world.record.count(Did::Build));
    for entry in world.record.all() {
        if kind != Kind::Tasks {
            world.record.assert_one_thread(&entry.id);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn whatever_happens_in_the_end_nothing_is_left() {
    let first = std::env::var("CHAOS_SEED").ok().and_then(|seed| seed.parse().ok());
    let stories = std::env::var("CHAOS_STORIES").ok().and_then(|stories| stories.parse().ok());
    let first = first.unwrap_or(1);
    for seed in first..first + stories.unwrap_or(10) {
        for kind in Kind::ALL {
            story(kind, seed).await;
        }
    }
}
