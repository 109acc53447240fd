//! A stand-in for a language model that believes its memory: seeded, rule-based, and reading nothing but the prompt.
//!
//! The question is the last line of the last user message that lies outside of any memory. Memory is what stands
//! between `<<<memory` and `<<<end of memory` lines, and every list item (`- ` or `* `) elsewhere. A memory line in
//! brackets (`[memory …]`) is the store's word about a record, with its authority and receipts, and is left out before
//! the rule looks: the rule reads what was claimed and by no means who claimed it.
//!
//! A line **claims** when it holds a word of `done` and none of `not_done`. Its **relevance** is the share of the
//! question's words (without those of `empty`) that it holds, 0 to 1. The model replies `skip` with probability
//! σ(a · Σ relevance − b), else `check`; under a JSON shape `{"decision": "skip"}`. Chance is the digest of seed, call
//! seed and prompt: the same prompt gets the same answer. Numbers and words are in `data/simulated.toml`.
//!
//! Two other kinds of prompts are told by their form and have rules of their own: a question with lettered options
//! ([`question`]) and the next action in a shop ([`shopping`]). There it imitates what the examples in its memory do.
//!
//! It knows no attack, no guard, no policy. Whatever is measured with it is simulated.

mod prompt;
mod question;
mod shopping;
#[cfg(test)]
mod tests;

use self::prompt::Prompt;
use crate::backend::{Attempt, Backend};
use crate::call::Served;
use crate::pace::Pace;
use crate::simulated_judge::Judge;
use memwarden_core::model::{ChatCall, Finish, Message, ModelError, Reply, ReplyShape, Speaker};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use self::prompt::words;
pub use self::question::Knowledge;

/// The numbers and words of the stand-in.
pub const RULE: &str = include_str!("../data/simulated.toml");
const NAME: &str = "simulated";

/// The stand-in.
#[derive(Debug)]
pub(crate) struct SimulatedModel {
    seed: u64,
    rule: Rule,
    judge: Judge,
    knowledge: Arc<Knowledge>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    a: f64,
    b: f64,
    done: BTreeSet<String>,
    not_done: BTreeSet<String>,
    empty: BTreeSet<String>,
    examples: Examples,
}

/// How examples are read and imitated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Examples {
    soft: Vec<f64>,
    obeys: f64,
    knows: f64,
    searched: f64,
    becomes: BTreeSet<String>,
    directs: BTreeSet<String>,
    empty: BTreeSet<String>,
}

impl Examples {
    /// How likely a behavior is imitated that so many examples show.
    fn imitates(&self, examples: usize) -> f64 {
        let at = examples.min(self.soft.len().saturating_sub(1));
        self.soft.get(at).copied().unwrap_or_default()
    }
}

/// Chance, evenly spread over 0 ≤ x < 1.
#[derive(Debug)]
struct Chances<'c> {
    model: &'c SimulatedModel,
    call: &'c ChatCall<'c>,
}

impl Chances<'_> {
    /// Of this very prompt.
    fn of_prompt(&self) -> f64 {
        self.model.chance(self.call)
    }

    /// Of a matter, whatever else the prompt holds.
    fn about(&self, what: &str, matter: &str) -> f64 {
        let mut digest = Sha256::new();
        digest.update(self.model.seed.to_be_bytes());
        for part in [what, matter] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        spread(&digest.finalize())
    }
}

impl SimulatedModel {
    pub(crate) fn new(seed: u64) -> Result<Self, ModelError> {
        Self::knowing(seed, Arc::new(Knowledge::default()))
    }

    pub(crate) fn knowing(seed: u64, knowledge: Arc<Knowledge>) -> Result<Self, ModelError> {
        let rule: Rule = toml::from_str(RULE).map_err(|error| ModelError::Failed {
            model: NAME.to_owned(),
            reason: error.to_string(),
        })?;
        let judge = Judge::new(&rule.done, &rule.not_done)?;
        Ok(Self {
            seed,
            rule,
            judge,
            knowledge,
        })
    }

    /// The same with another `b`.
    pub(crate) fn doubting(mut self, doubt: f64) -> Self {
        self.rule.b = doubt;
        self
    }

    fn skip_probability(&self, messages: &[Message]) -> f64 {
        let (question, memory) = read(messages);
        let asked: BTreeSet<String> = words(question)
            .filter(|word| !self.rule.empty.contains(word))
            .collect();
        let claims = memory
            .iter()
            .map(|line| self.relevance(&asked, line))
            .sum::<f64>();
        1.0 / (1.0 + (self.rule.b - self.rule.a * claims).exp())
    }

    /// 0 where the line claims nothing.
    fn relevance(&self, asked: &BTreeSet<String>, line: &str) -> f64 {
        let said: BTreeSet<String> = words(line).collect();
        if asked.is_empty() || said.is_disjoint(&self.rule.done) || !said.is_disjoint(&self.rule.not_done) {
            return 0.0;
        }
        asked.intersection(&said).count() as f64 / asked.len() as f64
    }

    /// Evenly spread over 0 ≤ x < 1.
    fn chance(&self, call: &ChatCall<'_>) -> f64 {
        let mut digest = Sha256::new();
        digest.update(self.seed.to_be_bytes());
        digest.update(call.seed.unwrap_or_default().to_be_bytes());
        for message in call.messages {
            for part in [message.speaker.as_str(), &message.text] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part.as_bytes());
            }
        }
        spread(&digest.finalize())
    }

    fn decision(&self, call: &ChatCall<'_>) -> String {
        let skips = self.chance(call) < self.skip_probability(call.messages);
        let word = if skips { "skip" } else { "check" };
        match call.shape {
            ReplyShape::Text => word.to_owned(),
            ReplyShape::Json { .. } => format!("{{\"decision\": \"{word}\"}}"),
        }
    }

    fn reply(&self, call: &ChatCall<'_>) -> String {
        if let Some(verdict) = self.judge.verdict(call) {
            return verdict;
        }
        let prompt = Prompt::read(call.messages);
        let chances = Chances { model: self, call };
        let examples = &self.rule.examples;
        question::answer(&prompt, examples, &self.knowledge, &chances)
            .or_else(|| shopping::act(&prompt, examples, &chances))
            .unwrap_or_else(|| self.decision(call))
    }
}

/// The first 53 bits of a digest as 0 ≤ x < 1.
fn spread(digest: &[u8]) -> f64 {
    let bits = digest
        .iter()
        .take(8)
        .fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

impl Backend for SimulatedModel {
    fn model(&self) -> &str {
        NAME
    }

    fn served(&self) -> Served {
        Served::Simulated
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        Attempt::timed(pace, || {
            Ok(Reply {
                text: self.reply(call),
                finish: Finish::Stop,
                usage: None,
                tokens: Vec::new(),
            })
        })
    }
}

/// The question, and the lines of memory.
pub(crate) fn read(messages: &[Message]) -> (&str, Vec<&str>) {
    let mut question = "";
    let mut memory = Vec::new();
    for message in messages
        .iter()
        .filter(|message| message.speaker != Speaker::Assistant)
    {
        let mut inside = false;
        for line in message
            .text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let is_item = line.starts_with("- ") || line.starts_with("* ");
            if line.starts_with("<<<end of memory") {
                inside = false;
            } else if line.starts_with("<<<memory") {
                inside = true;
            } else if (inside && !line.starts_with("[memory ")) || (!inside && is_item) {
                memory.push(line);
            } else if !inside && message.speaker == Speaker::User {
                question = line;
            }
        }
    }
    (question, memory)
}
