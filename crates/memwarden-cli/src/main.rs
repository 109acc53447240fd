//! The `memwarden` command: arguments in, exit code out.

use clap::Parser as _;
use memwarden_cli::{args::Cli, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&Cli::parse())
}
