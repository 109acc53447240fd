//! What a cell leaves behind: everything that a report needs, so that any number can be followed to its cell.
//!
//! No times: they live beside the records. Memories are numbered in the order in which they were extracted, since the
//! ids of a store differ from run to run.

use super::plan::Grading;
use crate::locomo::Category;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one cell came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellResult {
    /// Whether a stand-in answered, judged for the defense, or graded.
    pub simulated: bool,
    /// Why no number of it may be used, if so.
    pub void: Option<String>,
    /// How the turns were turned into memories.
    pub extraction: Extraction,
    /// Memories that were extracted.
    pub extracted: u64,
    /// Memories that are in sight after ingestion.
    pub stored: u64,
    /// Stored memories with a finding, or whose authority is below that of their writer.
    pub marked: u64,
    /// What the deciding stages did.
    pub stages: Vec<StageCount>,
    /// Each decision against a memory: the quarantine log.
    pub kept_out: Vec<KeptOut>,
    /// What the gate said of the answers, where it was asked.
    pub gate: Option<BTreeMap<String, u64>>,
    /// Calls and tokens by purpose, of the model that is measured.
    pub spent: BTreeMap<String, Spent>,
    /// The same of the judge, which is no part of any overhead.
    pub judge_spent: BTreeMap<String, Spent>,
    /// How core answers were graded.
    pub grading: Grading,
    /// Every question.
    pub questions: Vec<Asked>,
}

/// How the turns were turned into memories.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// Turns.
    pub turns: u64,
    /// Replies, second tries included.
    pub replies: u64,
    /// Replies that are whole and in the form that was asked for.
    pub parsed: u64,
    /// The others, by the name of what is wrong with them.
    pub failed: BTreeMap<String, u64>,
    /// Turns that stored nothing since their second reply failed too.
    pub lost_turns: u64,
    /// Whether more than 1 % of the turns were lost.
    pub degraded: bool,
}

/// What one deciding stage did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageCount {
    /// Its name in reports.
    pub stage: String,
    /// `write` or `read`.
    pub phase: String,
    /// Memories, or pairs of query and memory, that it decided about.
    pub adjudicated: u64,
    /// How many it quarantined, dropped or withheld.
    pub kept_out: u64,
    /// Distinct memories among them.
    pub distinct: u64,
    /// Decisions that it could not make, by name.
    pub failed: BTreeMap<String, u64>,
}

/// One decision against a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptOut {
    /// The memory's number.
    pub memory: u64,
    /// The stage.
    pub stage: String,
    /// At read, the question.
    pub question: Option<usize>,
    /// The name of the failure, where that is why.
    pub failed: Option<String>,
}

/// Calls and tokens for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Calls.
    pub calls: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Calls whose tokens we counted since nobody else did.
    pub counted: u64,
    /// Calls without a whole reply, by the name of the error.
    pub failed: BTreeMap<String, u64>,
    /// 10⁻¹² US dollars; none where a price is missing.
    pub cost_picousd: Option<u64>,
}

impl Spent {
    /// Tokens sent and received.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }

    /// Both together. A cost that is unknown for one is unknown for both.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.calls += more.calls;
        self.prompt_tokens += more.prompt_tokens;
        self.completion_tokens += more.completion_tokens;
        self.counted += more.counted;
        for (name, count) in more.failed {
            *self.failed.entry(name).or_default() += count;
        }
        self.cost_picousd = self
            .cost_picousd
            .zip(more.cost_picousd)
            .map(|(one, other)| one + other);
        self
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its place in the file.
    pub question: usize,
    /// Its kind.
    pub category: String,
    /// Numbers of the memories that the prompt held.
    pub shown: Vec<u64>,
    /// The answer; none where the model gave none.
    pub answer: Option<String>,
    /// The name of the error, where there is no answer.
    pub error: Option<String>,
    /// Grades, oldest first: a regrade adds one.
    pub grades: Vec<Grade>,
}

/// One grade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// Who graded, and by which version.
    pub grader: String,
    /// Whether the answer is right; none where the grader gave no grade.
    pub correct: Option<bool>,
    /// Token F1, where that was computed.
    pub f1: Option<f64>,
}

impl Asked {
    /// Whether it is a core question.
    #[must_use]
    pub fn is_core(&self) -> bool {
        self.category != Category::Adversarial.as_str()
    }

    /// The newest grade.
    #[must_use]
    pub fn correct(&self) -> Option<bool> {
        self.grades.last().and_then(|grade| grade.correct)
    }
}
