//! What is on the wire, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that can't go on ends")]

mod capacity;
mod example;
mod limits;
mod rest;
mod rpc;
mod world;
