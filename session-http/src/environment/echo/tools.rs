//! The tools of the built-in environment.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EchoEnvironment, thread_label};
use crate::environment::{Answer, Failure, Reply, Tool, ToolCall, ToolResult};

/// The most letters and numbers that are made on demand, so that one call can't take all memory.
const MOST_LETTERS: i64 = 64 << 20;
const MOST_NUMBERS: i64 = 1 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Addends {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Increment {
    #[serde(default = "one")]
    n: i64,
}

const fn one() -> i64 {
    1
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nap {
    seconds: f64,
    #[serde(default)]
    #[expect(dead_code, reason = "a label for whoever watches the calls; part of the tool's signature")]
    tag: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    n: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Serialize)]
struct WithLength {
    message: String,
    length: usize,
}

#[derive(Serialize)]
struct Whoami<'a> {
    instance: &'a str,
    constructed_on: &'a str,
    tool_on: String,
}

pub(super) static TOOLS: LazyLock<Arc<[Tool]>> = LazyLock::new(|| {
    Arc::new([
        Tool::new::<Message>("echo_message", "Echo back the provided message."),
        Tool::new::<Message>("echo_with_length", "Echo back the message with its length."),
        Tool::new::<Addends>("add", "Add two integers."),
        Tool::new::<Increment>("counter_add", "Add n to this session's counter and return the new value."),
        Tool::new::<Nothing>("counter_get", "Return this session's counter."),
        Tool::new::<Nap>("slow", "Sleep (cooperatively), then return \"slept\"."),
        Tool::new::<Message>("fail", "Always raise an error with the given message."),
        Tool::new::<Nothing>("whoami", "Identify this environment instance and the threads involved."),
        Tool::new::<Count>("big_text", "Return a string of n letters 'x'."),
        Tool::new::<Nothing>("nothing", "Return nothing."),
        Tool::new::<Count>("numbers", "Return [0, 1, ..., n-1]."),
    ])
});

impl EchoEnvironment {
    pub(super) async fn call_tool(&self, call: ToolCall) -> Answer {
        let result = match call.name.as_str() {
            "echo_message" => ToolResult::of(&call.arguments::<Message>()?.message),
            "echo_with_length" => {
                let Message { message } = call.arguments()?;
                ToolResult::of(&WithLength { length: message.chars().count(), message })
            }
            "add" => {
                let Addends { a, b } = call.arguments()?;
                ToolResult::of(&a.checked_add(b).ok_or_else(|| failed(&call, "the sum is too large"))?)
            }
            "counter_add" => ToolResult::of(&self.count_up(&call)?),
            "counter_get" => {
                let Nothing {} = call.arguments()?;
                ToolResult::of(&self.episode().counter)
            }
            "slow" => ToolResult::of(&nap(&call).await?),
            "fail" => return Err(failed(&call, &call.arguments::<Message>()?.message)),
            "whoami" => {
                let Nothing {} = call.arguments()?;
                ToolResult::of(&self.whoami())
            }
            "big_text" => ToolResult::of(&"x".repeat(count(&call, MOST_LETTERS)? as usize)),
            "nothing" => {
                let Nothing {} = call.arguments()?;
                ToolResult::of(&())
            }
            "numbers" => ToolResult::of(&(0..count(&call, MOST_NUMBERS)?).collect::<Vec<_>>()),
            _ => return Err(Failure::UnknownTool(call.name)),
        };
        result.map(Reply::ToolResult)
    }

    fn count_up(&self, call: &ToolCall) -> Result<i64, Failure> {
        let Increment { n } = call.arguments()?;
        let mut episode = self.episode();
        let counter =
            episode.counter.checked_add(n).ok_or_else(|| failed(call, "the counter is too large"))?;
        episode.counter = counter;
        Ok(counter)
    }

    fn whoami(&self) -> Whoami<'_> {
        let (instance, constructed_on) = (&*self.instance, &*self.constructed_on);
        Whoami { instance, constructed_on, tool_on: thread_label() }
    }
}

async fn nap(call: &ToolCall) -> Result<&'static str, Failure> {
    let Nap { seconds, .. } = call.arguments()?;
    let span = Duration::try_from_secs_f64(seconds);
    let span = span.map_err(|error| Failure::InvalidArguments(format!("seconds: {error}")))?;
    tokio::time::sleep(span).await;
    Ok("slept")
}

fn failed(call: &ToolCall, message: &str) -> Failure {
    Failure::ToolFailed { tool: call.name.clone(), message: message.into() }
}

/// How many the client wants: none if negative, as Python counts.
fn count(call: &ToolCall, most: i64) -> Result<i64, Failure> {
    let Count { n } = call.arguments()?;
    if n > most {
        return Err(Failure::InvalidArguments(format!("n: at most {most}")));
    }
    Ok(n.max(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_those_of_the_reference_environment() {
        let schema = |name: &str| TOOLS.iter().find(|tool| tool.name == name).unwrap().input_schema.clone();
        let message = json!({
            "additionalProperties": false,
            "properties": { "message": { "type": "string" } },
            "required": ["message"],
            "type": "object",
        });
        assert_eq!(schema("echo_message"), message);
        let increment = json!({
            "additionalProperties": false,
            "properties": { "n": { "default": 1, "type": "integer" } },
            "type": "object",
        });
        assert_eq!(schema("counter_add"), increment);
        let nothing = json!({ "additionalProperties": false, "properties": {}, "type": "object" });
        assert_eq!(schema("nothing"), nothing);
        let nap = json!({ "seconds": { "type": "number" }, "tag": { "default": "", "type": "string" } });
        assert_eq!(schema("slow")["properties"], nap);
    }
}
