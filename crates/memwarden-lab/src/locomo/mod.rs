//! Reads dialogues in the format of LoCoMo (Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of
//! LLM Agents"), and cuts them to a length with the questions that still have their evidence.
//!
//! The data set is read from the user's copy: its license does not allow ours to hold any of it. A dialogue of our own
//! in the same format is `data/locomo/lighthouse.json`. Not for: which evidence a recall must find (`recall_eval`).

mod align;
#[cfg(feature = "full")]
mod archive;
mod read;

pub use align::{Aligned, MAX_QUESTIONS, MAX_TURNS, align};
#[cfg(feature = "full")]
pub use archive::read_file;
pub use read::parse;

/// A dialogue of our own, two friends over five sessions, with questions of all five kinds.
pub const LIGHTHOUSE: &str = include_str!("../../data/locomo/lighthouse.json");

/// A file of dialogues could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocomoError {
    /// No JSON.
    #[error("the dialogues are not JSON")]
    Json(#[from] serde_json::Error),
    /// JSON of another shape.
    #[error("dialogue {dialogue}: `{field}` is not {expected}")]
    Field {
        /// Which one, from 1.
        dialogue: usize,
        /// The field.
        field: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The file cannot be read or is no archive that can be.
    #[error("`{path}`: {reason}", path = path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        reason: String,
    },
}

/// A dialogue as published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its name in the data set.
    pub name: String,
    /// Every turn of both speakers, sessions in the order of their numbers.
    pub turns: Vec<Turn>,
    /// Every question, in the order of the file.
    pub questions: Vec<Question>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// `D<session>:<n>`, unique in the dialogue.
    pub id: String,
    /// Who speaks.
    pub speaker: String,
    /// What is said.
    pub text: String,
    /// When its session was, as written; empty where the file does not say.
    pub when: String,
}

impl Turn {
    /// As `speaker: text`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}", self.speaker, self.text)
    }
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its place among the questions of the file, from 0: its id.
    pub place: usize,
    /// The question.
    pub text: String,
    /// The right answer; empty for an adversarial one, where declining is right.
    pub answer: String,
    /// Ids of turns, as written.
    pub evidence: Vec<String>,
    /// Its kind.
    pub category: Category,
}

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Several turns answer together.
    MultiHop,
    /// About when something was.
    Temporal,
    /// Needs knowledge of the world beside the turns.
    OpenDomain,
    /// One turn answers.
    SingleHop,
    /// Asks for what was never said: right is to say so.
    Adversarial,
}

impl Category {
    /// Every kind, in the order of its number in the file, from 1.
    pub const ALL: [Self; 5] = [
        Self::MultiHop,
        Self::Temporal,
        Self::OpenDomain,
        Self::SingleHop,
        Self::Adversarial,
    ];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MultiHop => "multi-hop",
            Self::Temporal => "temporal",
            Self::OpenDomain => "open-domain",
            Self::SingleHop => "single-hop",
            Self::Adversarial => "adversarial",
        }
    }

    /// Whether it has an answer.
    #[must_use]
    pub const fn is_core(self) -> bool {
        !matches!(self, Self::Adversarial)
    }
}
