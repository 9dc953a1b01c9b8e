//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use session_http::settings::Layer;

const EXAMPLES: &str = "\
Examples:
  session-http serve
      On 127.0.0.1:8000, at most 1000 sessions. Ctrl-C closes every session, then ends.
  session-http serve --host 0.0.0.0 --max-sessions 200 --idle-timeout 10m
      For everybody, with fewer sessions that are closed sooner.
  session-http serve --executor pinned --threads 8 --lame-duck 5s --termination-grace 40s
      Behind a load balancer, on eight threads, and refused if a shutdown could outlast 40 s.
  SESSION_HTTP_PORT=9000 session-http serve --config server.toml
      The file's keys are the flags without dashes in front: idle-timeout = \"10m\".

Precedence: flag, then variable, then file, then default.
Times are written 500ms, 30s, 5m, 2h, or in plain seconds; sizes 1048576, 512KiB, 64MiB.

Signals: the first SIGTERM or SIGINT closes every session in order; a second one forces it.
Exit code: 0 nothing was left behind; 1 something was abandoned, or the start failed; 2 usage.";

/// Stateful agent servers whose sessions are always torn down: in order, on the right thread, exactly once.
#[derive(Debug, Parser)]
#[command(name = "session-http", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the built-in echo environment until SIGTERM or SIGINT, then close every session and say what was done.
    #[command(after_help = EXAMPLES)]
    Serve(Box<Serve>),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// A TOML file with settings
    #[arg(long, env = "SESSION_HTTP_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) layer: Layer,
}
