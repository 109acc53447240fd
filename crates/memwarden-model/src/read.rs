//! Reading a meter's file again. A line that is none is named and left out, never guessed at.

use crate::call::{Call, Cost};
use crate::meter::MeterError;
use crate::report::{By, Report, Tally};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The longest line that is read, in bytes.
pub const MAX_LINE_BYTES: usize = 65_536;

/// A line that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// What a file adds up to.
#[derive(Debug, Clone, Default)]
pub struct Metering {
    tally: Tally,
    /// The lines that are in no sum.
    pub damaged: Vec<Damaged>,
}

impl Metering {
    /// The calls, added up.
    #[must_use]
    pub fn report(&self, by: By) -> Report {
        self.tally.report(by)
    }
}

/// Adds up a file that a [`Meter`](crate::Meter) wrote, however long it is.
///
/// # Errors
/// The file cannot be read. A damaged line is none.
pub fn read_meter(path: &Path) -> Result<Metering, MeterError> {
    let mut tally = Tally::default();
    let damaged = read_calls(path, |call, cost| tally.add(&call, cost))?;
    Ok(Metering { tally, damaged })
}

/// Hands over the calls of a file, one by one and in order, and gives the lines that are none.
///
/// # Errors
/// The file cannot be read.
pub fn read_calls(path: &Path, mut each: impl FnMut(Call, Option<Cost>)) -> Result<Vec<Damaged>, MeterError> {
    let failed = |source| MeterError::File {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut damaged = Vec::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = reader
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .map_err(failed)?;
        if read == 0 {
            break;
        }
        if bytes.last() != Some(&b'\n') && read as u64 == limit {
            let reason = format!("longer than {MAX_LINE_BYTES} bytes");
            damaged.push(Damaged { line, reason });
            skip_line(&mut reader).map_err(failed)?;
            continue;
        }
        let parsed = match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) if text.ends_with('\n') => Call::from_line(text),
            Ok(_) => Err("cut off: it has no end".to_owned()),
            Err(error) => Err(format!("not UTF-8: {error}")),
        };
        match parsed {
            Ok((call, cost)) => each(call, cost),
            Err(reason) => damaged.push(Damaged { line, reason }),
        }
    }
    Ok(damaged)
}

fn skip_line(reader: &mut BufReader<File>) -> std::io::Result<()> {
    reader.skip_until(b'\n').map(|_| ())
}
