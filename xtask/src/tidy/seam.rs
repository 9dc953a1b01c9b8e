//! The seam between the machine and its driver: the driver uses the machine as any other crate would, and the machine
//! does not know the driver. Then the driver can move out with a `git mv`.

use super::{files::Text, source::has_word};

/// Complaints about one file of `session-core`.
pub(crate) fn complaints(text: &Text) -> Vec<String> {
    let Ok(inside) = text.path.strip_prefix("session-core/src") else { return Vec::new() };
    let wrong: fn(&str) -> Option<&'static str> = if inside.starts_with("driver") {
        inside_of_the_machine
    } else if inside.starts_with("driver.rs") {
        above_the_driver
    } else if inside.starts_with("lib.rs") {
        // The one place that knows both.
        hidden_export
    } else {
        names_the_driver
    };
    let code = text.lines().map(|(number, line)| (number, line.split("//").next().unwrap_or_default()));
    code.filter_map(|(number, code)| wrong(code).map(|what| text.complain(number, what))).collect()
}

/// `crate::Name` is exported; `crate::module::Name` is the machine's own business.
fn inside_of_the_machine(code: &str) -> Option<&'static str> {
    let reaches_in = code.match_indices("crate::").any(|(at, found)| {
        let name = &code[at + found.len()..];
        !code[..at].ends_with('$') && name.starts_with(|letter: char| letter.is_ascii_lowercase())
    });
    (reaches_in || code.contains("super::super::"))
        .then_some("the driver uses what the machine exports: `crate::Name`, no path through its modules")
}

fn above_the_driver(code: &str) -> Option<&'static str> {
    let above = has_word(code, "super") && !code.contains("pub(super)");
    inside_of_the_machine(code).or_else(|| {
        above.then_some("the driver uses what the machine exports: `crate::Name`, nothing of `super`")
    })
}

fn hidden_export(code: &str) -> Option<&'static str> {
    code.contains("pub(crate) use").then_some("an export for the driver alone: then another driver lacks it")
}

fn names_the_driver(code: &str) -> Option<&'static str> {
    let path = code.contains("driver::") || code.contains("::driver");
    (path && has_word(code, "driver")).then_some("the machine does not know its driver")
}

#[cfg(test)]
mod tests {
    use super::complaints;
    use crate::tidy::files::Text;

    fn about(path: &str, content: &str) -> usize {
        complaints(&Text { path: path.into(), content: content.to_owned() }).len()
    }

    #[test]
    fn the_driver_uses_exported_names_only() {
        let timer = "session-core/src/driver/timer.rs";
        assert_eq!(about(timer, "use crate::{Event, Lifecycle};\nuse super::shared::Shared;"), 0);
        assert_eq!(about(timer, "fn at() -> crate::Timestamp {"), 0);
        assert_eq!(about(timer, "use crate::lifecycle::registry::Slot;"), 1);
        assert_eq!(about(timer, "pub(crate) fn f(x: super::super::session::Phase) {}"), 1);
        assert_eq!(about("session-core/src/driver.rs", "use super::session::Phase;"), 1);
        assert_eq!(about("session-core/src/driver.rs", "pub use call::{Call, CallError};"), 0);
    }

    #[test]
    fn the_machine_does_not_name_the_driver() {
        let usage = "session-core/src/lifecycle/usage.rs";
        assert_eq!(about(usage, "use crate::driver::Sessions;"), 1);
        assert_eq!(about(usage, "/// What the driver reports; see crate::driver."), 0);
        assert_eq!(about("session-core/src/lib.rs", "mod driver;\npub use driver::{Sessions};"), 0);
        assert_eq!(about("session-core/src/lib.rs", "pub(crate) use session::Slot;"), 1);
        assert_eq!(about("session-http/src/lib.rs", "use session_core::driver::X;"), 0);
    }
}
