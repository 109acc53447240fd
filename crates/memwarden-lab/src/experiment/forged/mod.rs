//! Forged reasoning (FARMA, arXiv 2607.05029) against defenses: five variants, three grants, three agents.
//!
//! One cell is one store: furnished, poisoned once, then asked task by task (`trial`). Its record has a letter for each
//! trial, and the differential attack success rate is worked out from the records of the cell and of its clean run
//! (`rows`), so that all attacks of a defense share one clean run and cells share nothing.

mod furnish;
mod ground;
mod honest;
mod plan;
mod result;
mod rows;
mod trial;
mod written;

pub use ground::Ground;
pub use honest::{SUBJECTS, logs, notes, subjects};
pub use plan::{Axes, Grid, Plan, Store};
pub use result::{CellResult, Differential, Ending};

use super::defense::{Around, condition};
use super::{Cell, Decider, Experiment, ExperimentError, ExperimentFile, ForcedChoice, Record, Report};
use crate::agents::{Grant, layer};
use crate::experiment::cell::seed_of;
use crate::farma::{DEFAULT_SEEDS, forge_about};
use furnish::{Contents, empty, furnish};
use memwarden::{Entry, Status, built_in_encoder};
use memwarden_core::model::Purpose;
use plan::Wording;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use trial::{Course, OPTIONS};

/// The experiment of `kind = "forged-reasoning"`.
#[derive(Debug)]
pub struct ForgedReasoning {
    file: ExperimentFile,
    plan: Plan,
}

impl ForgedReasoning {
    /// Reads its plan.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn read(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        Ok(Self {
            plan: Plan::read(file)?,
            file: file.clone(),
        })
    }

    fn forged(
        &self,
        axes: &Axes,
        ground: &Ground,
        models: &super::Models,
    ) -> Result<Option<(Grant, Vec<Entry>)>, ExperimentError> {
        let Some(grant) = axes.grant.as_deref().map(plan::grant).transpose()? else {
            return Ok(None);
        };
        let seed = seed_of(&["attack", &axes.domain], self.plan.seed);
        let entries = match plan::wording(&axes.variant)? {
            Wording::Generated(variant) => {
                let (domain, subject) = (ground.domain, &ground.attacked);
                let writes = forge_about(domain, variant, subject, seed, DEFAULT_SEEDS, axes.cycles);
                writes.iter().map(crate::farma::Forged::entry).collect()
            }
            Wording::Written => {
                let n = DEFAULT_SEEDS + axes.cycles;
                written::write(&*models.chat, ground.domain, &ground.attacked, n, seed)?
            }
        };
        Ok(Some((grant, entries)))
    }
}

impl Experiment for ForgedReasoning {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        self.plan.cells(&self.file)
    }

    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError> {
        let plan = &self.plan;
        let axes = plan::axes_of(&cell.config)?;
        let strategyqa = plan.strategyqa.as_ref().map(|path| self.file.path(path));
        let ground = Ground::new(ground::domain(&axes.domain)?, strategyqa.as_deref())?;
        // Every cell asks the same model: clean and poisoned runs have the same seeds.
        let models = plan.model.open(plan.seed, axes.doubt)?;
        let around = Around {
            models: &models,
            encoder: built_in_encoder(),
            rules: layer::ACTIONS,
            directory: &self.file.directory,
        };
        let condition = condition(&axes.defense, &around)?;
        let tasks = ground.tasks(plan.tasks, plan.seed);
        let mut counts = CellResult {
            defense_simulated: condition.simulated,
            ..CellResult::default()
        };
        let furnished = match axes.store {
            Store::Empty => empty(scratch, &condition)?,
            Store::Benign | Store::Poisoned => {
                let contents = Contents {
                    ground: &ground,
                    tasks: &tasks,
                    honest: axes.honest,
                    attack: self.forged(&axes, &ground, &models)?,
                    seed: seed_of(&["honest", &axes.domain], plan.seed),
                };
                furnish(scratch, &condition, contents, &mut counts)?
            }
        };
        let seeds: Vec<u64> = (0..plan.trials / plan.tasks)
            .map(|at| seed_of(&["trial", &at.to_string()], plan.seed))
            .collect();
        let purpose: Purpose = "answer"
            .parse()
            .map_err(|error: memwarden_core::model::LabelError| {
                ExperimentError::Unexpected(error.to_string())
            })?;
        let decider = match (&models.score, plan.forced_choice) {
            (Some(score), Some(how)) => {
                let nothing = match how {
                    ForcedChoice::Likelier => None,
                    ForcedChoice::Calibrated => Some(ground.nothing()?),
                };
                Decider::forced(Arc::clone(score), &purpose, nothing.as_deref(), &OPTIONS)?
            }
            // The stand-in keeps to the form that it is asked for; an endpoint is refused with the plan.
            _ => Decider::Reply(Arc::clone(&models.chat)),
        };
        let course = Course {
            ground: &ground,
            condition: &condition,
            decider: &decider,
            purpose: &purpose,
            furnished: &furnished,
            seeds: &seeds,
        };
        // An empty store has nothing that a legitimate skip could rest on.
        for task in tasks
            .iter()
            .filter(|task| axes.store != Store::Empty || !task.legitimate_skip)
        {
            course.run(task, &mut counts)?;
        }
        if axes.store != Store::Empty {
            let (_, namespace) = furnished.house.agent(ground.agent)?;
            counts.quarantined = furnished.house.owner.list(namespace, Status::Quarantined)?.len() as u64;
        }
        counts.spent = models.spent()?;
        serde_json::to_value(&counts).map_err(|error| ExperimentError::Unexpected(error.to_string()))
    }

    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError> {
        rows::report(&self.plan, records)
    }
}

#[cfg(test)]
mod tests;
