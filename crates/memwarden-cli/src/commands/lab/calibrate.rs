//! `lab recompute`, `lab calibrate` and `lab dialogues`: what published cells, labels and dialogues say, without a run.

use super::{failure, report};
use crate::Outcome;
use crate::args::Global;
use crate::failure::Failure;
use memwarden::model::{Meter, Prices};
use memwarden_core::model::Chat;
use memwarden_lab::cost::{calibrate, plan::Limits, recompute as recomputed};
use memwarden_lab::experiment::{Column, ModelSpec, Report, Table};
use memwarden_lab::locomo::{self, Category};
use serde_json::json;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

pub(super) fn recompute(global: &Global, file: &Path) -> Result<Outcome, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let derived = recomputed::recompute(&text).map_err(|error| failure(&error))?;
    report::show_all(global, &derived)?;
    Ok(Outcome::Clean)
}

/// How many questions of each kind a cut leaves.
pub(super) fn dialogues(
    global: &Global,
    file: &Path,
    turns: usize,
    questions: usize,
) -> Result<Outcome, Failure> {
    let read = locomo::read_file(file).map_err(|error| Failure::Input(error.to_string()))?;
    let kinds = Category::ALL.map(Category::as_str);
    let names = ["conversation", "turns", "raw", "aligned", "core", "adversarial"];
    // The last kind is the adversarial one, which has a column already.
    let columns = names
        .into_iter()
        .chain(kinds.into_iter().take(4))
        .map(Column::plain);
    let mut table = Table::new(
        "dialogues",
        "Questions whose evidence is still there",
        columns.collect(),
    );
    for conversation in &read {
        let cut = locomo::align(conversation, turns, questions);
        let of = |wanted: &dyn Fn(Category) -> bool| {
            cut.questions
                .iter()
                .filter(|question| wanted(question.category))
                .count()
        };
        let mut row = vec![
            json!(cut.name),
            json!(cut.turns.len()),
            json!(cut.raw),
            json!(cut.questions.len()),
            json!(of(&Category::is_core)),
            json!(of(&|kind| !kind.is_core())),
        ];
        row.extend(
            Category::ALL
                .iter()
                .take(4)
                .map(|kind| json!(of(&|other| other == *kind))),
        );
        table.rows.push(row);
    }
    let report = Report {
        title: "Dialogues".to_owned(),
        tables: vec![table],
        ..Report::default()
    };
    report::show_all(global, &report)?;
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
            let spec: ModelSpec = spec
                .parse()
                .map_err(|error: String| Failure::Input(format!("`--judge`: {error}")))?;
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
