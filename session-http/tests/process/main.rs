//! The program as an operator meets it: flags, variables, signals, exit codes, and what it says.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod configuration;
mod program;
mod signals;
mod usage;
