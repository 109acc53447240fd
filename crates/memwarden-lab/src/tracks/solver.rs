//! `mmlu-qa`: answers questions with lettered options, with solved ones from its memory as examples.
//!
//! As in MemAudit's QA setting (arXiv 2605.23723): the 5 memories whose question is nearest by Levenshtein distance, and 3
//! examples that are always there. An answer is one of A to H, of which a question offers only A to D; anything else is no
//! answer.

use super::{Around, Ask, Learner, Matter, NO_ANSWER, Question, Ran, Way, answer, block, wrong_task};
use crate::experiment::{ExperimentError, Prompt};
use std::num::NonZeroU32;

/// The prompt.
pub const PROMPT: Prompt = Prompt {
    name: "mmlu-qa-v1",
    form: include_str!("../../prompts/mmlu-qa-v1.txt"),
};
/// Room for a line of reasoning and a letter.
const MAX_TOKENS: NonZeroU32 = match NonZeroU32::new(400) {
    Some(tokens) => tokens,
    None => NonZeroU32::MIN,
};

/// The agent.
#[derive(Debug, Clone)]
pub struct Solver {
    examples: Vec<Question>,
    way: Way,
}

impl Solver {
    /// An agent whose prompts always hold these solved questions.
    #[must_use]
    pub const fn new(examples: Vec<Question>, way: Way) -> Self {
        Self { examples, way }
    }
}

impl Learner for Solver {
    fn domain(&self) -> &'static str {
        "mmlu-qa"
    }

    fn way(&self) -> Way {
        self.way
    }

    fn run(&self, ask: &Ask, memory: &[&str], around: Around<'_>) -> Result<Ran, ExperimentError> {
        let Matter::Question(question) = &ask.matter else {
            return Err(wrong_task(self.domain()));
        };
        let examples: Vec<String> = self.examples.iter().map(solved).collect();
        let messages = PROMPT.fill(&[
            ("examples", &examples.join("\n\n")),
            ("memory", &block(memory)),
            ("question", &ask.text),
            ("options", &question.options_shown()),
        ])?;
        let reply = match answer(around, &messages, MAX_TOKENS)? {
            Ok(reply) => reply,
            Err(fault) => return Ok(Ran::failed(fault)),
        };
        let Some((reasoning, letter)) = parse(&reply) else {
            return Ok(Ran::failed(NO_ANSWER));
        };
        Ok(Ran {
            record: record(&ask.text, question, reasoning, letter),
            reasoning: reasoning.to_owned(),
            output: letter.to_string(),
            score: f64::from(u8::from(letter == question.right)),
            completed: true,
            leave: None,
            fault: None,
        })
    }
}

/// A solved question as it is remembered.
pub(super) fn record(stem: &str, question: &Question, reasoning: &str, answer: char) -> String {
    let options = question.options_shown();
    format!("Question: {stem}\n{options}\nReasoning: {reasoning}\nAnswer: {answer}")
}

fn solved(question: &Question) -> String {
    let right = ('A'..)
        .zip(&question.options)
        .find(|(letter, _)| *letter == question.right);
    let text = right.map_or("", |(_, option)| option.as_str());
    let reasoning = format!("({}) {text} fits what is asked.", question.right);
    record(&question.stem, question, &reasoning, question.right)
}

/// Reasoning and letter of a reply that is exactly what was asked for.
fn parse(reply: &str) -> Option<(&str, char)> {
    let mut lines = reply.lines().map(str::trim).filter(|line| !line.is_empty());
    let reasoning = lines.next()?.strip_prefix("Reasoning:")?.trim();
    let answer = lines.next()?.strip_prefix("Answer:")?.trim();
    let mut letters = answer.chars();
    let letter = letters.next().filter(|letter| ('A'..='H').contains(letter))?;
    (letters.next().is_none() && lines.next().is_none() && !reasoning.is_empty())
        .then_some((reasoning, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_letter_of_a_to_h_after_one_line_of_reasoning() {
        assert_eq!(parse("Reasoning: x fits.\nAnswer: E"), Some(("x fits.", 'E')));
        for reply in [
            "Answer: A",
            "Reasoning: x\nAnswer: I",
            "Reasoning: x\nAnswer: a",
            "Reasoning: x\nAnswer: A or B",
            "Reasoning: x\nAnswer: A\nSo B.",
            "Reasoning:\nAnswer: A",
            "I think A",
        ] {
            assert_eq!(parse(reply), None, "{reply}");
        }
    }
}
