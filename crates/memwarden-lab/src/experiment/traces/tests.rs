//! What the traces experiment counts.

use super::*;
use crate::experiment::run;

const FILE: &str = r#"
name = "t"
kind = "traces"
seed = 1
samples = 300
defenses = ["none", "keyword", "warden"]
"#;

#[test]
fn words_tell_forged_logs_hardly_from_honest_ones_unless_they_give_orders() {
    let records = records();
    let mut measured = 0;
    for record in records.iter().filter(|record| record.cell.starts_with("words/")) {
        let auc: Auc = record.result().unwrap();
        assert_eq!((auc.honest, auc.forged), (300, 300));
        let of = |auc: &Auc| auc.auc.max(auc.auc_known_wordings);
        match record.text("variant") {
            "full" | "general-store" | "paraphrase" => assert!(of(&auc) <= 0.65, "{}: {auc:?}", record.cell),
            "naive" => assert!(auc.auc > 0.9, "{}: {auc:?}", record.cell),
            _ => continue,
        }
        measured += 1;
    }
    assert_eq!(measured, 3 * 4);
}

fn records() -> Vec<Record> {
    let file = ExperimentFile::parse(FILE.to_owned(), PathBuf::new()).unwrap();
    let out = tempfile::tempdir().unwrap();
    run(&Traces::read(&file).unwrap(), out.path(), 2, &mut |_| {})
        .unwrap()
        .records
}

#[test]
fn the_own_traces_are_as_many_as_the_papers_and_a_block_list_refuses_honest_ones() {
    let file = ExperimentFile::parse(FILE.to_owned(), PathBuf::new()).unwrap();
    let experiment = Traces::read(&file).unwrap();
    let records = records();
    let own: Vec<Rejected> = records
        .iter()
        .find(|record| record.cell == "own")
        .unwrap()
        .result()
        .unwrap();
    let all = |defense: &str| {
        let row = own
            .iter()
            .find(|row| row.group == "all" && row.defense == defense);
        let row = row.unwrap();
        (row.rejected, row.traces)
    };
    assert_eq!(all("none"), (0, 326));
    assert_eq!(all("warden"), (0, 326));
    let (refused, _) = all("keyword");
    assert!(
        (1..10).contains(&refused),
        "{refused}: a listed word in its honest sense"
    );
    let report = experiment.report(&records).unwrap();
    let rows: Vec<usize> = report.tables.iter().map(|table| table.rows.len()).collect();
    // Five variants in three domains; three defenses for three agents, what is by hand, and all.
    assert_eq!(rows, [15, 15]);
}
