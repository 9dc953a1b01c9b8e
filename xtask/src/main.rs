//! The chores of this workspace: `cargo xtask ci | bench | compat | tidy | deny`.
#![expect(clippy::print_stdout, reason = "a command-line tool: standard output is where it answers")]

mod bench;
mod ci;
mod compat;
mod deny;
mod failure;
mod floor;
mod process;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version, about)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

/// One chore.
#[derive(Debug, Subcommand)]
enum Chore {
    /// Everything that has to hold before a change is taken, except the tests
    Ci,
    /// Measure the server against a floor that does the least possible work
    Bench(bench::Options),
    /// Run OpenEnv's black-box suites against the reference server
    Compat(compat::Options),
    /// Check licences, duplicates, bans and sources of the dependencies (deny.toml)
    Deny,
    /// Check what no compiler checks: lengths, purity of the machine, links, sleeps in tests
    Tidy,
    /// Serve the bench's floor: bare hyper, the same JSON in and out
    Floor(floor::Options),
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Ci => ci::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::Compat(options) => compat::run(&options),
        Chore::Deny => deny::run(),
        Chore::Tidy => tidy::run(),
        Chore::Floor(options) => floor::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("\nFAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}
