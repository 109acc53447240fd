//! Where calls are entered: an append-only file of lines, and sums in memory.
//!
//! A line is written whole, by one write to a file that is only appended to, so that several processes may share
//! it. A meter that cannot write says so at every call: a call that is not entered has no reply.

use crate::call::{Call, Cost};
use crate::prices::Prices;
use crate::report::{By, Report, Tally};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The meter failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeterError {
    /// The file cannot be opened, read or written.
    #[error("meter `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A call that cannot be written as a line.
    #[error("the call cannot be written: {reason}")]
    Line {
        /// Why.
        reason: String,
    },
}

/// Counts calls. Shared by all threads.
#[derive(Debug)]
pub struct Meter {
    prices: Prices,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: Option<(PathBuf, File)>,
    tally: Tally,
}

impl Meter {
    /// Keeps sums only.
    #[must_use]
    pub fn in_memory(prices: Prices) -> Self {
        Self {
            prices,
            inner: Mutex::new(Inner {
                file: None,
                tally: Tally::default(),
            }),
        }
    }

    /// Also appends each call to a file, which is made if it is not there. The sums are of the calls from now on.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn append_to(path: &Path, prices: Prices) -> Result<Self, MeterError> {
        let file = open(path).map_err(|source| failed(path, source))?;
        let meter = Self::in_memory(prices);
        meter.lock().file = Some((path.to_owned(), file));
        Ok(meter)
    }

    /// Enters a call and gives its cost, `None` where the price or the tokens are unknown. In the file before it
    /// returns; a crash of the machine may lose the last lines, a crash of the process loses none.
    ///
    /// # Errors
    /// The file cannot be written; then the call is in no sum.
    pub fn record(&self, call: &Call) -> Result<Option<Cost>, MeterError> {
        let cost = self.cost(call);
        let line = call.to_line(cost).map_err(|error| MeterError::Line {
            reason: error.to_string(),
        })?;
        let mut inner = self.lock();
        if let Some((path, file)) = &mut inner.file {
            file.write_all(line.as_bytes())
                .map_err(|source| failed(path, source))?;
        }
        inner.tally.add(call, cost);
        Ok(cost)
    }

    /// The sums so far.
    #[must_use]
    pub fn report(&self, by: By) -> Report {
        self.lock().tally.report(by)
    }

    /// The prices it reckons with.
    #[must_use]
    pub const fn prices(&self) -> &Prices {
        &self.prices
    }

    fn cost(&self, call: &Call) -> Option<Cost> {
        match (&call.usage, self.prices.of(&call.model)) {
            (Some(usage), Some(price)) => Some(price.of(usage)),
            _ if !call.is_charged() => Some(Cost::default()),
            _ => None,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the file and ends a line that a crash has left without its end, so that the next one stands alone.
fn open(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

fn failed(path: &Path, source: std::io::Error) -> MeterError {
    MeterError::File {
        path: path.to_owned(),
        source,
    }
}
