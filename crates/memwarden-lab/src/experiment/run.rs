//! Runs the cells of an experiment: side by side, resumable, each record synced.
//!
//! While cells run, records are appended in the order in which they end. When all are there they are put in the order
//! of the cells. How long each took is in `times.jsonl` and in no record.

use super::record::Journal;
use super::{Cell, Experiment, ExperimentError, Record};
use crate::parallel;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Where seconds are kept.
pub const TIMES: &str = "times.jsonl";

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Cells that are finished, earlier runs included.
    pub done: usize,
    /// All cells.
    pub total: usize,
    /// The one that ended last; empty at the beginning.
    pub cell: &'a str,
    /// How long the rest takes if it goes on like this; unknown at the beginning.
    pub left: Option<Duration>,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// One record for each cell, in their order.
    pub records: Vec<Record>,
    /// How many cells were finished by an earlier run.
    pub resumed: usize,
}

/// Runs what is not finished in `out`, `threads` cells at a time. `progress` is told at the beginning and after each
/// cell.
///
/// # Errors
/// A cell that fails; a finished cell whose configuration is another one. What is finished stays finished.
pub fn run(
    experiment: &dyn Experiment,
    out: &Path,
    threads: usize,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Run, ExperimentError> {
    let cells = experiment.cells()?;
    distinct(&cells)?;
    let (mut journal, finished) = Journal::open(out)?;
    let mut records = still_valid(&cells, finished, &journal)?;
    let resumed = records.len();
    let waiting: Vec<&Cell> = cells
        .iter()
        .filter(|cell| !records.contains_key(cell.id.as_str()))
        .collect();
    let mut told = Progress {
        done: resumed,
        total: cells.len(),
        cell: "",
        left: None,
    };
    progress(told);
    let mut failed = None;
    let began = Instant::now();
    let stopped = AtomicBool::new(false);
    let (send, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        let (waiting, stopped) = (&waiting, &stopped);
        scope.spawn(move || {
            parallel::each(threads, waiting, |cell| {
                if stopped.load(Ordering::Relaxed) {
                    return Err(());
                }
                let since = Instant::now();
                let result = measure(experiment, cell);
                stopped.fetch_or(result.is_err(), Ordering::Relaxed);
                send.send((*cell, result, since.elapsed())).map_err(|_| ())
            })
        });
        for (cell, result, took) in ended {
            let kept = result.and_then(|record| {
                journal.append(&record)?;
                note_time(out, cell, took)?;
                Ok(record)
            });
            match kept {
                Ok(record) => {
                    records.insert(record.cell.clone(), record);
                    let ran = records.len() - resumed;
                    told.done = records.len();
                    told.left = rest(began.elapsed(), ran, waiting.len() - ran);
                    progress(Progress {
                        cell: cell.id.as_str(),
                        ..told
                    });
                }
                Err(error) => {
                    stopped.store(true, Ordering::Relaxed);
                    failed.get_or_insert(ExperimentError::Cell {
                        cell: cell.id.to_string(),
                        source: Box::new(error),
                    });
                }
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let ordered: Vec<&Record> = cells
        .iter()
        .filter_map(|cell| records.get(cell.id.as_str()))
        .collect();
    journal.settle(&ordered)?;
    Ok(Run {
        records: ordered.into_iter().cloned().collect(),
        resumed,
    })
}

fn measure(experiment: &dyn Experiment, cell: &Cell) -> Result<Record, ExperimentError> {
    let scratch = tempfile::tempdir()
        .map_err(|error| ExperimentError::path(Path::new("temporary directory"), &error))?;
    Ok(Record::new(cell, experiment.run(cell, scratch.path())?))
}

fn distinct(cells: &[Cell]) -> Result<(), ExperimentError> {
    let mut ids = BTreeSet::new();
    match cells.iter().find(|cell| !ids.insert(&cell.id)) {
        None => Ok(()),
        Some(twice) => Err(ExperimentError::value(format!(
            "cell `{}` comes twice: an axis names a value twice",
            twice.id
        ))),
    }
}

/// The finished records by cell. Those of cells that the experiment does not have are another experiment's.
fn still_valid(
    cells: &[Cell],
    finished: Vec<Record>,
    journal: &Journal,
) -> Result<BTreeMap<String, Record>, ExperimentError> {
    let known: BTreeMap<&str, String> = cells
        .iter()
        .map(|cell| (cell.id.as_str(), cell.digest().to_string()))
        .collect();
    let mut records = BTreeMap::new();
    for record in finished {
        if known.get(record.cell.as_str()) != Some(&record.digest) {
            return Err(ExperimentError::Changed {
                cell: record.cell,
                path: journal.path().to_owned(),
            });
        }
        records.insert(record.cell.clone(), record);
    }
    Ok(records)
}

fn note_time(out: &Path, cell: &Cell, took: Duration) -> Result<(), ExperimentError> {
    let path = out.join(TIMES);
    let line = json!({"cell": cell.id.as_str(), "seconds": took.as_secs_f64()});
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| writeln!(file, "{line}"))
        .map_err(|error| ExperimentError::path(&path, &error))
}

fn rest(elapsed: Duration, ran: usize, left: usize) -> Option<Duration> {
    let ran = u32::try_from(ran).ok().filter(|ran| *ran > 0)?;
    elapsed.checked_mul(u32::try_from(left).ok()?)?.checked_div(ran)
}

#[cfg(test)]
mod tests;
