//! Actions: what the machine tells its driver to do, in this order.

use core::time::Duration;

use crate::{CloseReason, ExecutorKey, Lifespan, Outcome, SessionKey, Step};

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Start this executor; its first work follows.
    StartExecutor(ExecutorKey),
    /// Build the session's environment there, or as a task. Answer: [`Event::Built`](crate::Event::Built).
    Build(SessionKey, Option<ExecutorKey>),
    /// Enter the MCP context. Answer: [`Event::Entered`](crate::Event::Entered).
    Enter(SessionKey),
    /// Leave the MCP context. Answer: [`Event::Left`](crate::Event::Left).
    Leave(SessionKey),
    /// Close the environment. Answer: [`Event::Closed`](crate::Event::Closed).
    Close(SessionKey),
    /// Stop this executor: nothing more will be asked of it. Answer: [`Event::Stopped`](crate::Event::Stopped).
    StopExecutor(ExecutorKey),

    /// The step is overdue: end it if that can be done. Its own answer stays due.
    Interrupt(SessionKey, Step),
    /// Tell the session's streams to go. No answer is due; they report [`Event::Detached`](crate::Event::Detached).
    TellStreams(SessionKey),
    /// Cut off the session's calls. No answer is due; they report [`Event::CallEnded`](crate::Event::CallEnded).
    CutOff(SessionKey),

    /// Tell: the session is open.
    Opened(SessionKey),
    /// Tell: the session's end has begun.
    Closing(SessionKey, CloseReason),
    /// Tell: a step ended like this after this time.
    StepDone(SessionKey, Step, Outcome, Duration),
    /// Tell: the session holds nothing any more; its key is stale from here on.
    Gone(SessionKey, CloseReason),
    /// Tell: the session was given up in this step. If the step ends after all, the teardown goes on.
    Abandoned(SessionKey, Step, CloseReason),
    /// Tell: this executor hangs and was given up. Its sessions can't be moved.
    ExecutorLost(ExecutorKey),
    /// Tell: the lifespan went on.
    Lifespan(Lifespan),
}
