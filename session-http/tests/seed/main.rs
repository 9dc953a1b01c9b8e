//! The cases this project began with: whatever happens before and during a shutdown, every session is torn down in
//! order, on its thread, exactly once, and the server can say so.
//!
//! Over real HTTP, inside the real lifespan, on each kind of thread.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// The same claim for each kind of thread: `per_session::…`, `shared::…`, `pinned::…`.
macro_rules! on_every_kind_of_thread {
    ($($claim:ident),+ $(,)?) => {
        on_every_kind_of_thread!(@kind per_session, session_core::Threads::PerSession, $($claim),+);
        on_every_kind_of_thread!(@kind shared, session_core::Threads::Shared, $($claim),+);
        on_every_kind_of_thread!(@kind pinned, crate::world::two_pinned(), $($claim),+);
    };
    (@kind $kind:ident, $threads:expr, $($claim:ident),+) => {
        mod $kind {
            $(
                #[tokio::test]
                async fn $claim() {
                    super::$claim($threads).await;
                }
            )+
        }
    };
}

mod closed_before;
mod ended;
mod failing_close;
mod normal;
mod reaping;
mod world;
