//! `eval`: measurements on data of the user's own.

use crate::args::{EvalCommand, Global};
use crate::failure::Failure;
use crate::{Outcome, output, session};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden_lab::recall_methods::measure;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

pub(super) fn run(global: &Global, command: &EvalCommand) -> Result<Outcome, Failure> {
    match command {
        EvalCommand::Recall { file } => recall(global, file),
    }
}

/// Each way of recall on the same records, in a store that is thrown away afterwards.
fn recall(global: &Global, file: &Path) -> Result<Outcome, Failure> {
    let json = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let encoder = session::encoder(global)?;
    let name = encoder.name().to_owned();
    let directory =
        tempfile::tempdir().map_err(|error| Failure::file(Path::new("temporary directory"), &error))?;
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let scores = measure(&json, encoder, directory.path(), &mut |progress| {
        bar.set_length(progress.of as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.method);
    })
    .map_err(|error| Failure::Input(format!("`{}`: {}", file.display(), chain(&error))))?;
    bar.finish_and_clear();
    if global.json {
        let rows = scores.iter().map(|(method, score)| {
            json!({
                "method": method,
                "recall_at_5": score.all.at_5,
                "recall_at_10": score.all.at_10,
                "questions": score.all.questions,
                "by_category": score.by_category.iter().map(|(category, share)| json!({
                    "category": category.as_str(),
                    "recall_at_5": share.at_5,
                    "recall_at_10": share.at_10,
                    "questions": share.questions,
                })).collect::<Vec<Value>>(),
            })
        });
        output::json(&json!({"encoder": name, "rows": rows.collect::<Vec<Value>>()}))?;
        return Ok(Outcome::Clean);
    }
    let mut table = output::table(&["method", "recall@5", "recall@10", "questions"]);
    for (method, score) in &scores {
        table.add_row([
            (*method).to_owned(),
            format!("{:.3}", score.all.at_5),
            format!("{:.3}", score.all.at_10),
            score.all.questions.to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    output::line(&format!(
        "mean share of a question's evidence among the first 5 and 10 records of its dialogue; encoder {name}"
    ))?;
    Ok(Outcome::Clean)
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
