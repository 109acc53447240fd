//! Experiments: cells of a grid, run in parallel, one record each, and what is made of the records.
//!
//! What experiments on agents share: `prompt` (files with a digest), `decision` (a reply parsed strictly), `model`
//! (stand-in, local or endpoint), `defense` (a condition).
//!
//! `file` reads `experiments/*.toml`; `kinds` says which [`Experiment`] a file is; `run` runs its cells and can
//! be stopped and resumed; `tables` is what a report consists of. What a cell does is none of their business.
//!
//! A record is a pure function of configuration and seed: the same file gives the same bytes, and times live in a
//! file beside it.

pub mod cell;
pub mod decision;
pub mod defense;
mod error;
pub mod experience;
pub mod file;
pub mod forged;
mod identity;
pub mod kinds;
pub mod model;
pub mod prompt;
pub mod record;
pub mod row;
pub mod run;
pub mod tables;
pub mod traces;

pub use cell::{Cell, CellId};
pub use decision::{Decider, Decision, ForcedChoice};
pub use defense::{Condition, Defense, Retrieved, Scene, Sifted};
pub use error::ExperimentError;
pub(crate) use error::fault;
pub use file::ExperimentFile;
pub use kinds::load;
pub use model::{ModelSpec, Models};
pub use prompt::Prompt;
pub use record::Record;
pub use row::Row;
pub use run::{Progress, Run, run};
pub use tables::{Column, Figure, Report, Table};

use serde_json::Value;
use std::fmt;
use std::path::Path;

/// A grid of cells.
pub trait Experiment: Sync + fmt::Debug {
    /// The name in its file.
    fn name(&self) -> &str;

    /// Every cell, in the order of the records. Ids are distinct; a configuration holds everything that the result
    /// depends on (seed, counts, digests of prompts), for its digest decides whether a finished cell is still valid.
    ///
    /// # Errors
    /// The file asks for what does not exist.
    fn cells(&self) -> Result<Vec<Cell>, ExperimentError>;

    /// Runs one cell. It MUST share nothing with other cells and return the same value for the same configuration.
    /// `scratch` is an empty directory of its own, deleted afterwards.
    ///
    /// # Errors
    /// Whatever keeps the cell from a result. The run then stops; finished cells are kept.
    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError>;

    /// What the records come to.
    ///
    /// # Errors
    /// Records that this kind of experiment did not make.
    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError>;
}
