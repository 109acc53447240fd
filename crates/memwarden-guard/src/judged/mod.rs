//! Stages that ask a language model: `anomaly` before an entry is stored, `rerank` before candidates are served.
//!
//! For: prompts, the strict reading of replies, what a failing model leads to. The model itself comes by reference
//! ([`Chats`]); a policy names it, and whoever runs the policy says what that name stands for. Not for: looking
//! anything up, which the [`StoreView`](crate::StoreView) does, nor for counting tokens, which the model's meter does.
//!
//! The two stages are those of "The Price of Safety" (arXiv 2609.22818 §3.2, §3.3); the wording of the prompts is ours.

mod anomaly;
mod rerank;

pub(crate) use anomaly::anomaly;
pub use anomaly::{NEAREST_STORED, TURNS_BEFORE};
pub use rerank::Judged;
pub(crate) use rerank::rerank;

use crate::stage::{Stage, StageError};
use memwarden_core::model::{Chat, ChatCall, Message, ModelError, Purpose, Reply};
use memwarden_core::{Finding, Policy, Score, Severity};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The name under which a stage asks for a model where its policy names none.
pub const DEFAULT_MODEL: &str = "default";
/// Most tokens of a reply where a policy says nothing else. One word is asked for; the rest is for a model that
/// thinks first. A reply that is longer is cut off, and that is an error with a name.
pub const DEFAULT_MAX_TOKENS: u32 = 128;

/// The models that stages may ask, by the name that a policy uses.
pub trait Chats {
    /// The model of this name.
    fn chat(&self, name: &str) -> Option<&dyn Chat>;
}

/// No model at all: a stage that needs one fails, as its policy says.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoChats;

impl Chats for NoChats {
    fn chat(&self, _: &str) -> Option<&dyn Chat> {
        None
    }
}

impl Chats for BTreeMap<String, Arc<dyn Chat>> {
    fn chat(&self, name: &str) -> Option<&dyn Chat> {
        self.get(name).map(AsRef::as_ref)
    }
}

/// A prompt of a stage. Its text is fixed for a version: another wording is another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// The stage.
    pub stage: Stage,
    /// The version, which replies are only comparable within.
    pub version: &'static str,
    /// The instructions.
    pub text: &'static str,
}

/// Every prompt that a stage sends, so that a record of an experiment can hold their digests.
pub const PROMPTS: [Prompt; 2] = [
    Prompt {
        stage: Stage::Anomaly,
        version: "anomaly.v1",
        text: include_str!("../../prompts/anomaly.v1.txt"),
    },
    Prompt {
        stage: Stage::Rerank,
        version: "rerank.v1",
        text: include_str!("../../prompts/rerank.v1.txt"),
    },
];

/// The name of the model that `stage` asks under `policy`.
#[must_use]
pub fn model_of(policy: &Policy, stage: Stage) -> &str {
    let settings = policy.stages.get(stage.name());
    let named = settings.and_then(|settings| settings.words.get("model"));
    named.map_or(DEFAULT_MODEL, String::as_str)
}

/// Most tokens of a reply to `stage` under `policy`.
#[must_use]
pub fn max_tokens_of(policy: &Policy, stage: Stage) -> u32 {
    let settings = policy.stages.get(stage.name());
    let number = settings.and_then(|settings| settings.numbers.get("max_tokens"));
    number.copied().unwrap_or(DEFAULT_MAX_TOKENS)
}

/// Whether `rerank` fills up with the next best what it withholds; it does unless the policy says otherwise.
#[must_use]
pub fn backfills(policy: &Policy) -> bool {
    let settings = policy.stages.get(Stage::Rerank.name());
    let word = settings.and_then(|settings| settings.words.get("backfill"));
    word.is_none_or(|word| word != "false")
}

/// What a stage's question is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// The entry may pass.
    Pass,
    /// The stage fires.
    Fire,
}

/// The two words that a reply may be.
#[derive(Debug, Clone, Copy)]
struct Words {
    pass: &'static str,
    fire: &'static str,
}

/// Asks all of `questions` at once, one result for each.
///
/// # Errors
/// [`StageError::Unavailable`] where no model has the name, or where not one of the calls reached it.
fn ask(
    stage: Stage,
    words: Words,
    policy: &Policy,
    chats: &dyn Chats,
    questions: &[String],
) -> Result<Vec<Result<Answer, StageError>>, StageError> {
    let unavailable = |reason: String| StageError::Unavailable { reason };
    let name = model_of(policy, stage);
    let chat = chats.chat(name).ok_or_else(|| {
        unavailable(format!(
            "the policy asks model `{name}`, and none of this name is configured"
        ))
    })?;
    let purpose: Purpose = format!("defense:{}", stage.name())
        .parse()
        .map_err(|error| unavailable(format!("{error}")))?;
    let limit = NonZeroU32::new(max_tokens_of(policy, stage)).unwrap_or(NonZeroU32::MIN);
    let instructions = PROMPTS.iter().find(|prompt| prompt.stage == stage);
    let instructions = instructions
        .map(|prompt| prompt.text.trim_end())
        .unwrap_or_default();
    let messages: Vec<[Message; 2]> = questions
        .iter()
        .map(|question| [Message::system(instructions), Message::user(question.as_str())])
        .collect();
    let calls: Vec<ChatCall<'_>> = messages
        .iter()
        .map(|messages| ChatCall::new(&purpose, messages, limit))
        .collect();
    let replies = chat.chat(&calls);
    if replies.len() != questions.len() {
        let (given, asked) = (replies.len(), questions.len());
        return Err(unavailable(format!(
            "model `{name}` gave {given} replies to {asked} questions"
        )));
    }
    let is_lost =
        |reply: &Result<Reply, ModelError>| reply.as_ref().is_err_and(|error| !is_about_the_reply(error));
    if let Some(Err(error)) = replies.first()
        && replies.iter().all(is_lost)
    {
        return Err(unavailable(format!("{}: {error}", error.name())));
    }
    Ok(replies.into_iter().map(|reply| answer(reply, words)).collect())
}

fn answer(reply: Result<Reply, ModelError>, words: Words) -> Result<Answer, StageError> {
    let reply = reply.map_err(|error| StageError::Reply {
        name: error.name(),
        reason: error.to_string(),
    })?;
    let first = reply.text.trim().lines().next().unwrap_or_default();
    let word = first.trim().trim_end_matches('.').trim();
    if word.eq_ignore_ascii_case(words.pass) {
        return Ok(Answer::Pass);
    }
    if word.eq_ignore_ascii_case(words.fire) {
        return Ok(Answer::Fire);
    }
    Err(StageError::Reply {
        name: "unparsable",
        reason: format!(
            "expected `{}` or `{}` alone on the first line",
            words.pass, words.fire
        ),
    })
}

/// Whether the model was reached and what it said is of no use, so that only this entry is concerned.
const fn is_about_the_reply(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Truncated { .. }
            | ModelError::Empty { .. }
            | ModelError::Withheld { .. }
            | ModelError::Schema { .. }
    )
}

fn finding(stage: Stage, rule: &str, reason: &str) -> Finding {
    Finding {
        stage: stage.name().to_owned(),
        rule: rule.to_owned(),
        severity: Severity::Warning,
        score: Score::MAX,
        span: None,
        reason: reason.to_owned(),
    }
}

/// A text as one line of a prompt: no line break or control character in it ends the quotation.
fn quoted(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                ' '
            } else {
                c
            }
        })
        .collect();
    format!("\"{}\"", plain.trim().replace('"', "'"))
}
