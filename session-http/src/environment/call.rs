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

/// A JSON object, as it was sent.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Option<Box<RawValue>>);

impl Arguments {
    /// These arguments, if they are an object; `null` counts as none.
    #[must_use]
    pub fn new(json: Option<&RawValue>) -> Option<Self> {
        match json.map(RawValue::get) {
            None | Some("null") => Some(Self(None)),
            Some(text) if text.starts_with('{') => Some(Self(json.map(ToOwned::to_owned))),
            Some(_) => None,
        }
    }

    /// The JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.as_ref().map_or("{}", |json| json.get())
    }

    /// The arguments as the type that describes them.
    ///
    /// # Errors
    /// [`Failure::InvalidArguments`] with a text that names what does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(self.as_json()).map_err(|error| Failure::InvalidArguments(error.to_string()))
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
