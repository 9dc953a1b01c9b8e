//! The `REF_*` settings: what the reference environment is to do wrong, and the server's limits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use session_core::SessionId;

/// Which environments of the corpus are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentKind {
    /// The agreed one.
    Echo,
    /// Typed action and observation, no MCP.
    Gym,
    /// No MCP, but its action is a tool call.
    McpStyle,
    /// Tools without a client.
    ServerOnly,
}

/// Construction indexes that a failure is meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Indexes {
    #[default]
    None,
    All,
    Some(BTreeSet<usize>),
}

impl Indexes {
    pub(crate) fn contains(&self, index: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(indexes) => indexes.contains(&index),
        }
    }
}

impl FromStr for Indexes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" | "none" => Ok(Self::None),
            "all" => Ok(Self::All),
            list => {
                let indexes: Result<_, _> = list.split(',').map(|index| index.trim().parse()).collect();
                indexes
                    .map(Self::Some)
                    .map_err(|_| format!("{text:?} is neither `all` nor a list of numbers"))
            }
        }
    }
}

/// What goes wrong, and how long things take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) construct_delay: Duration,
    pub(crate) construct_fails: Indexes,
    pub(crate) enter_delay: Duration,
    pub(crate) enter_raises: Indexes,
    pub(crate) exit_delay: Duration,
    pub(crate) exit_raises: Indexes,
    pub(crate) close_delay: Duration,
    pub(crate) close_raises: Indexes,
    pub(crate) close_hangs: Indexes,
}

/// Everything that the environment variables say.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) kind: EnvironmentKind,
    pub(crate) production: bool,
    pub(crate) max_sessions: usize,
    pub(crate) session_timeout: Option<Duration>,
    pub(crate) grace: Option<Duration>,
    pub(crate) single_thread: bool,
    pub(crate) tasks: bool,
    pub(crate) event_log: Option<PathBuf>,
    pub(crate) fake_pending: Option<SessionId>,
    pub(crate) faults: Faults,
}

/// Reads variables through a function, so that a test needs no process of its own.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|text| !text.is_empty())
    }

    fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, String>
    where
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|error| format!("{name}: {error}"))
    }

    fn indexes(&self, name: &str) -> Result<Indexes, String> {
        Ok(self.parsed(name)?.unwrap_or_default())
    }

    fn on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| ["1", "true", "yes"].contains(&text.to_lowercase().as_str()))
    }

    /// Zero is "off", as it is for the other reference server.
    fn time(&self, name: &str, unit: f64) -> Result<Option<Duration>, String> {
        let Some(number) = self.parsed::<f64>(name)? else { return Ok(None) };
        let time = Duration::try_from_secs_f64(number * unit).map_err(|error| format!("{name}: {error}"))?;
        Ok(Some(time).filter(|time| !time.is_zero()))
    }

    fn millis(&self, name: &str) -> Result<Duration, String> {
        Ok(self.time(name, 1e-3)?.unwrap_or_default())
    }

    fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        self.time(name, 1.0)
    }
}

impl Settings {
    pub(crate) fn from_env() -> Result<Self, String> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    pub(crate) fn from_variables(read: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variables = Variables(read);
        Ok(Self {
            kind: kind(variables.text("REF_KIND").as_deref().unwrap_or("echo"))?,
            production: production(variables.text("REF_MODE").as_deref().unwrap_or("simulation"))?,
            max_sessions: variables.parsed("REF_MAX_SESSIONS")?.unwrap_or(8),
            session_timeout: variables.seconds("REF_SESSION_TIMEOUT")?,
            fake_pending: variables.parsed("REF_FAKE_PENDING_SESSION")?,
            grace: variables.seconds("REF_GRACE_S")?,
            single_thread: variables.on("REF_SINGLE_THREAD"),
            tasks: variables.on("REF_TASKS"),
            event_log: variables.text("REF_EVENT_LOG").map(PathBuf::from),
            faults: faults(&variables)?,
        })
    }
}

fn faults<F: Fn(&str) -> Option<String>>(variables: &Variables<F>) -> Result<Faults, String> {
    Ok(Faults {
        construct_delay: variables.millis("REF_CONSTRUCT_DELAY_MS")?,
        construct_fails: variables.indexes("REF_FACTORY_FAIL")?,
        enter_delay: variables.millis("REF_MCP_ENTER_DELAY_MS")?,
        enter_raises: variables.indexes("REF_MCP_ENTER_RAISES")?,
        exit_delay: variables.millis("REF_MCP_EXIT_DELAY_MS")?,
        exit_raises: variables.indexes("REF_MCP_EXIT_RAISES")?,
        close_delay: variables.millis("REF_CLOSE_DELAY_MS")?,
        close_raises: variables.indexes("REF_CLOSE_RAISES")?,
        close_hangs: variables.indexes("REF_CLOSE_HANG")?,
    })
}

fn kind(text: &str) -> Result<EnvironmentKind, String> {
    match text {
        "echo" => Ok(EnvironmentKind::Echo),
        "gym" => Ok(EnvironmentKind::Gym),
        "mcpstyle" => Ok(EnvironmentKind::McpStyle),
        "serveronly" => Ok(EnvironmentKind::ServerOnly),
        other => Err(format!("REF_KIND: {other:?} is none of echo, gym, mcpstyle, serveronly")),
    }
}

fn production(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "simulation" => Ok(false),
        "production" => Ok(true),
        other => Err(format!("REF_MODE: {other:?} is neither simulation nor production")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::from_variables(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn unset_and_empty_variables_are_the_defaults() {
        let settings = settings(&[("REF_KIND", ""), ("REF_CLOSE_RAISES", "")]).unwrap();
        assert_eq!((settings.kind, settings.max_sessions), (EnvironmentKind::Echo, 8));
        assert_eq!((settings.grace, settings.session_timeout), (None, None));
        assert_eq!(settings.faults.close_raises, Indexes::None);
    }

    #[test]
    fn times_have_the_unit_of_their_name() {
        let settings = settings(&[("REF_GRACE_S", "2"), ("REF_CLOSE_DELAY_MS", "1500")]).unwrap();
        assert_eq!(settings.grace, Some(Duration::from_secs(2)));
        assert_eq!(settings.faults.close_delay, Duration::from_millis(1500));
    }

    #[test]
    fn indexes_are_all_or_a_list() {
        let settings = settings(&[("REF_CLOSE_RAISES", "0, 2"), ("REF_CLOSE_HANG", "all")]).unwrap();
        let raises = [0, 1, 2, 3].map(|index| settings.faults.close_raises.contains(index));
        assert_eq!(raises, [true, false, true, false]);
        assert!(settings.faults.close_hangs.contains(17));
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [
            ("REF_KIND", "x"),
            ("REF_MODE", "x"),
            ("REF_MAX_SESSIONS", "-1"),
            ("REF_GRACE_S", "soon"),
            ("REF_CLOSE_HANG", "0,x"),
        ] {
            assert!(settings(&[(name, value)]).unwrap_err().starts_with(name), "{name}");
        }
    }
}
