//! What the `memwarden` command is made of, as a library so that its parts can be tested.

#![expect(missing_docs, reason = "clap prints the doc comments of arguments; the rest is described by its module")]

pub mod args;
mod commands;
pub mod failure;
pub mod formats;
mod import;
mod output;
mod policy_source;
pub mod rpc;
mod session;
mod wire;

use args::Cli;
use failure::{Failure, report};
use std::process::ExitCode;

/// How a command ended when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report.
    Clean,
    /// It worked, and found something that a person should look at.
    Findings,
}

/// Runs the command and prints its failure, if any.
#[must_use]
pub fn run(cli: &Cli) -> ExitCode {
    match commands::run(cli) {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure, cli.global.json);
            ExitCode::from(failure.exit_code())
        }
    }
}
