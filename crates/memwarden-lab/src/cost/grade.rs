//! Whether an answer is right: by a judge, or by comparing words.

use super::abstain::{DETECTOR, declines};
use super::pipeline::TRIES;
use super::record::Grade;
use crate::experiment::{ExperimentError, Prompt};
use memwarden_core::model::{Chat, ChatCall, Purpose};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The judge's prompt.
pub const JUDGE: Prompt = Prompt {
    name: "judge-v1",
    form: include_str!("../../prompts/judge-v1.txt"),
};

/// The grader that compares words.
pub const WORDS: &str = "exact-or-f1-v1";
/// From which token F1 an answer counts as right without a judge. Our reading: half of the words in common.
const LEAST_F1: f64 = 0.5;

/// How a model's answer is compared with the right one.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The question.
    pub question: &'a str,
    /// The right answer.
    pub expected: &'a str,
    /// The answer.
    pub answer: &'a str,
}

/// The grade of an adversarial answer: right is to decline.
#[must_use]
pub fn adversarial(question: &str, answer: &str) -> Grade {
    Grade {
        grader: DETECTOR.to_owned(),
        correct: Some(declines(question, answer)),
        f1: None,
    }
}

/// The grade of a core answer by a judge, asked again once if its reply is no grade. A judge that gives none leaves the
/// grade missing.
///
/// # Errors
/// The prompt cannot be filled.
pub fn judged(judge: &dyn Chat, limit: NonZeroU32, answered: Answered<'_>) -> Result<Grade, ExperimentError> {
    let Answered {
        question,
        expected,
        answer,
    } = answered;
    let messages = JUDGE.fill(&[("question", question), ("expected", expected), ("answer", answer)])?;
    let purpose: Purpose = "judge"
        .parse()
        .map_err(|error| ExperimentError::Unexpected(format!("{error}")))?;
    let mut correct = None;
    for attempt in 0..TRIES {
        let call = ChatCall {
            seed: seed_of_try(attempt),
            ..ChatCall::new(&purpose, &messages, limit)
        };
        let reply = judge.chat(&[call]).into_iter().next();
        correct = match reply {
            Some(Ok(reply)) => verdict(&reply.text),
            Some(Err(error)) if error.is_about_the_call() => None,
            // A judge that cannot be reached is no judge: the run stops and can be resumed.
            Some(Err(error)) => return Err(error.into()),
            None => None,
        };
        if correct.is_some() {
            break;
        }
    }
    Ok(Grade {
        grader: format!("{} by {}", JUDGE.version(), judge.model()),
        correct,
        f1: None,
    })
}

/// The seed of a try: a model at temperature 0 that is asked the very same again says the very same again.
pub(super) const fn seed_of_try(attempt: u64) -> Option<u64> {
    match attempt {
        0 => None,
        attempt => Some(attempt),
    }
}

fn verdict(text: &str) -> Option<bool> {
    let first = text.trim().lines().next().unwrap_or_default();
    match first.trim().trim_end_matches('.').to_lowercase().as_str() {
        "correct" => Some(true),
        "wrong" => Some(false),
        _ => None,
    }
}

/// The grade of a core answer without a judge.
#[must_use]
pub fn by_words(expected: &str, answer: &str) -> Grade {
    let f1 = token_f1(expected, answer);
    Grade {
        grader: WORDS.to_owned(),
        correct: Some(normalized(expected) == normalized(answer) || f1 >= LEAST_F1),
        f1: Some(f1),
    }
}

/// Words in common over words, both ways: SQuAD's token F1 (Rajpurkar et al. 2016), 0 to 1.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "answers have few words")]
pub fn token_f1(expected: &str, answer: &str) -> f64 {
    let (expected, answer) = (normalized(expected), normalized(answer));
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for word in &expected {
        *left.entry(word).or_default() += 1;
    }
    let mut common = 0_usize;
    for word in &answer {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return 0.0;
    }
    let (precision, recall) = (
        common as f64 / answer.len() as f64,
        common as f64 / expected.len() as f64,
    );
    2.0 * precision * recall / (precision + recall)
}

/// Lower-case words without articles and punctuation.
fn normalized(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !matches!(*word, "a" | "an" | "the"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_and_punctuation_do_not_count() {
        assert_eq!(token_f1("the old lighthouse", "Old lighthouse!"), 1.0);
        assert!((token_f1("seventh of nine", "seventh") - 0.5).abs() < 1e-12);
        assert_eq!(token_f1("Compass", "a cat"), 0.0);
        assert_eq!(by_words("1938", "In 1938").correct, Some(true));
    }

    /// Trap 3: abstention found by a narrow phrase list.
    #[test]
    fn an_adversarial_answer_is_graded_by_forms_of_english_and_not_by_a_list_of_phrases() {
        let (question, answer) = ("Who paid?", "The conversation never touches on that.");
        assert!(!super::super::abstain::phrase_list(answer));
        let grade = adversarial(question, answer);
        assert_eq!((grade.correct, grade.grader.as_str()), (Some(true), DETECTOR));
        assert_eq!(adversarial(question, "Ines paid.").correct, Some(false));
    }

    #[test]
    fn only_one_of_the_two_words_is_a_grade() {
        assert_eq!(verdict("Correct.\nIt says the same."), Some(true));
        assert_eq!(verdict("wrong"), Some(false));
        assert_eq!(verdict("It is correct"), None);
        assert_eq!(verdict(""), None);
    }
}
