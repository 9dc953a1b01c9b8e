//! The environments of the corpus, each as an OpenEnv author could have written it.

mod gym;
mod mcp_style;
mod server_only;

pub(crate) use gym::Gym;
pub(crate) use mcp_style::McpStyle;
pub(crate) use server_only::ServerOnly;

use crate::reference::Inner;
use serde_json::{Value, value::to_raw_value};
use session_http::{Answer, EchoEnvironment, Failure, Reply};

impl Inner for EchoEnvironment {
    fn new(name: &str) -> Self {
        Self::with_instance(name.to_owned())
    }
}

/// A result that reaches the client as it is.
fn raw(value: &Value) -> Answer {
    to_raw_value(value).map(Reply::Raw).map_err(|error| Failure::Other(error.to_string()))
}
