//! Where things are, and how cargo is called.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::failure::{Context, Failure, Result};

/// The workspace's root: the folder above this crate.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started us, or the one on the path, called in the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command to its end, its output where ours goes.
pub(crate) fn run(command: &mut Command) -> Result {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().context(format_args!("cannot start {name}"))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name} ended with {status}"))) }
}

/// What `cargo metadata` says, without dependencies when `own_only`.
pub(crate) fn metadata(own_only: bool) -> Result<Value> {
    let mut command = cargo(&["metadata", "--format-version", "1", "--locked", "--all-features"]);
    if own_only {
        command.arg("--no-deps");
    }
    let output = command.output().context("cannot start cargo metadata")?;
    if !output.status.success() {
        return Err(Failure::new(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr))));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata's answer")
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata(true)?;
    let path = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(path))
}

/// Builds a package's program with optimisation; returns the folder it is in. One package a call: together they would
/// be given each other's features, which is not what is shipped.
pub(crate) fn build_release(package: &str, program: &str) -> Result<PathBuf> {
    run(&mut cargo(&["build", "--release", "--locked", "--package", package, "--bin", program]))?;
    Ok(target_directory()?.join("release"))
}
