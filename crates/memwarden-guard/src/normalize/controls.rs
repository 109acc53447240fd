//! Characters that are invisible when a text is shown: which there are, and which of them have no honest use
//! where they stand.
//!
//! For: what is left out of the first view, the counts that a policy may take as a signal, and what `sanitize`
//! drops. Not for: look-alike letters, which are visible (`fold`).

use super::scripts::{is_emoji, is_ideograph, is_joining, is_right_to_left, is_unspaced};
use std::ops::Range;

/// So many invisible characters in a row have no honest use, wherever they stand.
const RUN: usize = 3;
/// A word with a soft hyphen has at least so many letters, each part at least [`HYPHEN_PART`].
const HYPHENATED: usize = 8;
const HYPHEN_PART: usize = 2;
/// Longest flag of a region in tag characters, without the cancel tag (UTS #51 §2.6).
const FLAG_TAGS: std::ops::RangeInclusive<usize> = 3..=6;
const BLACK_FLAG: char = '\u{1f3f4}';
const CANCEL_TAG: char = '\u{e007f}';
const ESCAPE: char = '\x1b';
const KEYCAP: char = '\u{20e3}';
const SOFT_HYPHEN: char = '\u{ad}';

/// Suspicious invisible characters of a text, by kind. Those with an honest use where they stand (joiners in
/// emoji, Persian and Indic words, bidi marks in right-to-left text, a byte-order mark at the start) are left out
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
        let counts = self.by_name().map(|(_, tally)| tally.count);
        counts.into_iter().fold(0, u32::saturating_add)
    }

    /// Each kind with the name that findings give it.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, &Tally); 6] {
        [
            ("zero_width", &self.zero_width),
            ("bidi", &self.bidi),
            ("tags", &self.tags),
            ("variation", &self.variation),
            ("escapes", &self.escapes),
            ("other", &self.other),
        ]
    }

    fn count(&mut self, found: &Invisible) {
        let tally = match found.sort {
            Sort::ZeroWidth => &mut self.zero_width,
            Sort::Bidi => &mut self.bidi,
            Sort::Tag => &mut self.tags,
            Sort::Variation => &mut self.variation,
            Sort::Escape => &mut self.escapes,
            Sort::Control => &mut self.other,
        };
        tally.count = tally.count.saturating_add(1);
        tally.first.get_or_insert_with(|| found.range.clone());
    }
}

/// An invisible character or escape sequence where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invisible {
    /// Its bytes, with the characters that a backspace takes away.
    pub(crate) range: Range<usize>,
    pub(crate) standing: Standing,
    character: char,
    sort: Sort,
}

/// Whether an invisible character has an honest use where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Honest,
    Suspicious,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    ZeroWidth,
    Bidi,
    Tag,
    Variation,
    Escape,
    Control,
}

/// All that is invisible in a text.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// In order of place, without overlap.
    pub(crate) invisible: Vec<Invisible>,
    pub(crate) controls: Controls,
    /// What the suspicious tag characters spell, and where.
    pub(crate) tags: Option<(String, Range<usize>)>,
    /// What the suspicious variation selectors encode, and where.
    pub(crate) selectors: Option<(Vec<u8>, Range<usize>)>,
}

/// Surveys a text in one pass.
pub(crate) fn survey(text: &str) -> Survey {
    let mut survey = Survey::default();
    let mut nesting = Nesting::default();
    let mut right_to_left = None;
    let mut at = 0;
    while let Some(start) = next_invisible(text, at) {
        let first = survey.invisible.len();
        at = gather(text, start, &mut survey.invisible);
        let run = survey.invisible.get_mut(first..).unwrap_or_default();
        if run.iter().any(|found| found.sort == Sort::Bidi) {
            right_to_left.get_or_insert_with(|| text.chars().any(is_right_to_left));
        }
        let place = Place {
            before: text.get(..start).unwrap_or_default(),
            after: text.get(at..).unwrap_or_default(),
            right_to_left: right_to_left.unwrap_or(false),
        };
        place.judge(run);
        nesting.pair(text, first, &mut survey.invisible);
        erase(text, first, &mut survey.invisible);
    }
    nesting.close(&mut survey.invisible);
    for found in &survey.invisible {
        if found.standing == Standing::Suspicious {
            survey.controls.count(found);
            reveal(found, &mut survey.tags, &mut survey.selectors);
        }
    }
    survey
}

impl Sort {
    /// The sort of an invisible character, none for a visible one. Default-ignorable code points (UAX #44),
    /// controls, and the fillers that are shown as blank.
    const fn of(c: char) -> Option<Self> {
        Some(match c {
            '\t' | '\n' | '\x0c' | '\r' | ' '..='~' | '\u{85}' => return None,
            ESCAPE => Self::Escape,
            '\0'..='\u{9f}' => Self::Control,
            '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{34e}' => return None,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                Self::Bidi
            }
            '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                Self::Variation
            }
            '\u{e0000}'..='\u{e007f}' => Self::Tag,
            SOFT_HYPHEN
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0080}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}' => Self::ZeroWidth,
            _ => return None,
        })
    }
}

fn next_invisible(text: &str, from: usize) -> Option<usize> {
    let from = plain_until(text.as_bytes(), from);
    let mut characters = text.get(from..)?.char_indices();
    let (at, _) = characters.find(|(_, c)| Sort::of(*c).is_some())?;
    Some(from.saturating_add(at))
}

/// Where ordinary ASCII ends, or less than a row of bytes before that.
fn plain_until(bytes: &[u8], from: usize) -> usize {
    const ROW: usize = 32;
    let rows = bytes.get(from..).unwrap_or_default().chunks_exact(ROW);
    let plain = |row: &[u8]| {
        // Without early return, so that a row is looked at in a few steps.
        row.iter().fold(true, |plain, byte| {
            plain & (matches!(byte, b' '..=b'~') | matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r'))
        })
    };
    from.saturating_add(rows.take_while(|row| plain(row)).count().saturating_mul(ROW))
}

/// Appends the invisible characters that begin at `at`; returns where the next visible one is.
fn gather(text: &str, mut at: usize, into: &mut Vec<Invisible>) -> usize {
    while let Some(tail) = text.get(at..)
        && let Some(character) = tail.chars().next()
        && let Some(mut sort) = Sort::of(character)
    {
        let mut length = character.len_utf8();
        if sort == Sort::Escape {
            match escape_length(tail) {
                Some(whole) => length = whole,
                None => sort = Sort::Control,
            }
        }
        let end = at.saturating_add(length);
        into.push(Invisible {
            range: at..end,
            standing: Standing::Honest,
            character,
            sort,
        });
        at = end;
    }
    at
}

/// The length of the terminal escape sequence (ECMA-48) that `text` begins with, if it is a whole one. A sequence
/// ends before the next escape or line, so that looking for its end is linear over all of a text.
fn escape_length(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    let (_, introducer) = bytes.next()?;
    match introducer {
        b'[' => {
            let (at, end) = bytes.find(|(_, byte)| !matches!(byte, b' '..=b'?'))?;
            matches!(end, b'@'..=b'~').then(|| at.saturating_add(1))
        }
        b']' | b'P' | b'X' | b'^' | b'_' => {
            let (at, end) = bytes.find(|(_, byte)| matches!(byte, 0x07 | 0x1b | b'\n'))?;
            match end {
                0x07 => Some(at.saturating_add(1)),
                0x1b if text.as_bytes().get(at.saturating_add(1)) == Some(&b'\\') => {
                    Some(at.saturating_add(2))
                }
                _ => None,
            }
        }
        b'0'..=b'~' => Some(2),
        _ => None,
    }
}

/// Where a run of invisible characters stands.
struct Place<'t> {
    before: &'t str,
    after: &'t str,
    /// Whether the text has right-to-left letters at all.
    right_to_left: bool,
}

impl Place<'_> {
    fn judge(&self, run: &mut [Invisible]) {
        let before = self.before.chars().next_back();
        let after = self.after.chars().next();
        if is_flag(before, run) {
            return;
        }
        let long = run.len() >= RUN;
        let within = before.is_some_and(is_of_word) && after.is_some_and(is_of_word);
        let joining = before.is_some_and(is_joining) || after.is_some_and(is_joining);
        let unspaced = before.is_some_and(is_unspaced) || after.is_some_and(is_unspaced);
        for (index, found) in run.iter_mut().enumerate() {
            let honest = match (found.sort, found.character) {
                (Sort::Tag | Sort::Escape | Sort::Control, _) => false,
                (Sort::ZeroWidth, '\u{feff}') if found.range.start == 0 => true,
                (Sort::ZeroWidth, SOFT_HYPHEN) => !long && self.hyphenates(),
                (Sort::ZeroWidth, '\u{200c}' | '\u{200d}') if joining => !long,
                (Sort::ZeroWidth, '\u{200d}')
                    if before.is_some_and(is_emoji) && after.is_some_and(is_emoji) =>
                {
                    !long
                }
                (Sort::ZeroWidth, _) => !long && (!within || joining || unspaced),
                (Sort::Bidi, '\u{202d}' | '\u{202e}') => false,
                (Sort::Bidi, '\u{2067}' | '\u{202b}') => self.right_to_left,
                (Sort::Bidi, '\u{61c}' | '\u{200e}' | '\u{200f}') => self.right_to_left || !long && !within,
                (Sort::Bidi, _) => true,
                (Sort::Variation, selector) => index == 0 && has_variants(before, selector, after),
            };
            if !honest {
                found.standing = Standing::Suspicious;
            }
        }
    }

    /// Whether a soft hyphen here is where a long word may be broken.
    fn hyphenates(&self) -> bool {
        let of_word = |c: &char| c.is_alphabetic() || *c == SOFT_HYPHEN;
        let before = self.before.chars().rev().take_while(of_word).take(HYPHENATED);
        let after = self.after.chars().take_while(of_word).take(HYPHENATED);
        let (before, after): (Vec<_>, Vec<_>) = (before.collect(), after.collect());
        let part = |side: &[char]| side.iter().take_while(|c| **c != SOFT_HYPHEN).count();
        let letters = before.iter().chain(&after).filter(|c| **c != SOFT_HYPHEN).count();
        part(&before) >= HYPHEN_PART && part(&after) >= HYPHEN_PART && letters >= HYPHENATED
    }
}

/// A letter or digit of a script that sets words apart and does not join letters.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// A black flag with the tags of one region (UTS #51 §2.6).
fn is_flag(before: Option<char>, run: &[Invisible]) -> bool {
    let Some((last, region)) = run.split_last() else {
        return false;
    };
    before == Some(BLACK_FLAG)
        && last.character == CANCEL_TAG
        && FLAG_TAGS.contains(&region.len())
        && region
            .iter()
            .all(|tag| matches!(tag.character, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}'))
}

/// Whether a variation selector after `before` asks for a form that may exist (UTS #37, UTS #51).
fn has_variants(before: Option<char>, selector: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match selector {
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        _ if before.is_ascii() => matches!(before, '0'..='9' | '#' | '*') && after == Some(KEYCAP),
        _ => !before.is_alphabetic() || is_ideograph(before) || is_joining(before) || is_emoji(before),
    }
}

/// Openers of directions that still wait for their end.
#[derive(Debug, Default)]
struct Nesting {
    /// Their places in the survey.
    open: Vec<usize>,
    isolates: usize,
    /// Where the last of them ends in the text.
    seen: usize,
}

impl Nesting {
    /// Pairs openers and closers among what was found from `first` on. Those without a partner in their paragraph
    /// are suspicious, and the partner of a suspicious one is.
    fn pair(&mut self, text: &str, first: usize, found: &mut [Invisible]) {
        for index in first..found.len() {
            let Some(Invisible {
                sort: Sort::Bidi,
                character,
                range,
                ..
            }) = found.get(index)
            else {
                continue;
            };
            let (character, range) = (*character, range.clone());
            if text
                .get(self.seen..range.start)
                .is_some_and(|between| between.contains('\n'))
            {
                self.close(found);
            }
            self.seen = range.end;
            match character {
                '\u{2066}'..='\u{2068}' => {
                    self.isolates = self.isolates.saturating_add(1);
                    self.open.push(index);
                }
                '\u{202a}' | '\u{202b}' | '\u{202d}' | '\u{202e}' => self.open.push(index),
                '\u{2069}' if self.isolates > 0 => {
                    while let Some(opener) = self.open.pop() {
                        if is_isolate(found, opener) {
                            self.isolates = self.isolates.saturating_sub(1);
                            share(found, opener, index);
                            break;
                        }
                    }
                }
                '\u{202c}' if self.open.last().is_some_and(|opener| !is_isolate(found, *opener)) => {
                    if let Some(opener) = self.open.pop() {
                        share(found, opener, index);
                    }
                }
                '\u{2069}' | '\u{202c}' => suspect(found, index),
                _ => {}
            }
        }
    }

    fn close(&mut self, found: &mut [Invisible]) {
        self.isolates = 0;
        for index in self.open.drain(..) {
            suspect(found, index);
        }
    }
}

fn is_isolate(found: &[Invisible], index: usize) -> bool {
    let character = found.get(index).map(|found| found.character);
    matches!(character, Some('\u{2066}'..='\u{2068}'))
}

fn share(found: &mut [Invisible], opener: usize, closer: usize) {
    if found
        .get(opener)
        .is_some_and(|found| found.standing == Standing::Suspicious)
    {
        suspect(found, closer);
    }
}

fn suspect(found: &mut [Invisible], index: usize) {
    if let Some(found) = found.get_mut(index) {
        found.standing = Standing::Suspicious;
    }
}

/// Lets backspaces and deletes take the characters before them, as a terminal does.
fn erase(text: &str, first: usize, found: &mut [Invisible]) {
    let deletes = |found: &&Invisible| matches!(found.character, '\x08' | '\x7f');
    let Some((earlier, run)) = found.split_at_mut_checked(first) else {
        return;
    };
    let count = run.iter().take_while(deletes).count();
    let from = earlier.last().map_or(0, |found| found.range.end);
    if let Some(found) = run.first_mut()
        && let Some(line) = text.get(from..found.range.start)
    {
        let characters = line.chars().rev().take(count).take_while(|c| *c != '\n');
        let erased: usize = characters.map(char::len_utf8).sum();
        found.range.start = found.range.start.saturating_sub(erased);
    }
}

/// Adds what a tag spells or a variation selector encodes: VS1 to VS256 stand for the bytes 0 to 255.
fn reveal(
    found: &Invisible,
    tags: &mut Option<(String, Range<usize>)>,
    selectors: &mut Option<(Vec<u8>, Range<usize>)>,
) {
    let code = u32::from(found.character);
    match found.character {
        '\u{e0000}'..='\u{e007f}' => {
            let (text, range) = tags.get_or_insert_with(|| (String::new(), found.range.clone()));
            if let Ok(byte) = u8::try_from(code & 0x7f)
                && matches!(byte, b' '..=b'~' | b'\n' | b'\t')
            {
                text.push(char::from(byte));
            }
            range.end = found.range.end;
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            let (bytes, range) = selectors.get_or_insert_with(|| (Vec::new(), found.range.clone()));
            let byte = if code < 0xe0000 {
                code & 0xf
            } else {
                (code & 0xff).saturating_add(16)
            };
            bytes.extend(u8::try_from(byte).ok());
            range.end = found.range.end;
        }
        _ => {}
    }
}
