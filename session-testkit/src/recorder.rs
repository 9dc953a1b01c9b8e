//! The append-only log of what happened.

use crate::event::{Event, Extras, Kind, Thread};
use crate::event_log::EventLog;
use crate::patience::{Impatient, within};
use crate::record::Record;
use crate::span::{Span, SpanGuard};
use crate::thread_watch;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Records lifecycle events from any thread, in one total order. Clones share one recording.
///
/// Environments record what happens to them; a test waits for events, and takes a
/// [`Record`] to assert on.
///
/// ```
/// use session_testkit::{Kind, Recorder};
///
/// let recorder = Recorder::new();
/// recorder.record("a", Kind::Constructed);
/// assert_eq!(recorder.record_so_far().count("a", Kind::Constructed), 1);
/// ```
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    began: Instant,
    keep: Keep,
    book: Mutex<Book>,
    /// How many events there are: what waiters wait on.
    written: watch::Sender<u64>,
}

/// Whether events stay in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    All,
    /// A long-running program that only writes the log must not grow with it.
    Nothing,
}

struct Book {
    next: u64,
    events: Vec<Event>,
    log: Option<EventLog>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("written", &*self.shared.written.borrow()).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder that keeps everything in memory.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Keep::All, None)
    }

    /// Keeps everything in memory and appends it to a JSON-lines event log, too.
    ///
    /// # Errors
    /// If the file can't be opened for appending.
    pub fn with_log(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::with(Keep::All, Some(EventLog::append_to(path.as_ref())?)))
    }

    /// Only appends to a JSON-lines event log: nothing to assert on, nothing that grows.
    ///
    /// # Errors
    /// If the file can't be opened for appending.
    pub fn only_log(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::with(Keep::Nothing, Some(EventLog::append_to(path.as_ref())?)))
    }

    /// Forgets everything at once, for programs in which recording is a setting.
    #[must_use]
    pub fn off() -> Self {
        Self::with(Keep::Nothing, None)
    }

    fn with(keep: Keep, log: Option<EventLog>) -> Self {
        let book = Mutex::new(Book { next: 0, events: Vec::new(), log });
        let written = watch::Sender::new(0);
        Self { shared: Arc::new(Shared { began: Instant::now(), keep, book, written }) }
    }

    /// Records that `kind` happened to `session`, here and now.
    pub fn record(&self, session: &str, kind: Kind) {
        self.record_with(session, kind, []);
    }

    /// The same, with more about it.
    pub fn record_with(&self, session: &str, kind: Kind, extras: impl Into<Extras>) {
        self.record_on(Thread::current(), session, kind, extras.into());
    }

    /// A thread that is ending can't be asked for its name any more, so it is passed in.
    pub(crate) fn record_on(&self, thread: Thread, session: &str, kind: Kind, extras: Extras) {
        let mut book = self.shared.book.lock().unwrap_or_else(PoisonError::into_inner);
        // Times are read under the lock, so that they grow with the sequence numbers.
        let event = Event {
            sequence: book.next,
            at: self.shared.began.elapsed(),
            unix: unix_seconds(),
            thread,
            session: session.into(),
            kind,
            extras,
        };
        book.next += 1;
        if let Some(log) = &mut book.log
            && let Err(error) = log.write(&event)
        {
            // A recorder must not take the server down that it watches.
            tracing::error!(%error, "the event log can't be written");
        }
        if self.shared.keep == Keep::All {
            book.events.push(event);
        }
        let written = book.next;
        drop(book);
        self.shared.written.send_modify(|seen| *seen = written.max(*seen));
    }

    /// Records a beginning now, and an end when the guard ends or is dropped.
    pub fn begin(&self, session: &str, span: Span) -> SpanGuard {
        SpanGuard::begin(self.clone(), session.into(), span)
    }

    /// Records a free text among the events.
    pub fn note(&self, session: &str, text: &str) {
        self.record_with(session, Kind::Note, [("note", text.into())]);
    }

    /// Watches the calling thread: its end becomes an event, recorded by the thread itself as its
    /// last act. Watching a thread again changes nothing.
    pub fn watch_thread(&self) {
        thread_watch::watch(self);
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What was recorded so far.
    #[must_use]
    pub fn record_so_far(&self) -> Record {
        Record::new(self.shared.book.lock().unwrap_or_else(PoisonError::into_inner).events.clone())
    }

    /// Waits until `kind` has happened to `session` (at once if it has already).
    ///
    /// `patience` is measured on the machine's clock, not on tokio's: what a test waits for happens
    /// on real threads even if tokio's clock is paused.
    ///
    /// # Errors
    /// [`NotSeen`] if it has not happened within `patience`; prints the recording.
    pub async fn wait_for(&self, session: &str, kind: Kind, patience: Duration) -> Result<Event, NotSeen> {
        let what = format!("{kind} of {session:?}");
        self.wait(&what, patience, |event| event.is(session, kind)).await
    }

    /// Waits until an event was recorded that `wanted` accepts (at once if there is one already).
    ///
    /// # Errors
    /// [`NotSeen`] if there is none within `patience` (see [`wait_for`](Self::wait_for)).
    pub async fn wait_until(
        &self,
        patience: Duration,
        wanted: impl FnMut(&Event) -> bool,
    ) -> Result<Event, NotSeen> {
        self.wait("the event", patience, wanted).await
    }

    async fn wait(
        &self,
        what: &str,
        patience: Duration,
        mut wanted: impl FnMut(&Event) -> bool,
    ) -> Result<Event, NotSeen> {
        let search = async {
            let mut written = self.shared.written.subscribe();
            let mut from = 0;
            loop {
                written.mark_unchanged();
                if let Some(found) = self.find_from(&mut from, &mut wanted) {
                    return found;
                }
                if written.changed().await.is_err() {
                    // The sender lives in `self`: it can't be gone while we are here.
                    std::future::pending::<()>().await;
                }
            }
        };
        within(patience, search).await.map_err(|Impatient { .. }| NotSeen {
            what: what.into(),
            patience,
            record: self.record_so_far(),
        })
    }

    /// Each event is shown to `wanted` once, in order, so that it may count.
    fn find_from(&self, from: &mut usize, wanted: &mut impl FnMut(&Event) -> bool) -> Option<Event> {
        let book = self.shared.book.lock().unwrap_or_else(PoisonError::into_inner);
        let found = book.events.iter().skip(*from).find(|event| wanted(event)).cloned();
        *from = book.events.len();
        found
    }
}

/// What a test waited for did not happen in time.
pub struct NotSeen {
    what: String,
    patience: Duration,
    record: Record,
}

impl NotSeen {
    /// What had happened by then.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }
}

impl fmt::Display for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not recorded within {:?}; what was:\n{}", self.what, self.patience, self.record)
    }
}

/// Debug prints what Display prints: it is what `unwrap()` in a test shows.
impl fmt::Debug for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotSeen {}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
