//! The program: `session-http serve`. Settings in, exit code out; the server is the library's.

mod cli;
mod serve;
mod stderr;

use clap::Parser;

use self::cli::{Cli, Command};

/// Something was abandoned, or the start failed.
const FAILED: u8 = 1;
/// The command line, a variable or the file can't be used as it is.
const USAGE: u8 = 2;

fn main() {
    let code = match Cli::try_parse() {
        Ok(Cli { command: Command::Serve(arguments) }) => serve::run(*arguments),
        Err(error) => {
            // Help and version come as "errors" with code 0. A closed standard output changes nothing.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(USAGE)
        }
    };
    leave(code)
}

/// Ends the process whatever its threads are doing: one that hangs in an environment has been reported, and waiting
/// for it would be waiting for ever.
#[expect(clippy::exit, reason = "the one place where the process ends")]
fn leave(code: u8) -> ! {
    std::process::exit(code.into())
}
