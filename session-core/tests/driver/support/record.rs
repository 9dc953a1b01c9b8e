//! What happened to environments, in one total order, and on which thread.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use tokio::sync::watch;

/// Something an environment did, or that was done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Did {
    Build,
    Enter,
    /// A call reached it.
    Call(u32),
    /// The call was answered.
    Reply(u32),
    /// The call was dropped, or panicked, before it was answered.
    Lost(u32),
    Leave,
    Close,
    Drop,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) did: Did,
    pub(crate) thread: ThreadId,
    pub(crate) name: String,
    /// The kernel's number of the thread.
    pub(crate) tid: String,
}

/// Append-only, shared by all environments of a test.
#[derive(Clone)]
pub(crate) struct Record {
    entries: Arc<Mutex<Vec<Entry>>>,
    grown: watch::Sender<usize>,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self { entries: Arc::default(), grown: watch::Sender::new(0) }
    }

    pub(crate) fn add(&self, id: &str, did: Did) {
        let thread = std::thread::current();
        let path = std::fs::read_link("/proc/thread-self").unwrap_or_default();
        let tid = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = thread.name().unwrap_or_default().into();
        let entry = Entry { id: id.into(), did, thread: thread.id(), name, tid };
        self.entries.lock().unwrap().push(entry);
        self.grown.send_modify(|grown| *grown += 1);
    }

    pub(crate) fn all(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }

    /// What one session did.
    pub(crate) fn of(&self, id: &str) -> Vec<Did> {
        self.all().into_iter().filter(|entry| entry.id == id).map(|entry| entry.did).collect()
    }

    pub(crate) fn count(&self, did: Did) -> usize {
        self.entries.lock().unwrap().iter().filter(|entry| entry.did == did).count()
    }

    /// Where in the record this is.
    pub(crate) fn position(&self, id: &str, did: Did) -> usize {
        let all = self.all();
        let found = all.iter().position(|entry| entry.id == id && entry.did == did);
        found.unwrap_or_else(|| panic!("{id} did not {did:?}:\n{}", self.show()))
    }

    /// Waits until the session did that.
    pub(crate) async fn until(&self, id: &str, did: Did) {
        let mut grown = self.grown.subscribe();
        let is_it = |entry: &Entry| entry.id == id && entry.did == did;
        while !self.entries.lock().unwrap().iter().any(is_it) {
            grown.changed().await.unwrap();
        }
    }

    /// Every environment that was built was closed and dropped, after its context was left (I1, I2).
    pub(crate) fn assert_taken_apart(&self) {
        let mut histories = BTreeMap::<_, Vec<_>>::new();
        for entry in self.all() {
            histories.entry(entry.id).or_default().push(entry.did);
        }
        for (id, did) in histories {
            let mut lives = did.split_inclusive(|did| *did == Did::Drop);
            assert!(lives.all(is_whole_life), "{id}: {did:?}\n{}", self.show());
        }
    }

    /// All that a session did, it did on one thread (I3).
    pub(crate) fn assert_one_thread(&self, id: &str) -> Entry {
        let entries: Vec<_> = self.all().into_iter().filter(|entry| entry.id == id).collect();
        let first = entries.first().unwrap_or_else(|| panic!("{id} did nothing")).clone();
        assert!(entries.iter().all(|entry| entry.thread == first.thread), "{}", self.show());
        first
    }

    pub(crate) fn show(&self) -> String {
        self.all().iter().fold(String::new(), |mut text, entry| {
            let _ = writeln!(text, "{:12} {:?} on {} {:?}", entry.id, entry.did, entry.name, entry.thread);
            text
        })
    }
}

/// From a build that went well to the drop: entered at most once, left once if calls were possible, closed once or,
/// if that failed, twice. A build that failed stands alone, in front.
fn is_whole_life(did: &[Did]) -> bool {
    let count = |it: Did| did.iter().filter(|did| **did == it).count();
    let place = |it: Did| did.iter().position(|did| *did == it);
    if count(Did::Drop) == 0 {
        return did.iter().all(|did| *did == Did::Build);
    }
    let called = did.iter().any(|did| matches!(did, Did::Call(_)));
    let last_use = did.iter().rposition(|did| matches!(did, Did::Call(_) | Did::Reply(_) | Did::Lost(_)));
    let left_after_use = count(Did::Leave) == 0 || last_use.is_none_or(|at| Some(at) < place(Did::Leave));
    let left_first = count(Did::Leave) == 0 || place(Did::Leave) < place(Did::Close);
    (!called || count(Did::Leave) == 1)
        && count(Did::Enter) <= 1
        && count(Did::Leave) <= count(Did::Enter)
        && (1..=2).contains(&count(Did::Close))
        && left_after_use
        && left_first
        && did.last() == Some(&Did::Drop)
}

/// Whether the kernel has no such thread of this process any more. A thread that was joined may be seen a moment
/// longer, while the kernel tidies up: that moment is waited for.
pub(crate) fn thread_is_gone(tid: &str) -> bool {
    let path = format!("/proc/self/task/{tid}");
    (0..1_000_000).any(|_| {
        std::thread::yield_now();
        !std::path::Path::new(&path).exists()
    })
}
