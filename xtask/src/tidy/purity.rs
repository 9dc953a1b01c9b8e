//! The machine stays pure: no standard library and no runtime in `session-core` outside its driver, and no dependency
//! but a few data structures. `no_std` holds the first; this names the line, and holds the second.

use std::collections::BTreeSet;

use super::{files::Text, source::has_word};
use crate::{
    failure::{Context, Failure, Result},
    workspace,
};

/// What `session-core` is built from without features.
const ALLOWED: [&str; 10] = [
    "session-core",
    // errors
    "thiserror",
    "thiserror-impl",
    "proc-macro2",
    "quote",
    "syn",
    "unicode-ident",
    // data structures
    "hashbrown",
    "foldhash",
    "slab",
];

/// Complaints about one file of the machine.
pub(crate) fn complaints(text: &Text) -> Vec<String> {
    let Ok(inside) = text.path.strip_prefix("session-core/src") else { return Vec::new() };
    if inside.starts_with("driver") || inside.starts_with("driver.rs") {
        return Vec::new();
    }
    let tests_begin = text.tests_begin().unwrap_or(usize::MAX);
    let code = text.lines().filter(|(number, line)| *number < tests_begin && is_impure(line));
    code.map(|(number, _)| text.complain(number, "the machine knows neither std nor tokio")).collect()
}

fn is_impure(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.contains("std::") && has_word(code, "std") || has_word(code, "tokio")
}

/// Complaints about what the machine is built from.
pub(crate) fn dependencies() -> Result<Vec<String>> {
    let mut tree =
        workspace::cargo(&["tree", "--locked", "--package", "session-core", "--no-default-features"]);
    tree.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let output = tree.output().context("cargo tree")?;
    if !output.status.success() {
        return Err(Failure::new(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr))));
    }
    Ok(compare(&String::from_utf8_lossy(&output.stdout)))
}

fn compare(tree: &str) -> Vec<String> {
    let found: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let allowed = BTreeSet::from(ALLOWED);
    let more = found.difference(&allowed).map(|name| format!("session-core depends on {name}"));
    let fewer =
        allowed.difference(&found).map(|name| format!("session-core does not depend on {name} any more"));
    more.chain(fewer).collect()
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED, compare, complaints};
    use crate::tidy::files::Text;

    fn about(path: &str, content: &str) -> usize {
        complaints(&Text { path: path.into(), content: content.to_owned() }).len()
    }

    #[test]
    fn the_machine_names_neither_std_nor_tokio() {
        let machine = "session-core/src/lifecycle/usage.rs";
        assert_eq!(about(machine, "use std::time::Instant;"), 1);
        assert_eq!(about(machine, "    tokio::spawn(x)"), 1);
        assert_eq!(about(machine, "// like std::time, but given"), 0);
        assert_eq!(about("session-core/src/lib.rs", "#[cfg(feature = \"driver\")]\nextern crate std;"), 0);
        assert_eq!(about(machine, "#[cfg(test)]\nmod tests { use std::vec; }"), 0);
    }

    #[test]
    fn the_driver_may() {
        assert_eq!(about("session-core/src/driver.rs", "use std::time::Instant;"), 0);
        assert_eq!(about("session-core/src/driver/timer.rs", "use tokio::time;"), 0);
        assert_eq!(about("session-http/src/lib.rs", "use std::time::Instant;"), 0);
    }

    #[test]
    fn a_dependency_more_or_fewer_is_named() {
        let lines = ALLOWED.join(" v1\n");
        assert!(compare(&lines).is_empty());
        assert_eq!(compare(&format!("{lines}\nrand v1")).len(), 1);
        assert_eq!(compare(&lines.replace("slab", "")).len(), 1);
    }
}
