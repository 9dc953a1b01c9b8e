//! What is true when a server has ended.

use session_core::{CloseReason, Control, Outcome, ShutdownReport, Step};
use session_testkit::{ClientState, Fakes, Kind, Record};
use std::collections::BTreeMap;

/// Everything that can be asked of a server that is no more.
pub(crate) struct Ended {
    pub(crate) record: Record,
    pub(crate) fakes: Fakes,
    pub(crate) control: Control,
    pub(crate) report: ShutdownReport,
    pub(crate) exit_code: u8,
}

impl Ended {
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// The claims of every seed case, on all of these sessions.
    #[track_caller]
    pub(crate) fn assert_clean(&self, sessions: &[String]) {
        for session in sessions {
            self.record.assert_closed_once(session).assert_context_left_once(session);
            self.record.assert_order(session).assert_one_thread(session);
            let closed = self.record.last(session, Kind::Closed);
            let closed = closed.or_else(|| self.record.last(session, Kind::CloseRaised));
            self.record.assert_before((session, Kind::McpExit), (session, closed.unwrap().kind));
        }
        // Nothing left, executors stopped, the shared ones last.
        self.record.assert_all().assert_nothing_left().assert_shared_stopped_last();
        self.assert_executors_stopped();
        assert_eq!(self.fakes.count(ClientState::Disconnected), sessions.len(), "MCP clients");
        assert_eq!(self.fakes.clients().len(), sessions.len(), "environments");
        self.assert_books_empty();
        assert!(self.report.is_clean(), "{:?}", self.report);
        assert_eq!(self.exit_code, 0);
    }

    #[track_caller]
    fn assert_executors_stopped(&self) {
        let count = |kind| self.record.events().iter().filter(|event| event.kind == kind).count();
        assert_eq!(count(Kind::ExecutorStarted), count(Kind::ExecutorStopped), "{}", self.record);
        assert_eq!(count(Kind::ThreadWatched), count(Kind::ThreadEnded), "{}", self.record);
        let events = self.record.events();
        let last_gone = events.iter().rposition(|event| event.kind == Kind::Gone);
        let stopped = events.iter().position(|event| event.extra("lifespan") == Some("stopping"));
        assert!(last_gone < stopped, "the shared executors were stopped too early\n{}", self.record);
    }

    #[track_caller]
    fn assert_books_empty(&self) {
        assert_eq!(self.control.list().len(), 0);
        let books = self.control.status().books;
        let left = [
            books.open,
            books.one_shots,
            books.abandoned,
            books.calls,
            books.executors,
            books.leaked_executors,
        ];
        assert_eq!(left, [0; 6], "{books:?}");
    }

    /// How many ended for which reason, over the server's whole life.
    #[track_caller]
    pub(crate) fn assert_closed(&self, by_reason: &[(CloseReason, u64)]) {
        assert_eq!(self.report.closed, BTreeMap::from_iter(by_reason.iter().copied()));
    }

    /// What the report says went wrong in a session.
    pub(crate) fn faults_of(&self, session: &str) -> Vec<(Step, Outcome, Option<String>)> {
        let of_session = self.report.sessions.iter().filter(|report| report.id.as_str() == session);
        of_session
            .flat_map(|report| report.faults())
            .map(|f| (f.step, f.outcome, f.message.clone()))
            .collect()
    }
}
