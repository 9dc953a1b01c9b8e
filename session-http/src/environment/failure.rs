//! Why an environment does not do what it is asked.

use serde::Serialize;
use serde_json::Value;

/// An environment's refusal or error. Whatever it is, the session goes on.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// It doesn't do this at all.
    #[error("Environment does not support {0}")]
    Unsupported(&'static str),
    /// It has no such tool.
    #[error("Tool not found: {0}")]
    UnknownTool(String),
    /// The arguments don't fit the tool.
    #[error("Invalid arguments: {0}")]
    InvalidArguments(String),
    /// The tool was called and failed.
    #[error("Error calling tool '{tool}': {message}")]
    ToolFailed {
        /// Which.
        tool: String,
        /// What it said.
        message: String,
    },
    /// The action is not one of this environment.
    #[error("Invalid action")]
    InvalidAction(Vec<Invalid>),
    /// There is no task with this index.
    #[error("Invalid task index")]
    InvalidIndex,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// One thing that is wrong with what was sent, as pydantic says it.
#[derive(Clone, Debug, Serialize)]
pub struct Invalid {
    /// What kind of wrong, for example `missing` or `string_type`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where.
    pub loc: Vec<Value>,
    /// In words.
    pub msg: String,
    /// What was there.
    pub input: Value,
}

impl Invalid {
    /// Something wrong at this place.
    #[must_use]
    pub fn new(kind: &'static str, loc: &[&str], msg: impl Into<String>, input: Value) -> Self {
        let loc = loc.iter().map(|part| Value::from(*part)).collect();
        Self { kind, loc, msg: msg.into(), input }
    }

    /// A field that is not there.
    #[must_use]
    pub fn missing(loc: &[&str], input: Value) -> Self {
        Self::new("missing", loc, "Field required", input)
    }

    /// A field that must not be there.
    #[must_use]
    pub fn extra(loc: &[&str], input: Value) -> Self {
        Self::new("extra_forbidden", loc, "Extra inputs are not permitted", input)
    }
}
