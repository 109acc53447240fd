//! Characters that are invisible when a text is shown: which there are, and which of them have no honest use
//! where they stand.
//!
//! For: the counts that a policy may take as a signal. Not for: removing anything from what is stored, which
//! `sanitize` does.

use std::ops::Range;

/// Suspicious invisible characters of a text, by kind. Those with an honest use where they stand (joiners in
/// emoji, Persian and Indic words, bidi marks in right-to-left text, a byte-order mark at the start) are removed
/// for matching but not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Controls {
    /// Zero-width spaces, joiners, fillers and soft hyphens inside words or in runs.
    pub zero_width: Tally,
    /// Overrides, unbalanced embeddings and isolates, marks inside left-to-right words.
    pub bidi: Tally,
    /// Characters of the tag block (U+E0000 to U+E007F) outside flags.
    pub tags: Tally,
    /// Variation selectors after what has no variants, or several in a row.
    pub variation: Tally,
    /// Terminal escape sequences.
    pub escapes: Tally,
    /// Other C0 and C1 controls, but for tab, line feed, form feed, carriage return and next line.
    pub other: Tally,
}

/// How many, and where the first one is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u32,
    /// Byte range of the first in the original text.
    pub first: Option<Range<usize>>,
}

impl Controls {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.by_name()
            .into_iter()
            .fold(0, |sum, (_, tally)| sum.saturating_add(tally.count))
    }

    /// Each kind with the name that findings give it.
    #[must_use]
    pub fn by_name(&self) -> [(&'static str, &Tally); 6] {
        [
            ("zero_width", &self.zero_width),
            ("bidi", &self.bidi),
            ("tags", &self.tags),
            ("variation", &self.variation),
            ("escapes", &self.escapes),
            ("other", &self.other),
        ]
    }
}
