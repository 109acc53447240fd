//! Looks over a text once for what may be worth a second reading.
//!
//! For: one cheap linear pass over blank-separated tokens, so that ordinary prose pays for nothing more. Not for:
//! being right; the second readings (`spelled`, `decode`) find out whether there was anything.

use super::spelled;
use std::ops::Range;

/// Shortest token that may be base64 or hex.
pub(super) const SHORTEST_CODE: usize = 12;
/// So many letters on their own in a row are a word taken apart.
pub(super) const LETTERS_ALONE: usize = 4;
/// So many pairs of hex digits in a row are an encoding.
const HEX_PAIRS: usize = 6;
/// Longest token that may be one respelled word.
const LONGEST_RESPELLED: usize = 24;

/// Places that may be worth a second reading, each kind in order and without overlap.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Letters on their own, and words with a sign between their letters.
    pub(super) split: Vec<Range<usize>>,
    /// Tokens with digits or signs in place of letters.
    pub(super) leet: Vec<Range<usize>>,
    /// Tokens long enough for base64 or hex, with more than letters of one case.
    pub(super) code: Vec<Range<usize>>,
    /// Rows of hex pairs with blanks between.
    pub(super) hex_pairs: Vec<Range<usize>>,
    /// Whether a sign that begins an escape occurs.
    pub(super) escaped: bool,
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
/// Signs that pass for a letter.
const SIGN: u8 = 8;
/// Signs that may stand between the letters of a word.
const JOINT: u8 = 16;
const OTHER: u8 = 32;
const BLANK: u8 = 64;
/// Signs that begin an escape.
const ESCAPE: u8 = 128;

static CLASSES: [u8; 256] = classes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a wrong index does not compile"
)]
const fn classes() -> [u8; 256] {
    let mut table = [OTHER; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = match at as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => BLANK,
            b'a'..=b'z' | 0x80.. => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'@' | b'$' | b'!' | b'|' => SIGN,
            b'.' | b'-' | b'_' | b'*' | b'~' | b'^' | b'/' | b'`' | b',' | b'+' => JOINT,
            b'%' | b'&' | b'\\' => ESCAPE,
            _ => OTHER,
        };
        at += 1;
    }
    table
}

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(OTHER)
}

/// Looks over all of `text`.
pub(super) fn scan(text: &str) -> Candidates {
    let mut scan = Scan {
        text,
        found: Candidates::default(),
        letters: Row::default(),
        pairs: Row::default(),
    };
    let (mut start, mut seen) = (0, 0);
    let mut all = 0;
    for (at, byte) in text.bytes().enumerate() {
        let class = class(byte);
        if class == BLANK {
            if seen != 0 {
                scan.token(start..at, seen);
            }
            start = at + 1;
            all |= seen;
            seen = 0;
        } else {
            seen |= class;
        }
    }
    if seen != 0 {
        scan.token(start..text.len(), seen);
    }
    scan.end_rows();
    scan.found.escaped = (all | seen) & ESCAPE != 0;
    scan.found
}

/// Tokens of one sort, one after the other.
#[derive(Debug, Default)]
struct Row {
    range: Range<usize>,
    count: usize,
}

impl Row {
    fn extend(&mut self, token: &Range<usize>) {
        if self.count == 0 {
            self.range.start = token.start;
        }
        self.range.end = token.end;
        self.count += 1;
    }

    fn end(&mut self, enough: usize, into: &mut Vec<Range<usize>>) {
        if self.count >= enough {
            into.push(self.range.clone());
        }
        self.count = 0;
    }
}

struct Scan<'t> {
    text: &'t str,
    found: Candidates,
    letters: Row,
    pairs: Row,
}

impl Scan<'_> {
    #[inline]
    fn token(&mut self, range: Range<usize>, seen: u8) {
        let plain = seen & !(LOWER | UPPER) == 0;
        if plain && range.len() > 2 && (range.len() < SHORTEST_CODE || seen != LOWER | UPPER) {
            if self.letters.count | self.pairs.count != 0 {
                self.end_rows();
            }
        } else {
            self.look(range, seen);
        }
    }

    fn look(&mut self, range: Range<usize>, seen: u8) {
        let token = self.text.get(range.clone()).unwrap_or_default();
        let letter_alone = match token.as_bytes() {
            [letter] => letter.is_ascii_alphabetic(),
            [letter, mark] => {
                letter.is_ascii_alphabetic() && matches!(mark, b',' | b'.' | b';' | b'-' | b'|')
            }
            _ => is_one_letter(token),
        };
        if letter_alone {
            self.letters.extend(&range);
        } else {
            self.letters.end(LETTERS_ALONE, &mut self.found.split);
        }
        if let [high, low] = token.as_bytes()
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
        {
            self.pairs.extend(&range);
        } else {
            self.pairs.end(HEX_PAIRS, &mut self.found.hex_pairs);
        }
        let letters = seen & (LOWER | UPPER) != 0;
        if range.len() >= SHORTEST_CODE && seen & (UPPER | DIGIT) != 0 {
            self.found.code.push(range.clone());
        }
        if seen & JOINT != 0 && letters && spelled::is_split(token) {
            self.found.split.push(range.clone());
        }
        if seen & (DIGIT | SIGN) != 0
            && letters
            && range.len() <= LONGEST_RESPELLED
            && spelled::is_leet(token)
        {
            self.found.leet.push(range);
        }
    }

    fn end_rows(&mut self) {
        self.letters.end(LETTERS_ALONE, &mut self.found.split);
        self.pairs.end(HEX_PAIRS, &mut self.found.hex_pairs);
    }
}

fn is_one_letter(token: &str) -> bool {
    let mut characters = token.chars();
    characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_nothing_to_read_twice() {
        let text = "A note: we met on 2026-03-01 at 10:30, room 4b (the well-known one); it's fine.\n\
                    See README.md, src/main.rs and https://example.com/a/b?c=d for v1.2.3 of gpt4.";
        let found = scan(text);
        assert!(
            found.split.is_empty() && found.leet.is_empty() && found.hex_pairs.is_empty(),
            "{found:?}"
        );
    }

    #[test]
    fn rows_end_where_a_word_comes_between() {
        let found = scan("a b c word d e f g h 61 62 63 64 65 66 67 end");
        assert_eq!(found.split, vec![Range { start: 11, end: 20 }]);
        assert_eq!(found.hex_pairs, vec![Range { start: 21, end: 41 }]);
    }
}
