//! What an operator can set: flags over variables over a file over defaults.
//!
//! A server of your own can have the same settings: flatten [`Layer`] into your `clap` command, put a
//! [file](read_file) below it, and make [`Settings`] of it.

mod choice;
mod layer;
mod value;

use core::num::NonZeroUsize;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::{fs, io, thread};

use session_core::{Config, ConfigBuilder, ConfigError, Threads};

pub use choice::{ExecutorChoice, LogFormat, ModeChoice};
pub use layer::Layer;
pub use value::{InvalidValue, Size, Span, TimeLimit};

use crate::{Limits, Mode};

/// Every setting, decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Where to listen, as `address:port`.
    pub address: String,
    /// What clients may do.
    pub mode: Mode,
    /// Bytes of a request's body.
    pub body_limit: usize,
    /// The threads that environments live on; `None` for tasks.
    pub threads: Option<Threads>,
    /// Threads that serve connections; `None` for the number of CPUs.
    pub workers: Option<NonZeroUsize>,
    /// The sessions' limits and deadlines.
    pub config: Config,
    /// The connections' limits and deadlines.
    pub limits: Limits,
    /// How long to serve on, unready, before the shutdown.
    pub lame_duck: Duration,
    /// How the log is written.
    pub log_format: LogFormat,
    /// What is logged, in the words of `tracing`'s `EnvFilter`.
    pub log: String,
}

/// Settings that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file can't be read.
    #[error("can't read the configuration file {path}: {source}", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not TOML, has an unknown key, or a value that does not fit.
    #[error("in the configuration file {path}: {source}", path = path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// A limit is zero.
    #[error("{setting} must be greater than zero")]
    Zero {
        /// The flag.
        setting: String,
    },
    /// A number of threads was given to an executor that has its own.
    #[error("--threads goes with --executor pinned only; leave one of them out")]
    Threads,
    /// The shutdown can take longer than there is time.
    #[error(
        "a shutdown can take {worst_case:?} (--lame-duck, --grace-period, --forced-period and what follows them), \
         longer than --termination-grace {available:?}: shorten the first, or lengthen the last"
    )]
    TooSlow {
        /// The longest that it can take.
        worst_case: Duration,
        /// What there is.
        available: Duration,
    },
}

/// The settings of a TOML file.
///
/// # Errors
/// It can't be read, or says what is not understood: an unknown key is named.
pub fn read_file(path: &Path) -> Result<Layer, SettingsError> {
    let text =
        fs::read_to_string(path).map_err(|source| SettingsError::File { path: path.to_owned(), source })?;
    let content = |source| SettingsError::Content { path: path.to_owned(), source: Box::new(source) };
    toml::from_str(&text).map_err(content)
}

impl Settings {
    /// Decides: what the layer does not say is the default.
    ///
    /// # Errors
    /// Values that don't go together, or a limit of zero.
    pub fn decide(layer: &Layer) -> Result<Self, SettingsError> {
        let host = layer.host.unwrap_or_else(|| [127, 0, 0, 1].into());
        let settings = Self {
            address: std::net::SocketAddr::new(host, layer.port.unwrap_or(8000)).to_string(),
            mode: match layer.mode {
                Some(ModeChoice::Simulation) | None => Mode::Simulation,
                Some(ModeChoice::Production) => Mode::Production,
            },
            body_limit: layer.body_limit.map_or(64 << 20, |size| size.0),
            threads: threads(layer)?,
            workers: layer.workers,
            config: config(layer)?,
            limits: limits(layer)?,
            lame_duck: layer.lame_duck.map_or(Duration::ZERO, |span| span.0),
            log_format: layer.log_format.unwrap_or(LogFormat::Auto),
            log: layer.log.clone().unwrap_or_else(|| "info".to_owned()),
        };
        match layer.termination_grace {
            Some(Span(available)) if settings.worst_case() > available => {
                Err(SettingsError::TooSlow { worst_case: settings.worst_case(), available })
            }
            Some(_) | None => Ok(settings),
        }
    }

    /// The longest time from the signal until the process ends.
    #[must_use]
    pub fn worst_case(&self) -> Duration {
        self.lame_duck + self.config.worst_case_shutdown() + self.limits.connection_drain
    }
}

fn threads(layer: &Layer) -> Result<Option<Threads>, SettingsError> {
    let executor = layer.executor.unwrap_or(ExecutorChoice::PerSession);
    if layer.threads.is_some() && executor != ExecutorChoice::Pinned {
        return Err(SettingsError::Threads);
    }
    Ok(match executor {
        ExecutorChoice::PerSession => Some(Threads::PerSession),
        ExecutorChoice::Shared => Some(Threads::Shared),
        ExecutorChoice::Pinned => {
            let cpus = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            Some(Threads::Pinned(layer.threads.unwrap_or_else(cpus)))
        }
        ExecutorChoice::None => None,
    })
}

fn limits(layer: &Layer) -> Result<Limits, SettingsError> {
    let defaults = Limits::default();
    let limits = Limits {
        connections: layer.max_connections.unwrap_or(defaults.connections),
        header_timeout: layer.header_timeout.map_or(defaults.header_timeout, |span| span.0),
        connection_idle: layer.connection_idle.map_or(defaults.connection_idle, |span| span.0),
        ..defaults
    };
    let zero = |setting: &str| Err(SettingsError::Zero { setting: setting.to_owned() });
    match limits {
        Limits { connections: 0, .. } => zero("--max-connections"),
        Limits { header_timeout: Duration::ZERO, .. } => zero("--header-timeout"),
        Limits { connection_idle: Duration::ZERO, .. } => zero("--connection-idle"),
        _ => Ok(limits),
    }
}

/// Applies a setting where there is one.
fn set<T, V>(
    builder: ConfigBuilder,
    given: Option<T>,
    value: impl FnOnce(T) -> V,
    setter: impl FnOnce(ConfigBuilder, V) -> ConfigBuilder,
) -> ConfigBuilder {
    match given {
        Some(given) => setter(builder, value(given)),
        None => builder,
    }
}

fn config(layer: &Layer) -> Result<Config, SettingsError> {
    type Builder = ConfigBuilder;
    let span = |span: Span| span.0;
    let mut builder = Config::builder();
    builder = set(builder, layer.max_sessions, |n| n, Builder::capacity);
    builder = set(builder, layer.one_shots, |n| n, Builder::one_shot_capacity);
    builder = set(builder, layer.idle_timeout, Into::into, Builder::idle_timeout);
    builder = set(builder, layer.max_lifetime, Into::into, Builder::max_lifetime);
    builder = set(builder, layer.build_timeout, Into::into, Builder::build_timeout);
    builder = set(builder, layer.enter_timeout, Into::into, Builder::enter_timeout);
    builder = set(builder, layer.drain_timeout, span, Builder::drain_timeout);
    builder = set(builder, layer.leave_timeout, span, Builder::leave_timeout);
    builder = set(builder, layer.close_timeout, span, Builder::close_timeout);
    builder = set(builder, layer.stop_timeout, span, Builder::stop_timeout);
    builder = set(builder, layer.grace_period, span, Builder::grace_period);
    builder = set(builder, layer.forced_period, span, Builder::forced_period);
    builder.build().map_err(|error| match error {
        ConfigError::Zero { name } => SettingsError::Zero { setting: flag(name) },
        ConfigError::TooSlow { worst_case, available } => SettingsError::TooSlow { worst_case, available },
    })
}

/// The flag for a setting of `session-core`.
fn flag(name: &str) -> String {
    match name {
        "capacity" => "--max-sessions".to_owned(),
        "one_shot_capacity" => "--one-shots".to_owned(),
        other => format!("--{}", other.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests;
