//! Which experiments there are. A new kind is an arm here and a module beside this one.

use super::{Experiment, ExperimentError, ExperimentFile};

/// The names of the kinds.
pub const KINDS: &[&str] = &[];

/// The experiment that a file describes.
///
/// # Errors
/// An unknown kind, or a plan that does not hold.
pub fn load(file: &ExperimentFile) -> Result<Box<dyn Experiment>, ExperimentError> {
    let kind = file.kind.as_str();
    Err(ExperimentError::value(format!(
        "`kind` is `{kind}`: expected one of {}",
        KINDS.join(", ")
    )))
}
