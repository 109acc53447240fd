//! Where calls are entered: an append-only file of lines, and sums in memory.
//!
//! A line is written whole, by one write to a file that is only appended to, so that several processes may share
//! it. A meter that cannot write says so at every call: a call that is not entered has no reply, and until there is
//! room for a line again, no further call is made.

use crate::call::{Call, Cost};
use crate::lines::Lines;
use crate::prices::Prices;
use crate::report::{By, Report, Tally};
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
    file: Option<(PathBuf, Lines)>,
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
        let file = Lines::open(path).map_err(|source| failed(path, source))?;
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
        let cost = call.cost(self.prices.of(&call.model));
        let line = call.to_line(cost).map_err(|error| MeterError::Line {
            reason: error.to_string(),
        })?;
        let mut inner = self.lock();
        if let Some((path, file)) = &mut inner.file {
            file.append(&line).map_err(|source| failed(path, source))?;
        }
        inner.tally.add(call, cost);
        Ok(cost)
    }

    /// Whether a call can be entered, as far as is known: to be asked before one is made, since one that is made is
    /// paid for.
    ///
    /// # Errors
    /// The last line could not be written, and nothing can be now.
    pub fn ready(&self) -> Result<(), MeterError> {
        match &mut self.lock().file {
            Some((path, file)) => file.mend().map_err(|source| failed(path, source)),
            None => Ok(()),
        }
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(path: &Path, source: std::io::Error) -> MeterError {
    MeterError::File {
        path: path.to_owned(),
        source,
    }
}
