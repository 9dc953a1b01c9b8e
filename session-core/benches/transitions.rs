//! What a transition costs while so many sessions are open. It should be the same for a hundred and for a million.
//!
//! `cargo bench -p session-core`. Each row is one kind of work on sessions in random order, in nanoseconds each, and
//! in brackets how many times the cost among a hundred sessions that is. The first row is no session at all: a plain
//! array of records of the same size, touched in the same order. What it loses is the processor's caches and address
//! translation, and no structure can do better among as many records.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![expect(clippy::expect_used, reason = "a benchmark of something broken is none")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use session_core::{
    Action, Class, CloseReason, Config, Event, Lifecycle, Outcome, Placement, SessionId, SessionKey,
    Timestamp,
};

const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const ROUNDS: usize = 7;
const IDLE: Duration = Duration::from_secs(1800);
/// About what the machine keeps of a session.
type Record = [u64; 16];

type Work = fn(Placement, usize) -> f64;

const POOL: Placement = Placement::Pinned(NonZeroUsize::MIN.saturating_add(7));

fn main() {
    let rows: [(&str, Work, Placement); 6] = [
        ("a plain record touched", touch_records, POOL),
        ("call begun and ended", call, POOL),
        ("deadline fired and set anew", expire_and_set, POOL),
        ("opened to closed, pool of 8", open_and_close, POOL),
        ("opened to closed, own threads", open_and_close, Placement::PerSession),
        ("idle, reaped and replaced", reap, POOL),
    ];
    print!("{:<30}", "ns each, among");
    for size in SIZES {
        print!("{size:>16}");
    }
    println!();
    for (name, work, placement) in rows {
        print!("{name:<30}");
        let mut first = None;
        for size in SIZES {
            let cost = work(placement, size);
            let ratio = cost / *first.get_or_insert(cost);
            print!("{cost:>9.1} ({ratio:>3.1}x)");
        }
        println!();
    }
}

/// The best of some rounds, in nanoseconds for one of `count` operations: what disturbs only ever adds.
fn best(count: usize, mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = now();
        round();
        best = best.min(begun.elapsed().as_nanos() as f64 / count as f64);
    }
    best
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Places in random order, more than fit into any cache if there are as many.
fn random_places(size: usize, count: usize) -> Vec<usize> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % size as u64) as usize
    };
    (0..count).map(|_| next()).collect()
}

/// A machine with so many open sessions, and a driver for which everything goes well at once.
struct Bench {
    machine: Lifecycle,
    now: Timestamp,
    keys: Vec<SessionKey>,
    ids: u64,
}

impl Bench {
    fn new(placement: Placement, size: usize) -> Self {
        let config = Config::builder().placement(placement).capacity(size + 1).idle_timeout(Some(IDLE));
        let machine = Lifecycle::new(config.build().expect("the configuration is valid"));
        let mut bench = Self { machine, now: Timestamp::ORIGIN, keys: Vec::with_capacity(size), ids: 0 };
        for _ in 0..size {
            bench.now = bench.now + Duration::from_micros(1); // so that deadlines differ
            let key = bench.open();
            bench.keys.push(key);
        }
        bench
    }

    fn open(&mut self) -> SessionKey {
        self.ids += 1;
        let mut bits = [0; 16];
        let mixed = self.ids.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        bits[..6].copy_from_slice(&mixed[..6]);
        let id = SessionId::from_random(bits);
        let key = self.machine.open(self.now, id, Class::Kept).expect("there is room");
        self.drive();
        key
    }

    fn tell(&mut self, event: Event) {
        self.machine.handle_event(self.now, event).expect("it was asked for");
    }

    fn drive(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Build(key, _) => self.tell(Event::Built(key, Outcome::Done)),
                Action::Enter(key) => self.tell(Event::Entered(key, Outcome::Done)),
                Action::Leave(key) => self.tell(Event::Left(key, Outcome::Done)),
                Action::Close(key) => self.tell(Event::Closed(key, Outcome::Done)),
                Action::StopExecutor(key) => self.tell(Event::Stopped(key, Outcome::Done)),
                Action::StartExecutor(_)
                | Action::Interrupt(..)
                | Action::TellStreams(_)
                | Action::CutOff(_)
                | Action::Opened(_)
                | Action::Closing(..)
                | Action::StepDone(..)
                | Action::Gone(..)
                | Action::Abandoned(..)
                | Action::ExecutorLost(_)
                | Action::Lifespan(_) => {}
            }
        }
    }
}

fn touch_records(_: Placement, size: usize) -> f64 {
    let places = random_places(size, 1_000_000);
    let mut records: Vec<Record> = vec![[1; 16]; size];
    best(places.len(), || {
        for place in &places {
            let record = &mut records[*place];
            record[1] = record[1].wrapping_add(black_box(record[8]));
        }
        black_box(&mut records);
    })
}

/// What a request on an open session costs the machine.
fn call(placement: Placement, size: usize) -> f64 {
    let mut bench = Bench::new(placement, size);
    let places = random_places(size, 1_000_000);
    best(places.len(), || {
        for place in &places {
            let key = bench.keys[*place];
            bench.machine.begin_call(key).expect("it is open");
            bench.tell(Event::CallEnded(key));
        }
    })
}

/// The deadline of a session that was used passes, and is set to when it will be idle.
fn expire_and_set(placement: Placement, size: usize) -> f64 {
    let mut bench = Bench::new(placement, size);
    let count = 200_000;
    // Deadlines pass in the order in which the sessions were opened, so that is the order in which they are used.
    let mut order = (0..size).cycle();
    best(count, || {
        for place in order.by_ref().take(count) {
            let key = bench.keys[place];
            bench.machine.begin_call(key).expect("it is open");
            bench.now = bench.machine.poll_timeout().expect("open sessions have a deadline");
            bench.tell(Event::CallEnded(key));
            bench.machine.handle_timeout(bench.now);
        }
    })
}

/// A whole life: every request, fact and action of it.
fn open_and_close(placement: Placement, size: usize) -> f64 {
    let mut bench = Bench::new(placement, size);
    let places = random_places(size, 100_000);
    best(places.len(), || {
        for place in &places {
            let key = bench.keys[*place];
            bench.machine.close(bench.now, key, CloseReason::Requested).expect("it is open");
            bench.drive();
            bench.keys[*place] = bench.open();
        }
    })
}

/// A whole life that ends at its idle deadline.
fn reap(placement: Placement, size: usize) -> f64 {
    let mut bench = Bench::new(placement, size);
    let count = 100_000;
    best(count, || {
        for _ in 0..count {
            bench.now = bench.machine.poll_timeout().expect("open sessions have a deadline");
            bench.machine.handle_timeout(bench.now);
            bench.drive();
            bench.open();
        }
    })
}
