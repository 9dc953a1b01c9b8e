//! Tools without a client: they are called directly, and their values are the results.

use super::gym::Gym;
use super::raw;
use crate::reference::Inner;
use serde_json::{Map, Value, json};
use session_core::TaskEnvironment;
use session_http::{About, Answer, Call, Failure, Metadata, Reply, ToolCall};

pub(crate) struct ServerOnly(Gym);

impl ServerOnly {
    pub(crate) fn about() -> About {
        Gym::about_as("serveronly", "ServerOnlyEnvironment")
    }
}

impl Inner for ServerOnly {
    fn new(name: &str) -> Self {
        Self(Gym::new(name))
    }
}

impl TaskEnvironment for ServerOnly {
    type Call = Call;
    type Reply = Answer;

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::Metadata => Ok(Reply::Metadata(Metadata::named("ServerOnlyEnvironment"))),
            Call::ListTools => raw(&tools()),
            Call::CallTool(call) => call_tool(call),
            other @ (Call::Reset(_) | Call::Step(_) | Call::State | Call::Tasks(_)) => {
                self.0.call(other).await
            }
        }
    }
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        let mut schema = json!({ "additionalProperties": false, "properties": properties });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema["type"] = "object".into();
        json!({ "name": name, "description": description, "inputSchema": schema })
    };
    let text = json!({ "text": { "type": "string" } });
    json!({ "tools": [tool("shout", "Upper-case.", text, &["text"]), tool("boom", "Raise.", json!({}), &[])] })
}

fn call_tool(call: ToolCall) -> Answer {
    match call.name.as_str() {
        "shout" => {
            let arguments: Map<String, Value> = call.arguments()?;
            if let Some(other) = arguments.keys().find(|name| *name != "text") {
                return Err(Failure::Other(format!("shout() got an unexpected keyword argument '{other}'")));
            }
            let text = arguments.get("text").and_then(Value::as_str);
            let text =
                text.ok_or_else(|| Failure::Other("shout() missing 1 required argument: 'text'".into()))?;
            raw(&text.to_uppercase().into())
        }
        "boom" => Err(Failure::Other("boom".into())),
        _ => Err(Failure::UnknownTool(call.name)),
    }
}
