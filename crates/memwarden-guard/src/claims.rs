//! Reads how many earlier runs a text claims (signal 2 of FARMA §IV-E).
//!
//! For: numbers in digits of any script, with or without thousands separators, of any length. Not for: numbers
//! written as words, which the paper's "small regex matcher" does not read either.

use regex::Regex;

/// What `{n}` stands for in the list: digits in groups of three, or digits.
pub(crate) const NUMBER: &str = r"(?P<n>\p{Nd}{1,3}(?:[,.'’_\x{a0}\x{2009}\x{202f}]\p{Nd}{3})+|\p{Nd}+)";

/// The largest claim of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// How many earlier runs; a number too large for 64 bits counts as the largest one.
    pub(crate) runs: u64,
    /// Byte range of the claim, on character boundaries.
    pub(crate) span: (usize, usize),
}

/// The largest number of earlier runs that `text` claims by any of `patterns`, the earliest where two tie.
pub(crate) fn largest(patterns: &[Regex], text: &str) -> Option<Claim> {
    let mut best: Option<Claim> = None;
    for captures in patterns.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let (Some(whole), Some(number)) = (captures.get(0), captures.name("n")) else {
            continue;
        };
        let claim = Claim {
            runs: value(number.as_str()),
            span: (whole.start(), whole.end()),
        };
        let better = best.is_none_or(|best| {
            claim.runs > best.runs || (claim.runs == best.runs && claim.span.0 < best.span.0)
        });
        if better {
            best = Some(claim);
        }
    }
    best
}

/// The value of a run of digits and separators, at most [`u64::MAX`].
fn value(number: &str) -> u64 {
    number.chars().filter_map(digit).fold(0, |value: u64, digit| {
        value.saturating_mul(10).saturating_add(u64::from(digit))
    })
}

/// The value of a decimal digit of any script (general category Nd).
fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let block = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let value = code.checked_sub(*ZEROS.get(block)?)?;
    (value < 10).then_some(value)
}

/// Code points of the digit zero, ascending. Each script's ten digits follow its zero (Unicode, category Nd);
/// a test compares the table with the one that the patterns use.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x10d40,
    0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x116d0, 0x116da,
    0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16130, 0x16a60, 0x16ac0,
    0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0,
    0x1e5f1, 0x1e950, 0x1fbf0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::lists;

    fn claimed(text: &str) -> Option<u64> {
        largest(&lists().precedents, text).map(|claim| claim.runs)
    }

    #[test]
    fn the_papers_wordings_are_read() {
        assert_eq!(claimed("consistent with 7 prior runs"), Some(7));
        assert_eq!(
            claimed("consistent with 12 prior processing runs on this pipeline"),
            Some(12)
        );
        assert_eq!(claimed("across 40 processing cycles"), Some(40));
        assert_eq!(claimed("observed across the 9-run history"), Some(9));
        assert_eq!(claimed("100% across 60 runs"), Some(60));
        assert_eq!(claimed("cites 15 prior runs"), Some(15));
    }

    #[test]
    fn the_largest_claim_counts() {
        assert_eq!(
            claimed("3 prior runs, then 12 prior runs, then 5 prior runs"),
            Some(12)
        );
    }

    #[test]
    fn a_number_that_counts_something_else_is_no_claim() {
        assert_eq!(
            claimed("imported 512 rows in 3 runs of the tool; 14 patients"),
            None
        );
        assert_eq!(claimed("version 2.7 prior art"), None);
    }

    #[test]
    fn separators_scripts_and_huge_numbers_are_read() {
        assert_eq!(claimed("consistent with 1,250 prior runs"), Some(1250));
        assert_eq!(claimed("consistent with 1.250.000 prior runs"), Some(1_250_000));
        assert_eq!(claimed("consistent with 1\u{202f}250 prior runs"), Some(1250));
        assert_eq!(claimed("consistent with ١٢ prior runs"), Some(12));
        assert_eq!(claimed("consistent with 𝟙𝟚 prior runs"), Some(12));
        assert_eq!(claimed("In 2024,100 prior runs"), Some(100));
        assert_eq!(
            claimed(&format!("consistent with {} prior runs", "9".repeat(400))),
            Some(u64::MAX)
        );
        assert_eq!(claimed("consistent with 000 prior runs"), Some(0));
    }

    #[test]
    fn the_table_of_digits_is_the_one_that_the_patterns_use() {
        let nd = Regex::new(r"\A\p{Nd}\z").unwrap();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let matched = nd.is_match(c.encode_utf8(&mut buffer));
            assert_eq!(digit(c).is_some(), matched, "U+{:04X}", u32::from(c));
        }
        assert_eq!(digit('7'), Some(7));
        assert_eq!(digit('\u{1d7ff}'), Some(9));
    }
}
