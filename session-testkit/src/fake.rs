//! Fakes: an environment whose every stage can be told how to behave, and the client in it.

mod behaviour;
mod builder;
mod client;
mod core;
mod environment;
mod http;

pub use behaviour::{Behaviour, Stage};
pub use builder::{FakeBuilder, FakeTasks, Fakes};
pub use client::{ClientState, ClientWatch, FakeMcpClient};
pub use environment::{FakeEnvironment, FakeReply, FakeTask};
pub use http::{HttpFake, HttpFakes};
