//! The files of the workspace that are checked: everything except what tools made.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::failure::{Context, Result};

/// Folders that hold nothing written by hand.
const MADE: [&str; 5] = ["target", ".git", ".venv", "node_modules", "__pycache__"];

/// A text file, read.
#[derive(Debug)]
pub(crate) struct Text {
    /// Where, from the workspace's root.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) content: String,
}

impl Text {
    /// Whether its name ends with `.extension`.
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|its| its == extension)
    }

    /// Its lines, numbered from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.content.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The number of the line from which on everything is a test: 1 in a folder of tests.
    pub(crate) fn tests_begin(&self) -> Option<usize> {
        let parts = self.path.components();
        if self.is("rs") && parts.into_iter().any(|part| part.as_os_str() == "tests") {
            return Some(1);
        }
        self.lines().find(|(_, line)| line.trim_start().starts_with("#[cfg(test)]")).map(|(number, _)| number)
    }

    /// A complaint about a line.
    pub(crate) fn complain(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }
}

/// All Rust sources, documents and manifests below `root`.
pub(crate) fn all(root: &Path) -> Result<Vec<Text>> {
    let (mut texts, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).context(folder.display())? {
            let path = entry.context(folder.display())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !MADE.contains(&name.as_ref()) {
                folders.push(path);
            } else if path.is_file()
                && ["rs", "md", "toml"].iter().any(|end| path.extension() == Some(end.as_ref()))
            {
                let content = fs::read_to_string(&path).context(path.display())?;
                let path = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
                texts.push(Text { path, content });
            }
        }
    }
    texts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(texts)
}
