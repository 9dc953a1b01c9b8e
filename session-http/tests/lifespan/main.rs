//! The lifespan wrapper over real sockets: start, serve, limits, and the order of the end.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod app;
mod client;
mod connections;
mod ending;
mod exit;
mod start;
