//! `cargo xtask`: chores that need a program and are no part of the product.
//!
//! Exits 0 when what was checked holds, 1 when it does not, 2 for wrong use or when what it
//! works on is not there, 3 when the chore itself failed.

mod bench;
mod cases;
mod crash;
mod deps;
mod distill;
mod eval;
mod hammer;
mod instructions;
#[cfg(feature = "models")]
mod probe;
mod protocol;
mod random;
mod scratch;
mod text;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Whether what was checked holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Everything holds.
    Holds,
    /// Something does not; it was printed.
    Fails,
    /// What the chore works on is not there; it was printed.
    Missing,
}

impl Outcome {
    const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// Chores of the Memwarden workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check that crates import only what ARCHITECTURE.md allows
    Deps,
    /// Kill a writing process at random points and check that no acknowledged write is lost
    Crash(crash::Arguments),
    /// Let two processes write and read one store and check that neither reads a stale state
    Hammer(hammer::Arguments),
    /// Measure against bare SQLite, side by side, and write docs/benchmarks.md
    Bench(bench::Arguments),
    /// Count the instructions of three hot paths and check that none grew
    Instructions(instructions::Arguments),
    /// Make the table of the static encoder again and compare it with the committed one
    Distill(distill::Arguments),
    /// Score the content stages on the open corpora and on our own attacks in disguise
    Eval(eval::Arguments),
    /// Run complaints of users and our own cases through a store under the default preset
    Cases(cases::Arguments),
    /// Ask a language model of this machine how often it follows a line of memory; needs `--features models`
    #[cfg(feature = "models")]
    Probe(probe::Arguments),
    /// The process that `crash` kills
    #[command(hide = true)]
    CrashWorker(crash::WorkerArguments),
    /// One of the two processes of `hammer`
    #[command(hide = true)]
    HammerWorker(hammer::WorkerArguments),
    /// A process of `bench` that recalls
    #[command(hide = true)]
    RecallWorker(bench::WorkerArguments),
    /// What `instructions` counts
    #[command(hide = true)]
    InstructionsWorker(instructions::WorkerArguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Deps => deps::run(),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Hammer(arguments) => hammer::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Instructions(arguments) => instructions::run(&arguments),
        Command::Distill(arguments) => distill::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Cases(arguments) => cases::run(&arguments),
        #[cfg(feature = "models")]
        Command::Probe(arguments) => probe::run(&arguments),
        Command::CrashWorker(arguments) => crash::work(&arguments),
        Command::HammerWorker(arguments) => hammer::work(&arguments),
        Command::RecallWorker(arguments) => bench::work(&arguments),
        Command::InstructionsWorker(arguments) => instructions::work(&arguments),
    };
    match outcome {
        Ok(Outcome::Holds) => ExitCode::SUCCESS,
        Ok(Outcome::Fails) => ExitCode::from(1),
        Ok(Outcome::Missing) => ExitCode::from(2),
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(3)
        }
    }
}
