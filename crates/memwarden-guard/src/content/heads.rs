//! Finds where a shape may begin: one automaton over the beginnings of all shapes.
//!
//! For: every entry of every list that a shape begins with, in one pass. The automaton is entered only where a
//! word starts (or a mark, or a letter of a script without blanks) and the next four bytes can begin an entry: in
//! ordinary text that is about one byte in twenty. Not for: what follows, which is that list's expression.

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, BuildError, Input, MatchKind, StartKind};

/// A byte that can begin an entry where a word starts; one that can anywhere; a letter or digit.
const STARTS: u8 = 1;
const STARTS_ANYWHERE: u8 = 2;
const OF_WORD: u8 = 4;

/// The automaton, and what is asked before it.
#[derive(Debug)]
pub(super) struct Heads {
    automaton: AhoCorasick,
    classes: [u8; 256],
    /// Which two bytes are or begin an entry of two.
    pairs: Bits,
    /// Which four bytes may begin a longer one, by [`slot`]; a set bit may be another's.
    quads: Bits,
}

impl Heads {
    /// An automaton over `heads`, in this order. `anywhere` says which need no start of a word.
    pub(super) fn new<'h>(heads: impl Iterator<Item = (&'h str, bool)>) -> Result<Self, BuildError> {
        let mut classes = [0_u8; 256];
        for byte in (0..=u8::MAX).filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            mark(&mut classes, byte, OF_WORD);
        }
        let mut pairs = Bits::new(1 << 16);
        let mut quads = Bits::new(1 << SLOT_BITS);
        let mut patterns = Vec::new();
        for (head, anywhere) in heads {
            let bytes = head.as_bytes();
            let at = |index: usize| bytes.get(index).copied();
            if let Some(first) = at(0) {
                mark(
                    &mut classes,
                    first,
                    if anywhere { STARTS_ANYWHERE } else { STARTS },
                );
                match at(2) {
                    None => one_or_all(at(1)).for_each(|second| pairs.set(pair(first, second))),
                    Some(third) => one_or_all(at(3)).for_each(|fourth| {
                        quads.set(slot([first, at(1).unwrap_or_default(), third, fourth]));
                    }),
                }
            }
            patterns.push(head);
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Anchored)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns)?;
        Ok(Self {
            automaton,
            classes,
            pairs,
            quads,
        })
    }

    /// Calls `found` with the number of each entry and the byte where it begins, in the order of the text.
    pub(super) fn each(&self, text: &str, mut found: impl FnMut(usize, usize)) {
        let bytes = text.as_bytes();
        let mut before = 0_u8;
        for (at, byte) in bytes.iter().enumerate() {
            let class = self.classes.get(usize::from(*byte)).copied().unwrap_or_default();
            // What stands before is looked at closer where an entry is found; a letter is enough to pass on.
            let may_start = (class & STARTS != 0 && before & OF_WORD == 0) || class & STARTS_ANYWHERE != 0;
            before = class;
            if may_start && self.may_begin(bytes, at, *byte) {
                self.at(text, at, &mut found);
            }
        }
    }

    fn may_begin(&self, bytes: &[u8], at: usize, first: u8) -> bool {
        let next = |offset: usize| {
            let byte = at.checked_add(offset).and_then(|index| bytes.get(index));
            byte.copied().unwrap_or_default()
        };
        let second = next(1);
        self.quads.has(slot([first, second, next(2), next(3)])) || self.pairs.has(pair(first, second))
    }

    fn at(&self, text: &str, at: usize, found: &mut impl FnMut(usize, usize)) {
        let mut state = OverlappingState::start();
        loop {
            let input = Input::new(text).range(at..).anchored(Anchored::Yes);
            // The automaton is built for just this kind of search, so it cannot refuse it.
            if self.automaton.try_find_overlapping(input, &mut state).is_err() {
                return;
            }
            let Some(head) = state.get_match() else { return };
            found(head.pattern().as_usize(), at);
        }
    }
}

fn mark(classes: &mut [u8; 256], byte: u8, class: u8) {
    if let Some(classes) = classes.get_mut(usize::from(byte)) {
        *classes |= class;
    }
}

/// A byte that is known, or every one.
fn one_or_all(byte: Option<u8>) -> std::ops::RangeInclusive<u8> {
    byte.map_or(0..=u8::MAX, |byte| byte..=byte)
}

/// Bits of a slot.
const SLOT_BITS: u32 = 18;

/// A few bits of four bytes (Fibonacci hashing).
const fn slot(bytes: [u8; 4]) -> usize {
    (u32::from_le_bytes(bytes).wrapping_mul(0x9e37_79b1) >> (32 - SLOT_BITS)) as usize
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// A set of small numbers.
#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(length: usize) -> Self {
        Self(vec![0; length / 64])
    }

    fn set(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).copied().unwrap_or_default() & (1 << (bit % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize)> {
        let heads = [
            ("ignore", false),
            ("ignore all", false),
            ("do", false),
            ("<|", true),
            ("忽略", true),
        ];
        let mut all = Vec::new();
        Heads::new(heads.into_iter())
            .unwrap()
            .each(text, |head, at| all.push((head, at)));
        all
    }

    #[test]
    fn every_entry_is_found_where_a_word_starts() {
        assert_eq!(found("ignore all"), [(0, 0), (1, 0)]);
        assert_eq!(found("x ignore, (ignore) undo do"), [(0, 2), (0, 11), (2, 24)]);
        assert_eq!(found("xignore"), []);
        assert_eq!(found("a<|b 请忽略do"), [(3, 1), (4, 8), (2, 14)]);
        assert_eq!(found("d"), []);
        assert_eq!(found("do"), [(2, 0)]);
    }
}
