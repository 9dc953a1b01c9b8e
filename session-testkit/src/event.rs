//! One thing that happened: what, to which session, where and when.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

/// The extra of [`Kind::Constructing`] that says where the environment lives.
pub(crate) const LIVES: &str = "lives";
/// Its value for environments without a thread.
pub(crate) const AS_TASKS: &str = "as tasks";

/// What else is to be said of an event, in the order in which it is to be read.
pub type Extras = Vec<(&'static str, Value)>;

/// One line of a recording.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in the recording: a total order over all threads.
    pub sequence: u64,
    /// Time since the recorder began, on the machine's clock (a paused tokio clock does not move it).
    pub at: Duration,
    /// Unix time in seconds, for the JSON log.
    pub unix: f64,
    /// Where it happened.
    pub thread: Thread,
    /// Whom it happened to; empty for what concerns a thread or the whole server.
    pub session: Arc<str>,
    /// What happened.
    pub kind: Kind,
    /// More about it: the tool and tag of a call, the reason of a close.
    pub extras: Extras,
}

impl Event {
    /// Whether this is `kind` of `session`.
    #[must_use]
    pub fn is(&self, session: &str, kind: Kind) -> bool {
        self.kind == kind && *self.session == *session
    }

    /// An extra's text, if there is such an extra and it is a text.
    #[must_use]
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extras.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.as_str())
    }
}

/// A thread: a number that no other thread of this process ever has, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    number: u64,
    name: Arc<str>,
}

impl Thread {
    /// The thread that asks.
    #[must_use]
    pub fn current() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        thread_local! {
            // `std::thread::ThreadId` has no stable number; this one is as unique and prints well.
            static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        let number = NUMBER.with(|number| *number);
        Self { number, name: std::thread::current().name().unwrap_or("unnamed").into() }
    }

    /// A thread that exists on paper only: to write recordings down by hand.
    #[must_use]
    pub fn imagined(number: u64, name: &str) -> Self {
        Self { number, name: name.into() }
    }

    /// Unique in this process, and never used again.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its name; "unnamed" if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// As in the event log: name and number.
impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.number)
    }
}

/// Everything that a recording can contain.
///
/// The first group is told by environments, on the thread where it happens; the second by the
/// threads themselves; the third by the driver, through its subscription, and therefore a moment
/// *after* it happened (see [`Kind::teller`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The constructor begins. An extra `lives` of `as tasks` says that the environment may change
    /// threads; `check` then does not ask for I3.
    Constructing,
    /// The constructor is done: from here on the environment must be closed.
    Constructed,
    /// The constructor failed or panicked.
    ConstructFailed,
    /// The MCP context is open.
    McpEnter,
    /// The MCP context could not be opened.
    McpEnterFailed,
    /// The MCP context is being left.
    McpExitBegin,
    /// The MCP context is left.
    McpExit,
    /// The MCP context is left, and leaving it reported an error (or panicked) at the end.
    McpExitRaised,
    /// Leaving the MCP context was interrupted.
    McpExitCancelled,
    /// `close` begins.
    CloseBegin,
    /// `close` returned.
    Closed,
    /// `close` failed or panicked.
    CloseRaised,
    /// `close` was interrupted.
    CloseCancelled,
    /// An episode begins anew.
    Reset,
    /// A tool begins.
    ToolBegin,
    /// A tool is done.
    ToolEnd,
    /// A tool was interrupted.
    ToolCancelled,
    /// A call reached the environment.
    CallBegin,
    /// A call is done.
    CallEnd,
    /// A call was interrupted.
    CallCancelled,
    /// The environment's value was dropped.
    Dropped,
    /// Anything a test wants to see among the rest.
    Note,

    /// A thread that the recorder watches (see `Recorder::watch_thread`).
    ThreadWatched,
    /// Such a thread has ended: its last act.
    ThreadEnded,

    /// The driver reserved a slot for a session.
    Opening,
    /// The session is in use from here on.
    Opened,
    /// The session is being torn down; `reason` says why.
    Closing,
    /// A step of the session's life ended; `step` and `outcome` say which and how.
    StepDone,
    /// Nothing is left of the session, its slot is free.
    Gone,
    /// A step neither ended nor could be interrupted; `step` says which.
    Abandoned,
    /// An executor's thread was started.
    ExecutorStarted,
    /// An executor's thread was joined.
    ExecutorStopped,
    /// An executor hangs and was given up.
    ExecutorLost,
    /// The server's lifespan moved on; `lifespan` says to what.
    Lifespan,
    /// The subscriber was too slow and lost `count` events.
    Missed,
}

/// Who told of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Teller {
    /// An environment, on the thread where it happened and at that moment.
    Environment,
    /// A watched thread.
    Thread,
    /// The driver, from a subscription: in its own order, a moment after it happened.
    Driver,
}

impl Kind {
    /// The name in the event log and in the swim lanes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constructing => "constructing",
            Self::Constructed => "constructed",
            Self::ConstructFailed => "construct_failed",
            Self::McpEnter => "mcp_enter",
            Self::McpEnterFailed => "mcp_enter_failed",
            Self::McpExitBegin => "mcp_exit_begin",
            // The log knows one word for each end; `raised` tells the failed ones.
            Self::McpExit | Self::McpExitRaised => "mcp_exit",
            Self::McpExitCancelled => "mcp_exit_cancelled",
            Self::CloseBegin => "close_begin",
            Self::Closed | Self::CloseRaised => "closed",
            Self::CloseCancelled => "close_cancelled",
            Self::Reset => "reset",
            Self::ToolBegin => "tool_begin",
            Self::ToolEnd => "tool_end",
            Self::ToolCancelled => "tool_cancelled",
            Self::CallBegin => "call_begin",
            Self::CallEnd => "call_end",
            Self::CallCancelled => "call_cancelled",
            Self::Dropped => "dropped",
            Self::Note => "note",
            Self::ThreadWatched => "thread_watched",
            Self::ThreadEnded => "thread_ended",
            Self::Opening => "opening",
            Self::Opened => "opened",
            Self::Closing => "closing",
            Self::StepDone => "step_done",
            Self::Gone => "gone",
            Self::Abandoned => "abandoned",
            Self::ExecutorStarted => "executor_started",
            Self::ExecutorStopped => "executor_stopped",
            Self::ExecutorLost => "executor_lost",
            Self::Lifespan => "lifespan",
            Self::Missed => "missed",
        }
    }

    /// Whether this is the end of something that failed at its end.
    #[must_use]
    pub fn raised(self) -> bool {
        matches!(self, Self::McpExitRaised | Self::CloseRaised)
    }

    /// Who tells of such an event.
    #[must_use]
    pub fn teller(self) -> Teller {
        match self {
            Self::Constructing
            | Self::Constructed
            | Self::ConstructFailed
            | Self::McpEnter
            | Self::McpEnterFailed
            | Self::McpExitBegin
            | Self::McpExit
            | Self::McpExitRaised
            | Self::McpExitCancelled
            | Self::CloseBegin
            | Self::Closed
            | Self::CloseRaised
            | Self::CloseCancelled
            | Self::Reset
            | Self::ToolBegin
            | Self::ToolEnd
            | Self::ToolCancelled
            | Self::CallBegin
            | Self::CallEnd
            | Self::CallCancelled
            | Self::Dropped
            | Self::Note => Teller::Environment,
            Self::ThreadWatched | Self::ThreadEnded => Teller::Thread,
            Self::Opening
            | Self::Opened
            | Self::Closing
            | Self::StepDone
            | Self::Gone
            | Self::Abandoned
            | Self::ExecutorStarted
            | Self::ExecutorStopped
            | Self::ExecutorLost
            | Self::Lifespan
            | Self::Missed => Teller::Driver,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if self.raised() { f.write_str(" raised") } else { Ok(()) }
    }
}
