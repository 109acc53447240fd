//! Cells of known grades, added up by hand.

use super::*;
use crate::cost::plan::Grading;
use crate::cost::record::{Asked, Extraction, Grade, StageCount};

fn asked(question: usize, category: &str, correct: Option<bool>) -> Asked {
    Asked {
        question,
        category: category.to_owned(),
        shown: Vec::new(),
        answer: Some("an answer".to_owned()),
        error: None,
        grades: vec![Grade {
            grader: "by hand".to_owned(),
            correct,
            f1: None,
        }],
    }
}

/// A cell whose core questions have these grades, and whose one adversarial question is right.
pub(in crate::cost) fn cell(
    condition: &str,
    conversation: &str,
    replicate: u32,
    core: &[Option<bool>],
) -> Cell {
    let core = core
        .iter()
        .enumerate()
        .map(|(at, correct)| asked(at, "single-hop", *correct));
    let adversarial = asked(core.len(), "adversarial", Some(true));
    Cell {
        id: format!("{condition}/{conversation}/{replicate}"),
        condition: condition.to_owned(),
        conversation: conversation.to_owned(),
        replicate,
        result: CellResult {
            simulated: false,
            void: None,
            extraction: Extraction {
                turns: 10,
                replies: 10,
                parsed: 10,
                ..Extraction::default()
            },
            extracted: 10,
            stored: 8,
            marked: 0,
            stages: Vec::new(),
            kept_out: Vec::new(),
            gate: None,
            spent: BTreeMap::new(),
            judge_spent: BTreeMap::new(),
            grading: Grading::Judge,
            questions: core.chain([adversarial]).collect(),
        },
    }
}

pub(in crate::cost) fn spent(prompt_tokens: u64) -> Spent {
    Spent {
        calls: 1,
        prompt_tokens,
        completion_tokens: 1,
        ..Spent::default()
    }
}

pub(in crate::cost) fn count(stage: &str, phase: &str, adjudicated: u64, kept_out: u64) -> StageCount {
    StageCount {
        stage: stage.to_owned(),
        phase: phase.to_owned(),
        adjudicated,
        kept_out,
        distinct: kept_out,
        failed: BTreeMap::from([("failed-truncated".to_owned(), 1)]),
    }
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// Two dialogues, three replicates. In `a` the second question is lost by the vote, in `b` nothing is.
fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for replicate in 1..=3 {
        cells.push(cell("none", "a", replicate, &[YES, YES]));
        cells.push(cell("none", "b", replicate, &[YES]));
        let second = if replicate == 1 { YES } else { NO };
        cells.push(cell("rerank", "a", replicate, &[YES, second]));
        cells.push(cell("rerank", "b", replicate, &[YES]));
    }
    cells
}

fn core(cells: &[Cell]) -> Row {
    row(cells, "rerank", Set::Core, 3, 1).unwrap()
}

#[test]
fn dialogues_weigh_the_same_and_both_rules_are_there() {
    let row = core(&grid());
    // Half of dialogue a by the vote, a third by the mean; nothing of dialogue b.
    assert_eq!(row.vote.delta, Some(-0.25));
    assert!((row.mean.delta.unwrap() - -1.0 / 6.0).abs() < 1e-12);
    assert_eq!(
        row.vote.by_conversation,
        [("a".to_owned(), -0.5), ("b".to_owned(), 0.0)]
    );
    assert_eq!((row.vote.questions, row.cells), (3, 6));
    // One question went one way: p is 1. Two dialogues, one of them without a difference.
    assert_eq!(row.mcnemar, Some(1.0));
    assert_eq!(row.sign_flip.unwrap().floor, 0.5);
    let adversarial = super::row(&grid(), "rerank", Set::Adversarial, 3, 1).unwrap();
    assert_eq!(
        (adversarial.vote.delta, adversarial.vote.questions),
        (Some(0.0), 2)
    );
}

#[test]
fn a_missing_grade_is_not_correct_in_the_vote_left_out_of_the_mean_and_listed() {
    let mut cells = grid();
    for cell in cells
        .iter_mut()
        .filter(|cell| cell.id == "rerank/b/1" || cell.id == "rerank/b/2")
    {
        cell.result.questions[0].grades[0].correct = None;
    }
    let row = core(&cells);
    assert_eq!(row.vote.by_conversation[1].1, -1.0);
    assert_eq!(row.mean.by_conversation[1].1, 0.0);
    assert_eq!(row.incomplete, ["b/0"]);
    // Without that question only dialogue a is left.
    assert_eq!(row.sensitivity, Some(-0.5));
}

#[test]
fn a_replicate_that_was_not_run_lowers_no_bar() {
    let cells: Vec<Cell> = grid()
        .into_iter()
        .filter(|cell| cell.condition != "rerank" || cell.conversation != "b" || cell.replicate == 3)
        .collect();
    // One of one is correct, but of three that were planned.
    assert_eq!(core(&cells).vote.by_conversation[1].1, -1.0);
}

fn record(cell: &Cell) -> Record {
    Record {
        cell: cell.id.clone(),
        digest: String::new(),
        config: serde_json::json!({
            "condition": cell.condition, "conversation": cell.conversation, "replicate": cell.replicate,
        }),
        result: serde_json::to_value(&cell.result).unwrap(),
    }
}

#[test]
fn void_cells_are_apart_and_in_no_number() {
    let mut grid = grid();
    // All of dialogue b under the condition, with numbers that would show.
    for cell in grid
        .iter_mut()
        .filter(|cell| cell.condition == "rerank" && cell.conversation == "b")
    {
        cell.result.void = Some("stage `rerank` decided about nothing at read".to_owned());
        cell.result.questions[0].grades[0].correct = NO;
        cell.result
            .spent
            .insert("defense:rerank".to_owned(), spent(1_000));
        cell.result.stages.push(count("rerank", "read", 0, 0));
        cell.result.marked = 8;
    }
    let records: Vec<Record> = grid.iter().map(record).collect();
    let cells = read(&records).unwrap();
    assert_eq!(
        (cells.counted.len(), cells.void.len(), cells.all().count()),
        (9, 3, 12)
    );
    let row = core(&cells.counted);
    assert_eq!(
        (row.vote.delta, row.vote.questions, row.cells),
        (Some(-0.5), 2, 3)
    );
    assert_eq!(row.vote.by_conversation.len(), 1);
    assert_eq!(tokens(&cells.counted, "rerank"), Tokens::default());
    assert_eq!(stages(&cells.counted, "rerank"), []);
    assert!(marked(&cells.counted, "rerank").abs() < 1e-12);
}

#[test]
fn overhead_is_the_defense_over_extraction_and_answers() {
    let mut one = cell("rerank", "a", 1, &[YES]);
    for (purpose, tokens) in [
        ("extract", 99),
        ("answer", 99),
        ("defense:rerank", 19),
        ("embed", 999),
    ] {
        one.result.spent.insert(purpose.to_owned(), spent(tokens));
    }
    one.result.judge_spent.insert("judge".to_owned(), spent(999));
    let sum = tokens(&[one.clone(), cell("none", "a", 1, &[])], "rerank");
    assert_eq!((sum.defense, sum.extract, sum.answer), (20, 100, 100));
    assert_eq!(sum.overhead(), Some(0.1));
    assert_eq!(tokens(&[one], "none").overhead(), None);
}

#[test]
fn rates_are_averaged_over_cells_and_not_pooled() {
    let mut cells = vec![cell("stacked", "a", 1, &[]), cell("stacked", "b", 1, &[])];
    cells[0].result.stages = vec![count("anomaly", "write", 10, 5), count("rerank", "read", 10, 1)];
    cells[1].result.stages = vec![count("anomaly", "write", 90, 0), count("rerank", "read", 90, 27)];
    let rates = stages(&cells, "stacked");
    let [anomaly, rerank] = rates.as_slice() else {
        panic!("two stages: {rates:?}")
    };
    // (5/10 + 0/90) / 2, not 5/100.
    assert!((anomaly.fqr - 0.25).abs() < 1e-12 && (rerank.fqr - 0.2).abs() < 1e-12);
    // At write of what was extracted (10), at read of what is stored (8).
    assert!((anomaly.distinct - 5.0 / 10.0 / 2.0).abs() < 1e-12);
    assert!((rerank.distinct - (1.0 / 8.0 + 27.0 / 8.0) / 2.0).abs() < 1e-12);
    assert_eq!((anomaly.adjudicated, anomaly.kept_out, anomaly.most), (100, 5, 5));
    assert_eq!(anomaly.failed["failed-truncated"], 2);
    // The row shows the reranker's; without one, that of the last stage; without any, 0 by definition.
    assert_eq!(fqr(&rates), rerank.fqr);
    assert_eq!(fqr(&rates[..1]), anomaly.fqr);
    assert!(fqr(&[]).abs() < 1e-12);
}
