//! What an implementer writes.

use core::future::{Future, ready};
use std::boxed::Box;

use crate::SessionId;

/// Any error of an environment. Its text goes into reports, logs and answers.
pub type BoxError = Box<dyn core::error::Error + Send + Sync + 'static>;

/// Whether calls of one session may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// One after the other, in the order in which they were asked.
    Serialised,
    /// At the same time; a fast one overtakes a slow one.
    Concurrent,
}

/// What becomes of a call whose caller has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unheard {
    /// It runs to its end; nobody hears the reply.
    Finish,
    /// It is cancelled: its future is dropped at the await point where it is.
    Cancel,
}

/// What a session keeps alive, on a thread of its own or one that it shares.
///
/// It is built, entered, called, left, closed and dropped on one thread and need not be `Send`: the compiler holds that
/// promise (I3). A method may block its thread, which holds up only those who share the thread; it may also await, and
/// use tokio's I/O, timers and `spawn_local`.
///
/// A teardown is `leave` (if `enter` succeeded), then `close`, then drop. Every future may be dropped at an await point
/// when its deadline passed.
pub trait Environment: 'static {
    /// What is asked of it.
    type Call: Send + 'static;
    /// What it answers.
    type Reply: Send + 'static;

    /// Whether calls of one session may run at the same time.
    const OVERLAP: Overlap = Overlap::Serialised;
    /// What becomes of a call whose caller has gone.
    const UNHEARD: Unheard = Unheard::Finish;

    /// Enters the MCP context: whatever must be connected while the session is open.
    ///
    /// # Errors
    /// The session is not opened; the environment is closed, the context is not left.
    fn enter(&self) -> impl Future<Output = Result<(), BoxError>> {
        ready(Ok(()))
    }

    /// Answers one call.
    fn call(&self, call: Self::Call) -> impl Future<Output = Self::Reply>;

    /// Leaves the MCP context. Asked exactly once, after the last call, if it was entered.
    ///
    /// # Errors
    /// Reported; the teardown goes on.
    fn leave(&self) -> impl Future<Output = Result<(), BoxError>> {
        ready(Ok(()))
    }

    /// Closes the environment.
    ///
    /// # Errors
    /// Reported, and tried once more; then the teardown goes on.
    fn close(&self) -> impl Future<Output = Result<(), BoxError>> {
        ready(Ok(()))
    }
}

/// The same for an environment that needs no thread: it runs as tasks, and calls in the caller's own task.
///
/// Every `TaskEnvironment` is an [`Environment`], too, so that it can also be given a thread.
pub trait TaskEnvironment: Send + Sync + 'static {
    /// See [`Environment::Call`].
    type Call: Send + 'static;
    /// See [`Environment::Reply`].
    type Reply: Send + 'static;

    /// See [`Environment::OVERLAP`].
    const OVERLAP: Overlap = Overlap::Serialised;
    /// See [`Environment::UNHEARD`].
    const UNHEARD: Unheard = Unheard::Finish;

    /// See [`Environment::enter`].
    ///
    /// # Errors
    /// See [`Environment::enter`].
    fn enter(&self) -> impl Future<Output = Result<(), BoxError>> + Send {
        ready(Ok(()))
    }

    /// See [`Environment::call`].
    fn call(&self, call: Self::Call) -> impl Future<Output = Self::Reply> + Send;

    /// See [`Environment::leave`].
    ///
    /// # Errors
    /// See [`Environment::leave`].
    fn leave(&self) -> impl Future<Output = Result<(), BoxError>> + Send {
        ready(Ok(()))
    }

    /// See [`Environment::close`].
    ///
    /// # Errors
    /// See [`Environment::close`].
    fn close(&self) -> impl Future<Output = Result<(), BoxError>> + Send {
        ready(Ok(()))
    }
}

impl<E: TaskEnvironment> Environment for E {
    type Call = E::Call;
    type Reply = E::Reply;
    const OVERLAP: Overlap = E::OVERLAP;
    const UNHEARD: Unheard = E::UNHEARD;

    fn enter(&self) -> impl Future<Output = Result<(), BoxError>> {
        TaskEnvironment::enter(self)
    }

    fn call(&self, call: Self::Call) -> impl Future<Output = Self::Reply> {
        TaskEnvironment::call(self, call)
    }

    fn leave(&self) -> impl Future<Output = Result<(), BoxError>> {
        TaskEnvironment::leave(self)
    }

    fn close(&self) -> impl Future<Output = Result<(), BoxError>> {
        TaskEnvironment::close(self)
    }
}

/// Makes environments. It is shared by all threads; what it makes stays on the thread where it was called.
///
/// Implemented for closures `Fn(&SessionId) -> Result<E, BoxError>`. Building may block its thread (as a
/// task it has none of its own and must not). What has to be awaited
/// belongs into [`Environment::enter`].
pub trait Factory: Send + Sync + 'static {
    /// What it makes.
    type Environment: 'static;

    /// Makes the environment of this session.
    ///
    /// # Errors
    /// The session is not opened, and there is nothing to close.
    fn build(&self, id: &SessionId) -> Result<Self::Environment, BoxError>;
}

impl<E, F> Factory for F
where
    E: 'static,
    F: Fn(&SessionId) -> Result<E, BoxError> + Send + Sync + 'static,
{
    type Environment = E;

    fn build(&self, id: &SessionId) -> Result<E, BoxError> {
        self(id)
    }
}
