//! What a report says of cells that are known.

use super::*;
use crate::cost::tally::tests::{cell, count, spent};
use crate::experiment::{ExperimentFile, Table};
use serde_json::{Value, json};

const PLAN: &str = "name = \"t\"\nkind = \"benign-cost\"\nseed = 3\ndialogues = \"lighthouse\"\nconversations = [\"a\"]\n\
                    conditions = [\"none\", \"anomaly\"]\nreplicates = 1\n";
const REAL: &str = "model = \"endpoint:http://h/v1#a/x\"\njudge = \"endpoint:http://h/v1#b/y\"\n";

fn plan(models: &str) -> Plan {
    let file = ExperimentFile::parse(format!("{PLAN}{models}"), std::path::PathBuf::new()).unwrap();
    file.plan().unwrap()
}

fn record(cell: &Cell) -> Record {
    let config =
        json!({"condition": cell.condition, "conversation": cell.conversation, "replicate": cell.replicate});
    let text = json!({
        "cell": cell.id, "digest": "", "config": config, "result": serde_json::to_value(&cell.result).unwrap(),
    });
    serde_json::from_value(text).unwrap()
}

fn none() -> Cell {
    cell("none", "a", 1, &[Some(true), Some(true)])
}

fn anomaly() -> Cell {
    let mut cell = cell("anomaly", "a", 1, &[Some(true), Some(false)]);
    cell.result.stages.push(count("anomaly", "write", 10, 2));
    cell.result.spent.insert("extract".to_owned(), spent(99));
    cell.result.spent.insert("defense:anomaly".to_owned(), spent(49));
    cell
}

fn of(models: &str, cells: &[Cell]) -> Report {
    let records: Vec<Record> = cells.iter().map(record).collect();
    report(&plan(models), &records).unwrap()
}

fn value(table: &Table, row: usize, column: &str) -> Value {
    let at = table
        .columns
        .iter()
        .position(|known| known.name == column)
        .unwrap();
    table.rows[row][at].clone()
}

fn named<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.tables.iter().find(|table| table.name == name).unwrap()
}

#[test]
fn the_first_table_has_the_columns_of_the_specification_and_their_values() {
    let report = of(REAL, &[none(), anomaly()]);
    let main = &report.tables[0];
    let columns: Vec<&str> = main.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(
        columns,
        [
            "condition",
            "set",
            "delta_vote",
            "ci_low",
            "ci_high",
            "delta_mean",
            "mcnemar_p",
            "signflip_p",
            "token_overhead",
            "fqr",
            "cells",
            "resolvable_effect"
        ]
    );
    assert_eq!(main.rows.len(), 2);
    assert_eq!(
        (value(main, 0, "set"), value(main, 1, "set")),
        (json!("core"), json!("adversarial"))
    );
    assert_eq!(value(main, 0, "delta_vote"), json!(-50.0));
    assert_eq!(value(main, 0, "token_overhead"), json!(0.5));
    assert_eq!(value(main, 0, "fqr"), json!(0.2));
    assert_eq!(value(main, 0, "cells"), json!(1));
    let beside = named(&report, "table-3");
    assert_eq!(value(beside, 0, "paper_delta"), json!("+3.1 [-0.9, +7.1]"));
    // Every table has a value for each of its columns.
    for table in &report.tables {
        assert!(
            table.rows.iter().all(|row| row.len() == table.columns.len()),
            "{}",
            table.name
        );
    }
}

#[test]
fn what_a_stand_in_did_is_said_and_what_it_did_not_is_not() {
    let notes = |models: &str| of(models, &[none(), anomaly()]).notes.join("\n");
    assert!(!notes(REAL).contains("SIMULATED"));
    let model = "model = \"simulated\"\njudge = \"endpoint:http://h/v1#b/y\"\n";
    assert!(notes(model).contains("stand-in extracted, answered and judged for the defenses."));
    let judge = "model = \"endpoint:http://h/v1#a/x\"\njudge = \"simulated\"\n";
    assert!(notes(judge).contains("stand-in graded the answers."));
    assert!(notes(REAL).contains("graded by by hand."));
    // The newest grade counts, and what it was made by is what is said.
    let mut by_words = none();
    for asked in &mut by_words.result.questions {
        asked
            .grades
            .push(crate::cost::grade::by_words("an answer", "an answer"));
    }
    let notes = of(REAL, &[by_words]).notes.join("\n");
    assert!(
        notes.contains("exact match or token F1 (`exact-or-f1-v1`), not by a judge"),
        "{notes}"
    );
    assert!(!notes.contains("by hand"));
}

#[test]
fn a_void_cell_is_named_with_its_reason_and_its_tokens_count_nowhere() {
    let mut void = anomaly();
    void.result.void = Some("stage `anomaly` decided about nothing at write".to_owned());
    let report = of(REAL, &[none(), void]);
    let note = report.notes.iter().find(|note| note.starts_with("Void")).unwrap();
    assert!(
        note.contains("anomaly/a/1 (stage `anomaly` decided about nothing at write)"),
        "{note}"
    );
    assert_eq!(value(&report.tables[0], 0, "delta_vote"), Value::Null);
    assert_eq!(value(&report.tables[0], 0, "cells"), json!(0));
    let tokens = named(&report, "tokens");
    assert_eq!(
        (value(tokens, 1, "condition"), value(tokens, 1, "defense")),
        (json!("anomaly"), json!(0))
    );
    assert!(named(&report, "stages").rows.is_empty());
    // It is listed, last.
    let cells = named(&report, "cells");
    assert_eq!(
        value(cells, 1, "state"),
        json!("void: stage `anomaly` decided about nothing at write")
    );
}

#[test]
fn a_run_whose_extractions_do_not_parse_is_reported_as_failed() {
    let with = |parsed: u64| {
        let mut cell = none();
        cell.result.extraction.parsed = parsed;
        of(REAL, &[cell])
    };
    assert!(!with(8).title.contains("FAILED"));
    let failed = with(7);
    assert_eq!(failed.title, "FAILED: t");
    assert!(failed.notes[0].starts_with("7 of 10 extraction replies are whole and parse (70.0 %)"));
    // Nothing was extracted at all, which also makes its cells void.
    let mut void = anomaly();
    void.result.extraction.parsed = 0;
    void.result.void = Some("stage `anomaly` decided about nothing at write".to_owned());
    assert!(of(REAL, &[void]).title.starts_with("FAILED"));
}

#[test]
fn degraded_cells_are_named_and_count() {
    let mut degraded = anomaly();
    degraded.result.extraction.degraded = true;
    let report = of(REAL, &[none(), degraded]);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("Degraded") && note.contains("anomaly/a/1"))
    );
    assert_eq!(value(&report.tables[0], 0, "cells"), json!(1));
}
