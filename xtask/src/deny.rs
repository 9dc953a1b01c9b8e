//! `cargo xtask deny`: are the dependencies welcome? Licences, duplicates, bans and sources, as `deny.toml` says.

mod license;
mod policy;

use std::{collections::BTreeMap, fs};

use serde::Deserialize;

use self::policy::{Bans, Policy};
use crate::{
    failure::{Context, Failure, Result},
    workspace,
};

/// A package of the dependency graph, on whatever platform it is used.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<String>,
}

/// Checks them all and says everything that is wrong, not only the first.
pub(crate) fn run() -> Result {
    let file = workspace::root().join("deny.toml");
    let text = fs::read_to_string(&file).context("deny.toml")?;
    let policy: Policy = toml::from_str(&text).context("deny.toml")?;
    let mut metadata = workspace::metadata(false)?;
    let packages: Vec<Package> =
        serde_json::from_value(metadata["packages"].take()).context("cargo metadata's packages")?;
    let complaints = complaints(&policy, &packages);
    complaints.iter().for_each(|complaint| println!("  {complaint}"));
    if complaints.is_empty() {
        println!("{} packages, all welcome", packages.len());
        Ok(())
    } else {
        Err(Failure::new(format!("{} complaints about dependencies", complaints.len())))
    }
}

fn complaints(policy: &Policy, packages: &[Package]) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in packages {
        complaints.extend(unwelcome(policy, package).map(|why| {
            let Package { name, version, .. } = package;
            format!("{name} {version}: {why}")
        }));
        complaints.extend(wildcards(package));
    }
    complaints.extend(duplicates(&policy.bans, packages));
    complaints
}

/// Why this package alone is not welcome.
fn unwelcome(policy: &Policy, package: &Package) -> Option<String> {
    let expression = package.license.as_deref().unwrap_or("none named");
    if !license::is_allowed(expression, &policy.licenses.allow) {
        return Some(format!("license {expression}"));
    }
    if let Some(banned) = policy.bans.deny.iter().find(|ban| ban.is_about(&package.name, &package.version)) {
        return Some(format!("banned: {}", banned.reason));
    }
    // Without a source it is one of ours.
    let source = package.source.as_deref()?;
    let registry = source.strip_prefix("registry+");
    let known =
        registry.is_some_and(|from| policy.sources.allow_registry.iter().any(|allowed| allowed == from));
    (!known).then(|| format!("comes from {source}"))
}

/// Our own requirements that any version would fulfil.
fn wildcards(package: &Package) -> impl Iterator<Item = String> {
    let ours = package.source.is_none();
    let any = package.dependencies.iter().filter(move |used| ours && used.req == "*" && used.path.is_none());
    any.map(|used| format!("{} wants any version of {}", package.name, used.name))
}

/// Crates that are there in more than one version, and exceptions that nothing needs.
fn duplicates(bans: &Bans, packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let excused = |name: &str, version: &str| bans.skip.iter().any(|skip| skip.is_about(name, version));
    let mut complaints = Vec::new();
    for (name, versions) in &versions {
        if versions.iter().filter(|version| !excused(name, version)).count() > 1 {
            complaints.push(format!("{name} is there more than once: {}", versions.join(", ")));
        }
    }
    for skip in &bans.skip {
        let needed = |(name, versions): (&&str, &Vec<&str>)| versions.iter().any(|v| skip.is_about(name, v));
        if !versions.iter().any(needed) {
            complaints.push(format!("the exception for {} is not needed: {}", skip.spec, skip.reason));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::{Package, complaints};

    fn package(name: &str, version: &str, license: &str, source: &str) -> Package {
        let (license, source) = (Some(license.to_owned()), Some(source.to_owned()));
        Package { name: name.into(), version: version.into(), license, source, dependencies: Vec::new() }
    }

    #[test]
    fn every_kind_of_unwelcome_package_is_named() {
        const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
        let policy = toml::from_str(include_str!("../../deny.toml")).expect("our own file can be read");
        let packages = [
            package("good", "1.0.0", "MIT OR GPL-3.0-only", CRATES_IO),
            package("viral", "1.0.0", "GPL-3.0-only", CRATES_IO),
            package("elsewhere", "1.0.0", "MIT", "git+https://example.org/elsewhere"),
            package("openssl-sys", "0.9.0", "MIT", CRATES_IO),
            package("twice", "1.0.0", "MIT", CRATES_IO),
            package("twice", "2.0.0", "MIT", CRATES_IO),
            package("syn", "2.0.1", "MIT", CRATES_IO),
            package("syn", "3.0.1", "MIT", CRATES_IO),
        ];
        let complaints = complaints(&policy, &packages);
        let about = |word: &str| complaints.iter().filter(|complaint| complaint.contains(word)).count();
        for unwelcome in ["viral", "elsewhere", "openssl-sys", "twice"] {
            assert_eq!(about(unwelcome), 1, "{unwelcome} in {complaints:?}");
        }
        assert_eq!(complaints.len(), 4, "{complaints:?}");
    }
}
