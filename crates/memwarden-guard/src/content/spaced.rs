//! A view with every run of blanks as one.
//!
//! For: expressions that need not care how a text is wrapped. A run becomes a blank, a run with an empty line a
//! line break, which ends a sentence. Not for: spans; [`Spaced::source`] leads back to the view.

use memchr::{memchr3, memmem};
use std::borrow::Cow;
use std::ops::Range;

/// A view, its blanks made even.
#[derive(Debug)]
pub(super) struct Spaced<'v> {
    pub(super) text: Cow<'v, str>,
    /// Where, in `text` and in the view, lengths begin to differ by another amount.
    breaks: Vec<(usize, usize)>,
}

impl<'v> Spaced<'v> {
    pub(super) fn new(view: &'v str) -> Self {
        let bytes = view.as_bytes();
        let mut out = String::new();
        let mut breaks = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(from) = next_uneven(bytes, at) {
            let rest = bytes.get(from..).unwrap_or_default();
            let length = rest.iter().take_while(|byte| is_blank(**byte)).count();
            let run = rest.get(..length).unwrap_or_default();
            out.push_str(view.get(copied..from).unwrap_or_default());
            let lines = run.iter().filter(|byte| **byte == b'\n').count();
            out.push(if lines > 1 { '\n' } else { ' ' });
            copied = from.saturating_add(length);
            at = copied;
            if length != 1 {
                breaks.push((out.len(), copied));
            }
        }
        if copied == 0 {
            return Self {
                text: Cow::Borrowed(view),
                breaks,
            };
        }
        out.push_str(view.get(copied..).unwrap_or_default());
        Self {
            text: Cow::Owned(out),
            breaks,
        }
    }

    /// Where in the view `range` came from.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        self.at(range.start)..self.at(range.end)
    }

    fn at(&self, place: usize) -> usize {
        let after = self.breaks.partition_point(|(here, _)| *here <= place);
        let (here, there) = after
            .checked_sub(1)
            .and_then(|index| self.breaks.get(index))
            .copied()
            .unwrap_or_default();
        there.saturating_add(place.saturating_sub(here))
    }
}

/// Where the next run of blanks begins that is not one space.
fn next_uneven(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let other = memchr3(b'\n', b'\t', b'\r', rest);
    // Blanks before a line break belong to its run.
    let other = other.map(|at| {
        let ahead = rest.get(..at).unwrap_or_default();
        at.saturating_sub(ahead.iter().rev().take_while(|byte| **byte == b' ').count())
    });
    let until = rest.get(..other.unwrap_or(rest.len())).unwrap_or_default();
    let at = memmem::find(until, b"  ").or(other)?;
    Some(from.saturating_add(at))
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(view: &str, spaced: &str) {
        let made = Spaced::new(view);
        assert_eq!(made.text, spaced);
        for word in spaced.split_whitespace() {
            let start = made.text.find(word).unwrap();
            let range = made.source(&(start..start + word.len()));
            assert_eq!(view.get(range), Some(word));
        }
    }

    #[test]
    fn runs_become_one_blank_and_lead_back() {
        round("one two", "one two");
        round("one  two\nthree \t four\n\nfive", "one two three four\nfive");
        round("  lead \r\n\r\n trail  ", " lead\ntrail ");
        round("", "");
    }
}
