//! Links between documents lead somewhere.

use std::path::Path;

use super::files::Text;

/// Complaints about the relative links of one document.
pub(crate) fn complaints(root: &Path, text: &Text) -> Vec<String> {
    if !text.is("md") {
        return Vec::new();
    }
    let folder = root.join(text.path.parent().unwrap_or_else(|| Path::new("")));
    let mut complaints = Vec::new();
    let mut in_code = false;
    for (number, line) in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let lost = targets(line).filter(|target| !in_code && !folder.join(target).exists());
        complaints.extend(lost.map(|target| text.complain(number, format_args!("no such file: {target}"))));
    }
    complaints
}

/// The files that a line's links name: `[words](file#place)`, without addresses elsewhere.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = links.filter_map(|link| link.split(['#', ' ']).next());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:"))
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn only_links_to_files_are_followed() {
        let line = "[a](docs/a.md#here), [b](https://example.org/b), [c](#below) and [d](LICENSE-MIT)";
        assert_eq!(targets(line).collect::<Vec<_>>(), ["docs/a.md", "LICENSE-MIT"]);
    }
}
