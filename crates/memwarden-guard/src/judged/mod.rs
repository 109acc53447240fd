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
use memwarden_core::model::{Chat, ChatCall, Message, ModelError, Purpose, Reply, ReplyShape};
use memwarden_core::{Finding, Policy, Score, Severity};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The name under which a stage asks for a model where its policy names none.
pub const DEFAULT_MODEL: &str = "default";
/// Most tokens of a reply where a policy says nothing else. One word is asked for; the rest is for a model that
/// thinks first. A reply that is longer is cut off, and that is an error with a name.
pub const DEFAULT_MAX_TOKENS: u32 = 128;

/// The longest text that is judged, in bytes. What is longer could not be judged whole, and half of it is no basis for a
/// verdict: it fails by itself, and whatever is judged with it does not.
pub const MAX_JUDGED_BYTES: usize = 16_384;
/// How much of a text is shown that is not judged itself: an earlier turn, a stored entry, another candidate, the query.
/// So no single one of them fills the model's window and makes every call fail. The turn that an entry was drawn from may
/// be as long as what is judged.
pub const MAX_BESIDE_BYTES: usize = 1_024;

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

/// How a stage's model is asked to reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReplyForm {
    /// With one word, alone on the first line.
    #[default]
    Word,
    /// With an object that has the word, `{"verdict": "keep"}`. For a small model that keeps to a schema and to no wording.
    Json,
}

impl ReplyForm {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Word, Self::Json];

    /// The name used in policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Json => "json",
        }
    }

    /// How `stage` asks under `policy`.
    #[must_use]
    pub fn of(policy: &Policy, stage: Stage) -> Self {
        let settings = policy.stages.get(stage.name());
        let word = settings.and_then(|settings| settings.words.get("reply"));
        let named = word.and_then(|word| Self::ALL.into_iter().find(|form| form.as_str() == word));
        named.unwrap_or_default()
    }
}

/// Whether `rerank` fills up with the next best what it withholds; it does unless the policy says otherwise.
#[must_use]
pub fn backfills(policy: &Policy) -> bool {
    let settings = policy.stages.get(Stage::Rerank.name());
    let word = settings.and_then(|settings| settings.words.get("backfill"));
    word.is_none_or(|word| word != "false")
}

/// Whether what `rerank` calls unfit is put into quarantine, and not only kept out of the one recall; it is not unless
/// the policy says so.
#[must_use]
pub fn persists(policy: &Policy) -> bool {
    let settings = policy.stages.get(Stage::Rerank.name());
    let word = settings.and_then(|settings| settings.words.get("persist"));
    word.is_some_and(|word| word == "true")
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

impl Words {
    fn schema(self) -> String {
        format!(
            "{{\"type\": \"object\", \"properties\": {{\"verdict\": {{\"type\": \"string\", \"enum\": [\"{}\", \"{}\"]}}}}, \
             \"required\": [\"verdict\"], \"additionalProperties\": false}}",
            self.pass, self.fire
        )
    }
}

/// Asks all of `questions` at once, one result for each. A question that cannot be put fails by itself and is not asked.
///
/// # Errors
/// [`StageError::Unavailable`] where no model has the name, or where every call failed as no other would have done better
/// ([`ModelError::is_about_the_model`]).
fn ask(
    stage: Stage,
    words: Words,
    policy: &Policy,
    chats: &dyn Chats,
    questions: Vec<Result<String, StageError>>,
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
    let put = questions.iter().flatten();
    let messages: Vec<[Message; 2]> = put
        .map(|question| [Message::system(instructions), Message::user(question.as_str())])
        .collect();
    let form = ReplyForm::of(policy, stage);
    let schema = words.schema();
    let shape = match form {
        ReplyForm::Word => ReplyShape::Text,
        ReplyForm::Json => ReplyShape::Json {
            name: "verdict",
            schema: &schema,
        },
    };
    let call = |messages| ChatCall {
        shape,
        ..ChatCall::new(&purpose, messages, limit)
    };
    let calls: Vec<ChatCall<'_>> = messages.iter().map(|messages| call(messages)).collect();
    let replies = chat.chat(&calls);
    if replies.len() != calls.len() {
        let (given, asked) = (replies.len(), calls.len());
        return Err(unavailable(format!(
            "model `{name}` gave {given} replies to {asked} questions"
        )));
    }
    // What may be the doing of the one text that was asked about must not let the others pass unjudged.
    let is_lost =
        |reply: &Result<Reply, ModelError>| reply.as_ref().is_err_and(ModelError::is_about_the_model);
    if let Some(Err(error)) = replies.first()
        && replies.iter().all(is_lost)
    {
        return Err(unavailable(format!("{}: {error}", error.name())));
    }
    let mut answers = replies.into_iter().map(|reply| answer(reply, words, form));
    let no_reply = || StageError::Unavailable {
        reason: "the model gave no reply".to_owned(),
    };
    let one = |question: Result<String, StageError>| match question {
        Ok(_) => answers.next().unwrap_or_else(|| Err(no_reply())),
        Err(error) => Err(error),
    };
    Ok(questions.into_iter().map(one).collect())
}

fn answer(reply: Result<Reply, ModelError>, words: Words, form: ReplyForm) -> Result<Answer, StageError> {
    let reply = reply.map_err(|error| StageError::Reply {
        name: error.name(),
        reason: error.to_string(),
    })?;
    let is = |word: &str| match form {
        ReplyForm::Word => {
            let first = reply.text.trim().lines().next().unwrap_or_default();
            let said = first.trim().trim_end_matches('.').trim();
            said.eq_ignore_ascii_case(word)
        }
        ReplyForm::Json => {
            // White space may stand between the parts and in none of them.
            let quoted = format!("\"{word}\"");
            let parts = ["{", "\"verdict\"", ":", &quoted, "}"];
            let rest = parts.iter().try_fold(reply.text.as_str(), |rest, part| {
                rest.trim_start().strip_prefix(part)
            });
            rest.is_some_and(|rest| rest.trim().is_empty())
        }
    };
    if is(words.pass) {
        return Ok(Answer::Pass);
    }
    if is(words.fire) {
        return Ok(Answer::Fire);
    }
    let Words { pass, fire } = words;
    Err(StageError::Reply {
        name: "unparsable",
        reason: match form {
            ReplyForm::Word => format!("expected `{pass}` or `{fire}` alone on the first line"),
            ReplyForm::Json => format!("expected an object with `verdict`: `{pass}` or `{fire}`"),
        },
    })
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

/// The text that is judged as one line of a prompt, whole.
///
/// # Errors
/// It is longer than [`MAX_JUDGED_BYTES`].
fn judged(text: &str) -> Result<String, StageError> {
    if text.len() > MAX_JUDGED_BYTES {
        return Err(StageError::Entry {
            reason: format!("it has {} bytes: expected at most {MAX_JUDGED_BYTES}", text.len()),
        });
    }
    Ok(line(text))
}

/// A text that is shown beside the one that is judged, as one line of a prompt: its beginning.
fn beside(text: &str) -> String {
    at_most(text, MAX_BESIDE_BYTES)
}

/// The beginning of a text as one line of a prompt, with a mark where that is not all of it.
fn at_most(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return line(text);
    }
    let (beginning, _) = text.split_at(text.floor_char_boundary(bytes));
    line(&format!("{beginning}…"))
}

/// A text as one line: no line break or control character in it ends the quotation.
fn line(text: &str) -> String {
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
