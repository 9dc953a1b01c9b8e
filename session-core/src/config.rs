//! Limits and deadlines, their defaults, and what they add up to.

use core::num::NonZeroUsize;
use core::time::Duration;

/// Which executor a session's environment lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// A thread for each session, started and stopped with it.
    PerSession,
    /// This many threads for all sessions, started on demand; a session stays on its own. One is "shared".
    Pinned(NonZeroUsize),
    /// No thread: the environment runs as tasks.
    Tasks,
}

/// The deadlines of a session's steps. A step never gets more than is left of the whole shutdown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timeouts {
    /// Building the environment. Default 60 s; `None` waits for ever.
    pub build: Option<Duration>,
    /// Entering the MCP context. Default 30 s; `None` waits for ever.
    pub enter: Option<Duration>,
    /// Calls in flight once a close, or a shutdown, began. Default 10 s.
    pub drain: Duration,
    /// Leaving the MCP context. Default 5 s.
    pub leave: Duration,
    /// Closing the environment, each of two tries. Default 10 s.
    pub close: Duration,
    /// Stopping an executor. Default 5 s.
    pub stop: Duration,
    /// How long an overdue step may take to end once it was told to, before it is given up. Default 500 ms.
    pub interrupt: Duration,
    /// The grace period: the whole shutdown, after which it is forced. Default 25 s, so that with
    /// [`forced`](Self::forced) it stays below the 30 s after which Kubernetes kills a pod.
    pub grace: Duration,
    /// What is left to all steps together once the shutdown is forced. Default 2 s.
    pub forced: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            build: Some(Duration::from_secs(60)),
            enter: Some(Duration::from_secs(30)),
            drain: Duration::from_secs(10),
            leave: Duration::from_secs(5),
            close: Duration::from_secs(10),
            stop: Duration::from_secs(5),
            interrupt: Duration::from_millis(500),
            grace: Duration::from_secs(25),
            forced: Duration::from_secs(2),
        }
    }
}

/// What a [`Lifecycle`](crate::Lifecycle) allows and how long it waits.
///
/// ```
/// # use session_core::Config;
/// # use core::time::Duration;
/// let config = Config::builder().capacity(100).idle_timeout(Some(Duration::from_secs(600))).build()?;
/// assert_eq!(config.capacity(), 100);
/// # Ok::<(), session_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    pub(crate) placement: Placement,
    pub(crate) capacity: usize,
    pub(crate) one_shot_capacity: usize,
    pub(crate) abandoned_limit: usize,
    pub(crate) close_concurrency: usize,
    pub(crate) remembered: usize,
    pub(crate) slot_wait: Duration,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) max_lifetime: Option<Duration>,
    pub(crate) timeouts: Timeouts,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            placement: Placement::PerSession,
            capacity: 1000,
            one_shot_capacity: 64,
            abandoned_limit: 32,
            close_concurrency: 64,
            remembered: 1024,
            slot_wait: Duration::from_secs(1),
            idle_timeout: Some(Duration::from_secs(30 * 60)),
            max_lifetime: None,
            timeouts: Timeouts::default(),
        }
    }
}

impl Config {
    /// A builder that starts from the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder { config: Self::default(), termination_grace: None }
    }

    /// A builder that starts from this configuration.
    pub const fn to_builder(self) -> ConfigBuilder {
        ConfigBuilder { config: self, termination_grace: None }
    }

    /// Where environments live.
    #[must_use]
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// How many sessions may hold anything at once.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many one-shot sessions may hold anything at once.
    #[must_use]
    pub const fn one_shot_capacity(&self) -> usize {
        self.one_shot_capacity
    }

    /// The deadlines.
    #[must_use]
    pub const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// The longest time from the request to shut down until [`Lifespan::Stopped`](crate::Lifespan::Stopped), whatever
    /// environments do: the grace period, the forced period, and one more `interrupt` for shared executors.
    #[must_use]
    pub fn worst_case_shutdown(&self) -> Duration {
        self.timeouts.grace + self.timeouts.forced + self.timeouts.interrupt
    }
}

/// Why a configuration is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A limit or period that must be positive is zero.
    #[error("{name} must be greater than zero")]
    Zero {
        /// The setting.
        name: &'static str,
    },
    /// The shutdown can take longer than the time that the operator said there is.
    #[error(
        "the shutdown can take {worst_case:?}, longer than the {available:?} before the process is killed; shorten the grace or the forced period"
    )]
    TooSlow {
        /// [`Config::worst_case_shutdown`].
        worst_case: Duration,
        /// What [`ConfigBuilder::termination_grace`] was told.
        available: Duration,
    },
}

/// Makes a [`Config`]. Every setter replaces a default.
#[derive(Clone, Debug)]
#[must_use = "call `build`"]
pub struct ConfigBuilder {
    config: Config,
    termination_grace: Option<Duration>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $($field:ident).+;)+) => {
        $($(#[$doc])*
        pub const fn $name(mut self, $name: $type) -> Self {
            self.config.$($field).+ = $name;
            self
        })+
    };
}

impl ConfigBuilder {
    setters! {
        /// Where environments live. Default: a thread for each session.
        placement: Placement => placement;
        /// How many sessions may hold anything at once, those being built or closed included. Default 1000.
        capacity: usize => capacity;
        /// How many one-shot sessions may hold anything at once. Default 64.
        one_shot_capacity: usize => one_shot_capacity;
        /// At how many abandoned sessions nothing is opened any more. Default 32.
        abandoned_limit: usize => abandoned_limit;
        /// How many sessions are taken apart at once. Default 64.
        close_concurrency: usize => close_concurrency;
        /// Of how many closed sessions the reason is remembered for late requests. Default 1024.
        remembered: usize => remembered;
        /// How long an opening waits, at capacity, for the slot of a session that is closing. Default 1 s; zero never.
        slot_wait: Duration => slot_wait;
        /// After how long without a call or stream a session is closed. Default 30 min; `None` never.
        idle_timeout: Option<Duration> => idle_timeout;
        /// After how long a session is closed in any case. Default `None`: never.
        max_lifetime: Option<Duration> => max_lifetime;
        /// See [`Timeouts::build`].
        build_timeout: Option<Duration> => timeouts.build;
        /// See [`Timeouts::enter`].
        enter_timeout: Option<Duration> => timeouts.enter;
        /// See [`Timeouts::drain`].
        drain_timeout: Duration => timeouts.drain;
        /// See [`Timeouts::leave`].
        leave_timeout: Duration => timeouts.leave;
        /// See [`Timeouts::close`].
        close_timeout: Duration => timeouts.close;
        /// See [`Timeouts::stop`].
        stop_timeout: Duration => timeouts.stop;
        /// See [`Timeouts::interrupt`].
        interrupt_timeout: Duration => timeouts.interrupt;
        /// See [`Timeouts::grace`].
        grace_period: Duration => timeouts.grace;
        /// See [`Timeouts::forced`].
        forced_period: Duration => timeouts.forced;
    }

    /// How long the process has after the signal before it is killed (Kubernetes: `terminationGracePeriodSeconds`).
    /// [`build`](Self::build) refuses a configuration whose worst case exceeds it.
    pub const fn termination_grace(mut self, available: Duration) -> Self {
        self.termination_grace = Some(available);
        self
    }

    /// The configuration.
    ///
    /// # Errors
    /// A limit or period is zero that must not be, or the worst case exceeds the termination grace.
    pub fn build(self) -> Result<Config, ConfigError> {
        let config = self.config;
        let positive = [
            ("capacity", config.capacity != 0),
            ("one_shot_capacity", config.one_shot_capacity != 0),
            ("abandoned_limit", config.abandoned_limit != 0),
            ("close_concurrency", config.close_concurrency != 0),
            ("idle_timeout", config.idle_timeout != Some(Duration::ZERO)),
            ("max_lifetime", config.max_lifetime != Some(Duration::ZERO)),
            ("build_timeout", config.timeouts.build != Some(Duration::ZERO)),
            ("enter_timeout", config.timeouts.enter != Some(Duration::ZERO)),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, is_positive)| !is_positive) {
            return Err(ConfigError::Zero { name });
        }
        match (config.worst_case_shutdown(), self.termination_grace) {
            (worst_case, Some(available)) if worst_case > available => {
                Err(ConfigError::TooSlow { worst_case, available })
            }
            _ => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_fit_into_kubernetes_30_seconds() {
        let config = Config::builder().termination_grace(Duration::from_secs(30)).build().unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn a_shutdown_longer_than_the_time_there_is_is_refused() {
        let refused = Config::builder()
            .grace_period(Duration::from_secs(30))
            .termination_grace(Duration::from_secs(30))
            .build();
        assert!(matches!(refused, Err(ConfigError::TooSlow { .. })));
    }

    #[test]
    fn a_limit_of_zero_is_refused_by_name() {
        assert_eq!(Config::builder().capacity(0).build(), Err(ConfigError::Zero { name: "capacity" }));
        let refused = Config::builder().idle_timeout(Some(Duration::ZERO)).build();
        assert_eq!(refused, Err(ConfigError::Zero { name: "idle_timeout" }));
    }
}
