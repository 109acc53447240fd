//! The embedded list file, compiled once.
//!
//! For: turning `lists/sentinel-v1.toml` into matchers. Not for: deciding what a match means.

use crate::claims::NUMBER;
use crate::phrases::Phrases;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../lists/sentinel-v1.toml");

/// Most marks and blanks before an opening: a heading, a list item or a quotation still opens a text (our
/// reading).
const LEADING_MARKS: &str = r"\A[^\w]{0,16}";

/// The compiled lists.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Which list file this is.
    pub(crate) version: String,
    /// Layer 1.
    pub(crate) keywords: Phrases,
    /// Layer 4: rule names and patterns.
    pub(crate) rules: Vec<(String, Regex)>,
    /// Signal 1: claims of the role of internal reasoning.
    pub(crate) roles: Phrases,
    /// Signal 2: claims of a number of prior runs, each with a group `n`.
    pub(crate) precedents: Vec<Regex>,
    /// Signal 3: forgery-indicator phrases.
    pub(crate) indicators: Phrases,
    /// Signal 4: claims of perfect consistency.
    pub(crate) perfection: Vec<Regex>,
    /// Signal 5: openings, anchored at the start of the text.
    pub(crate) openings: Vec<Regex>,
}

/// The lists that this build embeds.
pub(crate) fn lists() -> &'static Lists {
    static LISTS: LazyLock<Lists> = LazyLock::new(|| {
        #[expect(
            clippy::expect_used,
            reason = "the file is part of the program and a test compiles it"
        )]
        compile(TEXT).expect("the embedded lists compile")
    });
    &LISTS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: String,
    keyword: PhraseList,
    pattern: RuleList,
    role: PhraseList,
    precedent: PatternList,
    indicator: PhraseList,
    perfection: PatternList,
    opening: PatternList,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhraseList {
    phrases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternList {
    patterns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleList {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    pattern: String,
}

#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error(transparent)]
    File(#[from] toml::de::Error),
    #[error(transparent)]
    Pattern(#[from] regex::Error),
}

fn compile(text: &str) -> Result<Lists, ListError> {
    let file: File = toml::from_str(text)?;
    let rules = file.pattern.rules.into_iter();
    Ok(Lists {
        version: file.version,
        keywords: Phrases::new(&file.keyword.phrases),
        rules: rules
            .map(|rule| Ok((rule.name, regex(&rule.pattern)?)))
            .collect::<Result<_, regex::Error>>()?,
        roles: Phrases::new(&file.role.phrases),
        precedents: regexes(&file.precedent.patterns, |pattern| pattern.replace("{n}", NUMBER))?,
        indicators: Phrases::new(&file.indicator.phrases),
        perfection: regexes(&file.perfection.patterns, str::to_owned)?,
        openings: regexes(&file.opening.patterns, |pattern| {
            format!("{LEADING_MARKS}(?:{pattern})")
        })?,
    })
}

fn regexes(patterns: &[String], complete: impl Fn(&str) -> String) -> Result<Vec<Regex>, regex::Error> {
    patterns.iter().map(|pattern| regex(&complete(pattern))).collect()
}

fn regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_lists_compile() {
        assert_eq!(compile(TEXT).unwrap().version, "sentinel-v1");
    }

    #[test]
    fn no_indicator_phrase_holds_another_so_that_each_counts_once() {
        let file: File = toml::from_str(TEXT).unwrap();
        for a in &file.indicator.phrases {
            for b in &file.indicator.phrases {
                assert!(a == b || !a.contains(b.as_str()), "`{a}` holds `{b}`");
            }
        }
    }

    #[test]
    fn every_precedent_pattern_has_a_number() {
        let file: File = toml::from_str(TEXT).unwrap();
        assert!(
            file.precedent
                .patterns
                .iter()
                .all(|pattern| pattern.matches("{n}").count() == 1)
        );
    }
}
