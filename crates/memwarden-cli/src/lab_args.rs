//! The command line of `lab`, which is large enough for a page of its own.

use clap::Subcommand;
use std::path::PathBuf;

/// `memwarden lab …`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run the cells of an experiment that are not finished yet
    Run {
        /// An experiment, for example experiments/quick.toml
        file: PathBuf,
        /// Where records go [default: lab/ and the experiment's name]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Cells at a time [default: one for each processor]
        #[arg(long, value_name = "N")]
        threads: Option<std::num::NonZeroUsize>,
    },
    /// Make a table, a CSV file and an HTML page of what a run recorded
    Report {
        /// The directory of the run
        directory: PathBuf,
    },
}
