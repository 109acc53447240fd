//! The first view of a text that is not plain ASCII: visible, NFKC, look-alikes folded, lower case.
//!
//! For: one pass that also notes where each character came from. Not for: what is spelled out or encoded in it.
//!
//! The text is taken apart into clusters that normalize on their own (UAX #15 §9): each begins with a starter that
//! composes with nothing before it. Marks that are left over after composition are dropped, whatever letter they
//! stand on: a letter under five of them is still that letter.

use super::confusables::{look_alike, style_of};
use super::controls::Invisible;
use super::offsets::Offsets;
use super::scripts::Script;
use std::ops::Range;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Marks beyond so many characters of a cluster are dropped unseen: sorting them is not linear.
const LONGEST_CLUSTER: usize = 32;
/// A longer word is folded in parts; no word of a language that has look-alikes is so long.
const LONGEST_WORD: usize = 64;

/// The first view, and the way back.
pub(super) fn fold(text: &str, invisible: &[Invisible]) -> (String, Offsets) {
    let mut folding = Folding {
        out: String::with_capacity(text.len()),
        offsets: Offsets::Pieces(Vec::new()),
        word: Vec::new(),
    };
    let mut visible = Visible {
        text,
        gaps: invisible,
        at: 0,
    };
    let mut cluster = String::new();
    loop {
        let at = visible.at;
        let words = visible.whole_words();
        if !words.is_empty() {
            folding.take_words(words, at);
            visible.at = at.saturating_add(words.len());
        }
        let Some((start, first)) = visible.next() else {
            break;
        };
        let mut end = start.saturating_add(first.len_utf8());
        cluster.clear();
        cluster.push(first);
        let mut length = 1_usize;
        while let Some((at, c)) = visible.peek()
            && !begins_cluster(c)
        {
            visible.next();
            end = at.saturating_add(c.len_utf8());
            length = length.saturating_add(1);
            if length <= LONGEST_CLUSTER || !is_mark(c) {
                cluster.push(c);
            }
        }
        if length == 1 && is_stable(first) {
            folding.take(first, start..end);
        } else {
            compose(&cluster, |c| folding.take(c, start..end));
        }
    }
    folding.end_word();
    (folding.out, folding.offsets)
}

fn compose(cluster: &str, mut take: impl FnMut(char)) {
    let composed: String = cluster.nfkc().collect();
    if composed.chars().any(is_mark) {
        let bare: String = composed.chars().filter(|c| !is_mark(*c)).collect();
        bare.nfkc().for_each(take);
    } else {
        composed.chars().for_each(&mut take);
    }
}

/// Marks that go on any letter (UAX #44, the blocks of combining diacritical marks).
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

fn is_stable(c: char) -> bool {
    is_plain(c) || !is_mark(c) && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
}

/// The letters that most texts are made of: each is its own normal form and composes with nothing before it.
const fn is_plain(c: char) -> bool {
    c.is_ascii()
        || matches!(c,
        'À'..='ÿ'
        | '\u{400}'..='\u{482}'
        | '\u{48a}'..='\u{52f}'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{621}'..='\u{63a}'
        | '\u{641}'..='\u{64a}'
        | '\u{905}'..='\u{939}'
        | '\u{2018}'..='\u{201f}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}')
}

/// Whether nothing before `c` can change it or move behind it.
fn begins_cluster(c: char) -> bool {
    if is_plain(c) {
        return true;
    }
    match is_nfkc_quick(std::iter::once(c)) {
        IsNormalized::Yes => canonical_combining_class(c) == 0,
        IsNormalized::Maybe => false,
        IsNormalized::No => std::iter::once(c).nfkd().next().is_some_and(|first| {
            canonical_combining_class(first) == 0
                && is_nfkc_quick(std::iter::once(first)) == IsNormalized::Yes
        }),
    }
}

/// The visible characters of a text.
struct Visible<'t> {
    text: &'t str,
    /// What is invisible from `at` on.
    gaps: &'t [Invisible],
    at: usize,
}

impl<'t> Visible<'t> {
    fn peek(&mut self) -> Option<(usize, char)> {
        while let Some((gap, rest)) = self.gaps.split_first()
            && gap.range.start <= self.at
        {
            self.at = self.at.max(gap.range.end);
            self.gaps = rest;
        }
        let c = self.text.get(self.at..)?.chars().next()?;
        Some((self.at, c))
    }

    fn next(&mut self) -> Option<(usize, char)> {
        let (at, c) = self.peek()?;
        self.at = at.saturating_add(c.len_utf8());
        Some((at, c))
    }

    /// The ASCII from here on that no other character can change: from the end of one word to the end of another.
    fn whole_words(&self) -> &'t str {
        let end = self.gaps.first().map_or(self.text.len(), |gap| gap.range.start);
        let Some(tail) = self.text.get(self.at..end) else {
            return "";
        };
        let ascii = tail
            .bytes()
            .position(|byte| !byte.is_ascii())
            .unwrap_or(tail.len());
        let Some(head) = tail.get(..ascii) else { return "" };
        if head
            .bytes()
            .next()
            .is_none_or(|byte| byte.is_ascii_alphanumeric())
        {
            return "";
        }
        // The last character that is not of a word may still get a mark.
        let last = head.bytes().rposition(|byte| !byte.is_ascii_alphanumeric());
        last.and_then(|last| head.get(..last)).unwrap_or("")
    }
}

struct Folding {
    out: String,
    offsets: Offsets,
    /// The word so far: its letters, and where each came from.
    word: Vec<(char, Range<usize>)>,
}

impl Folding {
    /// Takes ASCII that begins after a word and ends with one.
    fn take_words(&mut self, words: &str, at: usize) {
        self.end_word();
        self.offsets
            .push_even(self.out.len(), at..at.saturating_add(words.len()));
        self.out.extend(words.chars().map(|c| c.to_ascii_lowercase()));
    }

    fn take(&mut self, c: char, source: Range<usize>) {
        let c = plain_of(c).unwrap_or(c);
        if c.is_alphanumeric() {
            self.word.push((c, source));
            if self.word.len() >= LONGEST_WORD {
                self.end_word();
            }
        } else {
            self.end_word();
            self.write(c, source);
        }
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let mixed = is_mixed(&word);
        for (c, source) in &word {
            let folded = if mixed { passes_for(*c) } else { None };
            self.write(folded.unwrap_or(*c), source.clone());
        }
        self.word = word;
        self.word.clear();
    }

    fn write(&mut self, c: char, source: Range<usize>) {
        // Only İ becomes two, and the second is a mark.
        let lower = c.to_lowercase().next().unwrap_or(c);
        self.offsets.push(self.out.len(), source, lower.len_utf8());
        self.out.push(lower);
    }
}

/// The ASCII letter that `c` passes for, or that it does in lower case.
fn passes_for(c: char) -> Option<char> {
    either_case(c, look_alike)
}

/// The ASCII letter that `c` is in another style, or that it is in lower case.
fn plain_of(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    either_case(c, style_of)
}

fn either_case(c: char, letter: impl Fn(char) -> Option<char>) -> Option<char> {
    letter(c).or_else(|| c.to_lowercase().next().and_then(letter))
}

/// Whether a word is of two scripts that look alike and holds a letter that passes for one of ASCII. Next to Han, a
/// Greek letter is what it is.
fn is_mixed(word: &[(char, Range<usize>)]) -> bool {
    let scripts = word.iter().map(|(c, _)| Script::of(*c));
    let mut scripts = scripts.filter(|script| !matches!(script, Script::Common | Script::Other));
    let first = scripts.next();
    scripts.any(|script| Some(script) != first) && word.iter().any(|(c, _)| passes_for(*c).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_letters_are_what_the_tables_of_unicode_say_of_them() {
        for c in ('\0'..=char::MAX).filter(|c| is_plain(*c)) {
            let alone = std::iter::once(c);
            assert_eq!(is_nfkc_quick(alone), IsNormalized::Yes, "{c:?}");
            assert_eq!(canonical_combining_class(c), 0, "{c:?}");
        }
    }

    #[test]
    fn every_character_is_folded_at_once() {
        let folded = |text: &str| fold(text, &[]).0;
        let mut text = String::new();
        for c in ('\0'..=char::MAX).filter(|c| !is_mark(*c)) {
            text.clear();
            text.push(c);
            let once = folded(&text);
            assert_eq!(folded(&once), once, "{c:?}");
        }
    }

    #[test]
    fn a_look_alike_is_folded_to_a_lower_case_ascii_letter_and_is_none_itself() {
        for c in '\0'..=char::MAX {
            for folded in [look_alike(c), style_of(c)].into_iter().flatten() {
                assert!(folded.is_ascii_lowercase() && !c.is_ascii(), "{c:?}");
            }
        }
    }
}
