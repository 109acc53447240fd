//! The report of a run: the paper's Table 3 beside ours, both rules, every stage, every cell.
//!
//! Differences are shown in points, as the paper does; rates as shares. Every number is a sum over the cells of the last
//! table, which name their records.

use super::conditions::BASELINE;
use super::figures::{Difference, Point, forest, scatter};
use super::paper;
use super::plan::{Grading, Plan};
use super::tally::{self, Cell, Compared, Row, Set};
use crate::experiment::tables::Form;
use crate::experiment::tables::svg::{Bar, bars};
use crate::experiment::{Column, ExperimentError, Figure, Record, Report, Table};
use crate::stats::{SignFlip, scale_for};
use serde_json::{Value, json};

/// What the records of a run come to.
///
/// # Errors
/// Records of another kind.
pub fn report(plan: &Plan, records: &[Record]) -> Result<Report, ExperimentError> {
    let cells = tally::read(records)?;
    let mut rows = Vec::new();
    for condition in plan.conditions.iter().filter(|name| *name != BASELINE) {
        for set in Set::ALL {
            let row = tally::row(&cells, condition, set, plan.replicates, plan.seed);
            rows.push(row.map_err(|error| ExperimentError::Unexpected(error.to_string()))?);
        }
    }
    let failed = failure(plan, &cells);
    let title = match &failed {
        Some(_) => format!("FAILED: {}", plan.name),
        None => format!("{}: what defenses cost on days without an attack", plan.name),
    };
    Ok(Report {
        title,
        notes: failed.into_iter().chain(notes(plan, &cells, &rows)).collect(),
        tables: vec![
            main(&cells, &rows),
            beside(&cells, &rows),
            rules(&rows),
            stages(plan, &cells),
            spent(plan, &cells),
            by_conversation(&rows),
            per_cell(&cells),
        ],
        figures: figures(plan, &cells, &rows),
    })
}

/// The rows that programs read; their columns are fixed.
fn main(cells: &[Cell], rows: &[Row]) -> Table {
    let points = |name: &str| Column::of(name, Form::Decimals(2));
    let p = |name: &str| Column::of(name, Form::Decimals(4));
    let mut table = Table::new(
        "benign-cost",
        "Each condition against none",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            points("delta_vote"),
            points("ci_low"),
            points("ci_high"),
            points("delta_mean"),
            p("mcnemar_p"),
            p("signflip_p"),
            Column::of("token_overhead", Form::Decimals(3)),
            Column::of("fqr", Form::Decimals(3)),
            Column::plain("cells"),
            points("resolvable_effect"),
        ],
    );
    table.note = "Deltas, interval and resolvable effect in points; the interval is of the vote. `fqr` is the reranker's \
                  where it runs. `token_overhead` and `fqr` are shares; 0 by definition without a stage that decides."
        .to_owned();
    for row in rows {
        let stages = tally::stages(cells, &row.condition);
        let interval = row.vote.interval;
        table.rows.push(vec![
            json!(row.condition),
            json!(row.set.as_str()),
            in_points(row.vote.delta),
            in_points(interval.map(|interval| interval.low)),
            in_points(interval.map(|interval| interval.high)),
            in_points(row.mean.delta),
            json!(row.mcnemar),
            json!(row.sign_flip.map(|flip: SignFlip| flip.p)),
            json!(tally::tokens(cells, &row.condition).overhead()),
            json!(tally::fqr(&stages)),
            json!(row.cells),
            in_points(interval.map(|interval| interval.resolvable_effect())),
        ]);
    }
    table
}

/// The paper's Table 3 beside ours.
fn beside(cells: &[Cell], rows: &[Row]) -> Table {
    let mut table = Table::new(
        "table-3",
        "The paper's Table 3 beside this run (core questions, vote)",
        vec![
            Column::plain("condition"),
            Column::plain("paper_delta"),
            Column::plain("our_delta"),
            Column::of("paper_overhead", Form::Decimals(3)),
            Column::of("our_overhead", Form::Decimals(3)),
            Column::of("paper_fqr", Form::Decimals(3)),
            Column::of("our_fqr", Form::Decimals(3)),
        ],
    );
    for row in rows.iter().filter(|row| row.set == Set::Core) {
        let published = paper::of(&row.condition);
        let ours = shown(&row.vote);
        let stages = tally::stages(cells, &row.condition);
        let theirs = published.map(|row| format!("{:+.1} [{:+.1}, {:+}]", row.delta, row.low, row.high));
        table.rows.push(vec![
            json!(row.condition),
            json!(theirs),
            json!(ours),
            json!(published.map(|row| row.overhead)),
            json!(tally::tokens(cells, &row.condition).overhead()),
            json!(published.map(|row| row.fqr)),
            json!(tally::fqr(&stages)),
        ]);
    }
    table
}

/// Both rules side by side, and what missing grades do.
fn rules(rows: &[Row]) -> Table {
    let points = |name: &str| Column::of(name, Form::Decimals(2));
    let mut table = Table::new(
        "both-rules",
        "Both ways of making one value of the replicates",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            Column::plain("vote"),
            Column::plain("mean"),
            points("mean_minus_vote"),
            points("without_missing"),
            points("resolution"),
            Column::of("signflip_floor", Form::Decimals(4)),
            Column::plain("missing_grades"),
            Column::plain("questions"),
        ],
    );
    table.note = "Points. `without_missing` is the vote without questions that miss a grade in any replicate of either \
                  side. A sign-flip over so few dialogues cannot go below its floor."
        .to_owned();
    for row in rows {
        let difference = row.mean.delta.zip(row.vote.delta).map(|(mean, vote)| mean - vote);
        table.rows.push(vec![
            json!(row.condition),
            json!(row.set.as_str()),
            json!(shown(&row.vote)),
            json!(shown(&row.mean)),
            in_points(difference),
            in_points(row.sensitivity),
            in_points(row.vote.interval.map(|interval| interval.resolution())),
            json!(row.sign_flip.map(|flip| flip.floor)),
            json!(row.incomplete.len()),
            json!(row.vote.questions),
        ]);
    }
    table
}

fn stages(plan: &Plan, cells: &[Cell]) -> Table {
    let mut table = Table::new(
        "stages",
        "What each stage kept out, and all of it was legitimate",
        vec![
            Column::plain("condition"),
            Column::plain("stage"),
            Column::plain("phase"),
            Column::of("fqr", Form::Decimals(4)),
            Column::of("distinct_lost", Form::Decimals(4)),
            Column::plain("adjudicated"),
            Column::plain("kept_out"),
            Column::plain("most_in_a_cell"),
            Column::plain("undecided"),
            Column::of("marked", Form::Decimals(4)),
        ],
    );
    table.note = "`fqr`: kept out over adjudicated, averaged over cells; at read a pair of query and candidate is one \
                  adjudication. `distinct_lost`: different memories over those stored (at write: extracted). `marked`: \
                  memories in sight with a finding or lowered authority."
        .to_owned();
    for condition in &plan.conditions {
        for rate in tally::stages(cells, condition) {
            let undecided: Vec<String> = rate
                .failed
                .iter()
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            table.rows.push(vec![
                json!(condition),
                json!(rate.stage),
                json!(rate.phase),
                json!(rate.fqr),
                json!(rate.distinct),
                json!(rate.adjudicated),
                json!(rate.kept_out),
                json!(rate.most),
                json!(undecided.join(", ")),
                json!(marked(cells, condition)),
            ]);
        }
    }
    table
}

fn spent(plan: &Plan, cells: &[Cell]) -> Table {
    let mut table = Table::new(
        "tokens",
        "Tokens",
        vec![
            Column::plain("condition"),
            Column::plain("defense"),
            Column::plain("extract"),
            Column::plain("answer"),
            Column::of("overhead", Form::Decimals(3)),
            Column::plain("judge_excluded"),
            Column::plain("cost_usd"),
        ],
    );
    table.note =
        "Overhead: defense over extraction and answers. Judge and embeddings are in neither.".to_owned();
    for condition in &plan.conditions {
        let sum = tally::tokens(cells, condition);
        let of: Vec<&Cell> = cells.iter().filter(|cell| cell.condition == *condition).collect();
        let judge = of.iter().flat_map(|cell| cell.result.judge_spent.values());
        let judge: u64 = judge.map(super::record::Spent::tokens).sum();
        let costs = of.iter().flat_map(|cell| cell.result.spent.values());
        let cost: Option<u64> = costs.map(|spent| spent.cost_picousd).sum();
        table.rows.push(vec![
            json!(condition),
            json!(sum.defense),
            json!(sum.extract),
            json!(sum.answer),
            json!(sum.overhead()),
            json!(judge),
            json!(cost.map(|cost| memwarden::model::Cost::from_picodollars(cost).to_string())),
        ]);
    }
    table
}

fn by_conversation(rows: &[Row]) -> Table {
    let points = |name: &str| Column::of(name, Form::Decimals(2));
    let mut table = Table::new(
        "by-conversation",
        "Each dialogue",
        vec![
            Column::plain("condition"),
            Column::plain("set"),
            Column::plain("conversation"),
            points("delta_vote"),
            points("delta_mean"),
        ],
    );
    for row in rows {
        for ((conversation, vote), (_, mean)) in
            row.vote.by_conversation.iter().zip(&row.mean.by_conversation)
        {
            table.rows.push(vec![
                json!(row.condition),
                json!(row.set.as_str()),
                json!(conversation),
                in_points(Some(*vote)),
                in_points(Some(*mean)),
            ]);
        }
    }
    table
}

fn per_cell(cells: &[Cell]) -> Table {
    let share = |name: &str| Column::of(name, Form::Decimals(3));
    let mut table = Table::new(
        "cells",
        "Each cell",
        vec![
            Column::plain("cell"),
            Column::plain("extracted"),
            Column::plain("stored"),
            Column::plain("kept_out"),
            Column::plain("questions"),
            share("core"),
            share("adversarial"),
            Column::plain("missing_grades"),
            Column::plain("lost_turns"),
            Column::plain("state"),
        ],
    );
    table.note = "The record of a cell is the line of `records.jsonl` with its name.".to_owned();
    for cell in cells {
        let result = &cell.result;
        let state = match (&result.void, result.extraction.degraded) {
            (Some(why), _) => format!("void: {why}"),
            (None, true) => "degraded".to_owned(),
            (None, false) => String::new(),
        };
        table.rows.push(vec![
            json!(cell.id),
            json!(result.extracted),
            json!(result.stored),
            json!(result.kept_out.len()),
            json!(result.questions.len()),
            json!(accuracy(cell, Set::Core)),
            json!(accuracy(cell, Set::Adversarial)),
            json!(
                result
                    .questions
                    .iter()
                    .filter(|asked| asked.correct().is_none())
                    .count()
            ),
            json!(result.extraction.lost_turns),
            json!(state),
        ]);
    }
    table
}

fn figures(plan: &Plan, cells: &[Cell], rows: &[Row]) -> Vec<Figure> {
    let mut differences = Vec::new();
    for row in rows.iter().filter(|row| row.set == Set::Core) {
        if let (Some(delta), Some(interval)) = (row.vote.delta, row.vote.interval) {
            differences.push(Difference {
                label: row.condition.clone(),
                delta: 100.0 * delta,
                low: 100.0 * interval.low,
                high: 100.0 * interval.high,
                hue: 0,
            });
        }
        if let Some(published) = paper::of(&row.condition) {
            differences.push(Difference {
                label: format!("{} (paper)", row.condition),
                delta: published.delta,
                low: published.low,
                high: published.high,
                hue: 1,
            });
        }
    }
    let rates = plan.conditions.iter().flat_map(|condition| {
        let stages = tally::stages(cells, condition).into_iter();
        stages.map(move |rate| Bar {
            label: format!("{condition}: {}", rate.stage),
            value: rate.fqr,
            limits: None,
            note: format!("{:.1}%", 100.0 * rate.fqr),
        })
    });
    let points = rows.iter().filter(|row| row.set == Set::Core).filter_map(|row| {
        Some(Point {
            label: row.condition.clone(),
            x: tally::tokens(cells, &row.condition).overhead()?,
            y: 100.0 * row.vote.delta?,
            hue: 0,
        })
    });
    vec![
        Figure {
            title: "Core questions lost or won".to_owned(),
            caption: "Points of core accuracy against none, by the vote, with 95 % intervals; the paper's in the other color."
                .to_owned(),
            svg: forest(&differences),
        },
        Figure {
            title: "Legitimate memories kept out".to_owned(),
            caption: "The false quarantine rate of each deciding stage, averaged over cells.".to_owned(),
            svg: bars(&rates.collect::<Vec<_>>()),
        },
        Figure {
            title: "Tokens against answers".to_owned(),
            caption: "Token overhead to the right, difference in core accuracy upwards.".to_owned(),
            svg: scatter(&points.collect::<Vec<_>>(), "token overhead", "points"),
        },
    ]
}

/// Why the run as a whole says nothing, if so.
#[expect(clippy::cast_precision_loss, reason = "replies are few")]
fn failure(plan: &Plan, cells: &[Cell]) -> Option<String> {
    let sum = |of: fn(&Cell) -> u64| cells.iter().map(of).sum::<u64>();
    let (replies, parsed) = (
        sum(|cell| cell.result.extraction.replies),
        sum(|cell| cell.result.extraction.parsed),
    );
    let share = parsed as f64 / replies.max(1) as f64;
    (replies == 0 || share < plan.least_parsed).then(|| {
        format!(
            "{parsed} of {replies} extraction replies are whole and parse ({:.1} %): at least {:.0} % are needed, so no \
             number below says anything.",
            100.0 * share,
            100.0 * plan.least_parsed
        )
    })
}

fn notes(plan: &Plan, cells: &[Cell], rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    if cells.iter().any(|cell| cell.result.simulated) {
        notes.push(format!(
            "SIMULATED: a rule-based stand-in extracted, answered and judged. The run shows that the measurement works, \
             not what a defense costs with a real model. Its rates: {}.",
            json!(plan.stand_in)
        ));
    }
    if plan.grading == Grading::ExactOrF1 {
        notes.push("Core answers were graded by exact match or token F1, not by a judge.".to_owned());
    }
    let named = |wanted: fn(&Cell) -> bool| {
        let of = cells
            .iter()
            .filter(|cell| wanted(cell))
            .map(|cell| cell.id.as_str());
        of.collect::<Vec<_>>().join(", ")
    };
    let void = named(|cell| cell.result.void.is_some());
    if !void.is_empty() {
        notes.push(format!(
            "Void, since an active stage decided about nothing: {void}. They are in no number."
        ));
    }
    let degraded = named(|cell| cell.result.extraction.degraded);
    if !degraded.is_empty() {
        notes.push(format!(
            "Degraded, since more than 1 % of the turns stored nothing: {degraded}."
        ));
    }
    let core: Vec<&Row> = rows.iter().filter(|row| row.set == Set::Core).collect();
    let widest = core
        .iter()
        .filter_map(|row| row.vote.interval)
        .map(crate::stats::Interval::resolution)
        .fold(0.0_f64, f64::max);
    if widest > 0.0 {
        let scale = scale_for(0.02, widest, 0.8).unwrap_or(f64::NAN);
        notes.push(format!(
            "Resolution (half of the widest core interval): {:.1} points; an effect of {:.1} points is found four times out \
             of five. To find 2 points as often, {:.1} times the questions are needed.",
            100.0 * widest,
            100.0 * crate::stats::POWER_FACTOR * widest,
            scale
        ));
    }
    if let Some(flip) = core.iter().find_map(|row| row.sign_flip) {
        notes.push(format!(
            "The sign-flip test over this many dialogues cannot give less than {:.4}, whatever a defense does.",
            flip.floor
        ));
    }
    if plan.conditions.iter().any(|name| name == "provenance") {
        notes.push(
            "Every turn of these dialogues has one and the same trust, so `provenance` cannot change an order here: what \
             it differs by is noise of the pipeline."
                .to_owned(),
        );
    }
    for cell in cells.iter().filter(|cell| cell.result.gate.is_some()).take(1) {
        let allowed: u64 = cells
            .iter()
            .filter_map(|cell| cell.result.gate.as_ref()?.get("allow"))
            .sum();
        let asked: u64 = cells
            .iter()
            .filter_map(|cell| cell.result.gate.as_ref())
            .flat_map(|gate| gate.values())
            .sum();
        notes.push(format!(
            "`{}` asked its gate before each answer: {allowed} of {asked} were allowed. An answer is a routine action, \
             which is logged and never checked; what the gate costs where it checks is another experiment's question.",
            cell.condition
        ));
    }
    notes.push(
        "Stores were opened without waiting for the disk. `stacked-X` is `stacked` without X; `stacked-reversed` runs its \
         stages in the reverse order; `rerank+backfill` fills the places of what it withholds."
            .to_owned(),
    );
    notes
}

#[expect(clippy::cast_precision_loss, reason = "questions are few")]
fn accuracy(cell: &Cell, set: Set) -> Option<f64> {
    let of = cell
        .result
        .questions
        .iter()
        .filter(|asked| set.holds(asked.is_core()));
    let grades: Vec<bool> = of.filter_map(super::record::Asked::correct).collect();
    let right = grades.iter().filter(|right| **right).count();
    (!grades.is_empty()).then(|| right as f64 / grades.len() as f64)
}

#[expect(clippy::cast_precision_loss, reason = "memories are few")]
fn marked(cells: &[Cell], condition: &str) -> f64 {
    let of: Vec<&Cell> = cells.iter().filter(|cell| cell.condition == condition).collect();
    let shares = of
        .iter()
        .map(|cell| cell.result.marked as f64 / cell.result.stored.max(1) as f64);
    shares.sum::<f64>() / of.len().max(1) as f64
}

fn shown(compared: &Compared) -> Option<String> {
    let (delta, interval) = compared.delta.zip(compared.interval)?;
    Some(format!(
        "{:+.1} [{:+.1}, {:+.1}]",
        100.0 * delta,
        100.0 * interval.low,
        100.0 * interval.high
    ))
}

fn in_points(share: Option<f64>) -> Value {
    json!(share.map(|share| 100.0 * share))
}
