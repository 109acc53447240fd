//! The command line of `cost`.

use clap::Args;
use std::path::PathBuf;

/// `memwarden cost …`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads the files that `scan` reads, for example memory exports, or JSON lines with a `content` each. Nothing is stored, no
agent is needed, and nobody has to say what is legitimate: what is kept out is shown, so that you can say it.")]
pub struct CostArgs {
    /// Preset or TOML file
    #[arg(long, default_value = memwarden::guard::DEFAULT_PRESET, value_name = "PRESET|FILE")]
    pub policy: String,
    /// Ordinary memories, in the order in which they were written
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub traffic: Vec<PathBuf>,
    /// Examples of each stage
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub examples: usize,
}
