//! What follows from the paper's own cells (its Table 5), beside what it prints: the mean over replicates, the
//! adversarial questions, each replicate alone.
//!
//! The cells hold accuracies and no single answers, so a vote, a bootstrap or a McNemar test cannot be redone.

use super::paper;
use super::pipeline::CANDIDATES;
use super::tally::Set;
use crate::experiment::ExperimentError;
use crate::experiment::tables::Form;
use crate::experiment::{Column, Report, Table};
use crate::stats::{POWER_FACTOR, sign_flip};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const HEADER: &str =
    "condition,conversation,replicate,memories,questions,core_accuracy,adversarial_accuracy,quarantined";

/// One cell of the table.
#[derive(Debug, Clone, PartialEq)]
struct Cell {
    condition: String,
    conversation: String,
    replicate: u32,
    questions: f64,
    core: f64,
    adversarial: f64,
    quarantined: f64,
}

impl Cell {
    const fn accuracy(&self, set: Set) -> f64 {
        match set {
            Set::Core => self.core,
            Set::Adversarial => self.adversarial,
        }
    }
}

/// Derives what can be derived from the text of a `table5.csv`.
///
/// # Errors
/// Other columns, a value that is no number, a condition without cells of `none` beside it.
pub fn recompute(csv: &str) -> Result<Report, ExperimentError> {
    let cells = parse(csv)?;
    let mut order: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.condition != "none") {
        if !order.contains(&cell.condition.as_str()) {
            order.push(&cell.condition);
        }
    }
    let mut main = Table::new(
        "recomputed",
        "The paper's own cells, by the mean of replicates",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            Column::of("delta_mean", Form::Decimals(2)),
            Column::of("paper_delta_vote", Form::Decimals(1)),
            Column::of("mean_minus_vote", Form::Decimals(1)),
            Column::of("paper_ci_low", Form::Decimals(2)),
            Column::of("paper_ci_high", Form::Decimals(2)),
            Column::of("signflip_p", Form::Decimals(4)),
            Column::of("signflip_floor", Form::Decimals(4)),
            Column::of("resolution", Form::Decimals(2)),
            Column::of("resolvable_effect", Form::Decimals(2)),
            Column::of("fqr_at_3", Form::Decimals(3)),
            Column::of("paper_fqr", Form::Decimals(3)),
            Column::plain("cells"),
        ],
    );
    main.note =
        "Points. The interval and the vote are the paper's (core only); the sign-flip is exact, over the \
                 conversations' mean deltas, and cannot go below its floor."
            .to_owned();
    let mut replicates = Table::new(
        "by-replicate",
        "Each replicate alone",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            Column::plain("replicate"),
            Column::of("delta", Form::Decimals(2)),
        ],
    );
    let mut conversations = Table::new(
        "by-conversation",
        "Each conversation, mean of replicates",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            Column::plain("conversation"),
            Column::of("delta", Form::Decimals(2)),
        ],
    );
    let mut notes = Vec::new();
    for condition in order {
        let published = paper::of(condition);
        for set in Set::ALL {
            let deltas = deltas(&cells, condition, set, None)?;
            let values: Vec<f64> = deltas.values().copied().collect();
            let delta = 100.0 * mean(&values);
            let flip = sign_flip(&values).map_err(|error| ExperimentError::value(error.to_string()))?;
            let core = published.filter(|_| set == Set::Core);
            let resolution = core.map(|row| (row.high - row.low) / 2.0);
            let fqr = (set == Set::Core).then(|| fqr(&cells, condition));
            main.rows.push(vec![
                json!(condition),
                json!(set.as_str()),
                json!(delta),
                json!(core.map(|row| row.delta)),
                json!(core.map(|row| delta - row.delta)),
                json!(core.map(|row| row.low)),
                json!(core.map(|row| row.high)),
                json!(flip.p),
                json!(flip.floor),
                json!(resolution),
                json!(resolution.map(|resolution| POWER_FACTOR * resolution)),
                json!(fqr),
                json!(core.map(|row| row.fqr)),
                json!(cells.iter().filter(|cell| cell.condition == condition).count()),
            ]);
            for (conversation, delta) in &deltas {
                conversations.rows.push(vec![
                    json!(condition),
                    json!(set.as_str()),
                    json!(conversation),
                    json!(100.0 * delta),
                ]);
            }
            let mut each: Vec<String> = Vec::new();
            for replicate in planned(&cells) {
                let values: Vec<f64> = self::deltas(&cells, condition, set, Some(replicate))?
                    .into_values()
                    .collect();
                let delta = 100.0 * mean(&values);
                each.push(format!("{delta:+.1}"));
                replicates.rows.push(vec![
                    json!(condition),
                    json!(set.as_str()),
                    json!(replicate),
                    json!(delta),
                ]);
            }
            notes.extend(story(condition, set, delta, core, &each));
        }
    }
    notes.push(unequal(&cells));
    Ok(Report {
        title: "What the paper's own cells say".to_owned(),
        notes: notes.into_iter().filter(|note| !note.is_empty()).collect(),
        tables: vec![main, replicates, conversations],
        figures: Vec::new(),
    })
}

/// What changes by the rule, and what the adversarial questions add, where it is worth a sentence.
fn story(
    condition: &str,
    set: Set,
    delta: f64,
    core: Option<&paper::Published>,
    each: &[String],
) -> Option<String> {
    match (set, core) {
        (Set::Core, Some(published)) if (delta - published.delta).abs() >= 1.0 => Some(format!(
            "{condition}, core: {delta:+.2} points by the mean of replicates where the vote gives {:+.1}; by replicate {}.",
            published.delta,
            each.join(", ")
        )),
        (Set::Adversarial, _) if delta.abs() >= 1.0 => Some(format!(
            "{condition}, adversarial: {delta:+.2} points, which the paper does not print; by replicate {}.",
            each.join(", ")
        )),
        _ => None,
    }
}

/// Cells that asked another number of questions than their conversation's others.
fn unequal(cells: &[Cell]) -> String {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for cell in cells {
        let known = most.entry(&cell.conversation).or_default();
        *known = known.max(cell.questions);
    }
    let short = cells.iter().filter(|cell| {
        most.get(cell.conversation.as_str())
            .is_some_and(|most| cell.questions < *most)
    });
    let named: Vec<String> = short
        .map(|cell| format!("{}/{}/{}", cell.condition, cell.conversation, cell.replicate))
        .collect();
    if named.is_empty() {
        return String::new();
    }
    format!(
        "Grades are missing in {}: its accuracy is over fewer questions.",
        named.join(", ")
    )
}

/// Condition minus none for each conversation, over all replicates or one.
fn deltas(
    cells: &[Cell],
    condition: &str,
    set: Set,
    replicate: Option<u32>,
) -> Result<BTreeMap<String, f64>, ExperimentError> {
    let accuracy = |condition: &str, conversation: &str| {
        let values: Vec<f64> = cells
            .iter()
            .filter(|cell| cell.condition == condition && cell.conversation == conversation)
            .filter(|cell| replicate.is_none_or(|replicate| cell.replicate == replicate))
            .map(|cell| cell.accuracy(set))
            .collect();
        if values.is_empty() {
            return Err(ExperimentError::value(format!(
                "there is no cell `{condition}` of `{conversation}`"
            )));
        }
        Ok(mean(&values))
    };
    let conversations = cells.iter().filter(|cell| cell.condition == condition);
    let names: std::collections::BTreeSet<&str> =
        conversations.map(|cell| cell.conversation.as_str()).collect();
    names
        .into_iter()
        .map(|name| {
            Ok((
                name.to_owned(),
                accuracy(condition, name)? - accuracy("none", name)?,
            ))
        })
        .collect()
}

/// Quarantined over three candidates a question, averaged over cells.
#[expect(clippy::cast_precision_loss, reason = "three")]
fn fqr(cells: &[Cell], condition: &str) -> f64 {
    let rates: Vec<f64> = cells
        .iter()
        .filter(|cell| cell.condition == condition)
        .map(|cell| cell.quarantined / (CANDIDATES as f64 * cell.questions))
        .collect();
    mean(&rates)
}

fn planned(cells: &[Cell]) -> std::collections::BTreeSet<u32> {
    cells.iter().map(|cell| cell.replicate).collect()
}

#[expect(clippy::cast_precision_loss, reason = "cells are few")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn parse(csv: &str) -> Result<Vec<Cell>, ExperimentError> {
    let mut lines = csv.lines();
    let header = lines.next().unwrap_or_default().trim();
    if header != HEADER {
        return Err(ExperimentError::value(format!(
            "line 1: expected the columns `{HEADER}`"
        )));
    }
    let mut cells = Vec::new();
    for (at, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: String| ExperimentError::File {
            line: Some(at + 2),
            reason: what,
        };
        let fields: Vec<&str> = line.trim().split(',').collect();
        let [
            condition,
            conversation,
            replicate,
            memories,
            questions,
            core,
            adversarial,
            quarantined,
        ] = fields.as_slice()
        else {
            return Err(wrong(format!("it has {} fields: expected 8", fields.len())));
        };
        let number = |name: &str, text: &str| {
            let value: Option<f64> = text
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| wrong(format!("`{name}` is `{text}`: expected a number from 0")))
        };
        let share = |name: &str, text: &str| {
            let value = number(name, text)?;
            if value > 1.0 {
                return Err(wrong(format!(
                    "`{name}` is `{text}`: expected a share from 0 to 1"
                )));
            }
            Ok(value)
        };
        number("memories", memories)?;
        cells.push(Cell {
            condition: (*condition).to_owned(),
            conversation: (*conversation).to_owned(),
            replicate: replicate
                .parse()
                .map_err(|_| wrong(format!("`replicate` is `{replicate}`: expected a whole number")))?,
            questions: number("questions", questions)?,
            core: share("core_accuracy", core)?,
            adversarial: share("adversarial_accuracy", adversarial)?,
            quarantined: number("quarantined", quarantined)?,
        });
    }
    if cells.is_empty() {
        return Err(ExperimentError::value("the table has no cells"));
    }
    Ok(cells)
}

/// A value of the first table: for tests and programs.
#[must_use]
pub fn value(report: &Report, condition: &str, set: Set, column: &str) -> Option<f64> {
    let table = report.tables.first()?;
    let at = table.columns.iter().position(|known| known.name == column)?;
    let is_wanted = |row: &&Vec<Value>| {
        row.first().and_then(Value::as_str) == Some(condition)
            && row.get(1).and_then(Value::as_str) == Some(set.as_str())
    };
    table.rows.iter().find(is_wanted)?.get(at)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "condition,conversation,replicate,memories,questions,core_accuracy,adversarial_accuracy,quarantined\n\
        none,a,1,10,20,0.500,1.000,0\nnone,a,2,10,20,0.700,0.800,0\nnone,b,1,10,10,0.400,1.000,0\nnone,b,2,10,10,0.400,1.000,0\n\
        rerank,a,1,10,20,0.400,1.000,30\nrerank,a,2,10,20,0.600,1.000,6\nrerank,b,1,10,10,0.300,0.500,3\nrerank,b,2,10,9,0.300,1.000,0\n";

    #[test]
    fn each_conversation_weighs_the_same_and_each_replicate_too() {
        let report = recompute(TABLE).unwrap();
        let core = value(&report, "rerank", Set::Core, "delta_mean").unwrap();
        assert!((core + 10.0).abs() < 1e-9, "{core}");
        let adversarial = value(&report, "rerank", Set::Adversarial, "delta_mean").unwrap();
        assert!((adversarial + 7.5).abs() < 1e-9, "{adversarial}");
        let fqr = value(&report, "rerank", Set::Core, "fqr_at_3").unwrap();
        assert!((fqr - (0.5 + 0.1 + 0.1) / 4.0).abs() < 1e-9, "{fqr}");
        assert!(report.notes.iter().any(|note| note.contains("rerank/b/2")));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = recompute("a,b\n").unwrap_err().to_string();
        assert!(error.starts_with("line 1: expected the columns"), "{error}");
        let wrong = TABLE.replace("rerank,a,2,10,20,0.600", "rerank,a,2,10,20,1.600");
        let error = recompute(&wrong).unwrap_err().to_string();
        assert_eq!(
            error,
            "line 7: `core_accuracy` is `1.600`: expected a share from 0 to 1"
        );
    }
}
