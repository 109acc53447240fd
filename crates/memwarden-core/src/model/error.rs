//! Why there is no answer, by name, so that each can be counted.

use std::fmt;

/// What a model may be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Ability {
    /// Answers messages.
    Chat,
    /// Keeps an answer to a JSON schema.
    JsonSchema,
    /// Gives the log-probabilities of the tokens of an answer.
    Logprobs,
    /// Gives the log-probability of a given continuation.
    Score,
    /// Shows its hidden states.
    Hidden,
    /// Shows what its tokens look at.
    Attention,
    /// Judges whether one statement follows from another.
    Entail,
    /// Turns texts into vectors.
    Encode,
}

impl Ability {
    /// Every ability.
    pub const ALL: [Self; 8] = [
        Self::Chat,
        Self::JsonSchema,
        Self::Logprobs,
        Self::Score,
        Self::Hidden,
        Self::Attention,
        Self::Entail,
        Self::Encode,
    ];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::JsonSchema => "json-schema",
            Self::Logprobs => "logprobs",
            Self::Score => "score",
            Self::Hidden => "hidden",
            Self::Attention => "attention",
            Self::Entail => "entail",
            Self::Encode => "encode",
        }
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A model gave no whole answer.
///
/// A reply that was cut off, is empty or fails its schema is one of these and never a [`Reply`](super::Reply)
/// (invariant 7 of `ARCHITECTURE.md`). Messages hold no key and no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The reply ended at its token limit (finish reason `length`).
    #[error("the reply of `{model}` was cut off at its limit of {max_tokens} tokens")]
    Truncated {
        /// The model.
        model: String,
        /// The limit that the call set.
        max_tokens: u32,
    },
    /// The reply has no text.
    #[error("the reply of `{model}` is empty")]
    Empty {
        /// The model.
        model: String,
    },
    /// The reply ended for another reason than having been said, for example a content filter.
    #[error("the reply of `{model}` was withheld: finish reason `{finish}`")]
    Withheld {
        /// The model.
        model: String,
        /// The finish reason as given.
        finish: String,
    },
    /// The reply is not the JSON that the call asked for.
    #[error("the reply of `{model}` does not have the shape that was asked for: {reason}")]
    Schema {
        /// The model.
        model: String,
        /// Where and what.
        reason: String,
    },
    /// The model cannot do this.
    #[error("model `{model}` cannot do what was asked: it lacks `{ability}`")]
    Unsupported {
        /// The model.
        model: String,
        /// What it lacks.
        ability: Ability,
    },
    /// The endpoint refused, failed, or sent the request elsewhere.
    #[error("the endpoint of `{model}` answered {status}: {reason}")]
    Upstream {
        /// The model.
        model: String,
        /// The HTTP status, 300 to 599.
        status: u16,
        /// What it said, shortened.
        reason: String,
    },
    /// The endpoint could not be reached: no request was written.
    #[error("the endpoint of `{model}` cannot be reached: {reason}")]
    Unreachable {
        /// The model.
        model: String,
        /// What happened.
        reason: String,
    },
    /// The endpoint hung up before it answered. It may have read the request, and charge for it.
    #[error("the endpoint of `{model}` closed the connection before it answered: {reason}")]
    Closed {
        /// The model.
        model: String,
        /// What happened.
        reason: String,
    },
    /// No answer in time.
    #[error("`{model}` did not answer within {limit_ms} ms")]
    Timeout {
        /// The model.
        model: String,
        /// The limit.
        limit_ms: u64,
    },
    /// A stream ended before it said that it was done.
    #[error("the stream of `{model}` was cut after {received} bytes")]
    Cut {
        /// The model.
        model: String,
        /// Bytes of text that had come.
        received: usize,
    },
    /// The endpoint answered something that is no reply of the protocol.
    #[error("the endpoint of `{model}` answered what is no reply: {reason}")]
    Malformed {
        /// The model.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The body of the answer is larger than is read.
    #[error("the answer of `{model}` is larger than {limit} bytes")]
    TooLarge {
        /// The model.
        model: String,
        /// The most that is read.
        limit: u64,
    },
    /// The call itself cannot be made.
    #[error("the call to `{model}` is not valid: {reason}")]
    Call {
        /// The model.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A replay has no reply to this call.
    #[error("the cassette has no reply to this `{ability}` call to `{model}` for `{purpose}` (call {key})")]
    CassetteMiss {
        /// The model.
        model: String,
        /// What was asked.
        ability: Ability,
        /// What for.
        purpose: String,
        /// The first 16 hexadecimal digits of the call's digest.
        key: String,
    },
    /// The call could not be entered in the meter or the cassette; the reply is withheld.
    #[error("a call to `{model}` could not be recorded: {reason}")]
    Unrecorded {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// Any other failure of a model that was brought along.
    #[error("model `{model}` failed: {reason}")]
    Failed {
        /// The model.
        model: String,
        /// What went wrong.
        reason: String,
    },
}

impl ModelError {
    /// Whether a reply came and is of no use: the model can be reached, and another call may do better.
    #[must_use]
    pub const fn is_about_the_reply(&self) -> bool {
        matches!(
            self,
            Self::Truncated { .. } | Self::Empty { .. } | Self::Withheld { .. } | Self::Schema { .. }
        )
    }

    /// Whether this one call or its reply is to blame, by its text for example: another call may do better, and the same
    /// one does not.
    #[must_use]
    pub const fn is_about_the_call(&self) -> bool {
        self.is_about_the_reply()
            || matches!(
                self,
                Self::Call { .. }
                    | Self::Upstream {
                        status: 400 | 413 | 422,
                        ..
                    }
            )
    }

    /// Whether no call would have done better: nobody is there, may answer or is able to, or nothing can be recorded. What
    /// is neither this nor [`ModelError::is_about_the_call`], a timeout for example, may be the doing of one text or not.
    #[must_use]
    pub const fn is_about_the_model(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Closed { .. }
                | Self::Unsupported { .. }
                | Self::CassetteMiss { .. }
                | Self::Unrecorded { .. }
                | Self::Upstream {
                    status: 401..=404 | 429 | 503,
                    ..
                }
        )
    }

    /// The name under which it is counted.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Empty { .. } => "empty",
            Self::Withheld { .. } => "withheld",
            Self::Schema { .. } => "schema",
            Self::Unsupported { .. } => "unsupported",
            Self::Upstream { .. } => "upstream",
            Self::Unreachable { .. } => "unreachable",
            Self::Closed { .. } => "closed",
            Self::Timeout { .. } => "timeout",
            Self::Cut { .. } => "cut",
            Self::Malformed { .. } => "malformed",
            Self::TooLarge { .. } => "too-large",
            Self::Call { .. } => "call",
            Self::CassetteMiss { .. } => "cassette-miss",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Failed { .. } => "failed",
        }
    }
}
