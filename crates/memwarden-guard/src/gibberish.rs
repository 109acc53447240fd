//! Finds strings that no person and no program wrote: suffixes and triggers that an optimizer found.
//!
//! For: the character soup of gradient-guided suffixes (GCG, arXiv 2307.15043) and of triggers searched token by
//! token. Not for: triggers of ordinary words, which nothing about their letters gives away.
//!
//! Three looks, each linear in the text:
//! - *Soup*: within [`WINDOW`] bytes of mostly letters, brackets without a partner and words joined by signs that join
//!   no words in ordinary prose and code, together of [`KINDS`] kinds or more. Code has strange signs too, but its
//!   brackets close, and shell has `$` and `` ` ``.
//! - *Letters*: [`WORDS`] words in a row whose letters hardly ever follow one another, in English or in the other
//!   languages in Latin letters that we tried.
//! - *Filler*: [`FILLER`] exclamation marks each on its own, what such a search begins with.
//!
//! The tables are made from the texts of this repository by `tools/gibberish_tables.py`; the thresholds leave alone
//! every one of 7,916 open benign entries (code, logs, tables, memory files) that they were set on.

use memwarden_core::Score;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../lists/gibberish-v1.toml");

/// How far apart the signs of one soup are, at most.
const WINDOW: usize = 100;
/// How many kinds of signs make a soup: one of them a strange joint, one a bracket without a partner.
const KINDS: usize = 3;
/// Least share of letters and spaces in a soup, in percent: below are tables, formulas and patterns.
const LETTERS: usize = 70;
/// Open brackets that a closing one may skip to find its partner.
const NESTED: usize = 8;
/// Longest joint of two words.
const JOINT: usize = 8;

/// How many words in a row are of improbable letters.
const WORDS: usize = 5;
const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 4..=16;
/// Mean of the natural logarithm of a letter's probability after the one before it, below which a row of words is no
/// language: English is near -2.6, the strangest honest row of the open entries -3.8, Polish made of clusters -4.2.
const NO_LANGUAGE: f64 = -4.6;
/// What the last letter of the table stands for.
const FLOOR: f64 = 7.0;

/// So many exclamation marks, each on its own.
const FILLER: usize = 10;

/// A string that no person and no program wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gibberish {
    /// Its bytes in the text, on character boundaries.
    pub span: Range<usize>,
    /// 0.50 at the threshold, 1.00 for as strange as it gets.
    pub score: Score,
}

/// The strangest such string of a text, if there is one.
///
/// ```
/// use memwarden_guard::gibberish;
///
/// assert!(gibberish("zqxjv wkpfh mbqrz tlgwx hhvqk").is_some());
/// assert!(gibberish("let x = map.get(&key).map(|v| v[0] + f(1)); // see [1](a.md)").is_none());
/// ```
#[must_use]
pub fn gibberish(text: &str) -> Option<Gibberish> {
    let found = [soup(text), letters(text), filler(text)];
    found.into_iter().flatten().max_by_key(|found| found.score)
}

struct Tables {
    joints: HashSet<String>,
    /// Logarithms of probabilities: of the column's letter after the row's, the first of each an edge of the word.
    pairs: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: String,
    joints: HashSet<String>,
    letters: Vec<String>,
}

fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(|| {
        #[expect(
            clippy::expect_used,
            reason = "the file is part of the program and a test parses it"
        )]
        let file: File = toml::from_str(TEXT).expect("the embedded tables parse");
        let value = |step: u8| f64::from(step.saturating_sub(b'a')) * -FLOOR / 25.0;
        Tables {
            joints: file.joints,
            pairs: file
                .letters
                .iter()
                .map(|row| row.bytes().map(value).collect())
                .collect(),
        }
    });
    &TABLES
}

/// Something in a text that ordinary ones have little of.
#[derive(Debug)]
struct Sign<'t> {
    at: usize,
    kind: SignKind<'t>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SignKind<'t> {
    Joint(&'t str),
    Bracket(u8),
}

fn soup(text: &str) -> Option<Gibberish> {
    let mut signs = brackets(text);
    if signs.is_empty() {
        return None;
    }
    signs.extend(joints(text));
    signs.sort_by_key(|sign| sign.at);
    let mut best: Option<(usize, Range<usize>)> = None;
    let mut window: VecDeque<&Sign<'_>> = VecDeque::new();
    let mut kinds: BTreeMap<SignKind<'_>, usize> = BTreeMap::new();
    for sign in &signs {
        window.push_back(sign);
        *kinds.entry(sign.kind).or_default() += 1;
        while let Some(first) = window.front()
            && sign.at.saturating_sub(first.at) > WINDOW
        {
            if let Some(count) = kinds.get_mut(&first.kind) {
                *count -= 1;
                if *count == 0 {
                    kinds.remove(&first.kind);
                }
            }
            window.pop_front();
        }
        let joint = kinds.keys().any(|kind| matches!(kind, SignKind::Joint(_)));
        let bracket = kinds.keys().any(|kind| matches!(kind, SignKind::Bracket(_)));
        if kinds.len() < KINDS
            || !joint
            || !bracket
            || best.as_ref().is_some_and(|(most, _)| kinds.len() <= *most)
        {
            continue;
        }
        let start = window.front().map_or(sign.at, |first| first.at);
        let span = words_around(text, start..sign.at.saturating_add(1));
        if is_wordy(text.get(span.clone()).unwrap_or_default()) {
            best = Some((kinds.len(), span));
        }
    }
    let (kinds, span) = best?;
    let above = u32::try_from(kinds.saturating_sub(KINDS)).unwrap_or(u32::MAX);
    Some(Gibberish {
        span,
        score: score(above.saturating_mul(10).saturating_add(50)),
    })
}

/// Mostly letters, and nothing that only code has.
fn is_wordy(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    letters * 100 >= text.chars().count() * LETTERS && !text.contains(['$', '`'])
}

/// Whole words, so that a person who is shown the span can read it.
fn words_around(text: &str, span: Range<usize>) -> Range<usize> {
    let before = text.as_bytes().iter().take(span.start).rev().take(WINDOW);
    let before = before.take_while(|byte| !byte.is_ascii_whitespace()).count();
    let after = text.as_bytes().iter().skip(span.end).take(WINDOW);
    let after = after.take_while(|byte| !byte.is_ascii_whitespace()).count();
    let start = text.floor_char_boundary(span.start.saturating_sub(before));
    start..text.ceil_char_boundary(span.end.saturating_add(after))
}

/// Brackets without a partner.
fn brackets(text: &str) -> Vec<Sign<'_>> {
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut alone: Vec<(u8, usize)> = Vec::new();
    let mut before = [b' '; 2];
    for (at, byte) in text.bytes().enumerate() {
        let partner = match byte {
            b'(' | b'[' | b'{' => {
                open.push((byte, at));
                None
            }
            b')' => Some(b'('),
            b']' => Some(b'['),
            b'}' => Some(b'{'),
            _ => None,
        };
        if let Some(partner) = partner {
            let skipped = open
                .iter()
                .rev()
                .take(NESTED)
                .position(|(bracket, _)| *bracket == partner);
            match skipped {
                Some(skipped) => {
                    let rest = open.split_off(open.len().saturating_sub(skipped));
                    alone.extend(rest);
                    open.pop();
                }
                None if byte == b')' && is_label(before) => {}
                None => alone.push((byte, at)),
            }
        }
        before = [before[1], byte];
    }
    alone.extend(open);
    let sign = |(bracket, at)| Sign {
        at,
        kind: SignKind::Bracket(bracket),
    };
    alone.into_iter().map(sign).collect()
}

/// Whether what stands before a closing parenthesis is the label of a list (`2)`, `b)`) or a face.
const fn is_label([earlier, last]: [u8; 2]) -> bool {
    last.is_ascii_digit()
        || matches!(last, b':' | b';' | b'-')
        || last.is_ascii_alphanumeric() && !earlier.is_ascii_alphanumeric()
}

/// What joins two words and joins none in ordinary texts.
fn joints(text: &str) -> Vec<Sign<'_>> {
    let known = &tables().joints;
    let mut strange = Vec::new();
    let bytes = text.as_bytes();
    let mut letters = 0_usize;
    let mut joint: Option<usize> = None;
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_alphabetic() {
            if let Some(start) = joint.take()
                && bytes
                    .get(at.saturating_add(1))
                    .is_some_and(u8::is_ascii_alphabetic)
                && let Some(signs) = text.get(start..at)
                && signs.len() <= JOINT
                && !known.contains(signs)
            {
                strange.push(Sign {
                    at: start,
                    kind: SignKind::Joint(signs),
                });
            }
            letters += 1;
        } else {
            let punctuation = byte.is_ascii_punctuation() && *byte != b'_';
            joint = match joint {
                _ if !punctuation => None,
                None if letters >= 2 => Some(at),
                joint => joint,
            };
            letters = 0;
        }
    }
    strange
}

fn letters(text: &str) -> Option<Gibberish> {
    let pairs = &tables().pairs;
    let mut row: VecDeque<(f64, usize)> = VecDeque::new();
    let mut best: Option<(f64, Range<usize>)> = None;
    for token in text.split_ascii_whitespace() {
        let word = token.trim_matches(|c: char| c.is_ascii_punctuation());
        if !WORD_LENGTHS.contains(&word.len()) || !word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            row.clear();
            continue;
        }
        let start = place(text, word);
        row.push_back((likelihood(pairs, word), start));
        if row.len() > WORDS {
            row.pop_front();
        }
        let mean = row.iter().map(|(word, _)| word).sum::<f64>() / 5.0;
        if row.len() == WORDS && best.as_ref().map_or(NO_LANGUAGE, |(lowest, _)| *lowest) > mean {
            let from = row.front().map_or(start, |(_, first)| *first);
            best = Some((mean, from..start.saturating_add(word.len())));
        }
    }
    let (mean, span) = best?;
    let share = (NO_LANGUAGE - mean) / (NO_LANGUAGE + FLOOR) * 50.0;
    // Between 0 and 50, since no mean is below -FLOOR.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0 to 50"
    )]
    let above = share.clamp(0.0, 50.0) as u32;
    Some(Gibberish {
        span,
        score: score(above.saturating_add(50)),
    })
}

/// Where `part`, which is a part of `text`, begins in it.
fn place(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Mean logarithm of the probabilities of a word's letters, each after the one before it.
fn likelihood(pairs: &[Vec<f64>], word: &str) -> f64 {
    let index = |byte: u8| usize::from(byte.to_ascii_lowercase().saturating_sub(b'a')).saturating_add(1);
    let (mut sum, mut count, mut last) = (0.0, 0_u32, 0);
    for next in word.bytes().map(index).chain([0]) {
        sum += pairs
            .get(last)
            .and_then(|row| row.get(next))
            .copied()
            .unwrap_or(-FLOOR);
        count += 1;
        last = next;
    }
    sum / f64::from(count.max(1))
}

fn filler(text: &str) -> Option<Gibberish> {
    let mut row = 0..0;
    let mut count = 0;
    let mut best: Option<(usize, Range<usize>)> = None;
    for token in text.split_ascii_whitespace() {
        if token != "!" {
            count = 0;
            continue;
        }
        let at = place(text, token);
        if count == 0 {
            row.start = at;
        }
        row.end = at.saturating_add(1);
        count += 1;
        if count >= FILLER && best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, row.clone()));
        }
    }
    best.map(|(_, span)| Gibberish {
        span,
        score: Score::MAX,
    })
}

fn score(hundredths: u32) -> Score {
    Score::from_hundredths(hundredths).unwrap_or(Score::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        let tables = tables();
        assert!(tables.joints.contains("](") && tables.joints.contains("::"));
        assert_eq!(tables.pairs.len(), 27);
        assert!(tables.pairs.iter().all(|row| row.len() == 27));
        let likely = likelihood(&tables.pairs, "the");
        assert!(likely > likelihood(&tables.pairs, "xqj") + 2.0, "{likely}");
    }

    #[test]
    fn soups_of_words_and_signs_are_found_where_they_are() {
        for soup in [
            "harbor](notes weekly}{plain !!;Sure begin--((list tag answer",
            "table{ Write>>now lesson.}( formatted;;begin ONE}> plainly!?(Here Steps{[",
            "answering.\\ + likewiseThen type reversely.](Us handing~~TWO now? undo with \"\\!--Six",
        ] {
            let text =
                format!("The report is due on Monday, as agreed before. {soup} Thank you very much for it.");
            let found = gibberish(&text).unwrap_or_else(|| panic!("{soup}"));
            assert!(
                found.span.start >= 40 && found.span.end <= 50 + soup.len() + 8,
                "{found:?}"
            );
        }
    }

    #[test]
    fn rows_of_letters_that_are_no_language_are_found() {
        let text = "remember zqxjv wkpfh mbqrz tlgwx hhvqk well";
        let found = gibberish(text).unwrap();
        assert_eq!(text.get(found.span), Some("zqxjv wkpfh mbqrz tlgwx hhvqk"));
        assert!(found.score > score(50));
        assert_eq!(
            gibberish(&format!("so {}", "! ".repeat(12))).map(|found| found.span),
            Some(3..26)
        );
    }

    #[test]
    fn code_logs_tables_and_languages_are_left_alone() {
        for text in [
            "for i in range(10):\n    print(f\"{i}: {items[i]['name']}\", end=\"\\n\")  # [x](y)",
            "if (a[i] != b->c(d, e)) { return std::map<int, std::vector<T>>{}; } /* [todo */",
            "grep -hoP '\\[\\d{4}-\\d\\d' ~/logs/*.log | awk '{print $1}' | sort | uniq -c",
            "2026-03-01T10:00:00Z ERROR [main] c.e.App$Inner: failed (code=17) {\"id\":[1,2],\"e\":\"x}\"}",
            "| a | b |\n|---|---|\n| 1) x | [y] |\n(see (b) and c) :-) ;)",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'x]'",
            "sha256:9f86d081884c7d659a2feaa0c55ad015 https://example.com/a?b=c&d=(e)#f[0]",
            "aWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM= qL4tKz==",
            "Der Donaudampfschifffahrtsgesellschaftskapitän trägt Strickstrümpfe im Herbstlicht",
            "chrzaszcz brzmi trzcinie szczebrzeszynie przyszczypki bezwzgledny",
            "hyvää päivää kaikille ystäville; ang mga bata; yang saya butuhkan untuk mengganti",
            "这是一个测试（包括括号]，没有问题】。Тест (скобка] и ещё {одна",
            "Really?! Yes!!! (no...) -- \"well,\" she said; 'fine'. [sic] 1) one 2) two a) b)",
        ] {
            assert_eq!(gibberish(text), None, "{text}");
        }
    }
}
