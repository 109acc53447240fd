//! Finds fixed phrases as whole words, in any ASCII case, in time linear in the text.
//!
//! For: the word and phrase lists. Not for: patterns with holes, which are regular expressions.

use crate::heads::{Case, Heads};
use std::collections::BTreeMap;

/// Most blanks between two words of a phrase: a bound keeps the scan linear.
const MAX_BLANKS: usize = 16;

/// A set of phrases, compiled.
#[derive(Debug)]
pub(crate) struct Phrases {
    phrases: Vec<Phrase>,
    /// Finds the first word of each phrase.
    first_words: Heads,
    /// Bytes of the first word of this number, and which phrases begin with it.
    by_first_word: Vec<(usize, Vec<usize>)>,
}

#[derive(Debug)]
struct Phrase {
    text: String,
    rest: Vec<String>,
}

/// A phrase in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit<'a> {
    /// Its number in the list.
    pub(crate) index: usize,
    /// The phrase as the list writes it.
    pub(crate) phrase: &'a str,
    /// Byte range in the text, on character boundaries.
    pub(crate) span: (usize, usize),
}

impl Phrases {
    pub(crate) fn new(list: &[String]) -> Self {
        let mut phrases = Vec::new();
        let mut firsts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for text in list {
            let mut words = text.split_whitespace().map(str::to_ascii_lowercase);
            let Some(first) = words.next() else { continue };
            firsts.entry(first).or_default().push(phrases.len());
            phrases.push(Phrase {
                text: text.clone(),
                rest: words.collect(),
            });
        }
        let words = firsts.keys().map(|word| {
            let in_words = word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            (word.as_str(), !in_words)
        });
        Self {
            first_words: Heads::new(words, Case::Folded),
            phrases,
            by_first_word: firsts
                .into_iter()
                .map(|(word, phrases)| (word.len(), phrases))
                .collect(),
        }
    }

    /// Calls `found` with every occurrence, in order of where it begins.
    pub(crate) fn each<'a>(&'a self, text: &'a str, mut found: impl FnMut(Hit<'a>)) {
        self.first_words.each(text, |word, start| {
            let Some((length, phrases)) = self.by_first_word.get(word) else {
                return;
            };
            if !starts_word(text, start) {
                return;
            }
            for index in phrases {
                let Some(phrase) = self.phrases.get(*index) else {
                    continue;
                };
                let rest = phrase.rest.iter();
                let end = rest
                    .clone()
                    .try_fold(start + length, |at, next| next_word(text, at, next));
                if let Some(end) = end.filter(|end| ends_word(text, *end)) {
                    found(Hit {
                        index: *index,
                        phrase: &phrase.text,
                        span: (start, end),
                    });
                }
            }
        });
    }

    /// The occurrence that begins first.
    pub(crate) fn first<'a>(&'a self, text: &'a str) -> Option<Hit<'a>> {
        let mut first = None;
        self.each(text, |hit| {
            first.get_or_insert(hit);
        });
        first
    }

    /// The first occurrence of each phrase that occurs, in the order of the list.
    pub(crate) fn distinct<'a>(&'a self, text: &'a str) -> Vec<Hit<'a>> {
        let mut seen: BTreeMap<usize, Hit<'a>> = BTreeMap::new();
        self.each(text, |hit| {
            seen.entry(hit.index).or_insert(hit);
        });
        seen.into_values().collect()
    }
}

/// Where `word` ends if, after one to [`MAX_BLANKS`] blanks, it stands at `at`.
fn next_word(text: &str, at: usize, word: &str) -> Option<usize> {
    let after = text.get(at..)?;
    let blanks: usize = after
        .chars()
        .take(MAX_BLANKS)
        .take_while(|c| c.is_whitespace())
        .map(char::len_utf8)
        .sum();
    let start = at.checked_add(blanks).filter(|_| blanks > 0)?;
    let end = start.checked_add(word.len())?;
    text.get(start..end)?.eq_ignore_ascii_case(word).then_some(end)
}

fn starts_word(text: &str, at: usize) -> bool {
    text.get(..at)
        .is_some_and(|before| !before.chars().next_back().is_some_and(of_word))
}

fn ends_word(text: &str, at: usize) -> bool {
    text.get(at..)
        .is_some_and(|after| !after.chars().next().is_some_and(of_word))
}

fn of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &[&str], text: &str) -> Vec<String> {
        let list: Vec<String> = list.iter().map(|phrase| (*phrase).to_owned()).collect();
        let mut found = Vec::new();
        Phrases::new(&list).each(text, |hit| {
            found.push(text.get(hit.span.0..hit.span.1).unwrap().to_owned());
        });
        found
    }

    #[test]
    fn a_word_matches_whole_and_in_any_case() {
        assert_eq!(
            found(&["skip"], "SKIP it, Skip-it; (skip)"),
            ["SKIP", "Skip", "skip"]
        );
        assert!(found(&["skip"], "skipper, skipped, askip, skip_it, éskip, skip9").is_empty());
    }

    #[test]
    fn a_phrase_matches_across_line_breaks_and_not_across_other_words() {
        let list = ["without verification"];
        assert_eq!(
            found(&list, "directly Without\n  verification."),
            ["Without\n  verification"]
        );
        assert_eq!(
            found(&list, "without\u{a0}verification"),
            ["without\u{a0}verification"]
        );
        assert!(
            found(
                &list,
                "without any verification, withoutverification, without verifications"
            )
            .is_empty()
        );
        assert!(found(&list, &format!("without{}verification", " ".repeat(17))).is_empty());
    }

    #[test]
    fn phrases_with_a_common_first_word_are_both_found() {
        assert_eq!(
            found(&["no anomalies", "no"], "No anomalies"),
            ["No anomalies", "No"]
        );
    }
}
