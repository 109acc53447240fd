//! What can go wrong in an experiment.

use crate::demo::DemoError;
use memwarden::WardenError;
use memwarden_core::encode::EncodeError;
use memwarden_core::model::ModelError;
use std::path::{Path, PathBuf};

/// An experiment could not be read, run or reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The experiment file says something that cannot be done.
    #[error("{}", at_line(*.line, reason))]
    File {
        /// The line, from 1, where one is to blame.
        line: Option<usize>,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A file or directory of a run cannot be used.
    #[error("`{path}`: {reason}", path = path.display())]
    Path {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A finished cell was run with another configuration.
    #[error(
        "cell `{cell}` in `{path}` was run with another configuration: finish that run with the file and program that \
         began it, name another --out, or delete `{path}` to begin anew", path = path.display()
    )]
    Changed {
        /// The cell.
        cell: String,
        /// The file of records.
        path: PathBuf,
    },
    /// Records that are not what this kind of experiment writes.
    #[error("the record of cell `{cell}` cannot be read: {reason}")]
    Record {
        /// The cell.
        cell: String,
        /// What is wrong.
        reason: String,
    },
    /// A cell failed.
    #[error("cell `{cell}`: {source}")]
    Cell {
        /// The cell.
        cell: String,
        /// Why.
        source: Box<ExperimentError>,
    },
    /// The warden refused or failed.
    #[error(transparent)]
    Warden(#[from] WardenError),
    /// The agents or their house failed.
    #[error(transparent)]
    Agents(#[from] DemoError),
    /// A model failed where its failure cannot be counted.
    #[error(
        "{0}; this says nothing about a defense, so it stops here; a run keeps the cells that are finished. See to the \
         model, then give the same command again"
    )]
    Model(#[from] ModelError),
    /// Every call of a cell was refused.
    #[error(
        "all {0} calls were refused by the endpoint (`upstream`); this says nothing about a defense, so it stops here; a \
         run keeps the cells that are finished. See to the key, the model's name and what the endpoint takes, then give \
         the same command again"
    )]
    Unheard(u64),
    /// A model's files cannot be used.
    #[error(transparent)]
    Files(#[from] memwarden::ModelsError),
    /// An encoder failed.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The database file could not be edited.
    #[error("the database file cannot be edited: {0}")]
    Edit(#[from] rusqlite::Error),
    /// Something that an experiment builds upon did not happen.
    #[error("the experiment could not be carried out: {0}")]
    Unexpected(String),
}

impl ExperimentError {
    /// A wrong value in the experiment file.
    pub fn value(reason: impl Into<String>) -> Self {
        Self::File {
            line: None,
            reason: reason.into(),
        }
    }

    pub(crate) fn path(path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::Path {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }

    /// Whether the user's input is to blame, rather than the machine or the program.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Self::File { .. } | Self::Path { .. } | Self::Changed { .. } | Self::Record { .. } => true,
            Self::Cell { source, .. } => source.is_input(),
            _ => false,
        }
    }
}

/// The name of a call that came to no answer by its own doing, to be counted. A model that was not reached or cannot do what
/// was asked says nothing about a defense, and the run stops.
///
/// # Errors
/// [`ExperimentError::Model`].
pub(crate) fn fault(error: ModelError) -> Result<&'static str, ExperimentError> {
    if error.is_about_the_call() {
        Ok(error.name())
    } else {
        Err(error.into())
    }
}

fn at_line(line: Option<usize>, reason: &str) -> String {
    line.map_or_else(|| reason.to_owned(), |line| format!("line {line}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_is_none_has_a_name_and_a_model_that_is_not_there_stops_the_run_with_what_to_do() {
        let model = || "m".to_owned();
        assert_eq!(fault(ModelError::Empty { model: model() }).unwrap(), "empty");
        let lost = fault(ModelError::Unreachable {
            model: model(),
            reason: "refused".to_owned(),
        });
        let said = lost.unwrap_err().to_string();
        assert!(
            said.contains("cannot be reached") && said.contains("give the same command again"),
            "{said}"
        );
    }
}
