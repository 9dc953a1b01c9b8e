//! A server of one's own: an environment with two tools, and all that a session needs.
//!
//! `cargo run -p session-http --example counter`, then `POST /mcp` as in the README.

#![expect(clippy::print_stdout, clippy::wildcard_enum_match_arm, reason = "short, to be read")]

use std::cell::Cell;

use schemars::JsonSchema;
use serde::Deserialize;
use session_core::{BoxError, Config, Environment, SessionId, Sessions, Threads};
use session_http::{About, Answer, Call, Failure, OpenEnv, Reply, Server, Tool, ToolResult, signals};

/// What a session keeps alive. It never leaves its thread, so a `Cell` will do.
#[derive(Default)]
struct Counter(Cell<i64>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    n: i64,
}

impl Environment for Counter {
    type Call = Call;
    type Reply = Answer;

    async fn call(&self, call: Call) -> Answer {
        match call {
            Call::ListTools => Ok(Reply::Tools([Tool::new::<Add>("add", "Add to the counter.")].into())),
            Call::CallTool(call) if call.name == "add" => {
                self.0.set(self.0.get() + call.arguments::<Add>()?.n);
                ToolResult::of(&self.0.get()).map(Reply::ToolResult)
            }
            Call::CallTool(call) => Err(Failure::UnknownTool(call.name)),
            other => other.unsupported(),
        }
    }

    async fn close(&self) -> Result<(), BoxError> {
        println!("closed at {}", self.0.get()); // on the thread that built it, exactly once
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let factory = |_: &SessionId| Ok(Counter::default());
    let sessions = Sessions::on_threads(Config::default(), Threads::PerSession, factory);
    let service = OpenEnv::new(sessions, About::tools("counter", "Counter"));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".into());
    let exit = Server::bind(&address).await?.serve(service, signals()?).await?;
    println!("{exit}");
    std::process::exit(exit.code().into())
}
