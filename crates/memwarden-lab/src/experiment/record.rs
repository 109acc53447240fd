//! The records of a run: one JSON line for each finished cell, appended and synced before the next begins.

use super::{Cell, ExperimentError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The file of records in the directory of a run.
pub const RECORDS: &str = "records.jsonl";

/// What one cell came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The cell.
    pub cell: String,
    /// [`Cell::digest`] in hexadecimal.
    pub digest: String,
    /// [`Cell::config`].
    pub config: Value,
    /// What [`Experiment::run`](super::Experiment::run) returned.
    pub result: Value,
}

impl Record {
    pub(super) fn new(cell: &Cell, result: Value) -> Self {
        Self {
            cell: cell.id.to_string(),
            digest: cell.digest().to_string(),
            config: cell.config.clone(),
            result,
        }
    }

    /// The result as what the kind of experiment writes.
    ///
    /// # Errors
    /// [`ExperimentError::Record`].
    pub fn result<T: serde::de::DeserializeOwned>(&self) -> Result<T, ExperimentError> {
        T::deserialize(&self.result).map_err(|error| self.broken(&error))
    }

    /// A text of the configuration, empty where there is none.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.config.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn broken(&self, error: &dyn std::fmt::Display) -> ExperimentError {
        ExperimentError::Record {
            cell: self.cell.clone(),
            reason: error.to_string(),
        }
    }

    fn line(&self) -> Result<String, ExperimentError> {
        let text = serde_json::to_string(self).map_err(|error| self.broken(&error))?;
        Ok(format!("{text}\n"))
    }
}

/// Reads the records of the run in `directory`.
///
/// # Errors
/// No records there, or a damaged line that is not the last.
pub fn read(directory: &Path) -> Result<Vec<Record>, ExperimentError> {
    let path = directory.join(RECORDS);
    let text = std::fs::read(&path).map_err(|error| ExperimentError::path(&path, &error))?;
    Ok(parse(&path, &text)?.0)
}

/// The whole records in `bytes`, and how many bytes they take: a torn last line is left out.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Record>, usize), ExperimentError> {
    let mut records = Vec::new();
    let mut whole = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // A crash of the machine may also leave a last line that is whole and wrong.
            Err(_) if whole + line.len() == bytes.len() => break,
            Err(error) => {
                return Err(ExperimentError::path(path, &format!("line {}: {error}", at + 1)));
            }
        }
        whole += line.len();
    }
    Ok((records, whole))
}

/// The open file of a run. One process at a time has it.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// How long the whole records are, where a torn line stands behind them.
    torn_at: Option<u64>,
}

impl Journal {
    /// Opens the file in `directory` and tells what is finished. A torn last line is cut off before the first record is
    /// appended and no earlier: the file may be another experiment's.
    pub(crate) fn open(directory: &Path) -> Result<(Self, Vec<Record>), ExperimentError> {
        std::fs::create_dir_all(directory).map_err(|error| ExperimentError::path(directory, &error))?;
        let path = directory.join(RECORDS);
        let failed = |error: std::io::Error| ExperimentError::path(&path, &error);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(failed)?;
        if file.try_lock().is_err() {
            return Err(ExperimentError::path(&path, &"another run is writing to it"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (records, whole) = parse(&path, &bytes)?;
        if records.is_empty() && bytes.contains(&b'\n') {
            return Err(ExperimentError::path(
                &path,
                &"it holds lines and no record of a run: expected another directory",
            ));
        }
        let torn_at = (whole < bytes.len()).then_some(whole as u64);
        let journal = Self { path, file, torn_at };
        Ok((journal, records))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record; it is on the disk when this returns.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), ExperimentError> {
        let line = record.line()?;
        if let Some(whole) = self.torn_at.take() {
            self.file
                .set_len(whole)
                .and_then(|()| self.file.seek(SeekFrom::End(0)))
                .map_err(|error| ExperimentError::path(&self.path, &error))?;
        }
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| ExperimentError::path(&self.path, &error))
    }

    /// Puts a file with `records` in the place of what was appended, at once or not at all.
    pub(crate) fn settle(self, records: &[&Record]) -> Result<(), ExperimentError> {
        let failed = |error: std::io::Error| ExperimentError::path(&self.path, &error);
        let next = self.path.with_extension("jsonl.new");
        let mut file = File::create(&next).map_err(failed)?;
        for record in records {
            file.write_all(record.line()?.as_bytes()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        std::fs::rename(&next, &self.path).map_err(failed)
    }
}
