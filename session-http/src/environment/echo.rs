//! The built-in environment: it echoes, counts, waits and fails on demand.

mod tools;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use session_core::{Overlap, TaskEnvironment, Unheard};
use uuid::Uuid;

use self::tools::TOOLS;
use super::{About, Action, Answer, Call, Metadata, Observation, Reply, Reset};

/// OpenEnv's echo environment, with a few tools that make a lifecycle visible.
///
/// Its calls overlap, and a call whose client has gone is cancelled. It needs no thread, and runs on one as well.
#[derive(Debug)]
pub struct EchoEnvironment {
    instance: String,
    constructed_on: String,
    episode: Mutex<Episode>,
}

#[derive(Debug)]
struct Episode {
    id: String,
    steps: u64,
    counter: i64,
}

impl EchoEnvironment {
    /// A fresh instance.
    #[must_use]
    pub fn new() -> Self {
        Self::with_instance(Uuid::new_v4().to_string())
    }

    /// A fresh instance that calls itself `instance`.
    #[must_use]
    pub fn with_instance(instance: String) -> Self {
        let episode = Episode { id: Uuid::new_v4().to_string(), steps: 0, counter: 0 };
        Self { instance, constructed_on: thread_label(), episode: Mutex::new(episode) }
    }

    /// What a server says about it.
    #[must_use]
    pub fn about() -> About {
        About::tools("echo_env", "EchoEnvironment")
    }

    /// How it calls itself.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    fn episode(&self) -> MutexGuard<'_, Episode> {
        self.episode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self, reset: Reset) -> Answer {
        let id = reset.episode_id.unwrap_or_else(|| Uuid::new_v4().to_string());
        *self.episode() = Episode { id, steps: 0, counter: 0 };
        let metadata = [
            ("status", Value::from("ready")),
            ("message", "Echo environment ready!".into()),
            ("seed", reset.seed.map_or(Value::Null, Value::Number)),
            ("options", reset.options.into()),
        ];
        let metadata = metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Reply::Observation(Observation { metadata, reward: Some(json!(0.0)), ..Observation::default() }))
    }

    fn state(&self) -> Answer {
        let episode = self.episode();
        let state = [("episode_id", Value::from(episode.id.as_str())), ("step_count", episode.steps.into())];
        Ok(Reply::State(
            state.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
        ))
    }
}

/// A text that no two threads have at the same time.
fn thread_label() -> String {
    format!("{:?}", std::thread::current().id())
}

impl Default for EchoEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskEnvironment for EchoEnvironment {
    type Call = Call;
    type Reply = Answer;

    const OVERLAP: Overlap = Overlap::Concurrent;
    const UNHEARD: Unheard = Unheard::Cancel;

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::Metadata => Ok(Reply::Metadata(Metadata::named("EchoEnvironment"))),
            Call::ListTools => Ok(Reply::Tools(Arc::clone(&TOOLS))),
            Call::CallTool(call) => self.call_tool(call).await,
            Call::Reset(reset) => self.reset(reset),
            Call::Step(step) => {
                self.episode().steps += 1;
                match step.action {
                    Action::ListTools => Ok(Reply::Tools(Arc::clone(&TOOLS))),
                    Action::CallTool(call) => self.call_tool(call).await,
                    Action::Typed(_) => Call::ListTools.unsupported(),
                }
            }
            Call::State => self.state(),
            Call::Tasks(_) => call.unsupported(),
        }
    }
}
