//! Experiments of kind `experience`: attacks on agents that learn from their own work.
//!
//! `plan` is the file, `tasks` who asks what, `field` how a request is worked on, `attack` how the poison gets in,
//! `measure` one cell, `counts` what it counts, `report` what the cells come to. Agents and attacks themselves are
//! in [`crate::tracks`].

mod attack;
mod counts;
mod field;
mod measure;
mod plan;
mod report;
mod tasks;
#[cfg(test)]
mod tests;

use super::identity::{Made, digest, identity};
use super::{Cell, Experiment, ExperimentError, ExperimentFile, Record, Report};
use crate::tracks::SHOP_ACTIONS;
use plan::{AgentName, Axes, Plan};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The kind in experiment files.
pub const KIND: &str = "experience";

/// An attack on agents that learn from experience.
#[derive(Debug)]
pub struct Experience {
    plan: Plan,
    directory: PathBuf,
}

impl Experience {
    /// The experiment of a file.
    ///
    /// # Errors
    /// A plan that does not hold.
    pub fn load(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        let plan: Plan = file.plan()?;
        plan.check()?;
        Ok(Self {
            plan,
            directory: file.directory.clone(),
        })
    }

    /// Digests of everything outside of the file that results depend on.
    fn data(&self) -> Result<Value, ExperimentError> {
        let mut data = json!({
            "shop": digest(crate::shop::GOODS),
            "prompts": [crate::tracks::SHOPPER_PROMPT.version(), crate::tracks::SOLVER_PROMPT.version()],
        });
        if self.plan.agents.contains(&AgentName::MmluQa) {
            let files = self
                .plan
                .question
                .files
                .as_ref()
                .map(|files| self.directory.join(files));
            let questions = tasks::questions(files.as_deref())?;
            let digest = json!([questions.len(), digest(&format!("{questions:?}"))]);
            if let Some(data) = data.as_object_mut() {
                data.insert("questions".to_owned(), digest);
            }
        }
        Ok(data)
    }
}

impl Experiment for Experience {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        let encoder = measure::encoder(&self.plan, &self.directory)?;
        self.plan.cells(&self.data()?, |model, defense| {
            identity(&Made {
                model,
                defense,
                rules: SHOP_ACTIONS,
                directory: &self.directory,
                encoder: encoder.name(),
            })
        })
    }

    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError> {
        let broken = |error: serde_json::Error| ExperimentError::Unexpected(error.to_string());
        let axes = cell.config.get("axes").cloned().unwrap_or_default();
        let axes = Axes::deserialize(axes).map_err(broken)?;
        let measured = measure::run(&self.plan, &axes, &self.directory, scratch)?;
        serde_json::to_value(measured).map_err(broken)
    }

    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError> {
        report::of(&self.plan, records)
    }
}
