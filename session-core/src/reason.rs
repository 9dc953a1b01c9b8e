//! Why a session ends, and by which steps.

use core::fmt;

macro_rules! words {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$vdoc:meta])* $variant:ident => $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it in logs, reports and metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// Why a session is, or was, closed. Every reason leads through the same teardown.
    pub enum CloseReason {
        /// Its client asked for it.
        Requested => "requested",
        /// Nothing used it for the idle timeout.
        Idle => "idle",
        /// It reached its maximum lifetime.
        LifetimeOver => "lifetime over",
        /// Whoever asked to open it went away before having it.
        AskerGone => "asker gone",
        /// Its environment could not be built, or not in time.
        BuildFailed => "build failed",
        /// Its MCP context could not be entered, or not in time.
        ContextFailed => "context failed",
        /// Its environment ended by itself.
        EnvironmentDied => "environment died",
        /// The executor that it shared with others hung and was given up.
        ExecutorLost => "executor lost",
        /// It existed for one request only, which is over.
        OneShotDone => "one-shot done",
        /// The server is shutting down.
        Shutdown => "shutdown",
    }
}

words! {
    /// The steps of a session's life that can fail or hang. Each has a deadline.
    pub enum Step {
        /// Building the environment.
        Build => "build",
        /// Entering its MCP context.
        Enter => "enter",
        /// Letting the calls in flight finish once closing began.
        Drain => "drain",
        /// Leaving the MCP context.
        Leave => "leave",
        /// Closing the environment.
        Close => "close",
        /// Closing it once more after the first attempt failed.
        CloseAgain => "close again",
        /// Stopping the executor that served this session only.
        Stop => "stop",
    }
}

words! {
    /// How a step ended.
    pub enum Outcome {
        /// As it should.
        Done => "done",
        /// It reported an error.
        Failed => "failed",
        /// It panicked.
        Panicked => "panicked",
        /// Its deadline passed, and it ended when it was told to.
        Interrupted => "interrupted",
        /// Its deadline passed, and it did not end when it was told to: it was given up.
        Abandoned => "abandoned",
    }
}

impl Outcome {
    /// Whether the step did what it was for.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }
}

words! {
    /// How far the whole is between its start and its end.
    pub enum Lifespan {
        /// Sessions are opened and served.
        Running => "running",
        /// No new session; calls in flight may finish.
        Draining => "draining",
        /// Every session is being closed.
        Closing => "closing",
        /// Shared executors are being stopped.
        Stopping => "stopping",
        /// Nothing is left, or what is left was given up and reported.
        Stopped => "stopped",
    }
}

words! {
    /// How urgent a shutdown is. It only ever becomes more urgent.
    pub enum Shutdown {
        /// Within the grace period, each step with its own deadline.
        Graceful => "graceful",
        /// Within the forced period: calls are cut off, deadlines collapse.
        Forced => "forced",
    }
}
