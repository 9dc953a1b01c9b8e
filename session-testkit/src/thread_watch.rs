//! Threads that tell of their own end.
//!
//! A driver may say that it stopped an executor; a thread that ended can't be mistaken. The last
//! thing a thread does before it can be joined is to drop its thread-local values: one of them
//! records.

use crate::event::{Kind, Thread};
use crate::recorder::Recorder;
use std::cell::RefCell;

struct Watched {
    recorder: Recorder,
    thread: Thread,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.recorder.record_on(self.thread.clone(), "", Kind::ThreadEnded, Vec::new());
    }
}

thread_local! {
    static WATCHED: RefCell<Vec<Watched>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn watch(recorder: &Recorder) {
    WATCHED.with_borrow_mut(|watched| {
        if watched.iter().any(|known| known.recorder.is_same(recorder)) {
            return;
        }
        recorder.record("", Kind::ThreadWatched);
        watched.push(Watched { recorder: recorder.clone(), thread: Thread::current() });
    });
}
