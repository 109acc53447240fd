//! `lab recompute` and `lab calibrate`: what published cells and labels say, without a run.

use super::{failure, report};
use crate::Outcome;
use crate::args::Global;
use crate::failure::Failure;
use memwarden::model::{Meter, Prices};
use memwarden_core::model::Chat;
use memwarden_lab::cost::{calibrate, plan::Limits, recompute as recomputed};
use memwarden_lab::experiment::ModelSpec;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

pub(super) fn recompute(global: &Global, file: &Path) -> Result<Outcome, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let derived = recomputed::recompute(&text).map_err(|error| failure(&error))?;
    report::show_all(global, &derived)?;
    Ok(Outcome::Clean)
}

pub(super) fn run(global: &Global, labels: Option<&Path>, judge: Option<&str>) -> Result<Outcome, Failure> {
    let text = match labels {
        Some(path) => std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?,
        None => calibrate::ABSTENTION.to_owned(),
    };
    let labels = calibrate::parse(&text).map_err(|error| failure(&error))?;
    let judge = judge
        .map(|spec| {
            let spec: ModelSpec = spec.parse().map_err(Failure::Input)?;
            let meter = Arc::new(Meter::in_memory(Prices::default()));
            spec.metered(0, &meter).map_err(|error| failure(&error))
        })
        .transpose()?;
    let limit = NonZeroU32::new(Limits::default().judge).unwrap_or(NonZeroU32::MIN);
    let judge = judge.as_ref().map(|judge| judge as &dyn Chat);
    let calibrated = calibrate::calibrate(&labels, judge, limit).map_err(|error| failure(&error))?;
    report::show_all(global, &calibrated)?;
    Ok(Outcome::Clean)
}
