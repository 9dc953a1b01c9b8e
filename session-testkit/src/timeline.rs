//! A recording as swim lanes: one lane a thread, time downwards.

use crate::event::{Event, Teller};
use crate::record::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// The lane of what the driver told: on whichever thread it was heard, it did not happen there.
const DRIVER: &str = "driver";

/// How many characters of a session's id are shown, if they tell the sessions apart.
const SHORT: usize = 8;

/// A printable view of a [`Record`]; plain ASCII as far as names are.
///
/// ```text
///   #       ms | session-a#2            | driver
/// --------------------------------------------------------
///   0    0.012 |                        | a opening
///   1    0.034 | a constructing         |
/// > 2    0.040 | a constructed          |
/// ```
///
/// Lines marked with `>` are those that a broken claim points at.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    record: &'a Record,
    marked: BTreeSet<u64>,
}

impl<'a> Timeline<'a> {
    pub(crate) fn new(record: &'a Record) -> Self {
        Self { record, marked: BTreeSet::new() }
    }

    /// Points at these events (by sequence number).
    #[must_use]
    pub fn marking(mut self, sequences: impl IntoIterator<Item = u64>) -> Self {
        self.marked.extend(sequences);
        self
    }
}

impl fmt::Display for Timeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.record.events().is_empty() {
            return f.write_str("(nothing was recorded)\n");
        }
        let lanes = Lanes::of(self.record);
        lanes.write_header(f)?;
        for event in self.record.events() {
            lanes.write_event(f, event, self.marked.contains(&event.sequence))?;
        }
        lanes.write_legend(f)
    }
}

struct Lanes<'a> {
    /// Titles in order of appearance, each with its width.
    titles: Vec<(String, usize)>,
    names: BTreeMap<&'a str, &'a str>,
}

impl<'a> Lanes<'a> {
    fn of(record: &'a Record) -> Self {
        let mut lanes = Self { titles: Vec::new(), names: short_names(&record.sessions()) };
        for event in record.events() {
            let title = title(event);
            let width = lanes.text(event).chars().count();
            match lanes.titles.iter_mut().find(|(known, _)| *known == title) {
                Some((_, widest)) => *widest = width.max(*widest),
                None => {
                    let width = width.max(title.chars().count());
                    lanes.titles.push((title, width));
                }
            }
        }
        // The driver comments on what the others do: its lane is the last.
        lanes.titles.sort_by_key(|(title, _)| title == DRIVER);
        lanes
    }

    fn text(&self, event: &Event) -> String {
        let name = self.names.get(&*event.session).copied().unwrap_or_default();
        let mut text = String::from(name);
        if !name.is_empty() {
            text.push(' ');
        }
        text += &event.kind.to_string();
        for (key, value) in &event.extras {
            // A text speaks for itself; a number needs its name.
            match value {
                Value::String(value) if value.is_empty() => {}
                Value::String(value) => text += &format!(" {}", value.escape_debug()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    text += &format!(" {key}={value}");
                }
            }
        }
        text
    }

    fn write_header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = format!("{:>5} {:>10}", "#", "ms");
        for (title, width) in &self.titles {
            // Writing to a `String` does not fail.
            let _ = write!(line, " | {title:width$}");
        }
        writeln!(f, "{}", line.trim_end())?;
        writeln!(f, "{}", "-".repeat(line.chars().count()))
    }

    fn write_event(&self, f: &mut fmt::Formatter<'_>, event: &Event, marked: bool) -> fmt::Result {
        let mark = if marked { '>' } else { ' ' };
        let mut line = format!("{mark}{:>4} {:>10.3}", event.sequence, event.at.as_secs_f64() * 1e3);
        let own = title(event);
        for (title, width) in &self.titles {
            let text = if *title == own { self.text(event) } else { String::new() };
            let _ = write!(line, " | {text:width$}");
        }
        writeln!(f, "{}", line.trim_end())
    }

    fn write_legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (full, short) in &self.names {
            if full != short {
                writeln!(f, "      {short} = {full}")?;
            }
        }
        Ok(())
    }
}

fn title(event: &Event) -> String {
    match event.kind.teller() {
        Teller::Environment | Teller::Thread => event.thread.to_string(),
        Teller::Driver => DRIVER.into(),
    }
}

/// Ids are long and random: their beginnings do, as long as these differ.
fn short_names<'a>(sessions: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let short = |id: &'a str| id.get(..SHORT).unwrap_or(id);
    let different: BTreeSet<&str> = sessions.iter().map(|id| short(id)).collect();
    let unique = different.len() == sessions.len();
    sessions.iter().map(|id| (*id, if unique { short(id) } else { *id })).collect()
}
