//! The programs that are measured, and how they are started.

use std::{path::PathBuf, process::Command};

use crate::{failure::Result, process::Server};

/// Sessions that the memory, idle and shutdown rows open.
pub(crate) const MANY: usize = 10_000;

/// Which executor serves the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executor {
    /// Tasks of the runtime.
    None,
    /// A few threads.
    Pinned,
    /// A thread a session.
    PerSession,
}

impl Executor {
    /// All that are measured.
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Pinned, Self::PerSession];

    /// As the flag spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pinned => "pinned",
            Self::PerSession => "per-session",
        }
    }
}

/// Where the programs are and on how many threads they serve.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// The folder with the release builds.
    pub(crate) folder: PathBuf,
    /// Threads of the HTTP side, the same for server and floor.
    pub(crate) workers: usize,
    /// Threads of the pinned executor.
    pub(crate) threads: usize,
    /// Where the programs' own words go.
    pub(crate) log: PathBuf,
}

impl Programs {
    /// The bare server that the others are compared with.
    pub(crate) fn floor(&self) -> Result<Server> {
        let mut command = Command::new(self.folder.join("xtask"));
        command.args(["floor", "--workers", &self.workers.to_string()]);
        Server::start(&mut command, &self.log)
    }

    /// The server as it is shipped, with its built-in environment.
    pub(crate) fn server(&self, executor: Executor) -> Result<Server> {
        let mut command = Command::new(self.folder.join("session-http"));
        command
            .args(["serve", "--host", "127.0.0.1", "--executor", executor.name()])
            .args(["--workers", &self.workers.to_string(), "--max-sessions", "10100"])
            .args(["--idle-timeout", "off", "--log", "warn"]);
        if executor == Executor::Pinned {
            command.args(["--threads", &self.threads.to_string()]);
        }
        Server::start(&mut command, &self.log)
    }

    /// The reference server, whose close takes a millisecond.
    pub(crate) fn slow_closing(&self) -> Result<Server> {
        let mut command = Command::new(self.folder.join("reference-server"));
        command
            .args(["--executor", "pinned", "--threads", "8"])
            .env("REF_CLOSE_DELAY_MS", "1")
            .env("REF_MAX_SESSIONS", "10100");
        Server::start(&mut command, &self.log)
    }
}
