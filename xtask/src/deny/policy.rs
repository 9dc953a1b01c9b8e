//! `deny.toml`: the part of cargo-deny's format that is checked here. A key that is not known here is an error: a rule
//! that nobody checks would be worse than none.

use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Policy {
    #[serde(rename = "graph")]
    _graph: Graph,
    pub(crate) licenses: Licenses,
    pub(crate) bans: Bans,
    pub(crate) sources: Sources,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Graph {
    #[serde(rename = "all-features")]
    _all_features: Yes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Licenses {
    pub(crate) allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Deny,
    #[serde(rename = "wildcards")]
    _wildcards: Deny,
    #[serde(rename = "allow-wildcard-paths")]
    _allow_wildcard_paths: Yes,
    pub(crate) deny: Vec<Named>,
    pub(crate) skip: Vec<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: Deny,
    #[serde(rename = "unknown-git")]
    _unknown_git: Deny,
    pub(crate) allow_registry: Vec<String>,
}

/// A crate and what is to be said about it: `name` or `name@version`, where the version may be a beginning.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Named {
    #[serde(rename = "crate")]
    pub(crate) spec: String,
    pub(crate) reason: String,
}

impl Named {
    /// Whether this is about that package.
    pub(crate) fn is_about(&self, name: &str, version: &str) -> bool {
        match self.spec.split_once('@') {
            None => self.spec == name,
            Some((its_name, beginning)) => {
                let rest = version.strip_prefix(beginning);
                its_name == name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }
        }
    }
}

/// The only level that is checked here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deny {
    Deny,
}

/// `true`, the only value that is checked here.
#[derive(Debug, Deserialize)]
#[serde(try_from = "bool")]
struct Yes;

impl TryFrom<bool> for Yes {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        if value { Ok(Self) } else { Err("only true is supported") }
    }
}
