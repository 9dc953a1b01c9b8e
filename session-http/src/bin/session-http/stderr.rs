//! Standard error that never holds anybody up.
//!
//! Whoever started the program may not read what it says. A pipe that is full would block the thread that writes, and
//! with it the shutdown: so one thread does all the writing, and what it can't keep up with is counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// How many lines may wait: a shutdown of ten thousand sessions.
const BACKLOG: usize = 16_384;

/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(1);

/// Cheap to clone. Each `write` is one line, and is written whole or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Stderr {
    lines: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// Everything before it has been written.
    Reached(SyncSender<()>),
}

impl Stderr {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start() -> io::Result<Self> {
        let (lines, waiting) = sync_channel(BACKLOG);
        thread::Builder::new().name("stderr".to_owned()).spawn(move || write_all(&waiting))?;
        Ok(Self { lines, lost: Arc::default() })
    }

    /// Says one thing more, and waits a little until everything is written.
    pub(crate) fn say_last(mut self, what: impl std::fmt::Display) {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            // Can't fail: what there is no place for is lost as well.
            let _ =
                writeln!(self, "{lost} lines of the log were lost: standard error is not read fast enough");
        }
        let last = format!("{what}\n").into_bytes();
        let (reached, all) = sync_channel(1);
        let lines = self.lines;
        // A thread of its own waits for room: this is not to be lost only because the reader is slow.
        let waiting = thread::Builder::new().spawn(move || {
            for message in [Message::Line(last), Message::Reached(reached)] {
                // Nobody writes any more: nothing can be said.
                let _ = lines.send(message);
            }
        });
        if waiting.is_ok() {
            let _ = all.recv_timeout(LAST);
        }
    }
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.lines.try_send(Message::Line(line.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(waiting: &Receiver<Message>) {
    for message in waiting {
        // Errors: nobody listens any more, and nobody could be told.
        match message {
            Message::Line(line) => drop(io::stderr().write_all(&line)),
            Message::Reached(reached) => drop(reached.send(())),
        }
    }
}
