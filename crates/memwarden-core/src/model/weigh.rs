//! What a model thinks of text that is given: how likely it is, what it makes of it inside, what follows from it.

use super::{Message, ModelError, Purpose, Usage};
use std::fmt;

/// Asks how likely `continuation` is after `prefix`.
#[derive(Debug, Clone, Copy)]
pub struct ScoreCall<'a> {
    /// What the tokens are spent on.
    pub purpose: &'a Purpose,
    /// A conversation, written down as the model was trained to read one; the prefix then begins the reply to it.
    /// Empty for plain text.
    pub conversation: &'a [Message],
    /// What stands before; may be empty. Its tokens end where it ends: a space between two words belongs to the
    /// continuation.
    pub prefix: &'a str,
    /// What is weighed.
    pub continuation: &'a str,
}

impl<'a> ScoreCall<'a> {
    /// About plain text.
    #[must_use]
    pub const fn new(purpose: &'a Purpose, prefix: &'a str, continuation: &'a str) -> Self {
        Self {
            purpose,
            conversation: &[],
            prefix,
            continuation,
        }
    }
}

/// A token of a continuation.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenScore {
    /// Its text.
    pub text: String,
    /// Natural logarithm of its probability after everything before it, 0 or less.
    pub log_probability: f64,
}

/// How likely a continuation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Its tokens, in order.
    pub tokens: Vec<TokenScore>,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
}

impl Scored {
    /// Natural logarithm of the probability of the whole; 0 for no tokens.
    #[must_use]
    pub fn log_probability(&self) -> f64 {
        self.tokens.iter().map(|token| token.log_probability).sum()
    }

    /// exp(−mean log-probability), 1 or more (Jelinek et al. 1977); `None` for no tokens.
    ///
    /// ```
    /// use memwarden_core::model::{Scored, TokenScore};
    /// let token = |p: f64| TokenScore { text: "a".into(), log_probability: p.ln() };
    /// let scored = Scored { tokens: vec![token(0.25), token(0.25)], usage: None };
    /// assert!((scored.perplexity().unwrap() - 4.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn perplexity(&self) -> Option<f64> {
        let tokens = self.tokens.len();
        (tokens > 0).then(|| (-self.log_probability() / tokens as f64).exp())
    }
}

/// Gives the log-probability of continuations.
pub trait Score: Send + Sync + fmt::Debug {
    /// The name of the model.
    fn model(&self) -> &str;

    /// One result for each call, in order.
    fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>>;
}

/// Asks for the states at one layer.
#[derive(Debug, Clone, Copy)]
pub struct HiddenCall<'a> {
    /// What the tokens are spent on.
    pub purpose: &'a Purpose,
    /// The text.
    pub text: &'a str,
    /// Which layer, 0 being the embedding of the tokens and the last what the output is computed from.
    pub layer: usize,
}

/// The states of a model over a text: one vector for each token.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenStates {
    /// Components of each vector.
    pub dimensions: usize,
    /// The vectors, one after the other: tokens × dimensions.
    pub values: Vec<f32>,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
}

impl HiddenStates {
    /// The vectors, in the order of the tokens.
    pub fn positions(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimensions.max(1))
    }
}

/// Shows hidden states.
pub trait Hidden: Send + Sync + fmt::Debug {
    /// The name of the model.
    fn model(&self) -> &str;

    /// One result for each call, in order.
    fn hidden(&self, calls: &[HiddenCall<'_>]) -> Vec<Result<HiddenStates, ModelError>>;
}

/// Asks what each token looks at in one block.
#[derive(Debug, Clone, Copy)]
pub struct AttentionCall<'a> {
    /// What the tokens are spent on.
    pub purpose: &'a Purpose,
    /// The text.
    pub text: &'a str,
    /// Which block, from 0.
    pub block: usize,
}

/// The attention of one block over a text.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionWeights {
    /// Heads of the block.
    pub heads: usize,
    /// Tokens of the text.
    pub tokens: usize,
    /// heads × tokens × tokens: how much of a token's view goes to each token, 0 to 1; a row adds up to 1.
    pub values: Vec<f32>,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
}

impl AttentionWeights {
    /// The rows of one head, in the order of the tokens; none for a head that is not there.
    pub fn head(&self, head: usize) -> impl Iterator<Item = &[f32]> {
        let size = self.tokens * self.tokens;
        let rows = self.values.get(head * size..(head + 1) * size);
        rows.unwrap_or_default().chunks_exact(self.tokens.max(1))
    }
}

/// Shows attention weights.
pub trait Attend: Send + Sync + fmt::Debug {
    /// The name of the model.
    fn model(&self) -> &str;

    /// One result for each call, in order.
    fn attend(&self, calls: &[AttentionCall<'_>]) -> Vec<Result<AttentionWeights, ModelError>>;
}

/// Asks whether `hypothesis` follows from `premise`.
#[derive(Debug, Clone, Copy)]
pub struct EntailCall<'a> {
    /// What the tokens are spent on.
    pub purpose: &'a Purpose,
    /// What is taken to be true.
    pub premise: &'a str,
    /// What is judged.
    pub hypothesis: &'a str,
}

/// Three probabilities that add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Entailment {
    /// It follows.
    pub entailed: f64,
    /// Neither.
    pub neutral: f64,
    /// It cannot be true.
    pub contradicted: f64,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
}

/// Judges whether one statement follows from another.
pub trait Entail: Send + Sync + fmt::Debug {
    /// The name of the model.
    fn model(&self) -> &str;

    /// One result for each call, in order.
    fn entail(&self, calls: &[EntailCall<'_>]) -> Vec<Result<Entailment, ModelError>>;
}
