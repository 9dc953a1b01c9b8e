//! No tools at all: a typed action, reset and step.

use crate::reference::Inner;
use serde_json::{Map, Value, json};
use session_core::TaskEnvironment;
use session_http::{
    About, Action, ActionKind, Answer, Call, Failure, Invalid, Metadata, Observation, Reply, Reset, Schemas,
};
use std::sync::{Mutex, PoisonError};
use uuid::Uuid;

/// Says its message back, with its length as the reward.
pub(crate) struct Gym {
    episode: Mutex<Episode>,
}

struct Episode {
    id: String,
    steps: u64,
}

impl Gym {
    pub(crate) fn about() -> About {
        Self::about_as("gym", "GymEnvironment")
    }

    /// What an environment with the same actions says of itself.
    pub(super) fn about_as(name: &str, class: &str) -> About {
        let schemas = Schemas {
            action: schema("GymAction", json!({ "message": { "type": "string" } }), &["message"]),
            observation: schema(
                "GymObservation",
                json!({
                    "done": { "type": "boolean", "default": false },
                    "reward": {
                        "anyOf": [{ "type": "boolean" }, { "type": "integer" }, { "type": "number" }, { "type": "null" }],
                        "default": null,
                    },
                    "metadata": { "type": "object", "additionalProperties": true },
                    "echoed": { "type": "string" },
                    "length": { "type": "integer" },
                }),
                &["echoed", "length"],
            ),
            // Episodes are counted as everywhere.
            state: About::tools(name, class).schemas.state,
            reset_observation: None,
        };
        About { name: name.into(), class: class.into(), action: ActionKind::Typed, schemas }
    }

    pub(super) fn reset(&self, reset: Reset) -> Answer {
        let id = reset.episode_id.unwrap_or_else(|| "ep".into());
        *self.episode.lock().unwrap_or_else(PoisonError::into_inner) = Episode { id, steps: 0 };
        observed("", None)
    }

    pub(super) fn count_step(&self) {
        self.episode.lock().unwrap_or_else(PoisonError::into_inner).steps += 1;
    }

    pub(super) fn state(&self) -> Answer {
        let episode = self.episode.lock().unwrap_or_else(PoisonError::into_inner);
        let state = [("episode_id", Value::from(episode.id.as_str())), ("step_count", episode.steps.into())];
        Ok(Reply::State(state.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    fn step(&self, action: Action) -> Answer {
        let message = match action {
            Action::Typed(action) => message(action)?,
            Action::ListTools | Action::CallTool(_) => return Err(Failure::Unsupported("MCP")),
        };
        self.count_step();
        match message.as_str() {
            "boom" => Err(Failure::Other("boom".into())),
            "int" => observed(&message, Some(3.into())),
            "bool" => observed(&message, Some(true.into())),
            "meta" => {
                let metadata = Map::from_iter([("k".to_owned(), json!([1, null]))]);
                let observation = Observation { metadata, ..observation(&message, None) };
                Ok(Reply::Observation(observation))
            }
            "done" => {
                let observation = Observation { done: true, ..observation(&message, Some(length(&message))) };
                Ok(Reply::Observation(observation))
            }
            other => observed(other, Some(length(other))),
        }
    }
}

impl Inner for Gym {
    fn new(_: &str) -> Self {
        Self { episode: Mutex::new(Episode { id: Uuid::new_v4().to_string(), steps: 0 }) }
    }
}

impl TaskEnvironment for Gym {
    type Call = Call;
    type Reply = Answer;

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::Metadata => Ok(Reply::Metadata(Metadata::named("GymEnvironment"))),
            Call::Reset(reset) => self.reset(reset),
            Call::Step(step) => self.step(step.action),
            Call::State => self.state(),
            other @ (Call::ListTools | Call::CallTool(_) | Call::Tasks(_)) => other.unsupported(),
        }
    }
}

fn schema(title: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "title": title,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    })
}

/// The action's one field; everything that is wrong with it, in pydantic's order.
fn message(mut action: Map<String, Value>) -> Result<String, Failure> {
    action.remove("metadata"); // every action has it
    let whole = Value::Object(action.clone());
    let mut wrong = Vec::new();
    let message = match action.remove("message") {
        Some(Value::String(message)) => message,
        Some(other) => {
            wrong.push(Invalid::new("string_type", &["message"], "Input should be a valid string", other));
            String::new()
        }
        None => {
            wrong.push(Invalid::missing(&["message"], whole));
            String::new()
        }
    };
    wrong.extend(action.into_iter().map(|(name, value)| Invalid::extra(&[&name], value)));
    if wrong.is_empty() { Ok(message) } else { Err(Failure::InvalidAction(wrong)) }
}

/// In characters, not in bytes.
fn length(message: &str) -> Value {
    // A float, as rewards are: 5.0.
    Value::from(f64::from(u32::try_from(message.chars().count()).unwrap_or(u32::MAX)))
}

fn observation(message: &str, reward: Option<Value>) -> Observation {
    let fields = [("echoed", Value::from(message)), ("length", message.chars().count().into())];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Observation { fields, reward, ..Observation::default() }
}

fn observed(message: &str, reward: Option<Value>) -> Answer {
    Ok(Reply::Observation(observation(message, reward)))
}
