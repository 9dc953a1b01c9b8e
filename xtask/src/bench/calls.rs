//! Throughput, latency and CPU time of requests, next to the floor's.

use std::time::Duration;

use super::{
    load::{self, Callers, Seen},
    row::{Aim, Row, median},
    subject::{Executor, Programs},
};
use crate::{
    failure::{Context, Result},
    process::{self, Server},
};

/// How long each server is driven, how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// Turns of each.
    pub(crate) count: u32,
    /// Length of a turn.
    pub(crate) length: Duration,
}

/// What one server showed over all of its turns.
#[derive(Debug, Default)]
struct Turns {
    seen: Vec<Seen>,
    cpu_seconds: f64,
    client_cpu_seconds: f64,
}

impl Turns {
    fn add(&mut self, seen: Seen, cpu_seconds: f64, client_cpu_seconds: f64) {
        self.seen.push(seen);
        self.cpu_seconds += cpu_seconds;
        self.client_cpu_seconds += client_cpu_seconds;
    }

    fn per_second(&self) -> f64 {
        median(self.seen.iter().map(|seen| seen.per_second))
    }

    fn p50_us(&self) -> f64 {
        median(self.seen.iter().map(|seen| seen.p50_us))
    }

    fn cpu_us_per_request(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.requests()
    }

    fn client_us_per_request(&self) -> f64 {
        self.client_cpu_seconds * 1e6 / self.requests()
    }

    fn requests(&self) -> f64 {
        self.seen.iter().map(|seen| f64::from(seen.requests)).sum()
    }
}

/// The median of the ratios of neighbouring turns: whatever slows the machine down slows both.
fn ratio(ours: &Turns, floor: &Turns, figure: fn(&Seen) -> f64) -> f64 {
    median(ours.seen.iter().zip(&floor.seen).map(|(ours, floor)| figure(ours) / figure(floor)))
}

/// Runs one turn and books what it cost.
async fn turn(turns: &mut Turns, server: &Server, driven: impl Future<Output = Result<Seen>>) -> Result {
    let (before, client_before) = (server.cpu_seconds()?, process::own_cpu_seconds()?);
    let seen = driven.await?;
    let client_cpu = process::own_cpu_seconds()? - client_before;
    turns.add(seen, server.cpu_seconds()? - before, client_cpu);
    Ok(())
}

/// Calls on as many sessions as connections, for one executor.
pub(crate) async fn calls(programs: &Programs, executor: Executor, rounds: Rounds) -> Result<Vec<Row>> {
    let (floor, server) = (programs.floor()?, programs.server(executor)?);
    let mut rows = Vec::new();
    for concurrency in [1, 32, 256] {
        let mut at_floor = Callers::connect(floor.address(), concurrency, false).await?;
        let mut at_server = Callers::connect(server.address(), concurrency, true).await?;
        if at_floor.answer() != at_server.answer() {
            let answers = [at_floor.answer(), at_server.answer()].map(String::from_utf8_lossy);
            println!("the floor's answer is not the server's:\n  {}\n  {}", answers[0], answers[1]);
        }
        let (mut floors, mut ours) = (Turns::default(), Turns::default());
        for _ in 0..rounds.count {
            turn(&mut floors, &floor, at_floor.drive(rounds.length)).await?;
            turn(&mut ours, &server, at_server.drive(rounds.length)).await?;
        }
        let row = call_row(executor, concurrency, &ours, &floors);
        println!("{row}");
        rows.push(row);
    }
    Ok(rows)
}

fn call_row(executor: Executor, concurrency: usize, ours: &Turns, floor: &Turns) -> Row {
    let what = format!("{}, {concurrency} at a time", executor.name());
    let detail = format!(
        "{:.0} of {:.0}/s, p50 {:.1} of {:.1} us, cpu {:.1} of {:.1} us, client {:.1} us",
        ours.per_second(),
        floor.per_second(),
        ours.p50_us(),
        floor.p50_us(),
        ours.cpu_us_per_request(),
        floor.cpu_us_per_request(),
        floor.client_us_per_request(),
    );
    if concurrency == 1 {
        let figure = ratio(ours, floor, |seen| seen.p50_us);
        Row { name: format!("p50, {what}"), figure, unit: "x", aim: Aim::AtMost(1.35), detail }
    } else {
        let figure = ratio(ours, floor, |seen| seen.per_second);
        Row { name: format!("calls/s, {what}"), figure, unit: "x", aim: Aim::AtLeast(0.8), detail }
    }
}

/// Opening and closing sessions, next to the floor's calls.
pub(crate) async fn churn(programs: &Programs, rounds: Rounds) -> Result<Vec<Row>> {
    const CONNECTIONS: usize = 32;
    let (floor, server) = (programs.floor()?, programs.server(Executor::Pinned)?);
    let mut at_floor = Callers::connect(floor.address(), CONNECTIONS, false).await?;
    let (mut floors, mut ours) = (Turns::default(), Turns::default());
    for _ in 0..rounds.count {
        turn(&mut floors, &floor, at_floor.drive(rounds.length)).await?;
        let churned = load::churn(server.address(), CONNECTIONS, rounds.length);
        turn(&mut ours, &server, churned).await.context("create and close")?;
    }
    let detail = format!(
        "{:.0} of {:.0}/s, cpu {:.1} of {:.1} us",
        ours.per_second(),
        floors.per_second(),
        ours.cpu_us_per_request(),
        floors.cpu_us_per_request(),
    );
    let name = format!("create+close, pinned, {CONNECTIONS} at a time");
    let figure = ratio(&ours, &floors, |seen| seen.per_second);
    let row = Row { name, figure, unit: "x", aim: Aim::AtLeast(0.4), detail };
    println!("{row}");
    Ok(vec![row])
}
