//! The `memwarden` command: arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    memwarden_cli::main(std::env::args_os().collect())
}
