//! Messages in, one reply out.

use super::{ModelError, Purpose};
use std::fmt;
use std::num::NonZeroU32;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// Instructions of the program.
    System,
    /// The one who asks.
    User,
    /// The model, earlier.
    Assistant,
}

impl Speaker {
    /// The name in the protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub speaker: Speaker,
    /// What is said.
    pub text: String,
}

impl Message {
    /// An instruction of the program.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self {
            speaker: Speaker::System,
            text: text.into(),
        }
    }

    /// A question or task.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self {
            speaker: Speaker::User,
            text: text.into(),
        }
    }

    /// What the model said before.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            speaker: Speaker::Assistant,
            text: text.into(),
        }
    }
}

/// What a reply must look like to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyShape<'a> {
    /// Any text that is not empty.
    Text,
    /// JSON that the schema admits. What admits it is the meter's room, whatever the model was told.
    Json {
        /// What the protocol calls the schema.
        name: &'a str,
        /// The JSON schema.
        schema: &'a str,
    },
}

/// Whether a reply comes with the log-probabilities of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLogprobs {
    /// Not asked for.
    Leave,
    /// Asked for; a model that does not give them is an error.
    Need,
}

/// One question to a model. [`ChatCall::new`] is the usual one; its fields are there to be changed.
#[derive(Debug, Clone, Copy)]
pub struct ChatCall<'a> {
    /// What the tokens are spent on.
    pub purpose: &'a Purpose,
    /// The conversation, oldest first.
    pub messages: &'a [Message],
    /// The most tokens of a reply; a longer one is [`ModelError::Truncated`]. There is no default, because a limit
    /// that nobody wrote down cuts replies that nobody misses.
    pub max_tokens: NonZeroU32,
    /// 0 or more; 0 asks for the likeliest reply.
    pub temperature: f32,
    /// Makes a reply repeatable where the model offers that.
    pub seed: Option<u64>,
    /// What the reply must look like.
    pub shape: ReplyShape<'a>,
    /// Whether the tokens' log-probabilities are needed.
    pub logprobs: TokenLogprobs,
}

impl<'a> ChatCall<'a> {
    /// A call at temperature 0 for text.
    #[must_use]
    pub const fn new(purpose: &'a Purpose, messages: &'a [Message], max_tokens: NonZeroU32) -> Self {
        Self {
            purpose,
            messages,
            max_tokens,
            temperature: 0.0,
            seed: None,
            shape: ReplyShape::Text,
            logprobs: TokenLogprobs::Leave,
        }
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// It was said (`stop`).
    Stop,
    /// It reached its limit of tokens (`length`): not an answer.
    Length,
    /// Another reason, as given.
    Other(String),
}

impl Finish {
    /// From the word of the protocol.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The word of the protocol.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who counted the tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UsageSource {
    /// The provider, in its reply.
    Provider,
    /// We, with the tokenizer that the model is known to use.
    Counted {
        /// The tokenizer.
        tokenizer: String,
    },
    /// We, with a tokenizer that is not the model's, because its own is not known.
    Approximated {
        /// The tokenizer.
        tokenizer: String,
    },
}

/// Tokens of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of what was sent.
    pub prompt: u64,
    /// Tokens of what came back.
    pub completion: u64,
    /// Who counted them.
    pub source: UsageSource,
}

/// A token of a reply and how likely the model found it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyToken {
    /// Its text.
    pub text: String,
    /// Natural logarithm of its probability, 0 or less.
    pub log_probability: f64,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
    /// The tokens, where they were needed.
    pub tokens: Vec<ReplyToken>,
}

/// Answers messages.
pub trait Chat: Send + Sync + fmt::Debug {
    /// The name of the model, under which prices are looked up.
    fn model(&self) -> &str;

    /// One result for each call, in order. Blocks until all are there; one that fails takes none of the others
    /// with it.
    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>>;
}
