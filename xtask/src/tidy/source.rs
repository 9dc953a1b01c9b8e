//! Rules for every source file: its length, words that promise later work, sleeps in tests.

use super::files::Text;

/// A file with more lines is a type that knows too much.
const LONGEST: usize = 500;

/// Complaints about one file.
pub(crate) fn complaints(text: &Text) -> Vec<String> {
    let mut complaints = Vec::new();
    complaints.extend(unfinished(text));
    if text.is("rs") {
        let length = text.content.lines().count();
        if length > LONGEST {
            complaints.push(text.complain(length, format_args!("longer than {LONGEST} lines: split it")));
        }
        complaints.extend(sleeps(text));
    }
    complaints
}

/// Work that is left belongs into an issue.
fn unfinished(text: &Text) -> Vec<String> {
    // Put together here, or this file would complain about itself.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let marked = text.lines().filter(|(_, line)| words.iter().any(|word| has_word(line, word)));
    marked.map(|(number, _)| text.complain(number, "marks unfinished work: make it an issue")).collect()
}

/// A test that sleeps is slow, or wrong on a slow machine, or both: it has to say why it does so all the same.
fn sleeps(text: &Text) -> Vec<String> {
    const REASON: &str = "// sleep: ";
    let Some(tests_begin) = text.tests_begin() else { return Vec::new() };
    let mut complaints = Vec::new();
    let mut above = "";
    for (number, line) in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let sleeps = number >= tests_begin && code.contains("sleep(") && has_word(code, "sleep");
        if sleeps && !line.contains(REASON) && !above.contains(REASON) {
            complaints.push(text.complain(number, "a test sleeps without `// sleep: reason`"));
        }
        above = line;
    }
    complaints
}

/// Whether a word is there as a whole.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::complaints;
    use crate::tidy::files::Text;

    fn about(path: &str, content: &str) -> usize {
        complaints(&Text { path: path.into(), content: content.to_owned() }).len()
    }

    #[test]
    fn a_giant_file_is_named() {
        assert_eq!(about("src/a.rs", &"\n".repeat(500)), 0);
        assert_eq!(about("src/a.rs", &"\n".repeat(501)), 1);
    }

    #[test]
    fn a_test_gives_a_reason_for_its_sleep() {
        let sleep = concat!("thread::sleep", "(x);\n");
        assert_eq!(about("src/a.rs", sleep), 0, "no test");
        assert_eq!(about("tests/a.rs", sleep), 1);
        assert_eq!(about("src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{sleep}}}")), 1);
        assert_eq!(about("tests/a.rs", &format!("// sleep: the clock is what is tested\n{sleep}")), 0);
    }

    #[test]
    fn unfinished_work_is_named() {
        assert_eq!(about("README.md", concat!("TO", "DO: more")), 1);
        assert_eq!(about("README.md", concat!("TO", "DOS")), 0);
    }
}
