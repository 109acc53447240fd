//! A few words of the text for a person to recognize a finding by, without what must not be repeated.

use crate::bounds::after;
use std::fmt::Write as _;
use std::ops::Range;

/// Longest excerpt in bytes.
const LONGEST: usize = 96;
/// A word at least this long that mixes letters and digits may be a key: only its beginning is shown.
const KEY_LENGTH: usize = 20;

/// `range` of `text`, cut, in one line, without control characters and without what looks like a key.
pub(crate) fn excerpt(text: &str, range: &Range<usize>) -> String {
    let whole = text.get(range.clone()).unwrap_or_default();
    let cut = after(whole, 0, LONGEST);
    let mut out = String::with_capacity(cut.len());
    for (index, word) in cut.split_whitespace().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let shown: String = if may_be_key(word) {
            word.chars().take(4).chain(['…']).collect()
        } else {
            word.to_owned()
        };
        for c in shown.chars() {
            if c.is_control() || invisible(c) {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            } else {
                out.push(c);
            }
        }
    }
    if cut.len() < whole.len() {
        out.push('…');
    }
    out
}

fn may_be_key(word: &str) -> bool {
    word.len() >= KEY_LENGTH
        && word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_alphabetic())
}

const fn invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        | '\u{e0000}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_visible_and_keeps_no_key() {
        let text = "say\n it\u{200b} with sk-abc123def456ghi789jkl and go on";
        assert_eq!(
            excerpt(text, &(0..text.len())),
            "say it\\u{200b} with sk-a… and go on"
        );
        let long = "word ".repeat(100);
        assert!(excerpt(&long, &(0..long.len())).len() <= LONGEST + '…'.len_utf8());
    }
}
