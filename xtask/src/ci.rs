//! `cargo xtask ci`: everything that has to hold before a change is taken, cheapest first. The tests are not among it:
//! `.ci/run` runs them before, with the command that the README names.

use std::time::Instant;

use crate::{
    compat, deny,
    failure::{Context, Result},
    tidy, workspace,
};

/// A step: its heading and what it does.
struct Step {
    heading: &'static str,
    what: What,
}

/// What a step does.
enum What {
    /// Calls cargo, where a warning is a failure if the flag is set in that environment variable.
    Cargo(&'static str, Option<&'static str>),
    /// Does it here.
    Chore(fn() -> Result),
}

const STEPS: [Step; 9] = [
    Step { heading: "format", what: What::Cargo("fmt --all --check", None) },
    Step { heading: "tidy", what: What::Chore(tidy::run) },
    Step { heading: "dependencies", what: What::Chore(deny::run) },
    Step {
        heading: "clippy",
        what: What::Cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings", None),
    },
    Step {
        heading: "documentation",
        what: What::Cargo("doc --locked --no-deps --workspace --all-features", Some("RUSTDOCFLAGS")),
    },
    Step {
        heading: "session-core without features",
        what: What::Cargo("clippy --locked -p session-core --no-default-features -- -D warnings", None),
    },
    Step {
        heading: "session-core's driver",
        what: What::Cargo("clippy --locked -p session-core --features driver -- -D warnings", None),
    },
    Step {
        heading: "session-core's tests without features",
        what: What::Cargo("test --locked -p session-core --no-default-features", None),
    },
    Step { heading: "OpenEnv", what: What::Chore(compat::everything) },
];

/// Runs the steps, up to the first that fails.
pub(crate) fn run() -> Result {
    let begun = Instant::now();
    for Step { heading, what } in &STEPS {
        println!("\n== {heading}");
        let step_begun = Instant::now();
        match what {
            What::Cargo(arguments, flags) => cargo(arguments, *flags),
            What::Chore(chore) => chore(),
        }
        .context(heading)?;
        println!("-- {heading}: {:.1} s", step_begun.elapsed().as_secs_f64());
    }
    println!("\nall of it holds ({:.0} s)", begun.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(arguments: &str, flags: Option<&str>) -> Result {
    println!("$ cargo {arguments}");
    let mut command = workspace::cargo(&arguments.split(' ').collect::<Vec<_>>());
    if let Some(variable) = flags {
        command.env(variable, "-D warnings");
    }
    workspace::run(&mut command)
}
