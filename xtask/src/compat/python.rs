//! The Python environment that the suites run in: `.venv` in the workspace's root, made from the pinned requirements.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Context, Result},
    workspace,
};

/// A Python that has what the suites import.
#[derive(Debug)]
pub(crate) struct Python(PathBuf);

impl Python {
    /// The one in `.venv`, made anew when the requirements have changed since.
    pub(crate) fn prepare() -> Result<Self> {
        let root = workspace::root();
        let (venv, requirements) = (root.join(".venv"), root.join(".ci/requirements.txt"));
        let python = venv.join("bin/python");
        if !is_current(&venv, &requirements)? {
            println!("making {} from {}", venv.display(), requirements.display());
            workspace::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
            let mut install = Command::new(&python);
            install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
            workspace::run(install.arg(&requirements))?;
            // Last: an environment without it was not finished.
            fs::copy(&requirements, stamp(&venv)).context("marking the environment as current")?;
        }
        Ok(Self(python))
    }

    /// A program of the kit, which is read only: nothing compiled is left next to it.
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(program).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
        command
    }
}

fn stamp(venv: &Path) -> PathBuf {
    venv.join("made-from.txt")
}

fn is_current(venv: &Path, requirements: &Path) -> Result<bool> {
    let wanted = fs::read(requirements).context(requirements.display())?;
    Ok(fs::read(stamp(venv)).is_ok_and(|made_from| made_from == wanted))
}
