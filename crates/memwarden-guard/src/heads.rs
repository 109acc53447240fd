//! Finds where an entry of a list may stand: one pass over a text for all entries of all lists.
//!
//! For: the beginnings of shapes and of block-listed phrases. Only where a word starts (or a mark, or a letter of a
//! script without blanks) are the next four bytes looked up; in ordinary text one such place in seven passes, and
//! only there entries are compared. Not for: what follows, which is the list's own matter.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A byte that can begin an entry where a word starts; one that can anywhere; a letter or digit.
const STARTS: u8 = 1;
const STARTS_ANYWHERE: u8 = 2;
const OF_WORD: u8 = 4;
/// Bytes of an entry that are looked up.
const KEY: usize = 4;
/// The bit in which ASCII letters of the two cases differ.
const CASE: u32 = 0x2020_2020;

/// Whether case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// It does.
    Exact,
    /// That of ASCII letters does not.
    Folded,
}

/// The entries, by their first bytes.
#[derive(Debug)]
pub(crate) struct Heads {
    entries: Vec<Box<[u8]>>,
    case: Case,
    classes: [u8; 256],
    /// Which first bytes may begin an entry; a set bit may be another's.
    known: Bits,
    /// Lengths of keys that occur, 1 to [`KEY`].
    lengths: Vec<usize>,
    /// Numbers of entries by their first bytes, the shortest first.
    by_key: HashMap<u64, Vec<usize>, BuildHasherDefault<Multiply>>,
}

impl Heads {
    /// Over `entries`, which are numbered in this order. `anywhere` says which need no start of a word.
    pub(crate) fn new<'h>(entries: impl Iterator<Item = (&'h str, bool)>, case: Case) -> Self {
        let mut classes = [0_u8; 256];
        for byte in (0..=u8::MAX).filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            mark(&mut classes, byte, OF_WORD);
        }
        let mut heads = Self {
            entries: Vec::new(),
            case,
            classes,
            known: Bits::new(),
            lengths: Vec::new(),
            by_key: HashMap::default(),
        };
        for (entry, anywhere) in entries {
            heads.put(entry.as_bytes(), anywhere);
        }
        heads.lengths.sort_unstable();
        let Self { entries, by_key, .. } = &mut heads;
        for numbers in by_key.values_mut() {
            numbers.sort_by_key(|number| entries.get(*number).map_or(0, |entry| entry.len()));
        }
        heads
    }

    fn put(&mut self, entry: &[u8], anywhere: bool) {
        let number = self.entries.len();
        self.entries.push(entry.into());
        let Some(first) = entry.first() else { return };
        let class = if anywhere { STARTS_ANYWHERE } else { STARTS };
        mark(&mut self.classes, *first, class);
        if self.case == Case::Folded {
            mark(&mut self.classes, first.to_ascii_uppercase(), class);
            mark(&mut self.classes, first.to_ascii_lowercase(), class);
        }
        let length = entry.len().min(KEY);
        if !self.lengths.contains(&length) {
            self.lengths.push(length);
        }
        let key = self.key(word(entry, 0), length);
        self.known.set(key);
        self.by_key.entry(key).or_default().push(number);
    }

    /// Calls `found` with the number of each entry and the byte where it begins, in the order of the text, and at one
    /// place the shorter entries first.
    pub(crate) fn each(&self, text: &str, mut found: impl FnMut(usize, usize)) {
        let bytes = text.as_bytes();
        let mut before = 0_u8;
        for (at, byte) in bytes.iter().enumerate() {
            let class = self.classes.get(usize::from(*byte)).copied().unwrap_or_default();
            // What stands before is looked at closer where an entry is found; a letter is enough to pass on.
            let may_start = (class & STARTS != 0 && before & OF_WORD == 0) || class & STARTS_ANYWHERE != 0;
            before = class;
            if may_start {
                self.at(bytes, at, &mut found);
            }
        }
    }

    #[inline]
    fn at(&self, bytes: &[u8], at: usize, found: &mut impl FnMut(usize, usize)) {
        let next = word(bytes, at);
        for length in &self.lengths {
            let key = self.key(next, *length);
            if self.known.has(key) {
                self.compare(bytes, at, key, found);
            }
        }
    }

    fn compare(&self, bytes: &[u8], at: usize, key: u64, found: &mut impl FnMut(usize, usize)) {
        let rest = bytes.get(at..).unwrap_or_default();
        for number in self.by_key.get(&key).into_iter().flatten() {
            let Some(entry) = self.entries.get(*number) else {
                continue;
            };
            let Some(stands) = rest.get(..entry.len()) else {
                continue;
            };
            let same = match self.case {
                Case::Exact => stands == &**entry,
                Case::Folded => stands.eq_ignore_ascii_case(entry),
            };
            if same {
                found(*number, at);
            }
        }
    }

    /// The first `length` of four bytes, and `length` itself.
    fn key(&self, word: u32, length: usize) -> u64 {
        let word = match self.case {
            Case::Exact => word,
            // Other bytes than letters may fall together: entries are compared in the end.
            Case::Folded => word | CASE,
        };
        let kept = match length {
            1 => word & 0xff,
            2 => word & 0xffff,
            3 => word & 0x00ff_ffff,
            _ => word,
        };
        u64::from(kept) | (length as u64) << 32
    }
}

/// Four bytes, zeros behind the end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at.saturating_add(KEY));
    match four.and_then(|four| <[u8; KEY]>::try_from(four).ok()) {
        Some(four) => u32::from_le_bytes(four),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            rest.iter()
                .take(KEY)
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte))
        }
    }
}

fn mark(classes: &mut [u8; 256], byte: u8, class: u8) {
    if let Some(classes) = classes.get_mut(usize::from(byte)) {
        *classes |= class;
    }
}

/// Fibonacci hashing of a key.
const fn scattered(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hasher for keys that nobody chooses to collide: they are the program's own.
#[derive(Debug, Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = scattered(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = scattered(key);
    }
}

/// Bits of a place in [`Bits`].
const PLACE_BITS: u32 = 17;

/// A set of keys that may hold others too.
#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new() -> Self {
        Self(vec![0; (1 << PLACE_BITS) / 64])
    }

    const fn place(key: u64) -> usize {
        (scattered(key) >> (64 - PLACE_BITS)) as usize
    }

    fn set(&mut self, key: u64) {
        let place = Self::place(key);
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn has(&self, key: u64) -> bool {
        let place = Self::place(key);
        self.0.get(place / 64).copied().unwrap_or_default() & (1 << (place % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, case: Case) -> Vec<(usize, usize)> {
        let heads = [
            ("ignore", false),
            ("ignore all", false),
            ("do", false),
            ("<|", true),
            ("忽略", true),
        ];
        let mut all = Vec::new();
        Heads::new(heads.into_iter(), case).each(text, |head, at| all.push((head, at)));
        all
    }

    #[test]
    fn every_entry_is_found_where_a_word_starts() {
        let found = |text| found(text, Case::Exact);
        assert_eq!(found("ignore all"), [(0, 0), (1, 0)]);
        assert_eq!(found("x ignore, (ignore) undo do"), [(0, 2), (0, 11), (2, 24)]);
        assert_eq!(found("xignore"), []);
        assert_eq!(found("a<|b 请忽略do"), [(3, 1), (4, 8), (2, 14)]);
        assert_eq!(found("d"), []);
        assert_eq!(found("do"), [(2, 0)]);
        assert_eq!(found("DO Ignore"), []);
    }

    #[test]
    fn case_is_folded_where_it_does_not_matter() {
        let found = |text| found(text, Case::Folded);
        assert_eq!(found("IGNORE All, dO"), [(0, 0), (1, 0), (2, 12)]);
        assert_eq!(found("<\\"), [], "what differs in the bit of case is no letter");
    }

    proptest! {
        #[test]
        fn nothing_is_missed_that_a_plain_search_finds(text in "[iIgGnNoOrReE dDlLaA<|忽略x_]{0,60}") {
            let entries = ["ignore", "ignore all", "do", "d", "ore", "nor"];
            let heads = Heads::new(entries.iter().map(|entry| (*entry, false)), Case::Folded);
            let mut given = Vec::new();
            heads.each(&text, |head, at| given.push((at, entries[head])));
            let lower = text.to_ascii_lowercase();
            let mut expected = Vec::new();
            for at in 0..text.len() {
                let inside = at > 0 && {
                    let before = text.as_bytes()[at - 1];
                    before.is_ascii_alphanumeric() || before == b'_'
                };
                let mut here: Vec<&str> = entries
                    .into_iter()
                    .filter(|entry| !inside && lower.as_bytes()[at..].starts_with(entry.as_bytes()))
                    .collect();
                here.sort_by_key(|entry| entry.len());
                expected.extend(here.into_iter().map(|entry| (at, entry)));
            }
            prop_assert_eq!(given, expected);
        }
    }
}
