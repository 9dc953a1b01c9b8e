//! One source of settings: the command line with its variables, or the file.

use core::num::NonZeroUsize;
use std::net::IpAddr;

use clap::Args;
use serde::Deserialize;

use super::choice::{ExecutorChoice, LogFormat, ModeChoice};
use super::value::{Size, Span, TimeLimit};

/// The settings that one source gives. The flags of a command line (flatten it into a `clap` command) and the keys of a
/// file are the same: a flag's name without the dashes in front.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layer {
    /// Address to listen on; 0.0.0.0 or :: for every interface [default: 127.0.0.1]
    #[arg(long, env = "SESSION_HTTP_HOST", value_name = "ADDRESS", help_heading = "Serving")]
    pub host: Option<IpAddr>,
    /// Port to listen on; 0 takes a free one and says which [default: 8000]
    #[arg(long, short, env = "SESSION_HTTP_PORT", help_heading = "Serving")]
    pub port: Option<u16>,
    /// What clients may do [default: simulation]
    #[arg(long, env = "SESSION_HTTP_MODE", help_heading = "Serving")]
    pub mode: Option<ModeChoice>,
    /// What environments run on [default: per-session]
    #[arg(long, env = "SESSION_HTTP_EXECUTOR", help_heading = "Serving")]
    pub executor: Option<ExecutorChoice>,
    /// Threads of the pinned executor [default: the number of CPUs]
    #[arg(long, env = "SESSION_HTTP_THREADS", value_name = "N", help_heading = "Serving")]
    pub threads: Option<NonZeroUsize>,
    /// Threads that serve connections [default: the number of CPUs]
    #[arg(long, env = "SESSION_HTTP_WORKERS", value_name = "N", help_heading = "Serving")]
    pub workers: Option<NonZeroUsize>,

    /// Sessions at once; one more is refused [default: 1000]
    #[arg(long, env = "SESSION_HTTP_MAX_SESSIONS", value_name = "N", help_heading = "Sessions")]
    pub max_sessions: Option<usize>,
    /// Environments at once for requests without a session [default: 64]
    #[arg(long, env = "SESSION_HTTP_ONE_SHOTS", value_name = "N", help_heading = "Sessions")]
    pub one_shots: Option<usize>,
    /// A session that nobody uses for this long is closed; off: never [default: 30m]
    #[arg(long, env = "SESSION_HTTP_IDLE_TIMEOUT", value_name = "TIME|off", help_heading = "Sessions")]
    pub idle_timeout: Option<TimeLimit>,
    /// A session this old is closed in any case; off: never [default: off]
    #[arg(long, env = "SESSION_HTTP_MAX_LIFETIME", value_name = "TIME|off", help_heading = "Sessions")]
    pub max_lifetime: Option<TimeLimit>,
    /// Building an environment may take this long [default: 60s]
    #[arg(long, env = "SESSION_HTTP_BUILD_TIMEOUT", value_name = "TIME|off", help_heading = "Sessions")]
    pub build_timeout: Option<TimeLimit>,
    /// Entering its MCP context may take this long [default: 30s]
    #[arg(long, env = "SESSION_HTTP_ENTER_TIMEOUT", value_name = "TIME|off", help_heading = "Sessions")]
    pub enter_timeout: Option<TimeLimit>,
    /// Calls in flight may finish for this long once a session closes [default: 10s]
    #[arg(long, env = "SESSION_HTTP_DRAIN_TIMEOUT", value_name = "TIME", help_heading = "Sessions")]
    pub drain_timeout: Option<Span>,
    /// Leaving its MCP context may take this long [default: 5s]
    #[arg(long, env = "SESSION_HTTP_LEAVE_TIMEOUT", value_name = "TIME", help_heading = "Sessions")]
    pub leave_timeout: Option<Span>,
    /// Closing an environment may take this long, each of two tries [default: 10s]
    #[arg(long, env = "SESSION_HTTP_CLOSE_TIMEOUT", value_name = "TIME", help_heading = "Sessions")]
    pub close_timeout: Option<Span>,
    /// Stopping a session's thread may take this long [default: 5s]
    #[arg(long, env = "SESSION_HTTP_STOP_TIMEOUT", value_name = "TIME", help_heading = "Sessions")]
    pub stop_timeout: Option<Span>,

    /// Serve on, unready, for this long after the signal: what a load balancer needs to notice [default: 0s]
    #[arg(long, env = "SESSION_HTTP_LAME_DUCK", value_name = "TIME", help_heading = "Shutdown")]
    pub lame_duck: Option<Span>,
    /// All sessions together have this long to end; then they are forced to [default: 25s]
    #[arg(long, env = "SESSION_HTTP_GRACE_PERIOD", value_name = "TIME", help_heading = "Shutdown")]
    pub grace_period: Option<Span>,
    /// Once forced, by a second signal too, they have this long [default: 2s]
    #[arg(long, env = "SESSION_HTTP_FORCED_PERIOD", value_name = "TIME", help_heading = "Shutdown")]
    pub forced_period: Option<Span>,
    /// When the process will be killed after the signal, if it has not ended by then: settings that could take longer
    /// are refused (Kubernetes: terminationGracePeriodSeconds) [default: not checked]
    #[arg(long, env = "SESSION_HTTP_TERMINATION_GRACE", value_name = "TIME", help_heading = "Shutdown")]
    pub termination_grace: Option<Span>,

    /// Connections at once; one more gets a 503 [default: 10000]
    #[arg(long, env = "SESSION_HTTP_MAX_CONNECTIONS", value_name = "N", help_heading = "Connections")]
    pub max_connections: Option<usize>,
    /// Bytes of a request's body; more gets a 413 [default: 64MiB]
    #[arg(long, env = "SESSION_HTTP_BODY_LIMIT", value_name = "SIZE", help_heading = "Connections")]
    pub body_limit: Option<Size>,
    /// A request's head must arrive within this time [default: 30s]
    #[arg(long, env = "SESSION_HTTP_HEADER_TIMEOUT", value_name = "TIME", help_heading = "Connections")]
    pub header_timeout: Option<Span>,
    /// A connection without a request is closed after this time: more than a proxy in front keeps it [default: 2m]
    #[arg(long, env = "SESSION_HTTP_CONNECTION_IDLE", value_name = "TIME", help_heading = "Connections")]
    pub connection_idle: Option<Span>,

    /// How the log is written, on standard error [default: auto]
    #[arg(long, env = "SESSION_HTTP_LOG_FORMAT", help_heading = "Log")]
    pub log_format: Option<LogFormat>,
    /// What is logged: a level, or target=level, separated by commas [default: info]
    #[arg(long, env = "SESSION_HTTP_LOG", value_name = "FILTER", help_heading = "Log")]
    pub log: Option<String>,
}

impl Layer {
    /// This one's settings, and what it does not say from the one below.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            host: self.host.or(below.host),
            port: self.port.or(below.port),
            mode: self.mode.or(below.mode),
            executor: self.executor.or(below.executor),
            threads: self.threads.or(below.threads),
            workers: self.workers.or(below.workers),
            max_sessions: self.max_sessions.or(below.max_sessions),
            one_shots: self.one_shots.or(below.one_shots),
            idle_timeout: self.idle_timeout.or(below.idle_timeout),
            max_lifetime: self.max_lifetime.or(below.max_lifetime),
            build_timeout: self.build_timeout.or(below.build_timeout),
            enter_timeout: self.enter_timeout.or(below.enter_timeout),
            drain_timeout: self.drain_timeout.or(below.drain_timeout),
            leave_timeout: self.leave_timeout.or(below.leave_timeout),
            close_timeout: self.close_timeout.or(below.close_timeout),
            stop_timeout: self.stop_timeout.or(below.stop_timeout),
            lame_duck: self.lame_duck.or(below.lame_duck),
            grace_period: self.grace_period.or(below.grace_period),
            forced_period: self.forced_period.or(below.forced_period),
            termination_grace: self.termination_grace.or(below.termination_grace),
            max_connections: self.max_connections.or(below.max_connections),
            body_limit: self.body_limit.or(below.body_limit),
            header_timeout: self.header_timeout.or(below.header_timeout),
            connection_idle: self.connection_idle.or(below.connection_idle),
            log_format: self.log_format.or(below.log_format),
            log: self.log.or(below.log),
        }
    }
}
