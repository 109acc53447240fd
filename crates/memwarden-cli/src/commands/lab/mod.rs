//! `lab`: experiments, where they are built in.

#[cfg(not(feature = "lab"))]
use crate::{Outcome, args::Global, failure::Failure, lab_args::LabCommand};

/// Says how to get it.
#[cfg(not(feature = "lab"))]
pub(super) fn run(_: &Global, _: &LabCommand) -> Result<Outcome, Failure> {
    Err(Failure::Input(
        "this build has no laboratory; build it with `cargo build --release -p memwarden-cli --features lab`"
            .to_owned(),
    ))
}

#[cfg(feature = "lab")]
mod calibrate;
#[cfg(feature = "lab")]
mod regrade;
#[cfg(feature = "lab")]
mod report;
#[cfg(feature = "lab")]
mod run;

#[cfg(feature = "lab")]
pub(super) use built::run;

#[cfg(feature = "lab")]
mod built {
    use super::{calibrate, regrade, report, run as runs};
    use crate::Outcome;
    use crate::args::Global;
    use crate::failure::Failure;
    use crate::lab_args::LabCommand;
    use memwarden_lab::experiment::{ExperimentError, ModelSpec};

    /// Runs one command of the laboratory.
    pub(in super::super) fn run(global: &Global, command: &LabCommand) -> Result<Outcome, Failure> {
        match command {
            LabCommand::Run {
                file,
                out,
                model,
                threads,
            } => {
                let model = model
                    .as_deref()
                    .map(|model| {
                        let parsed = model.parse::<ModelSpec>();
                        parsed.map_err(|error| Failure::Input(format!("`--model`: {error}")))
                    })
                    .transpose()?;
                runs::run(global, file, out.as_deref(), model.as_ref(), *threads)
            }
            LabCommand::Report { directory } => report::run(global, directory),
            LabCommand::Regrade {
                directory,
                judge,
                dialogues,
                prices,
            } => regrade::run(global, directory, judge, dialogues.as_deref(), prices.as_deref()),
            LabCommand::Recompute { file } => calibrate::recompute(global, file),
            LabCommand::Dialogues {
                file,
                turns,
                questions,
            } => calibrate::dialogues(global, file, *turns, *questions),
            LabCommand::Calibrate { labels, judge } => {
                calibrate::run(global, labels.as_deref(), judge.as_deref())
            }
        }
    }

    pub(super) fn failure(error: &ExperimentError) -> Failure {
        if error.is_input() {
            Failure::Input(error.to_string())
        } else {
            Failure::Service(error.to_string())
        }
    }
}

#[cfg(feature = "lab")]
use built::failure;
