//! `lab regrade`: another judge for the answers of a run.

use super::failure;
use super::run::FILE;
use crate::args::Global;
use crate::failure::Failure;
use crate::{Outcome, output};
use memwarden_lab::cost::regrade::regrade;
use memwarden_lab::experiment::{ExperimentFile, ModelSpec};
use serde_json::json;
use std::path::Path;

pub(super) fn run(
    global: &Global,
    directory: &Path,
    judge: &str,
    dialogues: Option<&Path>,
    prices: Option<&Path>,
) -> Result<Outcome, Failure> {
    let spec: ModelSpec = judge
        .parse()
        .map_err(|error: String| Failure::Input(format!("`--judge`: {error}")))?;
    let file = ExperimentFile::read(&directory.join(FILE)).map_err(|error| failure(&error))?;
    let graded = regrade(&file, dialogues, prices, directory, &spec).map_err(|error| failure(&error))?;
    if global.json {
        output::json(&json!({
            "answers": graded.answers,
            "changed": graded.changed,
            "missing": graded.missing,
        }))?;
    } else {
        output::line(&format!(
            "{} answers graded by {}: {} grades are other than before, {} are missing",
            graded.answers,
            spec.name(),
            graded.changed,
            graded.missing
        ))?;
    }
    Ok(Outcome::Clean)
}
