//! What an environment is asked.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::Failure;

/// One call on an environment.
#[derive(Clone, Debug)]
pub enum Call {
    /// Describe yourself.
    Metadata,
    /// Which tools there are.
    ListTools,
    /// Call a tool.
    CallTool(ToolCall),
    /// Begin a new episode.
    Reset(Reset),
    /// Take one step of the episode.
    Step(Step),
    /// The state of the episode.
    State,
    /// About the tasks that the environment offers.
    Tasks(TaskQuery),
}

impl Call {
    /// The answer of an environment that doesn't do this.
    ///
    /// # Errors
    /// Always: [`Failure::Unsupported`].
    pub const fn unsupported(&self) -> super::Answer {
        let what = match self {
            Self::Metadata => "metadata",
            Self::ListTools | Self::CallTool(_) => "MCP",
            Self::Reset(_) => "reset",
            Self::Step(_) => "step",
            Self::State => "state",
            Self::Tasks(query) => query.method(),
        };
        Err(Failure::Unsupported(what))
    }
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

impl ToolCall {
    /// The arguments as the type that describes them.
    ///
    /// # Errors
    /// [`Failure::InvalidArguments`] with a text that names what does not fit.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.arguments.parse()
    }
}

/// The arguments of a tool, as they were sent: an object if the client is right.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Option<Box<RawValue>>);

impl Arguments {
    /// These arguments; `null` counts as none.
    #[must_use]
    pub fn new(json: Option<&RawValue>) -> Self {
        Self(json.filter(|json| json.get() != "null").map(ToOwned::to_owned))
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.as_ref().map_or("{}", |json| json.get())
    }

    /// The arguments as the type that describes them. Of duplicate members the last counts.
    ///
    /// # Errors
    /// [`Failure::InvalidArguments`] with a text that names what does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let text = self.as_json();
        if !text.starts_with('{') {
            return Err(Failure::InvalidArguments("they must be an object".into()));
        }
        serde_json::from_str(text).or_else(|error| {
            // A map keeps the last of duplicates, which the derived type refuses.
            let invalid = |error: serde_json::Error| Failure::InvalidArguments(error.to_string());
            let map: Map<String, Value> = serde_json::from_str(text).map_err(invalid)?;
            T::deserialize(Value::Object(map)).map_err(|_| invalid(error))
        })
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(map: Map<String, Value>) -> Self {
        // A map with text keys always serialises.
        Self(serde_json::value::to_raw_value(&map).ok())
    }
}

/// The beginning of an episode.
#[derive(Clone, Debug, Default)]
pub struct Reset {
    /// Not negative, of any size.
    pub seed: Option<Number>,
    /// The name that the client gives to the episode.
    pub episode_id: Option<String>,
    /// Whatever else the client sent.
    pub options: Map<String, Value>,
}

/// One step of an episode.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// Whatever else the client sent beside the action.
    pub options: Map<String, Value>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// List the tools.
    ListTools,
    /// Call a tool.
    CallTool(ToolCall),
    /// An action of the environment's own kind, which it validates itself.
    Typed(Map<String, Value>),
}

/// A question about tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskQuery {
    /// Which splits there are.
    Splits,
    /// All tasks of a split.
    List {
        /// The split.
        split: String,
    },
    /// How many tasks a split has.
    Count {
        /// The split.
        split: String,
    },
    /// One task.
    Get {
        /// The split.
        split: String,
        /// Its index. Can be out of range.
        index: i64,
    },
    /// Some tasks of a split.
    Range {
        /// The split.
        split: String,
        /// The first, from the start if `None`; negative ones count from the end.
        start: Option<i64>,
        /// The one after the last, to the end if `None`; negative ones count from the end.
        stop: Option<i64>,
    },
}

impl TaskQuery {
    /// The name that OpenEnv gives to the method behind it.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Splits => "list_splits",
            Self::List { .. } => "list_tasks",
            Self::Count { .. } => "num_tasks",
            Self::Get { .. } => "get_task",
            Self::Range { .. } => "get_task_range",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<std::collections::BTreeMap<String, i64>, String> {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        Arguments::new(Some(&raw)).parse().map_err(|failure| failure.to_string())
    }

    #[derive(Debug, serde::Deserialize)]
    struct Named {
        a: i64,
    }

    #[test]
    fn null_is_no_arguments_and_anything_but_an_object_is_refused() {
        assert!(parse("null").unwrap().is_empty());
        assert_eq!(parse("[1]").unwrap_err(), "Invalid arguments: they must be an object");
    }

    #[test]
    fn of_duplicate_members_the_last_counts() {
        let raw: Box<RawValue> = serde_json::from_str(r#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(Arguments::new(Some(&raw)).parse::<Named>().unwrap().a, 2);
    }
}
