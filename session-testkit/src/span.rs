//! Begin and end of one thing, so that an end is recorded on every way out.

use crate::event::{Extras, Kind};
use crate::recorder::Recorder;
use std::sync::Arc;

/// What has a beginning and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Leaving the MCP context.
    McpExit,
    /// Closing the environment.
    Close,
    /// A call, with its text.
    Call(String),
    /// A tool.
    Tool {
        /// Its name.
        tool: String,
        /// What the caller calls this run of it.
        tag: String,
    },
}

impl Span {
    fn begin(&self) -> Kind {
        match self {
            Self::McpExit => Kind::McpExitBegin,
            Self::Close => Kind::CloseBegin,
            Self::Call(_) => Kind::CallBegin,
            Self::Tool { .. } => Kind::ToolBegin,
        }
    }

    fn end(&self) -> Kind {
        match self {
            Self::McpExit => Kind::McpExit,
            Self::Close => Kind::Closed,
            Self::Call(_) => Kind::CallEnd,
            Self::Tool { .. } => Kind::ToolEnd,
        }
    }

    /// A call or tool that failed has ended like any other: its error is an answer.
    fn raised(&self) -> Kind {
        match self {
            Self::McpExit => Kind::McpExitRaised,
            Self::Close => Kind::CloseRaised,
            Self::Call(_) => Kind::CallEnd,
            Self::Tool { .. } => Kind::ToolEnd,
        }
    }

    fn cancelled(&self) -> Kind {
        match self {
            Self::McpExit => Kind::McpExitCancelled,
            Self::Close => Kind::CloseCancelled,
            Self::Call(_) => Kind::CallCancelled,
            Self::Tool { .. } => Kind::ToolCancelled,
        }
    }

    fn extras(&self) -> Extras {
        match self {
            Self::McpExit | Self::Close => Vec::new(),
            Self::Call(call) => vec![("call", call.as_str().into())],
            Self::Tool { tool, tag } => vec![("tool", tool.as_str().into()), ("tag", tag.as_str().into())],
        }
    }
}

/// Something under way: its beginning is recorded, its end will be.
///
/// Dropped without [`end`](Self::end) or [`raised`](Self::raised), it was interrupted, or, if the
/// thread is panicking, it raised.
#[must_use = "dropping it records an interruption"]
#[derive(Debug)]
pub struct SpanGuard {
    recorder: Recorder,
    session: Arc<str>,
    span: Span,
    over: bool,
}

impl SpanGuard {
    pub(crate) fn begin(recorder: Recorder, session: Arc<str>, span: Span) -> Self {
        recorder.record_with(&session, span.begin(), span.extras());
        Self { recorder, session, span, over: false }
    }

    /// It ended well.
    pub fn end(mut self) {
        self.finish(self.span.end());
    }

    /// It ended with an error.
    pub fn raised(mut self) {
        self.finish(self.span.raised());
    }

    /// It ended as `result` says.
    pub fn end_as<T, E>(self, result: &Result<T, E>) {
        match result {
            Ok(_) => self.end(),
            Err(_) => self.raised(),
        }
    }

    fn finish(&mut self, kind: Kind) {
        self.over = true;
        self.recorder.record_with(&self.session, kind, self.span.extras());
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let kind = if std::thread::panicking() { self.span.raised() } else { self.span.cancelled() };
        self.finish(kind);
    }
}
