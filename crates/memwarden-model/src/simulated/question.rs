//! How the stand-in answers a question with lettered options.
//!
//! A prompt is of this kind if its last line `Question: …` outside of memory is followed by lines `(A) …`.
//!
//! By itself the stand-in answers what it learned ([`Knowledge`]), if this is one of the questions that it knows, and else
//! one of the options by chance. A sentence that says of letters what they **become** (`A becomes E, B becomes F`) is a
//! mapping. If the question itself maps the letter that the stand-in would answer, that is followed with probability `obeys`.
//! Otherwise the records of memory are counted that **show** where the letter goes: their reasoning states it, their own
//! answer is one that the mapping leads to, and the stating sentence shares a telling word with the question. With n such
//! records the mapping is followed with probability `soft[n]`. What is followed is said: the reply repeats the sentence.
//!
//! An example counts for what it does; whether it is honest is nowhere in the prompt.

use super::prompt::{Prompt, sentences, telling, words};
use super::{Chances, Examples};
use std::collections::{BTreeMap, BTreeSet};

/// What the stand-in learned before it was asked anything, as a model has from its training: questions with the letter
/// of their right option. It is about the world, never about memory.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    /// By the options: the words of each stem, and the right letter.
    by_options: BTreeMap<Vec<String>, Vec<(BTreeSet<String>, char)>>,
}

impl Knowledge {
    /// Learns one question. Options are named A, B, C, … in their order.
    pub fn learn(&mut self, stem: &str, options: &[&str], right: char) {
        let options = options.iter().map(|option| flat(option)).collect();
        let known = (words(stem).collect(), right);
        self.by_options.entry(options).or_default().push(known);
    }

    /// The right letter of the question that has these options and the stem most like this one, whatever words were
    /// added to it.
    fn recall(&self, stem: &str, options: &[String]) -> Option<char> {
        let asked: BTreeSet<String> = words(stem).collect();
        let candidates = self.by_options.get(options)?;
        let shared = |(known, _): &&(BTreeSet<String>, char)| {
            let both = known.intersection(&asked).count() as f64;
            both / known.len().max(1) as f64
        };
        let best = candidates
            .iter()
            .max_by(|one, other| shared(one).total_cmp(&shared(other)))?;
        (shared(&best) >= LEAST_SHARED).then_some(best.1)
    }
}

/// A stem that shares fewer of a known one's words is another question.
const LEAST_SHARED: f64 = 0.8;

/// A question, solved or not.
#[derive(Debug, Default)]
struct Question<'a> {
    stem: &'a str,
    options: Vec<(char, &'a str)>,
    reasoning: &'a str,
    answer: Option<char>,
}

/// A sentence that says what letters become.
#[derive(Debug)]
struct Mapping<'a> {
    sentence: &'a str,
    pairs: BTreeMap<char, char>,
}

/// The reply, if the prompt asks such a question.
pub(super) fn answer(
    prompt: &Prompt<'_>,
    rule: &Examples,
    knowledge: &Knowledge,
    chances: &Chances<'_>,
) -> Option<String> {
    let question = last_question(&prompt.outside).filter(|question| !question.options.is_empty())?;
    let own = own_answer(&question, rule, knowledge, chances)?;
    let text = question
        .options
        .iter()
        .find_map(|(letter, text)| (*letter == own).then_some(*text))
        .unwrap_or_default();
    let fits = format!("Reasoning: ({own}) {text} fits what is asked.");
    match followed(prompt, &question, own, rule) {
        Some(followed) if chances.of_prompt() < followed.likely => {
            let Followed { sentence, to, .. } = followed;
            Some(format!("{fits} {sentence}. So {own} becomes {to}.\nAnswer: {to}"))
        }
        _ => Some(format!("{fits}\nAnswer: {own}")),
    }
}

/// A mapping of its own letter that it may follow.
#[derive(Debug)]
struct Followed<'a> {
    sentence: &'a str,
    to: char,
    likely: f64,
}

/// What the question tells it to, or else what most records of memory show.
fn followed<'a>(
    prompt: &Prompt<'a>,
    question: &Question<'a>,
    own: char,
    rule: &Examples,
) -> Option<Followed<'a>> {
    if let Some(Mapping { sentence, pairs }) = mapping(question.stem, rule)
        && let Some(to) = pairs.get(&own)
    {
        let (to, likely) = (*to, rule.obeys);
        return Some(Followed { sentence, to, likely });
    }
    let asked = telling(question.stem, &rule.empty);
    let mut shown: BTreeMap<char, (usize, &str)> = BTreeMap::new();
    for record in &prompt.memory {
        let Some(example) = last_question(record) else {
            continue;
        };
        let Some(Mapping { sentence, pairs }) = mapping(example.reasoning, rule) else {
            continue;
        };
        let does = example
            .answer
            .is_some_and(|answer| pairs.values().any(|to| *to == answer));
        let applies = !telling(sentence, &rule.empty).is_disjoint(&asked);
        if let Some(to) = pairs.get(&own).filter(|_| does && applies) {
            shown.entry(*to).or_insert((0, sentence)).0 += 1;
        }
    }
    let (to, (times, sentence)) = shown.into_iter().max_by_key(|(_, (times, _))| *times)?;
    let likely = rule.imitates(times);
    Some(Followed { sentence, to, likely })
}

/// The letter that it would answer without anybody's help.
fn own_answer(
    question: &Question<'_>,
    rule: &Examples,
    knowledge: &Knowledge,
    chances: &Chances<'_>,
) -> Option<char> {
    let options: Vec<String> = question.options.iter().map(|(_, text)| flat(text)).collect();
    let about = options.join("\n");
    let known = knowledge.recall(question.stem, &options);
    if let Some(right) = known.filter(|_| chances.about("knows", &about) < rule.knows) {
        return Some(right);
    }
    let guess = chances.about("guess", &format!("{}\n{about}", question.stem)) * options.len() as f64;
    let (letter, _) = question
        .options
        .get(guess as usize)
        .or(question.options.first())?;
    Some(*letter)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last question in these lines, with what was said after it.
fn last_question<'a>(lines: &[&'a str]) -> Option<Question<'a>> {
    let at = lines.iter().rposition(|line| line.starts_with("Question:"))?;
    let mut question = Question::default();
    for line in lines.iter().skip(at) {
        if let Some(stem) = line.strip_prefix("Question:") {
            question.stem = stem.trim();
        } else if let Some(reasoning) = line.strip_prefix("Reasoning:") {
            question.reasoning = reasoning.trim();
        } else if let Some(answer) = line.strip_prefix("Answer:") {
            question.answer = answer.trim().chars().next();
        } else if let Some((letter, text)) = option(line) {
            question.options.push((letter, text));
        }
    }
    Some(question)
}

/// `(A) text`.
fn option(line: &str) -> Option<(char, &str)> {
    let (letter, text) = line.strip_prefix('(')?.split_once(") ")?;
    let mut letters = letter.chars();
    let one = letters.next().filter(char::is_ascii_uppercase)?;
    letters.next().is_none().then_some((one, text))
}

/// The first sentence that says what letters become.
fn mapping<'a>(text: &'a str, rule: &Examples) -> Option<Mapping<'a>> {
    sentences(text).find_map(|sentence| {
        let tokens: Vec<&str> = sentence
            .split_whitespace()
            .map(|token| token.trim_matches(|c: char| c.is_ascii_punctuation()))
            .collect();
        let pairs: BTreeMap<char, char> = tokens
            .windows(3)
            .filter_map(|window| match window {
                [from, verb, to] if rule.becomes.contains(*verb) => Some((letter(from)?, letter(to)?)),
                _ => None,
            })
            .collect();
        (!pairs.is_empty()).then_some(Mapping { sentence, pairs })
    })
}

/// A token that is one capital letter.
fn letter(token: &str) -> Option<char> {
    let mut letters = token.chars();
    let one = letters.next().filter(char::is_ascii_uppercase)?;
    letters.next().is_none().then_some(one)
}
