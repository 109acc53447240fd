//! Takes one layer of encoding off the parts of a text that look encoded.
//!
//! For: base64, hex, percent-encoding, backslash escapes, HTML entities; the caller goes on with what comes out. Not
//! for: bytes that decode to something else than text, of which nothing is kept.
//!
//! Of each kind, the parts do not overlap and what comes out is no longer than what went in, up to UTF-8.

use super::ViewKind;
use super::scan::{Candidates, SHORTEST_CODE};
use super::spelled::{REACH, reach_back, reach_on};
use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// Most blanks between two lines of one code: a line break and an indentation.
const INDENTATION: usize = 12;
/// Longest last line of a code over several lines.
const LONGEST_LINE: usize = 128;
/// Shortest text worth reading.
const SHORTEST_TEXT: usize = 6;
/// Least share of letters and blanks in what was decoded, in percent: prose has over 90, random bytes about 20.
const LEAST_LETTERS: usize = 70;

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ENGINE: GeneralPurpose = GeneralPurpose::new(&STANDARD, CONFIG);
const URL_SAFE_ENGINE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, CONFIG);

/// A part of a text, and what it encodes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) kind: ViewKind,
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

/// What the candidates in `text` encode.
pub(super) fn decode(text: &str, candidates: &Candidates) -> Vec<Decoded> {
    let mut decoded = Vec::new();
    codes(text, &candidates.code, &mut decoded);
    for pairs in &candidates.hex_pairs {
        decoded.extend(code(text, ViewKind::Hex, pairs.clone()));
    }
    if candidates.escaped {
        for notation in [Notation::Percent, Notation::Backslash, Notation::Entity] {
            escapes(text, notation, &mut decoded);
        }
    }
    decoded
}

/// Bytes as text, if that is what they are: UTF-8, or UTF-16 as some shells encode commands.
pub(super) fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = match bytes.as_slice() {
        [first, 0, _, 0, ..] if *first != 0 => {
            let units = bytes.chunks_exact(2).map(|pair| match pair {
                [low, high] => u16::from_le_bytes([*low, *high]),
                _ => 0,
            });
            char::decode_utf16(units).collect::<Result<String, _>>().ok()?
        }
        _ => String::from_utf8(bytes).ok()?,
    };
    let (mut all, mut letters) = (0_usize, 0_usize);
    for c in text.chars() {
        all += 1;
        if c.is_alphabetic() || c.is_whitespace() {
            letters += 1;
        } else if c.is_control() {
            return None;
        }
    }
    (all >= SHORTEST_TEXT && letters * 100 >= all * LEAST_LETTERS).then_some(text)
}

/// Base64 and hex in the tokens at `tokens`; lines that follow one another are one code.
fn codes(text: &str, tokens: &[Range<usize>], decoded: &mut Vec<Decoded>) {
    let mut lines: Vec<Range<usize>> = Vec::new();
    for token in tokens {
        for run in runs(text, token) {
            if !lines.last().is_some_and(|last| follows(text, last, &run)) {
                finish(text, &lines, decoded);
                lines.clear();
            }
            lines.push(run);
        }
    }
    finish(text, &lines, decoded);
}

/// The stretches of a token that are of the alphabet of base64 alone, long enough, with their padding.
fn runs(text: &str, token: &Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes().get(token.clone()).unwrap_or_default();
    let mut runs = Vec::new();
    let mut start = 0;
    for stretch in bytes.split_inclusive(|byte| !is_base64(*byte)) {
        let letters = stretch.iter().take_while(|byte| is_base64(**byte)).count();
        if letters >= SHORTEST_CODE {
            let from = token.start.saturating_add(start);
            runs.push(from..from.saturating_add(letters));
        }
        start = start.saturating_add(stretch.len());
    }
    runs
}

fn follows(text: &str, last: &Range<usize>, run: &Range<usize>) -> bool {
    let between = text.get(last.end..run.start).unwrap_or("?");
    between.len() <= INDENTATION
        && !between.is_empty()
        && between.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Decodes lines as one code with the shorter line that may follow, or as one, or each on its own.
fn finish(text: &str, lines: &[Range<usize>], decoded: &mut Vec<Decoded>) {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return;
    };
    let whole = first.start..last.end;
    if let Some(end) = last_line(text, last.end)
        && let Some(found) = code(text, ViewKind::Base64, first.start..end)
    {
        decoded.push(found);
        return;
    }
    if lines.len() > 1
        && let Some(found) =
            code(text, ViewKind::Hex, whole.clone()).or_else(|| code(text, ViewKind::Base64, whole))
    {
        decoded.push(found);
        return;
    }
    for line in lines {
        let found = code(text, ViewKind::Hex, line.clone());
        decoded.extend(found.or_else(|| code(text, ViewKind::Base64, line.clone())));
    }
}

/// The end of a line of base64 too short to be a candidate, right below the one that ends at `end`.
fn last_line(text: &str, end: usize) -> Option<usize> {
    let tail = text.get(end..)?;
    let line = tail.trim_start_matches([' ', '\t', '\r', '\n']);
    let blanks = tail.len().saturating_sub(line.len());
    let length = line
        .bytes()
        .take(LONGEST_LINE)
        .take_while(|byte| is_base64(*byte))
        .count();
    let short = blanks > 0 && blanks <= INDENTATION && (1..SHORTEST_CODE).contains(&length);
    short.then(|| end.saturating_add(blanks).saturating_add(length))
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn code(text: &str, kind: ViewKind, span: Range<usize>) -> Option<Decoded> {
    let mut letters = text.as_bytes().get(span.clone())?.to_vec();
    letters.retain(|byte| !byte.is_ascii_whitespace());
    let bytes = match kind {
        ViewKind::Hex => hex(&letters)?,
        _ => {
            if letters.len() % 4 == 1 {
                letters.pop();
            }
            let url_safe = letters.iter().any(|byte| matches!(byte, b'-' | b'_'));
            let engine = if url_safe { &URL_SAFE_ENGINE } else { &ENGINE };
            engine.decode(&letters).ok()?
        }
    };
    Some(Decoded {
        kind,
        text: readable(bytes)?,
        span,
    })
}

fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => byte_of(*high, *low),
        _ => None,
    });
    pairs.collect()
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?).ok()
}

/// A way to write one character with several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Percent,
    Backslash,
    Entity,
}

/// What an escape stands for.
enum Unit {
    Byte(u8),
    Character(char),
}

impl Notation {
    const fn kind(self) -> ViewKind {
        match self {
            Self::Percent => ViewKind::Percent,
            Self::Backslash => ViewKind::Escapes,
            Self::Entity => ViewKind::HtmlEntities,
        }
    }

    const fn mark(self) -> u8 {
        match self {
            Self::Percent => b'%',
            Self::Backslash => b'\\',
            Self::Entity => b'&',
        }
    }

    /// What the escape at the start of `text` stands for, and its length.
    fn read(self, text: &[u8]) -> Option<(Unit, usize)> {
        match (self, text) {
            (Self::Percent, [b'%', high, low, ..]) => Some((Unit::Byte(byte_of(*high, *low)?), 3)),
            (Self::Backslash, [b'\\', b'x' | b'X', high, low, ..]) => {
                Some((Unit::Byte(byte_of(*high, *low)?), 4))
            }
            (Self::Backslash, [b'\\', b'u', b'{', rest @ ..]) => {
                let (code, length) = number(rest, 16)?;
                (rest.get(length) == Some(&b'}')).then(|| (Unit::Character(code), length.saturating_add(4)))
            }
            (Self::Backslash, [b'\\', b'u', rest @ ..]) => Some((Unit::Character(fixed(rest, 4)?), 6)),
            (Self::Backslash, [b'\\', b'U', rest @ ..]) => Some((Unit::Character(fixed(rest, 8)?), 10)),
            (Self::Entity, [b'&', b'#', b'x' | b'X', rest @ ..]) => {
                let (code, length) = number(rest, 16)?;
                Some((Unit::Character(code), closed(rest, length).saturating_add(3)))
            }
            (Self::Entity, [b'&', b'#', rest @ ..]) => {
                let (code, length) = number(rest, 10)?;
                Some((Unit::Character(code), closed(rest, length).saturating_add(2)))
            }
            (Self::Entity, [b'&', rest @ ..]) => {
                let (name, code) = NAMES.iter().find(|(name, _)| rest.starts_with(name.as_bytes()))?;
                Some((Unit::Character(*code), name.len().saturating_add(1)))
            }
            _ => None,
        }
    }
}

/// The entities for what ASCII can write, as far as they serve to hide it.
const NAMES: [(&str, char); 17] = [
    ("lt;", '<'),
    ("gt;", '>'),
    ("amp;", '&'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("nbsp;", ' '),
    ("excl;", '!'),
    ("num;", '#'),
    ("colon;", ':'),
    ("semi;", ';'),
    ("comma;", ','),
    ("period;", '.'),
    ("lpar;", '('),
    ("rpar;", ')'),
    ("sol;", '/'),
    ("NewLine;", '\n'),
    ("Tab;", '\t'),
];

/// A number of at most eight digits, and how many it has.
fn number(text: &[u8], radix: u32) -> Option<(char, usize)> {
    let digits = text
        .iter()
        .take(8)
        .map_while(|byte| char::from(*byte).to_digit(radix));
    let (code, length) = digits.fold((0_u32, 0_usize), |(code, length), digit| {
        (code.saturating_mul(radix).saturating_add(digit), length + 1)
    });
    (length > 0).then_some((char::from_u32(code)?, length))
}

fn fixed(text: &[u8], length: usize) -> Option<char> {
    let (code, digits) = number(text.get(..length)?, 16)?;
    (digits == length).then_some(code)
}

fn closed(text: &[u8], length: usize) -> usize {
    length.saturating_add(usize::from(text.get(length) == Some(&b';')))
}

/// The stretches of `text` with escapes in this notation, with what those stand for.
fn escapes(text: &str, notation: Notation, decoded: &mut Vec<Decoded>) {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(tail) = bytes.get(at..)
        && let Some(next) = tail.iter().position(|byte| *byte == notation.mark())
    {
        let start = at.saturating_add(next);
        at = start.saturating_add(1);
        if let Some((unit, length)) = notation.read(bytes.get(start..).unwrap_or_default()) {
            at = start.saturating_add(length);
            places.push((start..at, unit));
        }
    }
    let mut places = places.into_iter().peekable();
    let mut taken = 0;
    while let Some((place, unit)) = places.next() {
        let start = reach_back(text, place.start, taken);
        let mut out = text
            .as_bytes()
            .get(start..place.start)
            .unwrap_or_default()
            .to_vec();
        write(&unit, &mut out);
        let mut end = place.end;
        while let Some((next, unit)) = places.next_if(|(next, _)| next.start <= end.saturating_add(REACH)) {
            out.extend_from_slice(bytes.get(end..next.start).unwrap_or_default());
            write(&unit, &mut out);
            end = next.end;
        }
        let last = reach_on(text, end);
        out.extend_from_slice(bytes.get(end..last).unwrap_or_default());
        taken = last;
        decoded.push(Decoded {
            kind: notation.kind(),
            text: String::from_utf8_lossy(&out).into_owned(),
            span: start..last,
        });
    }
}

fn write(unit: &Unit, out: &mut Vec<u8>) {
    match unit {
        Unit::Byte(byte) => out.push(*byte),
        Unit::Character(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
