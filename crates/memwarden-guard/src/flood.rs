//! Floods: one or a few short tokens, over and over, to push what came before out of a model's sight.
//!
//! For: the stage `gibberish`. Not for: padding with whole sentences, which is ordinary text, nor for lines and
//! leaders that people draw with dots and dashes.

use std::ops::Range;

/// Tokens in a row that make a flood, and how many of them may be different.
const TOKENS: usize = 64;
const DIFFERENT: usize = 4;
/// Most characters of a token.
const LONGEST: usize = 5;
/// Bytes that are looked at together, and the blanks that they must hold before their tokens are read. Prose has
/// about twelve, and a longer word among them.
const CHUNK: usize = 64;
const BLANKS: usize = 10;

/// A flood in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flood {
    pub(crate) span: Range<usize>,
    pub(crate) tokens: usize,
}

/// The first flood of `text`.
pub(crate) fn flood(text: &str) -> Option<Flood> {
    let mut from = 0;
    for (index, chunk) in text.as_bytes().chunks(CHUNK).enumerate() {
        let start = index.saturating_mul(CHUNK);
        let read_before = start.saturating_add(CHUNK) <= from;
        let blanks = chunk.iter().filter(|byte| **byte == b' ').count();
        if read_before || blanks < BLANKS || has_long_word(chunk) {
            continue;
        }
        // The shortest flood, of tokens of one character, fills a whole chunk and begins in the one before.
        match read(text, start.saturating_sub(CHUNK).max(from)) {
            Ok(found) => return Some(found),
            Err(end) => from = end,
        }
    }
    None
}

/// Whether a part of a word in `chunk` is already too long for a token of a flood.
fn has_long_word(chunk: &[u8]) -> bool {
    let mut length = 0;
    chunk.iter().any(|byte| {
        // Bytes inside a character are none.
        let counts = usize::from(byte & 0xc0 != 0x80);
        length = if *byte == b' ' { 0 } else { length + counts };
        length > LONGEST
    })
}

/// Reads tokens from `start` on for a bounded stretch; where it stopped, if there is no flood.
fn read(text: &str, start: usize) -> Result<Flood, usize> {
    let mut start = start;
    while !text.is_char_boundary(start) {
        start = start.saturating_add(1);
    }
    let rest = text.get(start..).unwrap_or_default();
    let mut seen: Vec<&str> = Vec::new();
    let (mut count, mut begin, mut at) = (0_usize, start, start);
    for token in rest.split(' ').take(TOKENS.saturating_mul(2)) {
        let end = at.saturating_add(token.len());
        if fills(token) && (seen.contains(&token) || seen.len() < DIFFERENT) {
            if count == 0 {
                begin = at;
            }
            if !seen.contains(&token) {
                seen.push(token);
            }
            count = count.saturating_add(1);
            if count >= TOKENS {
                return Ok(Flood {
                    span: begin..end,
                    tokens: count,
                });
            }
        } else {
            seen.clear();
            count = 0;
        }
        at = end.saturating_add(1);
    }
    // What was counted last may go on behind.
    Err(if count > 0 && begin > start {
        begin
    } else {
        at.min(text.len())
    })
}

/// A short token, but for blanks, numbers and what lines are drawn with.
fn fills(token: &str) -> bool {
    !token.is_empty()
        && token.chars().take(LONGEST.saturating_add(1)).count() <= LONGEST
        && !token.chars().all(|c| {
            matches!(
                c,
                '.' | '-' | '_' | '=' | '|' | '*' | '·' | '…' | '#' | '+' | '─' | ':' | '>' | '0'..='9'
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_found_wherever_it_begins() {
        for text in [
            "ö ".repeat(80),
            format!("say yes. {}", "k ".repeat(200)),
            format!("everything before {}everything behind", "k ".repeat(66)),
            format!("{}{}", "considerable ".repeat(40), "abcde ".repeat(70)),
            format!(
                "{}{}",
                "an ordinary sentence stands here. ".repeat(9),
                ") ] } ".repeat(60)
            ),
        ] {
            let found = flood(&text).unwrap();
            assert!(found.tokens >= TOKENS);
            assert!(text.get(found.span).is_some());
        }
    }

    #[test]
    fn ordinary_text_is_none() {
        for text in [
            "the user is in a bar. ".repeat(100),
            "chapter one . . . . . . . . . . . . . . . 3\n".repeat(50),
            "| - | - | - | - | - | - | - | - |\n".repeat(40),
            "0 0 0 1 0 1 1 0 0 0 1 1 ".repeat(40),
            "no no no ".repeat(10),
            "a b c d e f g h i j k l m n o p q r s t u v w x y z ".repeat(8),
        ] {
            assert_eq!(flood(&text), None, "{text}");
        }
    }
}
