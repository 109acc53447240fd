//! Words that were taken apart (`i g n o r e`, `i-g-n-o-r-e`, `ig.nore`), respelled with digits and signs (`1gn0r3`)
//! or accented (`ìgnórê`), read as words again.
//!
//! For: second readings of the stretch around such a word. Not for: encodings (`decode`).

use super::words::{self, is_common, write_apart};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// How far the stretch that is read anew reaches on either side of a respelled word: a sentence or two.
pub(super) const REACH: usize = 160;
/// Fewest pieces of one letter with signs between.
const PIECES: usize = 4;

/// What may stand between the letters of a word that was taken apart.
const fn is_joint(c: char) -> bool {
    matches!(c, '.' | '-' | '_' | '*' | '~' | '^' | '/' | '`' | ',' | '+' | '|')
}

/// The letter that a digit or sign stands for, where `1` stands for `one`.
const fn letter_of(c: char, one: char) -> Option<char> {
    Some(match c {
        '0' => 'o',
        '1' | '|' | '!' => one,
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '6' | '9' => 'g',
        '7' | '+' => 't',
        '8' => 'b',
        _ => return None,
    })
}

/// Whether a token is one word with signs between its letters: four or more letters each on its own, or pieces that
/// make a common word.
pub(super) fn is_split(token: &str) -> bool {
    let token = trim(token);
    let mut characters = token.chars();
    if let (Some(first), Some(joint), Some(second), Some(again)) = (
        characters.next(),
        characters.next(),
        characters.next(),
        characters.next(),
    ) && first.is_alphabetic()
        && is_joint(joint)
        && second.is_alphabetic()
        && joint == again
    {
        let pieces = token.split(joint).take(PIECES);
        if pieces.filter(|piece| is_letter(piece)).count() >= PIECES {
            return true;
        }
    }
    if token.len() > words::LONGEST * 2 || !token.contains(is_joint) {
        return false;
    }
    let joined: String = token
        .chars()
        .filter(|c| !is_joint(*c))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    is_common(&joined)
}

/// Whether a token reads as a word once its digits are letters: a common one, or one with two digits between letters.
pub(super) fn is_leet(token: &str) -> bool {
    let token = trim(token);
    let letters = token.bytes().filter(u8::is_ascii_alphabetic).count();
    if letters == 0 || letters == token.len() || token.len() < 3 {
        return false;
    }
    if ['i', 'l']
        .into_iter()
        .any(|one| is_common(&respell(token, one).to_ascii_lowercase()))
    {
        return true;
    }
    let triples = token.as_bytes().windows(3);
    let between = triples.filter(|triple| {
        matches!(triple, [before, digit, after]
            if before.is_ascii_alphabetic() && b"01345789@$".contains(digit) && after.is_ascii_alphabetic())
    });
    between.count() >= 2 && !token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A stretch of the text that was read anew, and how it reads then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

/// The stretches around `places`, with their words put together again.
pub(super) fn unsplit(text: &str, places: &[Range<usize>]) -> Vec<Reading> {
    readings(text, places, |span, inside| {
        let mut out = String::with_capacity(span.len());
        let mut at = span.start;
        for place in inside {
            out.push_str(text.get(at..place.start).unwrap_or_default());
            let letters = text.get(place.clone()).unwrap_or_default();
            let mut joined = String::with_capacity(letters.len());
            if letters.contains(char::is_whitespace) {
                join_spaced(letters, &mut joined);
            } else {
                join_signed(letters, &mut joined);
            }
            out.push_str(&joined);
            at = place.end;
        }
        out.push_str(text.get(at..span.end).unwrap_or_default());
        out
    })
}

/// The stretches around `places`, with letters for digits; twice where `1` may be i or l.
pub(super) fn unleet(text: &str, places: &[Range<usize>]) -> Vec<Reading> {
    let read = |one: char| {
        readings(text, places, move |span, _| {
            let stretch = text.get(span).unwrap_or_default();
            let mut out = String::with_capacity(stretch.len());
            for token in stretch.split_inclusive(char::is_whitespace) {
                if token.contains(char::is_alphabetic) {
                    out.push_str(&respell(token, one));
                } else {
                    out.push_str(token);
                }
            }
            out
        })
    };
    let mut all = read('i');
    let other = read('l');
    let differs = |reading: &Reading| !all.contains(reading);
    if other.iter().any(differs) {
        all.extend(other);
    }
    all
}

/// The whole text without accents, where an accented word is a common one without them.
pub(super) fn unaccent(text: &str) -> Option<Reading> {
    let accented = |word: &&str| {
        !word.is_ascii()
            && word.len() <= words::LONGEST * 3
            && word.contains(|c: char| c.is_ascii_alphabetic())
    };
    let mut accented = text.split(|c: char| !c.is_alphanumeric()).filter(accented);
    accented.any(|word| is_common(&bare(word))).then(|| Reading {
        span: 0..text.len(),
        text: bare(text),
    })
}

fn bare(text: &str) -> String {
    text.nfd().filter(|c| !is_combining_mark(*c)).nfc().collect()
}

fn is_letter(piece: &str) -> bool {
    let mut characters = piece.chars();
    characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
}

fn trim(token: &str) -> &str {
    let token =
        token.trim_start_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '@' | '$' | '!' | '|'));
    token.trim_end_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '@' | '$' | '|'))
}

fn respell(token: &str, one: char) -> String {
    let kept = trim(token);
    let mut out = String::with_capacity(token.len());
    let mut ones = 0;
    for c in token.chars() {
        // Two in a row are more often `ll` than `ii`.
        ones = if c == '1' { ones + 1 } else { 0 };
        if ones == 2 && out.ends_with('i') {
            out.pop();
            out.push_str("ll");
        } else {
            out.push(letter_of(c, one).unwrap_or(c));
        }
    }
    // A mark of exclamation at the end of a word is one.
    if token.len() > kept.len() && token.ends_with('!') && !kept.is_empty() {
        out.pop();
        out.push('!');
    }
    out
}

/// Letters with one blank between are of one word, more than one blank parts words. Where nothing parts them, the
/// common words do.
fn join_spaced(letters: &str, out: &mut String) {
    let mut word = String::new();
    let mut blanks = 0_usize;
    for c in letters.chars() {
        if c.is_whitespace() {
            blanks += 1;
            continue;
        }
        if blanks > 1 {
            write_apart(&word, out);
            out.push(' ');
            word.clear();
        }
        blanks = 0;
        if !is_joint(c) && c != ';' {
            word.push(c);
        }
    }
    write_apart(&word, out);
}

fn join_signed(token: &str, out: &mut String) {
    let inner = trim(token);
    let letters: String = inner.chars().filter(|c| !is_joint(*c)).collect();
    write_apart(&letters, out);
    // What closes a sentence still does.
    if let Some((_, after)) = token.rsplit_once(inner) {
        out.push_str(after);
    }
}

/// Merges what `places` reach into stretches without overlap, and reads each.
fn readings(
    text: &str,
    places: &[Range<usize>],
    read: impl Fn(Range<usize>, &[Range<usize>]) -> String,
) -> Vec<Reading> {
    let mut all = Vec::new();
    let mut rest = places;
    let mut taken = 0;
    while let Some(first) = rest.first() {
        let start = reach_back(text, first.start, taken);
        let mut end = first.end;
        let mut count = 1;
        while let Some(next) = rest.get(count)
            && next.start <= end.saturating_add(REACH)
        {
            end = next.end;
            count += 1;
        }
        let end = reach_on(text, end);
        let (inside, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        all.push(Reading {
            span: start..end,
            text: read(start..end, inside),
        });
        taken = end;
        rest = after;
    }
    all
}

/// The beginning of the line or of a word, at most [`REACH`] before `at` and not before `taken`.
pub(super) fn reach_back(text: &str, at: usize, taken: usize) -> usize {
    let from = text.ceil_char_boundary(at.saturating_sub(REACH)).max(taken);
    if from == 0 {
        return 0;
    }
    let before = text.get(from..at).unwrap_or_default();
    before
        .find(char::is_whitespace)
        .map_or(at, |blank| from.saturating_add(blank))
}

/// The end of a word, at most [`REACH`] after `at`.
pub(super) fn reach_on(text: &str, at: usize) -> usize {
    let until = text.floor_char_boundary(at.saturating_add(REACH));
    if until >= text.len() {
        return text.len();
    }
    let after = text.get(at..until).unwrap_or_default();
    after
        .rfind(char::is_whitespace)
        .map_or(at, |blank| at.saturating_add(blank))
}
