//! Answers that come up while an earlier transition is still being carried out on this thread.
//!
//! A runtime that is shutting down drops a new task at once, and the step's ticket answers for it then and there. That
//! answer can begin the next step, whose task is dropped at once, too: a loop, so that no number of sessions is too
//! deep for the stack.

use core::cell::RefCell;
use std::boxed::Box;
use std::collections::VecDeque;

type Answer = Box<dyn FnOnce()>;

std::thread_local! {
    /// What waits. `None` while nothing is being carried out.
    static WAITING: RefCell<Option<VecDeque<Answer>>> = const { RefCell::new(None) };
}

/// Gives the answer now, or when what is being carried out on this thread is done.
pub(crate) fn run(answer: impl FnOnce() + 'static) {
    let mut answer = Some(answer);
    // While the thread's locals are being destroyed nothing is being carried out on it.
    let _ = WAITING.try_with(|waiting| {
        if let Some(waiting) = waiting.borrow_mut().as_mut() {
            waiting.extend(answer.take().map(|answer| Box::new(answer) as Answer));
        }
    });
    if let Some(answer) = answer {
        answer();
    }
}

/// Does the work, then gives the answers that came up in it and in each other.
pub(crate) fn after(work: impl FnOnce()) {
    let outermost = WAITING.try_with(|waiting| {
        let mut waiting = waiting.borrow_mut();
        let outermost = waiting.is_none();
        waiting.get_or_insert_default();
        outermost
    });
    let _end = outermost.is_ok_and(|outermost| outermost).then(|| Outermost); // made only if it is: see its drop
    work();
}

/// Gives what waits when it is dropped, even by a panic.
struct Outermost;

impl Drop for Outermost {
    fn drop(&mut self) {
        while let Some(answer) = next() {
            answer();
        }
    }
}

/// The next that waits; with the last one the waiting is over.
fn next() -> Option<Answer> {
    let next = WAITING.try_with(|waiting| {
        let mut waiting = waiting.borrow_mut();
        let next = waiting.as_mut().and_then(VecDeque::pop_front);
        if next.is_none() {
            *waiting = None;
        }
        next
    });
    next.ok().flatten()
}
