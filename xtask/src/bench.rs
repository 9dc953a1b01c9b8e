//! `cargo xtask bench`: the server against its floor, in the same run, driven by the same client.

mod calls;
mod client;
mod load;
mod many;
mod row;
mod subject;

use std::{fs, path::PathBuf, process::Command, time::Duration};

use clap::{Args, ValueEnum};

use self::{
    calls::Rounds,
    row::Row,
    subject::{Executor, Programs},
};
use crate::{
    failure::{Context, Result},
    workspace,
};

/// Longer than the whole takes; a server that does not answer must not hold the bench up for ever.
const LIMIT: Duration = Duration::from_secs(240);

/// What to measure and how thoroughly.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this only
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Short turns and few: a smoke test of the bench rather than a measurement
    #[arg(long)]
    quick: bool,
    /// How long server and floor are driven for a row of calls, each [default: 4, quick: 0.5]
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Also write the rows to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Threads of the HTTP side, of server and floor alike
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Threads of the pinned executor
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The folder with the release builds: they are there already
    #[arg(long, hide = true)]
    built: Option<PathBuf>,
}

impl Options {
    /// Many short turns rather than few long ones: the machine has good and bad moments.
    fn rounds(&self) -> Rounds {
        let (count, usual) = if self.quick { (3, 500) } else { (9, 4000) };
        let seconds = self.seconds.unwrap_or_else(|| Duration::from_millis(usual));
        Rounds { count, length: seconds / count }
    }
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 0.1..=10.0) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("from 0.1 to 10".to_owned()),
    }
}

/// A part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Calls at concurrency 1, 32 and 256
    Calls,
    /// Create and close
    Churn,
    /// Memory and CPU time of idle sessions
    Idle,
    /// Shutdown of ten thousand sessions
    Shutdown,
}

/// Builds, then measures in the optimised build of this very program: the client must not be the bottleneck.
pub(crate) fn run(options: &Options) -> Result {
    if let Some(folder) = &options.built {
        return measure(options, folder.clone());
    }
    workspace::build_release("session-http", "session-http")?;
    workspace::build_release("session-testkit", "reference-server")?;
    let folder = workspace::build_release("xtask", "xtask")?;
    let mut again = Command::new(folder.join("xtask"));
    workspace::run(again.args(std::env::args_os().skip(1)).arg("--built").arg(&folder))
}

fn measure(options: &Options, folder: PathBuf) -> Result {
    let log = folder.join("xtask-bench.log");
    fs::write(&log, "").context(log.display())?;
    let programs = Programs { folder, workers: options.workers, threads: options.threads, log };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("the runtime")?;
    let all = runtime.block_on(async { tokio::time::timeout(LIMIT, measure_all(options, &programs)).await });
    let rows = all.context(format_args!("not over after {LIMIT:?}"))??;
    let missed = rows.iter().filter(|row| !row.is_ok()).count();
    println!("\n{} of {} aims reached", rows.len() - missed, rows.len());
    if let Some(file) = &options.json {
        let json = serde_json::to_string_pretty(&rows).context("the rows")?;
        fs::write(file, json).context(file.display())?;
    }
    Ok(())
}

async fn measure_all(options: &Options, programs: &Programs) -> Result<Vec<Row>> {
    let wanted = |part| options.only.is_none_or(|only| only == part);
    let rounds = options.rounds();
    let watched = Duration::from_secs(if options.quick { 1 } else { 5 });
    let mut rows = Vec::new();
    if wanted(Part::Calls) {
        for executor in Executor::ALL {
            rows.extend(calls::calls(programs, executor, rounds).await?);
        }
    }
    if wanted(Part::Churn) {
        rows.extend(calls::churn(programs, rounds).await?);
    }
    if wanted(Part::Idle) {
        for executor in [Executor::Pinned, Executor::PerSession] {
            rows.extend(many::idle(programs, executor, watched).await?);
        }
    }
    if wanted(Part::Shutdown) {
        rows.extend(many::shutdown(programs).await?);
    }
    Ok(rows)
}
