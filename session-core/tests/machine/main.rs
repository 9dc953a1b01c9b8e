//! The machine alone, in worlds with their own time: no thread, no clock, no feature.
#![cfg(test)]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the actions that it asks about")]

mod calls;
mod capacity;
mod executors;
mod idle;
mod opening;
mod overdue;
mod replay;
mod shutdown;
mod teardown;
mod world;
