//! Which experiments there are. A new kind is an arm here and a module beside this one.

use super::experience::{self, Experience};
use super::{Experiment, ExperimentError, ExperimentFile};

/// The names of the kinds.
pub const KINDS: &[&str] = &[experience::KIND];

/// The experiment that a file describes.
///
/// # Errors
/// An unknown kind, or a plan that does not hold.
pub fn load(file: &ExperimentFile) -> Result<Box<dyn Experiment>, ExperimentError> {
    match file.kind.as_str() {
        experience::KIND => Ok(Box::new(Experience::load(file)?)),
        kind => Err(ExperimentError::value(format!(
            "`kind` is `{kind}`: expected one of {}",
            KINDS.join(", ")
        ))),
    }
}
