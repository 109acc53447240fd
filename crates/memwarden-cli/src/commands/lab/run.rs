//! `lab run`: runs what is not finished and draws how far it is.

use super::failure;
use crate::args::Global;
use crate::failure::Failure;
use crate::{Outcome, output};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden_lab::experiment::{ExperimentFile, ModelSpec, load, run as run_cells};
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The experiment's file, copied beside its records: a report needs it.
pub(super) const FILE: &str = "experiment.toml";

pub(super) fn run(
    global: &Global,
    file: &Path,
    out: Option<&Path>,
    model: Option<&ModelSpec>,
    threads: Option<NonZeroUsize>,
) -> Result<Outcome, Failure> {
    let mut read = ExperimentFile::read(file).map_err(|error| failure(&error))?;
    if let Some(model) = model {
        read = read.with_model(model).map_err(|error| failure(&error))?;
    }
    let named = |error| Failure::Input(format!("`{}`: {error}", file.display()));
    let experiment = load(&read).map_err(named)?;
    let out = out.map_or_else(|| PathBuf::from("lab").join(&read.name), Path::to_owned);
    let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = threads.unwrap_or(processors);
    let began = Instant::now();
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let copy = out.join(FILE);
    if copy.exists() && !copy.is_file() {
        return Err(Failure::Input(format!(
            "`{}` is no file: expected a place for the experiment's file",
            copy.display()
        )));
    }
    // The copy of an experiment with another model would be written over the file that it was read from.
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    if model.is_some() && same(file).is_some_and(|file| same(&copy) == Some(file)) {
        return Err(Failure::Input(format!(
            "`--out` is where `{}` lies, whose model `--model` would overwrite: expected another directory",
            file.display()
        )));
    }
    let mut copied = None;
    let ran = run_cells(&*experiment, &out, threads.get(), &mut |at| {
        // Before the first cell, so that there is a report on a run that was stopped; and after what lies there was found
        // to be this experiment's.
        copied.get_or_insert_with(|| std::fs::write(&copy, read.text()));
        bar.set_length(at.total as u64);
        bar.set_position(at.done as u64);
        let left = at
            .left
            .map_or_else(String::new, |left| format!("{} s left", left.as_secs()));
        bar.set_message(format!("{left} {}", at.cell));
    })
    .map_err(|error| failure(&error))?;
    bar.finish_and_clear();
    if let Some(Err(error)) = copied {
        return Err(Failure::file(&copy, &error));
    }
    if global.json {
        output::json(&json!({
            "experiment": read.name,
            "out": out.display().to_string(),
            "cells": ran.records.len(),
            "resumed": ran.resumed,
            "seconds": began.elapsed().as_secs_f64(),
        }))?;
    } else {
        output::line(&format!(
            "{}: {} cells in {:.0} s, {} of them finished before; see `memwarden lab report {}`",
            read.name,
            ran.records.len(),
            began.elapsed().as_secs_f64(),
            ran.resumed,
            out.display()
        ))?;
    }
    Ok(Outcome::Clean)
}
