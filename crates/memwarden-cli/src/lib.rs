//! What the `memwarden` command is made of, as a library so that its parts can be tested.

#![expect(
    missing_docs,
    reason = "clap prints the doc comments of arguments; the rest is described by its module"
)]

pub mod args;
mod commands;
pub mod failure;
pub mod formats;
mod gate_wire;
mod import;
pub mod lab_args;
mod output;
mod policy_source;
pub mod rpc;
pub mod scan;
mod session;
mod strict;
mod wire;

use args::Cli;
use clap::Parser as _;
use failure::{Failure, report};
use std::ffi::OsString;
use std::process::ExitCode;

/// How a command ended when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report.
    Clean,
    /// It worked, and found something that a person should look at.
    Findings,
    /// It worked, but nothing lies at a path that was named.
    Missing,
}

/// Reads the command line and runs what it asks for.
#[must_use]
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let json = arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json");
    match Cli::try_parse_from(arguments) {
        Ok(cli) => run(&cli),
        Err(error) => misused(&error, json),
    }
}

/// Help and version go to stdout; a command line that cannot be read is bad input like any other.
fn misused(error: &clap::Error, json: bool) -> ExitCode {
    let text = error.render().to_string();
    let inert = memwarden::visible(&text);
    if json && error.use_stderr() {
        let message = inert.split("\n\nUsage:").next().unwrap_or_default();
        let message = message
            .split("\n\nFor more information")
            .next()
            .unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message).trim();
        report(&Failure::Input(message.to_owned()), json);
    } else if inert == text {
        // With its colors. Nobody is left to tell if the terminal is gone.
        let _ = error.print();
    } else {
        eprint!("{inert}");
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Runs the command and prints its failure, if any.
#[must_use]
pub fn run(cli: &Cli) -> ExitCode {
    match commands::run(cli) {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Ok(Outcome::Missing) => ExitCode::from(2),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure, cli.global.json);
            ExitCode::from(failure.exit_code())
        }
    }
}
