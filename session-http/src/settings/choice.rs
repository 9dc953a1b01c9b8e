//! Settings with a few possible values.

use clap::ValueEnum;
use serde::Deserialize;

/// How clients control the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeChoice {
    /// Training and evaluation: /reset, /step and /state are served.
    Simulation,
    /// Tools only: /reset, /step and /state are not there.
    Production,
}

/// What environments run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutorChoice {
    /// A thread for each session: a blocking call holds up nobody else.
    PerSession,
    /// One thread for all sessions.
    Shared,
    /// A fixed number of threads (--threads); a session stays on its own.
    Pinned,
    /// No thread: sessions are tasks of the server's workers.
    None,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Human on a terminal, else JSON.
    Auto,
    /// A line for people.
    Human,
    /// A JSON object a line.
    Json,
}
