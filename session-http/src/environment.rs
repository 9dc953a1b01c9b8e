//! The simple face of an environment: what it is asked and what it answers, whatever the dialect.

mod about;
mod call;
mod echo;
mod failure;
mod reply;
mod tool;

pub use about::{About, ActionKind, Schemas};
pub use call::{Action, Arguments, Call, Reset, Step, TaskQuery, ToolCall};
pub use echo::EchoEnvironment;
pub use failure::{Failure, Invalid};
pub(crate) use reply::Shown;
pub use reply::{Metadata, Observation, Reply, ToolResult};
pub use tool::Tool;

/// What an environment answers to a [`Call`].
pub type Answer = Result<Reply, Failure>;
