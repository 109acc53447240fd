//! The word lists and shapes of `lists/content/`, compiled once.
//!
//! For: turning shapes into one automaton over the words that begin them, and one expression for each list of
//! beginnings. Not for: deciding what a match means (`scan`, `findings`).

use super::Topic;
use crate::heads::{Case, Heads};
use aho_corasick::AhoCorasick;
use regex_automata::meta::{self, Regex};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// The files, each with its shapes, the words of its languages, or both.
const FILES: [&str; 4] = [
    include_str!("../../lists/content/shapes.toml"),
    include_str!("../../lists/content/english.toml"),
    include_str!("../../lists/content/english-shapes.toml"),
    include_str!("../../lists/content/languages.toml"),
];

/// What may stand between two words of one sentence.
const BETWEEN: &str = r#"[ ,:;"'`“”‘’«»()\[\]{}<>*_/-]+"#;
/// A word of a gap, and the end of a word that an entry leaves open with `*`.
const WORD: &str = r"[^\s.!?]+(?:[.!?]+[^\s.!?]+)*?";
const REST_OF_WORD: &str = r#"[^\s.,;:!?"'`()<>\[\]]*"#;

/// The compiled lists.
#[derive(Debug)]
pub(super) struct Lexicon {
    /// Finds what a shape may begin with.
    pub(super) heads: Heads,
    /// For each entry of `heads`, the groups that begin with it.
    pub(super) groups_of: Vec<Vec<Beginning>>,
    /// Shapes with a common list of beginnings.
    pub(super) groups: Vec<Group>,
    /// Words before a match that turn it around ("never …").
    pub(super) negations: AhoCorasick,
    /// Words before a match that say it is told about, not said.
    pub(super) reports: AhoCorasick,
}

/// That a group begins with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    /// Its number.
    pub(super) group: usize,
    /// How long the entry is if it is a whole word, which must end there; none where more may follow. It spares
    /// the expression: `i` stands at the start of many words.
    pub(super) whole: Option<usize>,
}

/// The shapes of one language that begin with the same list.
#[derive(Debug)]
pub(super) struct Group {
    /// Where its words stand.
    pub(super) place: Place,
    /// What its expression's patterns are, in order.
    pub(super) rules: Vec<Rule>,
    patterns: Vec<String>,
    regex: OnceLock<Regex>,
}

/// What a matching shape says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// The stage that looks for it.
    pub(super) topic: Topic,
    /// Its name.
    pub(super) name: String,
    /// What it does, for a person.
    pub(super) about: String,
    /// How much it alone says, in hundredths.
    pub(super) score: u32,
}

/// Where the beginning of a shape must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Place {
    /// At the start of a word.
    #[default]
    Word,
    /// Anywhere: a script without blanks, or a mark.
    Anywhere,
    /// At the start of a line, marks of headings and quotations aside.
    Line,
}

/// The lists that this build embeds.
pub(super) fn lexicon() -> &'static Lexicon {
    static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
        #[expect(
            clippy::expect_used,
            reason = "the files are part of the program and a test compiles them"
        )]
        compile(&FILES).expect("the embedded lists compile")
    });
    &LEXICON
}

impl Group {
    /// Its expression, compiled when it is first needed: most texts need few.
    pub(super) fn regex(&self) -> Option<&Regex> {
        if let Some(regex) = self.regex.get() {
            return Some(regex);
        }
        // Every expression is compiled by a test, so this cannot fail.
        let regex = build(&self.patterns).ok()?;
        Some(self.regex.get_or_init(|| regex))
    }
}

fn build(patterns: &[String]) -> Result<Regex, Box<meta::BuildError>> {
    meta::Builder::new()
        .configure(meta::Config::new().hybrid_cache_capacity(4 << 20))
        .build_many(patterns)
        .map_err(Box::new)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    language: BTreeMap<String, Language>,
    #[serde(default)]
    shape: Vec<Shape>,
    #[serde(default)]
    context: Context,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Context {
    #[serde(default)]
    negations: Vec<String>,
    #[serde(default)]
    reports: Vec<String>,
}

#[derive(Deserialize)]
struct Language {
    #[serde(default)]
    gaps: Gaps,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
}

/// What a gap counts.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
enum Gaps {
    #[default]
    Words,
    Characters,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    stage: Topic,
    name: String,
    about: String,
    score: f64,
    /// The only language that has it; without one, every language with words for it.
    language: Option<String>,
    #[serde(default)]
    place: Place,
    head: Head,
    #[serde(default)]
    rest: String,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum Head {
    List(String),
    Words(Vec<String>),
}

#[derive(Debug, thiserror::Error)]
enum LexiconError {
    #[error(transparent)]
    File(#[from] toml::de::Error),
    #[error(transparent)]
    Heads(#[from] aho_corasick::BuildError),
    #[error("shape `{shape}`: language `{language}` has no list `{list}`")]
    NoList {
        shape: String,
        language: String,
        list: String,
    },
    #[error("shape `{shape}`: score `{score}` is not between 0 and 1")]
    Score { shape: String, score: f64 },
}

fn compile(files: &[&str]) -> Result<Lexicon, LexiconError> {
    let mut languages = BTreeMap::new();
    let mut shapes = Vec::new();
    let mut context = Context::default();
    for text in files {
        let mut file: File = toml::from_str(text)?;
        for word in file
            .language
            .values_mut()
            .flat_map(|language| language.lists.values_mut())
            .flatten()
        {
            // Most words are ASCII, which the first view leaves as it is.
            if !word.is_ascii() {
                *word = super::fold(word);
            }
        }
        languages.extend(file.language);
        shapes.extend(file.shape);
        context.negations.extend(file.context.negations);
        context.reports.extend(file.context.reports);
    }
    let mut building = Building::default();
    for shape in &shapes {
        for (code, language) in &languages {
            if shape.language.as_ref().is_none_or(|only| only == code) {
                building.add(shape, code, language)?;
            }
        }
    }
    let anywhere = |groups: &Vec<Beginning>| {
        let mut places = groups.iter().filter_map(|start| building.groups.get(start.group));
        places.any(|group| group.place == Place::Anywhere)
    };
    let heads = building.heads.iter().map(|(head, groups)| {
        let is_word = head.starts_with(char::is_alphanumeric);
        (head.as_str(), !is_word || anywhere(groups))
    });
    let heads = Heads::new(heads, Case::Exact);
    Ok(Lexicon {
        heads,
        groups_of: building.heads.into_values().collect(),
        groups: building.groups,
        negations: AhoCorasick::new(context.negations)?,
        reports: AhoCorasick::new(context.reports)?,
    })
}

#[derive(Default)]
struct Building {
    heads: BTreeMap<String, Vec<Beginning>>,
    groups: Vec<Group>,
    known: BTreeMap<(String, Place, Vec<String>), usize>,
}

impl Building {
    fn add(&mut self, shape: &Shape, code: &str, language: &Language) -> Result<(), LexiconError> {
        let missing = |list: &str| LexiconError::NoList {
            shape: shape.name.clone(),
            language: code.to_owned(),
            list: list.to_owned(),
        };
        let head = match &shape.head {
            Head::Words(words) => words.clone(),
            Head::List(list) => match language.lists.get(list) {
                Some(words) => words.clone(),
                None if shape.language.is_none() => return Ok(()),
                None => return Err(missing(list)),
            },
        };
        let rest = match expand(&shape.rest, language) {
            Ok(rest) => rest,
            Err(_) if shape.language.is_none() => return Ok(()),
            Err(list) => return Err(missing(&list)),
        };
        if !(0.0..=1.0).contains(&shape.score) {
            return Err(LexiconError::Score {
                shape: shape.name.clone(),
                score: shape.score,
            });
        }
        let place = match language.gaps {
            Gaps::Characters => Place::Anywhere,
            Gaps::Words => shape.place,
        };
        let key = (code.to_owned(), place, head.clone());
        let index = *self.known.entry(key).or_insert_with(|| {
            self.groups.push(Group {
                place,
                rules: Vec::new(),
                patterns: Vec::new(),
                regex: OnceLock::new(),
            });
            for word in &head {
                let literal = word.split('*').next().unwrap_or_default();
                let group = self.groups.len() - 1;
                for literal in [literal.to_owned(), literal.replace('\'', "’")] {
                    let ends = literal.ends_with(|c: char| c.is_ascii_alphanumeric());
                    let whole = (ends && !word.contains('*')).then_some(literal.len());
                    let groups = self.heads.entry(literal).or_default();
                    match groups.last_mut().filter(|last| last.group == group) {
                        // Both `ignor*` and a longer entry may begin with the same letters.
                        Some(last) if last.whole != whole => last.whole = None,
                        Some(_) => {}
                        None => groups.push(Beginning { group, whole }),
                    }
                }
            }
            self.groups.len() - 1
        });
        if let Some(group) = self.groups.get_mut(index) {
            group.patterns.push(format!("{}{rest}", alternatives(&head)));
            group.rules.push(Rule {
                topic: shape.stage,
                name: shape.name.clone(),
                about: shape.about.clone(),
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
                score: (shape.score * 100.0).round() as u32,
            });
        }
        Ok(())
    }
}

/// `rest` of a shape with its lists and gaps written out; the name of a list that the language lacks.
fn expand(rest: &str, language: &Language) -> Result<String, String> {
    let mut out = String::new();
    let mut after = rest;
    while let Some((before, tail)) = after.split_once('{') {
        out.push_str(before);
        let (name, tail) = tail.split_once('}').ok_or_else(|| tail.to_owned())?;
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            // A repetition of the expression, not a list.
            out.push_str(&format!("{{{name}}}"));
        } else if let Some(gap) = gap(name, language.gaps) {
            out.push_str(&gap);
        } else {
            let list = language.lists.get(name).ok_or_else(|| name.to_owned())?;
            out.push_str(&alternatives(list));
        }
        after = tail;
    }
    out.push_str(after);
    Ok(out)
}

fn gap(name: &str, gaps: Gaps) -> Option<String> {
    let (words, characters) = match name {
        "gap" => (6, 16),
        "near" => (2, 6),
        "next" => (0, 2),
        _ => return None,
    };
    Some(match gaps {
        Gaps::Words => format!("(?:{BETWEEN}{WORD}){{0,{words}}}?{BETWEEN}"),
        Gaps::Characters => format!(r"[^.!?。！？\n]{{0,{characters}}}?"),
    })
}

fn alternatives(list: &[String]) -> String {
    let entries: Vec<String> = list.iter().map(|entry| expression(entry)).collect();
    format!("(?:{})", entries.join("|"))
}

/// The expression of one entry: its own letters, `*` for the rest of a word, and a word's end where it ends
/// like a word. The end is an ASCII one: it costs nothing, and other scripts end their entries with `*`.
fn expression(entry: &str) -> String {
    let mut out = regex::escape(entry)
        .replace(r"\*", REST_OF_WORD)
        .replace('\'', "['’]");
    if entry.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        out.push_str(r"(?-u:\b)");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_of_the_embedded_lists_compiles() {
        let lexicon = compile(&FILES).unwrap();
        assert!(lexicon.groups.len() > 30);
        for group in &lexicon.groups {
            build(&group.patterns).unwrap();
            assert_eq!(group.patterns.len(), group.rules.len());
        }
    }

    #[test]
    fn every_word_is_of_its_language_and_can_be_found() {
        let mut languages = 0;
        for text in FILES {
            let file: File = toml::from_str(text).unwrap();
            for (code, language) in file.language {
                languages += 1;
                for (list, words) in language.lists {
                    assert!(!words.is_empty(), "{code}.{list}");
                    for word in words {
                        let folded = crate::content::fold(&word);
                        assert!(folded.trim_matches('*').trim() != "", "{code}.{list}: `{word}`");
                        assert_eq!(crate::content::fold(&folded), folded, "{code}.{list}: `{word}`");
                        assert_eq!(word.to_lowercase(), word, "{code}.{list}: `{word}`");
                    }
                }
            }
        }
        assert_eq!(languages, 15);
    }
}
