//! The event log: JSON lines that a judge outside of the process can read at any moment.

use crate::event::Event;
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Appends one line an event, each with a single unbuffered write: several processes may share a
/// file, and a line that was written survives a crash of its writer.
#[derive(Debug)]
pub(crate) struct EventLog {
    file: File,
}

impl EventLog {
    pub(crate) fn append_to(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().append(true).create(true).open(path)? })
    }

    pub(crate) fn write(&mut self, event: &Event) -> io::Result<()> {
        self.file.write_all(line(event).as_bytes())
    }
}

fn line(event: &Event) -> String {
    let mut object = Map::new();
    object.insert("session".into(), (*event.session).into());
    object.insert("event".into(), event.kind.name().into());
    object.insert("thread".into(), event.thread.to_string().into());
    object.insert("time".into(), event.unix.into());
    if event.kind.raised() {
        object.insert("raised".into(), true.into());
    }
    object.extend(event.extras.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let mut line = Value::Object(object).to_string();
    line.push('\n');
    line
}
