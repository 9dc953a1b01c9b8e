//! What the driver promises, on real threads and on tokio: I1-I10 as far as they concern more than the machine.
#![cfg(test)]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the events that it asks about")]

mod affinity;
mod budget;
mod calls;
mod cancellation;
mod capacity;
mod chaos;
mod deadlines;
mod endings;
mod executors;
mod observers;
mod opening;
mod panic;
mod races;
mod retry;
mod runtime;
mod shutdown;
mod streams;
mod support;
