//! Which experiments there are. A new kind is an arm here and a module beside this one.

use super::experience::{self, Experience};
use super::forged::ForgedReasoning;
use super::traces::Traces;
use super::{Experiment, ExperimentError, ExperimentFile};
use crate::cost::BenignCost;

/// The names of the kinds.
pub const KINDS: &[&str] = &[BenignCost::KIND, experience::KIND, "forged-reasoning", "traces"];

/// The experiment that a file describes. Data files that it names are read when it runs, not here: a report needs none.
///
/// # Errors
/// An unknown kind, or a plan that does not hold.
pub fn load(file: &ExperimentFile) -> Result<Box<dyn Experiment>, ExperimentError> {
    match file.kind.as_str() {
        BenignCost::KIND => Ok(Box::new(BenignCost::load(file)?)),
        "forged-reasoning" => Ok(Box::new(ForgedReasoning::read(file)?)),
        "traces" => Ok(Box::new(Traces::read(file)?)),
        experience::KIND => Ok(Box::new(Experience::load(file)?)),
        other => Err(ExperimentError::value(format!(
            "`kind` is `{other}`: expected one of {}",
            KINDS.join(", ")
        ))),
    }
}
