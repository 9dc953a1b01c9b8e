//! What a server says about its environment without having one.

use serde_json::{Value, json};

/// How the actions of an environment's steps look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// `list_tools` and `call_tool`.
    Tools,
    /// The environment's own, which it validates itself.
    Typed,
}

/// JSON Schemas of what goes in and out.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// Of an action.
    pub action: Value,
    /// Of what a step answers: the observation with `done` and `reward`.
    pub observation: Value,
    /// Of the state.
    pub state: Value,
    /// Of what a reset answers, if that differs from a step.
    pub reset_observation: Option<Value>,
}

/// The environment that a server offers.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name in task routes and lists, for example `echo_env`.
    pub name: String,
    /// The name of the type that is built, for example `EchoEnvironment`: told when building fails.
    pub class: String,
    /// How its actions look.
    pub action: ActionKind,
    /// Its schemas.
    pub schemas: Schemas,
}

impl About {
    /// An environment of tools, with the schemas of OpenEnv's `CallToolAction`, `CallToolObservation` and `State`.
    #[must_use]
    pub fn tools(name: &str, class: &str) -> Self {
        let schemas = Schemas {
            action: call_tool_action(),
            observation: call_tool_observation(),
            state: state(),
            reset_observation: Some(observation("Observation", json!({}), &json!([]))),
        };
        Self { name: name.into(), class: class.into(), action: ActionKind::Tools, schemas }
    }
}

fn call_tool_action() -> Value {
    json!({
        "title": "CallToolAction",
        "type": "object",
        "additionalProperties": false,
        "required": ["tool_name"],
        "properties": {
            "metadata": { "type": "object", "additionalProperties": true },
            "type": { "const": "call_tool", "default": "call_tool", "type": "string" },
            "tool_name": { "type": "string" },
            "arguments": { "type": "object", "additionalProperties": true },
        },
    })
}

fn call_tool_observation() -> Value {
    let kinds = ["execution_error", "invalid_args", "transport_error", "tool_not_found", "timeout"];
    let error = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["error_type", "message"],
        "properties": { "error_type": { "type": "string", "enum": kinds }, "message": { "type": "string" } },
    });
    let own = json!({
        "tool_name": { "type": "string" },
        "result": { "default": null },
        "error": { "anyOf": [error, { "type": "null" }], "default": null },
    });
    observation("CallToolObservation", own, &json!(["tool_name"]))
}

/// The schema of an observation with these members of its own.
fn observation(title: &str, own: Value, required: &Value) -> Value {
    let mut properties = json!({
        "done": { "type": "boolean", "default": false },
        "reward": { "anyOf": [{ "type": "boolean" }, { "type": "number" }, { "type": "null" }], "default": null },
        "metadata": { "type": "object", "additionalProperties": true },
    });
    if let (Value::Object(properties), Value::Object(own)) = (&mut properties, own) {
        properties.extend(own);
    }
    json!({
        "title": title,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn state() -> Value {
    json!({
        "title": "State",
        "type": "object",
        "additionalProperties": true,
        "properties": {
            "episode_id": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null },
            "step_count": { "type": "integer", "minimum": 0, "default": 0 },
        },
    })
}
