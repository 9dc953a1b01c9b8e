//! Ten thousand sessions: what they weigh, what they cost while nobody calls, how fast they are all closed.

use std::time::{Duration, Instant};

use super::{
    load,
    row::{Aim, Row},
    subject::{Executor, MANY, Programs},
};
use crate::failure::Result;

/// How long a server may take to close them all before we stop waiting.
const PATIENCE: Duration = Duration::from_secs(30);

/// Memory and CPU time of idle sessions, for one executor.
pub(crate) async fn idle(programs: &Programs, executor: Executor, watched: Duration) -> Result<Vec<Row>> {
    let server = programs.server(executor)?;
    // The first requests fill pools and caches that no session owns.
    load::churn(server.address(), 16, Duration::from_millis(200)).await?;
    let before = server.resident_bytes()?;
    let begun = Instant::now();
    load::open_sessions(server.address(), MANY).await?;
    let opened_in = begun.elapsed();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let after = server.resident_bytes()?;
    let cpu_before = server.cpu_seconds()?;
    tokio::time::sleep(watched).await;
    let ticks = (server.cpu_seconds()? - cpu_before) * 100.0;

    let kib = bytes_as_kib(after.saturating_sub(before)) / sessions();
    let aim = if executor == Executor::PerSession { Aim::Below(40.0) } else { Aim::Below(4.0) };
    let detail = format!(
        "{MANY} sessions, {:.1} to {:.1} MiB, opened in {:.1} s",
        bytes_as_kib(before) / 1024.0,
        bytes_as_kib(after) / 1024.0,
        opened_in.as_secs_f64(),
    );
    let memory = format!("memory a session, {}", executor.name());
    let idle = format!("cpu of {MANY} idle sessions, {}", executor.name());
    let rows = vec![
        Row { name: memory, figure: kib, unit: "KiB", aim, detail },
        Row {
            name: idle,
            figure: ticks,
            unit: "ticks",
            aim: Aim::AtMost(0.0),
            detail: format!("in {watched:?}"),
        },
    ];
    rows.iter().for_each(|row| println!("{row}"));
    Ok(rows)
}

/// From SIGTERM to the end of the process.
pub(crate) async fn shutdown(programs: &Programs) -> Result<Vec<Row>> {
    let server = programs.slow_closing()?;
    load::open_sessions(server.address(), MANY).await?;
    let took = server.terminate(PATIENCE)?;
    let name = format!("shutdown of {MANY} sessions");
    let detail = "pinned to 8 threads, a close takes 1 ms".to_owned();
    let row = Row { name, figure: took.as_secs_f64(), unit: "s", aim: Aim::AtMost(1.5), detail };
    println!("{row}");
    Ok(vec![row])
}

fn sessions() -> f64 {
    u32::try_from(MANY).map_or(f64::NAN, f64::from)
}

/// Whole KiB are exact enough: the kernel counts in pages.
fn bytes_as_kib(bytes: u64) -> f64 {
    u32::try_from(bytes / 1024).map_or(f64::INFINITY, f64::from)
}
