//! The tables of a report. Each column stands once, beside what is in it.

use crate::cost::paper;
use crate::cost::plan::Plan;
use crate::cost::record::{Asked, Spent};
use crate::cost::tally::{self, Cell, Cells, Compared, Row, Set, StageRate};
use crate::experiment::tables::Form;
use crate::experiment::{Column, Table};
use serde_json::{Value, json};

/// Every table, the one that programs read first: its columns are fixed.
pub(super) fn tables(plan: &Plan, cells: &Cells, rows: &[Row]) -> Vec<Table> {
    let counted = cells.counted.as_slice();
    vec![
        main(counted, rows),
        beside(counted, rows),
        rules(rows),
        stages(plan, counted),
        spent(plan, counted),
        by_conversation(rows),
        per_cell(cells),
    ]
}

/// What a column says of a row.
type Says<'a, T> = Box<dyn Fn(&T) -> Value + 'a>;

/// Columns, each with what it says of a row.
struct Fields<'a, T>(Vec<(Column, Says<'a, T>)>);

impl<'a, T> Fields<'a, T> {
    const NONE: Self = Self(Vec::new());

    fn field(mut self, name: &str, form: Form, value: impl Fn(&T) -> Value + 'a) -> Self {
        self.0.push((Column::of(name, form), Box::new(value)));
        self
    }

    fn plain(self, name: &str, value: impl Fn(&T) -> Value + 'a) -> Self {
        self.field(name, Form::Plain, value)
    }

    fn decimals(self, name: &str, decimals: usize, value: impl Fn(&T) -> Value + 'a) -> Self {
        self.field(name, Form::Decimals(decimals), value)
    }

    /// A share as points.
    fn points(self, name: &str, share: impl Fn(&T) -> Option<f64> + 'a) -> Self {
        self.decimals(name, 2, move |row| json!(share(row).map(|share| 100.0 * share)))
    }
}

fn table<'r, T: 'r>(
    (name, title): (&str, &str),
    note: &str,
    rows: impl IntoIterator<Item = &'r T>,
    fields: Fields<'_, T>,
) -> Table {
    let (columns, values): (Vec<_>, Vec<_>) = fields.0.into_iter().unzip();
    let mut table = Table::new(name, title, columns);
    note.clone_into(&mut table.note);
    for row in rows {
        table.rows.push(values.iter().map(|value| value(row)).collect());
    }
    table
}

fn main(cells: &[Cell], rows: &[Row]) -> Table {
    table(
        ("benign-cost", "Each condition against none"),
        "Deltas, interval and resolvable effect in points; the interval is of the vote. `fqr` is the reranker's where it \
         runs. `token_overhead` and `fqr` are shares; 0 by definition without a stage that decides.",
        rows,
        Fields::<Row>::NONE
            .plain("condition", |row| json!(row.condition))
            .plain("set", |row| json!(row.set.as_str()))
            .points("delta_vote", |row| row.vote.delta)
            .points("ci_low", |row| row.vote.interval.map(|interval| interval.low))
            .points("ci_high", |row| row.vote.interval.map(|interval| interval.high))
            .points("delta_mean", |row| row.mean.delta)
            .decimals("mcnemar_p", 4, |row| json!(row.mcnemar))
            .decimals("signflip_p", 4, |row| json!(row.sign_flip.map(|flip| flip.p)))
            .decimals("token_overhead", 3, |row| {
                json!(tally::tokens(cells, &row.condition).overhead())
            })
            .decimals("fqr", 3, |row| json!(fqr(cells, row)))
            .plain("cells", |row| json!(row.cells))
            .points("resolvable_effect", |row| {
                row.vote.interval.map(|interval| interval.resolvable_effect())
            }),
    )
}

/// The paper's Table 3 beside ours.
fn beside(cells: &[Cell], rows: &[Row]) -> Table {
    let published = |row: &Row| paper::of(&row.condition);
    table(
        (
            "table-3",
            "The paper's Table 3 beside this run (core questions, vote)",
        ),
        "",
        rows.iter().filter(|row| row.set == Set::Core),
        Fields::<Row>::NONE
            .plain("condition", |row| json!(row.condition))
            .plain("paper_delta", move |row| {
                json!(
                    published(row).map(|row| format!("{:+.1} [{:+.1}, {:+}]", row.delta, row.low, row.high))
                )
            })
            .plain("our_delta", |row| json!(shown(&row.vote)))
            .decimals("paper_overhead", 3, move |row| {
                json!(published(row).map(|row| row.overhead))
            })
            .decimals("our_overhead", 3, |row| {
                json!(tally::tokens(cells, &row.condition).overhead())
            })
            .decimals("paper_fqr", 3, move |row| {
                json!(published(row).map(|row| row.fqr))
            })
            .decimals("our_fqr", 3, |row| json!(fqr(cells, row))),
    )
}

/// Both rules side by side, and what missing grades do.
fn rules(rows: &[Row]) -> Table {
    table(
        ("both-rules", "Both ways of making one value of the replicates"),
        "Points. `without_missing` is the vote without questions that miss a grade in any replicate of either side. A \
         sign-flip over so few dialogues cannot go below its floor.",
        rows,
        Fields::<Row>::NONE
            .plain("condition", |row| json!(row.condition))
            .plain("set", |row| json!(row.set.as_str()))
            .plain("vote", |row| json!(shown(&row.vote)))
            .plain("mean", |row| json!(shown(&row.mean)))
            .points("mean_minus_vote", |row| {
                row.mean.delta.zip(row.vote.delta).map(|(mean, vote)| mean - vote)
            })
            .points("without_missing", |row| row.sensitivity)
            .points("resolution", |row| {
                row.vote.interval.map(|interval| interval.resolution())
            })
            .decimals("signflip_floor", 4, |row| {
                json!(row.sign_flip.map(|flip| flip.floor))
            })
            .plain("missing_grades", |row| json!(row.incomplete.len()))
            .plain("questions", |row| json!(row.vote.questions)),
    )
}

fn stages(plan: &Plan, cells: &[Cell]) -> Table {
    let rates: Vec<(&String, StageRate)> = plan
        .conditions
        .iter()
        .flat_map(|condition| {
            let rates = tally::stages(cells, condition);
            rates.into_iter().map(move |rate| (condition, rate))
        })
        .collect();
    table(
        ("stages", "What each stage kept out, and all of it was legitimate"),
        "`fqr`: kept out over adjudicated, averaged over cells; at read a pair of query and candidate is one adjudication. \
         `distinct_lost`: different memories over those stored (at write: extracted). `marked`: memories in sight with a \
         finding or lowered authority.",
        &rates,
        Fields::<(&String, StageRate)>::NONE
            .plain("condition", |(condition, _)| json!(condition))
            .plain("stage", |(_, rate)| json!(rate.stage))
            .plain("phase", |(_, rate)| json!(rate.phase))
            .decimals("fqr", 4, |(_, rate)| json!(rate.fqr))
            .decimals("distinct_lost", 4, |(_, rate)| json!(rate.distinct))
            .plain("adjudicated", |(_, rate)| json!(rate.adjudicated))
            .plain("kept_out", |(_, rate)| json!(rate.kept_out))
            .plain("most_in_a_cell", |(_, rate)| json!(rate.most))
            .plain("undecided", |(_, rate)| {
                let named = rate.failed.iter().map(|(name, count)| format!("{count} {name}"));
                json!(named.collect::<Vec<_>>().join(", "))
            })
            .decimals("marked", 4, |(condition, _)| {
                json!(tally::marked(cells, condition))
            }),
    )
}

fn spent(plan: &Plan, cells: &[Cell]) -> Table {
    let of = |name: &String| {
        let name = name.clone();
        cells.iter().filter(move |cell| cell.condition == name)
    };
    table(
        ("tokens", "Tokens"),
        "Overhead: defense over extraction and answers. Judge and embeddings are in neither.",
        &plan.conditions,
        Fields::<String>::NONE
            .plain("condition", |condition| json!(condition))
            .plain("defense", |condition| {
                json!(tally::tokens(cells, condition).defense)
            })
            .plain("extract", |condition| {
                json!(tally::tokens(cells, condition).extract)
            })
            .plain("answer", |condition| {
                json!(tally::tokens(cells, condition).answer)
            })
            .decimals("overhead", 3, |condition| {
                json!(tally::tokens(cells, condition).overhead())
            })
            .plain("judge_excluded", move |condition| {
                let judged =
                    of(condition).flat_map(|cell| cell.result.judge_spent.values().map(Spent::tokens));
                json!(judged.sum::<u64>())
            })
            .plain("cost_usd", move |condition| {
                let costs =
                    of(condition).flat_map(|cell| cell.result.spent.values().map(|spent| spent.cost_picousd));
                let cost: Option<u64> = costs.sum();
                json!(cost.map(|cost| memwarden::model::Cost::from_picodollars(cost).to_string()))
            }),
    )
}

fn by_conversation(rows: &[Row]) -> Table {
    let deltas: Vec<(&Row, &(String, f64), f64)> = rows
        .iter()
        .flat_map(|row| {
            let both = row.vote.by_conversation.iter().zip(&row.mean.by_conversation);
            both.map(move |(vote, (_, mean))| (row, vote, *mean))
        })
        .collect();
    table(
        ("by-conversation", "Each dialogue"),
        "",
        &deltas,
        Fields::<(&Row, &(String, f64), f64)>::NONE
            .plain("condition", |(row, ..)| json!(row.condition))
            .plain("set", |(row, ..)| json!(row.set.as_str()))
            .plain("conversation", |(_, (conversation, _), _)| json!(conversation))
            .points("delta_vote", |(_, (_, vote), _)| Some(*vote))
            .points("delta_mean", |(.., mean)| Some(*mean)),
    )
}

fn per_cell(cells: &Cells) -> Table {
    table(
        ("cells", "Each cell"),
        "The record of a cell is the line of `records.jsonl` with its name. Void cells stand last.",
        cells.all(),
        Fields::<Cell>::NONE
            .plain("cell", |cell| json!(cell.id))
            .plain("replies", |cell| json!(cell.result.extraction.replies))
            .plain("parsed", |cell| json!(cell.result.extraction.parsed))
            .plain("extracted", |cell| json!(cell.result.extracted))
            .plain("stored", |cell| json!(cell.result.stored))
            .plain("kept_out", |cell| json!(cell.result.kept_out.len()))
            .plain("questions", |cell| json!(cell.result.questions.len()))
            .decimals("core", 3, |cell| json!(accuracy(cell, Set::Core)))
            .decimals("adversarial", 3, |cell| json!(accuracy(cell, Set::Adversarial)))
            .plain("missing_grades", |cell| {
                let missing = |asked: &&Asked| asked.correct().is_none();
                json!(cell.result.questions.iter().filter(missing).count())
            })
            .plain("lost_turns", |cell| json!(cell.result.extraction.lost_turns))
            .plain("state", |cell| {
                json!(match (&cell.result.void, cell.result.extraction.degraded) {
                    (Some(why), _) => format!("void: {why}"),
                    (None, true) => "degraded".to_owned(),
                    (None, false) => String::new(),
                })
            }),
    )
}

fn fqr(cells: &[Cell], row: &Row) -> f64 {
    tally::fqr(&tally::stages(cells, &row.condition))
}

#[expect(clippy::cast_precision_loss, reason = "questions are few")]
fn accuracy(cell: &Cell, set: Set) -> Option<f64> {
    let of = cell
        .result
        .questions
        .iter()
        .filter(|asked| set.holds(asked.is_core()));
    let grades: Vec<bool> = of.filter_map(Asked::correct).collect();
    let right = grades.iter().filter(|right| **right).count();
    (!grades.is_empty()).then(|| right as f64 / grades.len() as f64)
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
