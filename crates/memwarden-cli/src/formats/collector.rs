//! Gathers the entries and problems of one file within bounds. It knows no format.

use super::place::Place;
use super::{Format, Imported, MAX_LISTED_PROBLEMS, Parsed, Problem};
use memwarden_core::{Entry, Limits};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Bytes that shared fields (an entity's name and extras, copied into the entry of each of its observations)
/// may take in any file, and per byte of the file: reading stays linear in the size of the file.
const SHARED_BYTES: usize = 64 << 20;
const SHARED_BYTES_PER_FILE_BYTE: usize = 16;

/// Which entries are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// Those that a store would take.
    Storable(Limits),
    /// All that hold text: nothing may hide from a scan by being no good record.
    Everything,
}

/// The entries and problems of one file.
#[derive(Debug)]
pub(super) struct Collector {
    taking: Taking,
    shared_bytes_left: usize,
    entries: Vec<Imported>,
    problems: Vec<Problem>,
    unlisted: usize,
}

impl Collector {
    /// An empty collection for a file of this size.
    pub(super) const fn new(file_bytes: usize, taking: Taking) -> Self {
        Self {
            taking,
            shared_bytes_left: SHARED_BYTES
                .saturating_add(SHARED_BYTES_PER_FILE_BYTE.saturating_mul(file_bytes)),
            entries: Vec::new(),
            problems: Vec::new(),
            unlisted: 0,
        }
    }

    /// Takes an entry, or the problem with it.
    pub(super) fn entry(&mut self, place: &Place, format: Format, source_id: Option<&str>, mut entry: Entry) {
        entry.origin_key = Some(origin_key(format, &entry, source_id));
        let checked = match self.taking {
            Taking::Storable(limits) => entry.check(limits),
            Taking::Everything if entry.content.trim().is_empty() => return,
            Taking::Everything => Ok(()),
        };
        match checked {
            Ok(()) => self.entries.push(Imported {
                entry,
                id: source_id.map(str::to_owned),
                place: place.clone(),
            }),
            Err(error) => self.problem(Problem {
                place: place.clone(),
                message: error.to_string(),
            }),
        }
    }

    /// Takes a text that has no more to it than its place and perhaps an id.
    pub(super) fn text(&mut self, place: &Place, format: Format, id: Option<&str>, text: impl Into<String>) {
        self.entry(place, format, id, Entry::new(text));
    }

    /// Which entries are taken.
    pub(super) const fn taking(&self) -> Taking {
        self.taking
    }

    /// What was taken so far.
    pub(super) fn entries(&self) -> &[Imported] {
        &self.entries
    }

    /// Whether there are problems whose places are not known any more.
    pub(super) const fn has_unlisted(&self) -> bool {
        self.unlisted > 0
    }

    /// The problems so far.
    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Takes a problem; beyond [`MAX_LISTED_PROBLEMS`] it is only counted.
    pub(super) fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MAX_LISTED_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    /// Whether fields of `bytes` bytes may be copied `times` times.
    pub(super) const fn may_share(&mut self, bytes: usize, times: usize) -> bool {
        match self.shared_bytes_left.checked_sub(bytes.saturating_mul(times)) {
            Some(left) => {
                self.shared_bytes_left = left;
                true
            }
            None => false,
        }
    }

    /// All of it.
    pub(super) fn finish(mut self, format: Format) -> Parsed {
        if self.unlisted > 0 {
            self.problems.push(Problem {
                place: Place::Cell("the rest of the file".to_owned()),
                message: format!("{} further problems are not listed", self.unlisted),
            });
        }
        Parsed {
            format,
            entries: self.entries,
            problems: self.problems,
        }
    }
}

/// SHA-256 over format, subject, content and the file's own id, each preceded by presence and length so
/// that no two different tuples give the same bytes.
fn origin_key(format: Format, entry: &Entry, source_id: Option<&str>) -> String {
    let mut hash = Sha256::new_with_prefix("memwarden origin key 1\0");
    for part in [
        Some(format.as_str()),
        entry.subject.as_deref(),
        Some(&entry.content),
        source_id,
    ] {
        match part {
            None => hash.update([0]),
            Some(text) => {
                hash.update([1]);
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text);
            }
        }
    }
    hash.finalize()
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
