//! The README's two commands are there, are right, and are what the project itself uses.

use std::{fs, path::Path};

use super::files::Text;
use crate::failure::{Context, Result};

/// Starts the server.
const RUN: &str = "cargo run --release -p session-http -- serve";

/// Passes the tests.
const TEST: &str = "cargo test --workspace --all-features";

/// Complaints about the README of the workspace in `root`.
pub(crate) fn complaints(root: &Path, texts: &[Text]) -> Result<Vec<String>> {
    let script = fs::read_to_string(root.join(".ci/run")).context(".ci/run")?;
    let content = |path: &str| texts.iter().find(|text| text.path == Path::new(path)).map(|it| &*it.content);
    let readme = content("README.md").unwrap_or_default();
    let mut complaints = compare(readme, &script);
    if content("session-http/src/bin/session-http/main.rs").is_none() {
        complaints.push(format!("session-http has no program of its name: `{RUN}` can't work"));
    }
    Ok(complaints)
}

fn compare(readme: &str, script: &str) -> Vec<String> {
    let has = |text: &str, command: &str| text.lines().any(|line| line == command);
    let mut complaints = Vec::new();
    for command in [RUN, TEST] {
        if !has(readme, command) {
            complaints.push(format!("README.md: lacks the command `{command}`"));
        }
    }
    let first = script.lines().find(|line| line.starts_with("cargo "));
    if first != Some(TEST) {
        complaints.push(format!(".ci/run: does not begin with the README's `{TEST}`"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::{RUN, TEST, compare};

    #[test]
    fn both_commands_are_wanted_and_the_second_is_run_first() {
        let readme = format!("```\n{RUN}\n{TEST}\n```\n");
        let script = format!("set -e\n{TEST}\ncargo xtask ci\n");
        assert!(compare(&readme, &script).is_empty());
        assert_eq!(compare(&readme.replace("--release", ""), &script).len(), 1);
        assert_eq!(compare(&readme, "cargo fmt\n").len(), 1);
    }
}
