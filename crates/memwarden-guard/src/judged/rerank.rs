//! `rerank`: a model judges each candidate of a recall against the query and the other candidates
//! (arXiv 2609.22818 §3.3). One pair of query and candidate is one judgment.

use super::{Answer, Chats, Words, ask, beside, finding, judged};
use crate::stage::{Stage, StageError};
use memwarden_core::{Finding, Policy};

const WORDS: Words = Words {
    pass: "keep",
    fire: "withhold",
};

/// What the stage makes of one candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What the stage asks for.
    pub asked: memwarden_core::Verdict,
    /// What it saw.
    pub findings: Vec<Finding>,
    /// The name of the failure, where it could not judge.
    pub failed: Option<String>,
}

/// For each candidate a finding where the model withholds it.
pub(crate) fn rerank(
    policy: &Policy,
    query: &str,
    candidates: &[String],
    shown: &[String],
    chats: &dyn Chats,
) -> Result<Vec<Result<Vec<Finding>, StageError>>, StageError> {
    let questions: Vec<_> = (0..candidates.len())
        .map(|at| question(query, candidates, at, shown))
        .collect();
    if questions.is_empty() {
        return Ok(Vec::new());
    }
    let answers = ask(Stage::Rerank, WORDS, policy, chats, questions)?;
    let found = |answer| match answer {
        Answer::Pass => Vec::new(),
        Answer::Fire => vec![finding(
            Stage::Rerank,
            "withheld",
            "a model says that it does not fit the query or contradicts the other candidates",
        )],
    };
    Ok(answers.into_iter().map(|answer| answer.map(found)).collect())
}

fn question(query: &str, candidates: &[String], at: usize, shown: &[String]) -> Result<String, StageError> {
    let memory = judged(candidates.get(at).map(String::as_str).unwrap_or_default())?;
    let mut text = format!("Question: {}\nOther memories:\n", beside(query));
    let others = candidates.iter().enumerate().filter(|(other, _)| *other != at);
    let mut is_empty = true;
    for other in others.map(|(_, other)| other).chain(shown) {
        text.push_str(&format!("- {}\n", beside(other)));
        is_empty = false;
    }
    if is_empty {
        text.push_str("- (none)\n");
    }
    text.push_str(&format!("Memory: {memory}\n"));
    Ok(text)
}
