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
        /// Ask this model in the place of the file's: simulated, local:PATH or endpoint:URL#MODEL
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Cells at a time [default: one for each processor]
        #[arg(long, value_name = "N")]
        threads: Option<std::num::NonZeroUsize>,
    },
    /// Make a table, a CSV file and an HTML page of what a run recorded
    Report {
        /// The directory of the run
        directory: PathBuf,
    },
    /// Grade the answers of a run on the price of defenses once more, beside the grades that are there
    Regrade {
        /// The directory of the run
        directory: PathBuf,
        /// Who grades, of another provider than the model: endpoint:URL#MODEL
        #[arg(long, value_name = "MODEL")]
        judge: String,
        /// The dialogues, where they lie elsewhere than the experiment says
        #[arg(long, value_name = "FILE")]
        dialogues: Option<PathBuf>,
        /// The prices, where they lie elsewhere than the experiment says
        #[arg(long, value_name = "FILE")]
        prices: Option<PathBuf>,
    },
    /// Derive what can be derived from the cells of a published table, for example price-of-safety/table5.csv
    Recompute {
        /// CSV with a cell a line
        file: PathBuf,
    },
    /// Show which questions a cut leaves of a file of dialogues
    Dialogues {
        /// LoCoMo as published, JSON or zip
        file: PathBuf,
        /// Turns that are kept of each dialogue
        #[arg(long, default_value_t = 150, value_name = "N")]
        turns: usize,
        /// Questions that are asked of each dialogue at most
        #[arg(long, default_value_t = 75, value_name = "N")]
        questions: usize,
    },
    /// Say how far a grader agrees with labels that people made
    Calibrate {
        /// JSON lines of labels [default: the answers of our own that the abstention detector was tuned and checked on]
        #[arg(long, value_name = "FILE")]
        labels: Option<PathBuf>,
        /// The judge, where the labels have right answers: endpoint:URL#MODEL
        #[arg(long, value_name = "MODEL")]
        judge: Option<String>,
    },
}
