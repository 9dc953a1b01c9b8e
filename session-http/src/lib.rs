//! Stateful agent servers over HTTP whose sessions are always torn down: in order, on the right thread, exactly once.
//!
//! An *environment* answers [`Call`]s. [`session_core::Sessions`] keeps one for each client. [`OpenEnv`] lets OpenEnv's
//! clients talk to them over HTTP, and [`Server`] is the lifespan around it all: it starts, serves, and on a signal
//! closes every session before it ends and says what it did.
//!
//! It has **no** rule of its own about order, capacity or deadlines: those are `session-core`'s. It is no authorization
//! server, no registry of servers and no load balancer; it works behind them.
//!
//! The whole of a server of your own is in `examples/counter.rs`.

mod body;
mod connection;
mod dialect;
mod environment;
mod jsonrpc;
mod lifespan;
mod limits;
mod listener;
mod server;
mod service;
pub mod settings;

pub use body::Body;
pub use dialect::openenv::{Mode, OpenEnv};
pub use environment::{
    About, Action, ActionKind, Answer, Arguments, Call, EchoEnvironment, Failure, Invalid, Metadata,
    Observation, Reply, Reset, Schemas, Step, TaskQuery, Tool, ToolCall, ToolResult,
};
pub use lifespan::exit::{ConnectionReport, Exit};
pub use lifespan::signals::signals;
pub use limits::Limits;
pub use listener::Listener;
pub use server::{Server, StartError};
pub use service::Service;
