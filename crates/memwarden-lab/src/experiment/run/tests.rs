//! A run can be killed, resumed and repeated, and its bytes do not show it.

use super::*;
use crate::experiment::record::{RECORDS, read};
use crate::experiment::{CellId, Report};
use serde_json::Value;
use std::sync::Mutex;

/// Squares, one of which may fail.
#[derive(Debug)]
struct Squares {
    seed: u64,
    fails_at: Option<u64>,
    ran: Mutex<Vec<u64>>,
}

impl Squares {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            fails_at: None,
            ran: Mutex::default(),
        }
    }
}

impl Experiment for Squares {
    fn name(&self) -> &str {
        "squares"
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        let cell = |n: u64| {
            Cell::new(
                CellId::of(&["n", &n.to_string()]),
                json!({"n": n, "seed": self.seed}),
            )
        };
        Ok((0..12).map(cell).collect())
    }

    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError> {
        let n = cell.config["n"].as_u64().unwrap();
        assert!(std::fs::read_dir(scratch).unwrap().next().is_none());
        std::fs::write(scratch.join("left"), "").unwrap();
        if self.fails_at == Some(n) {
            return Err(ExperimentError::Unexpected("no square".to_owned()));
        }
        self.ran.lock().unwrap().push(n);
        Ok(json!(n * n + self.seed))
    }

    fn report(&self, _: &[Record]) -> Result<Report, ExperimentError> {
        Ok(Report::default())
    }
}

fn bytes(directory: &Path) -> Vec<u8> {
    std::fs::read(directory.join(RECORDS)).unwrap()
}

#[test]
fn the_same_configuration_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&Squares::new(3), one.path(), 1, &mut |_| {}).unwrap();
    let ran = run(&Squares::new(3), other.path(), 5, &mut |_| {}).unwrap();
    assert_eq!(bytes(one.path()), bytes(other.path()));
    let order: Vec<_> = ran
        .records
        .iter()
        .map(|record| record.config["n"].as_u64().unwrap())
        .collect();
    assert_eq!(order, (0..12).collect::<Vec<_>>());
    assert!(!String::from_utf8(bytes(one.path())).unwrap().contains("seconds"));
    assert!(one.path().join(TIMES).exists());
}

#[test]
fn a_failed_cell_stops_the_run_and_what_is_finished_is_not_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut broken = Squares::new(3);
    broken.fails_at = Some(4);
    let error = run(&broken, directory.path(), 1, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell `n/4`: the experiment could not be carried out: no square"
    );
    let ran = broken.ran.into_inner().unwrap();
    assert_eq!(ran, [0, 1, 2, 3], "nothing begins after a failure");
    let mended = Squares::new(3);
    let mut told = Vec::new();
    let resumed = run(&mended, directory.path(), 2, &mut |at| {
        told.push((at.done, at.total))
    })
    .unwrap();
    assert_eq!(resumed.resumed, 4);
    let again = mended.ran.into_inner().unwrap();
    assert!(again.iter().all(|n| !ran.contains(n)));
    assert_eq!((told.first(), told.last()), (Some(&(4, 12)), Some(&(12, 12))));
    let whole = tempfile::tempdir().unwrap();
    run(&Squares::new(3), whole.path(), 2, &mut |_| {}).unwrap();
    assert_eq!(bytes(directory.path()), bytes(whole.path()));
}

#[test]
fn a_torn_last_line_is_dropped_and_its_cell_run_again() {
    let directory = tempfile::tempdir().unwrap();
    run(&Squares::new(3), directory.path(), 2, &mut |_| {}).unwrap();
    let whole = bytes(directory.path());
    for cut in [1, 2, 30] {
        std::fs::write(directory.path().join(RECORDS), &whole[..whole.len() - cut]).unwrap();
        let again = Squares::new(3);
        run(&again, directory.path(), 2, &mut |_| {}).unwrap();
        assert_eq!(again.ran.into_inner().unwrap(), [11]);
        assert_eq!(bytes(directory.path()), whole);
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_and_no_result() {
    let directory = tempfile::tempdir().unwrap();
    run(&Squares::new(3), directory.path(), 2, &mut |_| {}).unwrap();
    let text = String::from_utf8(bytes(directory.path()))
        .unwrap()
        .replacen("\"cell\"", "\"sell\"", 1);
    std::fs::write(directory.path().join(RECORDS), &text).unwrap();
    let error = run(&Squares::new(3), directory.path(), 2, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 1"), "{error}");
    assert!(read(directory.path()).is_err());
    assert_eq!(bytes(directory.path()), text.as_bytes(), "nothing is changed");
}

#[test]
fn another_configuration_is_refused_with_a_way_out() {
    let directory = tempfile::tempdir().unwrap();
    run(&Squares::new(3), directory.path(), 2, &mut |_| {}).unwrap();
    let before = bytes(directory.path());
    let error = run(&Squares::new(4), directory.path(), 2, &mut |_| {}).unwrap_err();
    assert!(error.is_input());
    for said in ["cell `n/0`", "another configuration", "--out"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(bytes(directory.path()), before);
}

#[test]
fn a_file_that_is_not_this_experiments_is_not_shortened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(RECORDS);
    std::fs::write(&path, "{\"mine\": \"the only copy\"}\n").unwrap();
    let error = run(&Squares::new(3), directory.path(), 2, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("no record of a run"), "{error}");
    assert_eq!(bytes(directory.path()), b"{\"mine\": \"the only copy\"}\n");
    std::fs::remove_file(&path).unwrap();
    run(&Squares::new(3), directory.path(), 2, &mut |_| {}).unwrap();
    let torn = [bytes(directory.path()), b"{\"cell\": ".to_vec()].concat();
    std::fs::write(&path, &torn).unwrap();
    run(&Squares::new(4), directory.path(), 2, &mut |_| {}).unwrap_err();
    assert_eq!(bytes(directory.path()), torn);
}
