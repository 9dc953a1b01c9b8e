//! Why a chore failed, in words for the one who started it.

use std::fmt;

/// What a chore returns.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// A chore's failure: a sentence, with the sentences of its causes behind it.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure that has no other cause.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was being done when something else failed.
pub(crate) trait Context<T> {
    /// Puts `doing` before the cause.
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Failure(format!("{doing}: {cause}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| Failure(doing.to_string()))
    }
}
