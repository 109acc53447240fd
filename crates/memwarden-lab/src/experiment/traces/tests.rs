//! What the traces experiment counts.

use super::*;
use crate::experiment::run;

const FILE: &str = r#"
name = "t"
kind = "traces"
seed = 1
samples = 60
defenses = ["none", "keyword", "warden"]
"#;

#[test]
fn the_own_traces_are_as_many_as_the_papers_and_a_block_list_refuses_honest_ones() {
    let file = ExperimentFile::parse(FILE.to_owned(), PathBuf::new()).unwrap();
    let experiment = Traces::read(&file).unwrap();
    let out = tempfile::tempdir().unwrap();
    let records = run(&experiment, out.path(), 2, &mut |_| {}).unwrap().records;
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
    assert_eq!(all("warden").1, 326);
    assert!(all("keyword").0 > 0);
    let report = experiment.report(&records).unwrap();
    assert_eq!(report.tables[0].rows.len(), 6);
}
