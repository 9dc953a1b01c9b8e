//! No MCP client, but its actions are those of tools: the answers are observations.

use super::gym::Gym;
use super::raw;
use crate::reference::Inner;
use serde_json::{Map, Value, json};
use session_core::TaskEnvironment;
use session_http::{
    About, Action, Answer, Arguments, Call, Failure, Metadata, Observation, Reply, Tool, ToolCall,
};

pub(crate) struct McpStyle(Gym);

impl McpStyle {
    pub(crate) fn about() -> About {
        About::tools("mcpstyle", "MCPStyleEnvironment")
    }

    fn step(&self, action: Action) -> Answer {
        self.0.count_step();
        match action {
            Action::ListTools => Ok(Reply::Tools([shout()].into())),
            Action::CallTool(call) => {
                let fields = used(&call)?;
                Ok(Reply::Observation(Observation { fields, ..Observation::default() }))
            }
            Action::Typed(_) => Err(Failure::Unsupported("such an action")),
        }
    }
}

impl Inner for McpStyle {
    fn new(name: &str) -> Self {
        Self(Gym::new(name))
    }
}

impl TaskEnvironment for McpStyle {
    type Call = Call;
    type Reply = Answer;

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::Metadata => Ok(Reply::Metadata(Metadata::named("MCPStyleEnvironment"))),
            Call::ListTools => {
                let Tool { name, description, input_schema } = shout();
                let tool = json!({ "name": name, "description": description, "input_schema": input_schema });
                raw(&json!({ "tools": [tool] }))
            }
            Call::CallTool(call) => {
                let mut observation = json!({ "done": false, "reward": null, "metadata": {} });
                if let Value::Object(observation) = &mut observation {
                    observation.extend(used(&call)?);
                }
                raw(&observation)
            }
            Call::Reset(reset) => self.0.reset(reset),
            Call::Step(step) => self.step(step.action),
            Call::State => self.0.state(),
            other @ Call::Tasks(_) => other.unsupported(),
        }
    }
}

fn shout() -> Tool {
    Tool { name: "shout".into(), description: "Upper-case".into(), input_schema: json!({ "type": "object" }) }
}

/// What is observed of a tool: any name is one, but for two.
fn used(call: &ToolCall) -> Result<Map<String, Value>, Failure> {
    match call.name.as_str() {
        "boom" => Err(Failure::Other("boom".into())),
        "wrong" => Err(Failure::Other(
            "MCP-style tools/call step returned Observation, expected CallToolObservation".into(),
        )),
        name => {
            let fields = [("tool_name", name.into()), ("result", text(&call.arguments)?.into())];
            let fields = fields.into_iter().chain([("error", Value::Null)]);
            Ok(fields.map(|(name, value)| (name.to_owned(), value)).collect())
        }
    }
}

fn text(arguments: &Arguments) -> Result<String, Failure> {
    // Upstream makes an action of them first: what does not fit is an error of the environment.
    let arguments: Map<String, Value> =
        arguments.parse().map_err(|failure| Failure::Other(failure.to_string()))?;
    Ok(arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_uppercase())
}
