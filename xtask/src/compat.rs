//! `cargo xtask compat`: the reference server against OpenEnv's compatibility kit, as a black box. What needs a
//! WebSocket is left out until the server has one.

mod only;
mod python;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use serde_json::Value;

use self::python::Python;
use crate::{
    failure::{Context, Failure, Result},
    workspace,
};

/// The scenarios of `shutdown_blackbox.py` that open no WebSocket.
const WITHOUT_WEBSOCKET: [&str; 16] = [
    "idle_server",
    "http_sessions",
    "http_sessions_sigint",
    "close_raises_explicit_close",
    "reaper_inside_slow_mcp_exit",
    "reaper_during_long_call",
    "close_during_call",
    "single_thread_slow_close",
    "creation_in_flight_http",
    "creation_in_flight_mcp_enter",
    "disconnect_during_creation_http",
    "tool_in_flight_http",
    "tool_in_flight_stateless",
    "hung_tool_http",
    "hung_close_http",
    "slow_close_is_parallel",
];

/// Which suite.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The suite to run
    #[arg(value_enum, default_value_t = Suite::All)]
    suite: Suite,
}

/// A suite of the kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Recorded requests, replayed; the answers compared
    Corpus,
    /// Signals at bad moments, judged by the environments' own log
    Shutdown,
    /// Both
    All,
}

/// The kit, and what it needs to run.
#[derive(Debug)]
struct Kit {
    folder: PathBuf,
    python: Python,
    server: String,
    logs: PathBuf,
}

/// Runs all suites.
pub(crate) fn everything() -> Result {
    run(&Options { suite: Suite::All })
}

/// Runs the suites that were asked for.
pub(crate) fn run(options: &Options) -> Result {
    let kit = Kit::prepare()?;
    let mut passed = 0;
    if matches!(options.suite, Suite::Corpus | Suite::All) {
        passed += kit.corpus()?;
    }
    if matches!(options.suite, Suite::Shutdown | Suite::All) {
        passed += kit.shutdown()?;
    }
    println!("{passed} passed, 0 failed");
    Ok(())
}

impl Kit {
    fn prepare() -> Result<Self> {
        let folder = kit_folder()?;
        let python = Python::prepare()?;
        let built = workspace::build_release("session-testkit", "reference-server")?;
        let logs = built.join("xtask-compat");
        fs::create_dir_all(&logs).context(logs.display())?;
        // The kit splits it like a shell.
        let server = format!("'{}' --port {{port}}", built.join("reference-server").display());
        Ok(Self { folder, python, server, logs })
    }

    /// Returns how many cases passed: all of them.
    fn corpus(&self) -> Result<usize> {
        let names = http_cases(&self.folder.join("corpus.jsonl"))?;
        println!("corpus: {} cases over HTTP alone", names.len());
        let report = self.logs.join("corpus.json");
        let _ = fs::remove_file(&report);
        let mut diff = self.python.program(&self.folder.join("corpus_tool.py"));
        diff.args(["diff", "--server", &self.server]);
        diff.args(["--only", &only::exactly(names.iter().map(String::as_str))]);
        diff.arg("--log").arg(self.logs.join("corpus-server.log")).arg("--report").arg(&report);
        workspace::run(&mut diff)?;
        let judged = judged(&report)?;
        let differing = judged.iter().filter(|case| case["result"] == "differs").count();
        all_ran(names.len(), judged.len())?;
        if differing == 0 { Ok(judged.len()) } else { Err(Failure::new(format!("{differing} cases differ"))) }
    }

    /// Returns how many scenarios passed: all of them.
    fn shutdown(&self) -> Result<usize> {
        println!("shutdown: {} scenarios without a WebSocket", WITHOUT_WEBSOCKET.len());
        let report = self.logs.join("shutdown.json");
        let _ = fs::remove_file(&report);
        let mut blackbox = self.python.program(&self.folder.join("shutdown_blackbox.py"));
        blackbox.args(["--server", &self.server, "--only", &only::exactly(WITHOUT_WEBSOCKET)]);
        blackbox.arg("--log").arg(self.logs.join("shutdown-server.log")).arg("--json").arg(&report);
        workspace::run(&mut blackbox)?;
        all_ran(WITHOUT_WEBSOCKET.len(), judged(&report)?.len())?;
        Ok(WITHOUT_WEBSOCKET.len())
    }
}

/// Where the kit is: `OPENENV_KIT`, or next to the workspace.
fn kit_folder() -> Result<PathBuf> {
    let kit = env::var_os("OPENENV_KIT")
        .map_or_else(|| workspace::root().join("../shared/openenv"), |kit| workspace::root().join(kit));
    if kit.join("corpus.jsonl").is_file() {
        Ok(kit)
    } else {
        let place = kit.display();
        Err(Failure::new(format!(
            "no OpenEnv compatibility kit in {place}; OPENENV_KIT can name another place"
        )))
    }
}

/// The names of the recorded cases whose steps are plain HTTP requests.
fn http_cases(corpus: &Path) -> Result<Vec<String>> {
    let corpus = fs::read_to_string(corpus).context(corpus.display())?;
    let mut names = Vec::new();
    for line in corpus.lines() {
        let case: Value = serde_json::from_str(line).context("a line of the corpus")?;
        if case["transport"] == "http" {
            names.push(case["name"].as_str().context("a case without a name")?.to_owned());
        }
    }
    Ok(names)
}

fn judged(report: &Path) -> Result<Vec<Value>> {
    let report = fs::read(report).context(report.display())?;
    serde_json::from_slice(&report).context("the kit's report")
}

/// A choice that finds nothing must not pass.
fn all_ran(wanted: usize, ran: usize) -> Result {
    if wanted == ran && ran > 0 {
        Ok(())
    } else {
        Err(Failure::new(format!("{ran} of {wanted} cases ran: has the kit other names now?")))
    }
}
