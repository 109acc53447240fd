//! One function for each verb: open, do, print.

mod cost;
mod demo;
mod eval;
mod gate;
mod lab;
mod ledger;
mod memory;
mod meter;
mod models;
mod owner;
mod policy;
mod proxy;
mod quarantine;
mod serve_model;
mod witness;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::{Outcome, import, output, rpc, scan};
use clap::CommandFactory as _;
use memwarden::Role;

/// Runs one command.
pub(crate) fn run(cli: &Cli) -> Result<Outcome, Failure> {
    let global = &cli.global;
    match &cli.command {
        Command::Init { policy } => memory::init(global, policy),
        Command::Remember(entry) => memory::remember(global, entry),
        Command::Recall(wanted) => memory::recall(global, wanted),
        Command::Import { paths } => import::run(global, paths),
        Command::Eval(command) => eval::run(global, command),
        Command::Models(command) => models::run(global, command),
        Command::Scan(args) => scan::run(global, args),
        Command::Gate(command) => gate::run(global, command),
        Command::Quarantine(command) => quarantine::run(global, command),
        Command::Retire { record, reason } => quarantine::retire(global, *record, reason),
        Command::History { record } => memory::history(global, *record),
        Command::Ledger(command) => ledger::run(global, command),
        Command::Backup { to } => owner::backup(global, to),
        Command::Restore { from, reason, .. } => owner::restore(global, from.as_deref(), reason),
        Command::Purge {
            records,
            with_descendants,
            yes,
            reason,
        } => {
            let ask = if *yes {
                owner::Ask::Never
            } else {
                owner::Ask::Person
            };
            let reach = if *with_descendants {
                owner::Reach::WithDescendants
            } else {
                owner::Reach::Named
            };
            owner::purge(global, records, reach, ask, reason)
        }
        Command::Principal(command) => owner::principal(global, command),
        Command::Status => memory::status(global),
        Command::Policy(command) => policy::run(global, command),
        Command::Demo { report, seed } => demo::run(global, report, *seed),
        Command::Cost(args) => cost::run(global, args),
        Command::Lab(command) => lab::run(global, command),
        Command::Proxy(args) => proxy::run(global, args),
        Command::ServeModel(args) => serve_model::run(global, args),
        Command::Meter(command) => meter::run(global, command),
        Command::Rpc => rpc::run(global, Role::Agent),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "memwarden", &mut script);
            output::write(&String::from_utf8_lossy(&script))?;
            Ok(Outcome::Clean)
        }
    }
}
