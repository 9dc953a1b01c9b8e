//! The kit itself: what it claims to catch, it catches.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod chaos;
mod claims;
mod clock;
mod driver;
mod fake;
mod gate;
mod http;
mod recorder;
mod story;
mod timeline;
