//! The judge of the judges: how far a grader agrees with labels that people made, twice.
//!
//! A file of labels has one JSON object a line. For abstention: `{"id", "question", "answer", "half", "first", "second"}`,
//! each label whether the answer declines. For a judge: the same with `"expected"`, each label whether the answer is
//! right. `half` is `tuning` or `checking`; what was tuned on one half is believed on the other alone. The agreement of
//! the two labels is the most that any grader can reach.

use super::abstain::{declines, phrase_list};
use super::grade::{Answered, by_words, judged};
use crate::experiment::tables::Form;
use crate::experiment::{Column, ExperimentError, Report, Table};
use crate::stats::{Agreement, kappa};
use memwarden_core::model::Chat;
use serde::Deserialize;
use serde_json::json;
use std::num::NonZeroU32;

/// Labels of abstention, made for this project; `docs/cost.md` is their data card.
pub const ABSTENTION: &str = include_str!("../../data/abstention.jsonl");

/// One answer with its labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Its name.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// The right answer, where a judge is calibrated.
    #[serde(default)]
    pub expected: Option<String>,
    /// The answer.
    pub answer: String,
    /// Which half it belongs to.
    pub half: Half,
    /// The first label.
    pub first: bool,
    /// The second, made without seeing the first.
    pub second: bool,
}

/// Half of a file of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// What a grader may be tuned on.
    Tuning,
    /// What says how good it is.
    Checking,
}

/// Reads labels.
///
/// # Errors
/// A line that is no label, named by number; an id twice; no labels.
pub fn parse(text: &str) -> Result<Vec<Label>, ExperimentError> {
    let mut labels: Vec<Label> = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let wrong = |reason: String| ExperimentError::File {
            line: Some(at + 1),
            reason,
        };
        let label: Label = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if labels.iter().any(|known| known.id == label.id) {
            return Err(wrong(format!("`id` is `{}`, as on an earlier line", label.id)));
        }
        labels.push(label);
    }
    if labels.is_empty() {
        return Err(ExperimentError::value("the file has no labels"));
    }
    Ok(labels)
}

/// How each grader agrees with the first labels, by half. A judge is asked where labels have a right answer.
///
/// # Errors
/// A half without labels, a judge that cannot be reached.
pub fn calibrate(
    labels: &[Label],
    judge: Option<&dyn Chat>,
    limit: NonZeroU32,
) -> Result<Report, ExperimentError> {
    let mut table = Table::new(
        "calibration",
        "Agreement with the labels",
        vec![
            Column::plain("half"),
            Column::plain("grader"),
            Column::plain("items"),
            Column::percent("raw"),
            Column::of("kappa", Form::Decimals(3)),
        ],
    );
    table.note =
        "Against the first labels. `second labels` is the agreement of the two, the ceiling.".to_owned();
    let mut misses = Table::new(
        "misses",
        "Where the grader and the first label differ in the tuning half",
        vec![
            Column::plain("half"),
            Column::plain("grader"),
            Column::plain("id"),
            Column::plain("label"),
            Column::plain("answer"),
        ],
    );
    let abstention = labels.iter().all(|label| label.expected.is_none());
    for (half, name) in [(Half::Tuning, "tuning"), (Half::Checking, "checking")] {
        let of: Vec<&Label> = labels.iter().filter(|label| label.half == half).collect();
        if of.is_empty() {
            continue;
        }
        let mut graders: Vec<(&str, Vec<bool>)> =
            vec![("second labels", of.iter().map(|label| label.second).collect())];
        if abstention {
            graders.push((
                "detector",
                of.iter()
                    .map(|label| declines(&label.question, &label.answer))
                    .collect(),
            ));
            graders.push((
                "phrase list",
                of.iter().map(|label| phrase_list(&label.answer)).collect(),
            ));
        } else {
            let expected =
                |label: &&Label| by_words(label.expected.as_deref().unwrap_or_default(), &label.answer);
            let words = of.iter().map(|label| expected(label).correct.unwrap_or_default());
            graders.push(("exact match or F1", words.collect()));
            if let Some(judge) = judge {
                graders.push(("judge", by_judge(&of, judge, limit)?));
            }
        }
        for (grader, given) in graders {
            let pairs: Vec<(bool, bool)> = of.iter().map(|label| label.first).zip(given).collect();
            let Agreement { items, raw, kappa } =
                kappa(&pairs).map_err(|error| ExperimentError::value(error.to_string()))?;
            table.rows.push(vec![
                json!(name),
                json!(grader),
                json!(items),
                json!(raw),
                json!(kappa),
            ]);
            // Nobody looks at what a grader misses in the half that says how good it is.
            if grader == "phrase list" || half == Half::Checking {
                continue;
            }
            for (label, (first, given)) in of.iter().zip(&pairs) {
                if first != given {
                    misses.rows.push(vec![
                        json!(name),
                        json!(grader),
                        json!(label.id),
                        json!(first),
                        json!(label.answer),
                    ]);
                }
            }
        }
    }
    Ok(Report {
        title: if abstention {
            "Does an answer decline: calibration".to_owned()
        } else {
            "Is an answer right: calibration".to_owned()
        },
        notes: Vec::new(),
        tables: vec![table, misses],
        figures: Vec::new(),
    })
}

/// A judge that gives no grade is counted as having called the answer wrong: it did not agree.
fn by_judge(labels: &[&Label], judge: &dyn Chat, limit: NonZeroU32) -> Result<Vec<bool>, ExperimentError> {
    let grade = |label: &&Label| {
        let answered = Answered {
            question: &label.question,
            expected: label.expected.as_deref().unwrap_or_default(),
            answer: &label.answer,
        };
        Ok(judged(judge, limit, answered)?.correct.unwrap_or(!label.first))
    };
    labels.iter().map(grade).collect()
}
