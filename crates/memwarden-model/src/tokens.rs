//! Counting tokens where the provider does not: by the model's own tokenizer where it is known, and said so where
//! it is not.

use memwarden_core::model::UsageSource;
use tiktoken_rs::CoreBPE;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// What each message of a chat adds to its text, and what primes the reply: the shape that OpenAI documents for
/// its chat models ("How to count tokens with tiktoken").
const PER_MESSAGE: u64 = 3;
const PER_REPLY: u64 = 3;

/// The tokens of `text` as `model` would count them, and who that count is by. The tokenizer of a model that is
/// not known is taken to be o200k, and the count is marked as approximated.
#[must_use]
pub fn count_tokens(model: &str, text: &str) -> (u64, UsageSource) {
    let tokenizer = Counter::of(model);
    (tokenizer.count(text), tokenizer.source)
}

/// A tokenizer and what its counts are worth.
pub(crate) struct Counter {
    bpe: &'static CoreBPE,
    source: UsageSource,
}

impl Counter {
    pub(crate) fn of(model: &str) -> Self {
        let known = get_tokenizer(model);
        let (bpe, name) = match known {
            Some(Tokenizer::Cl100kBase) => (tiktoken_rs::cl100k_base_singleton(), "cl100k_base"),
            Some(Tokenizer::P50kBase) => (tiktoken_rs::p50k_base_singleton(), "p50k_base"),
            Some(Tokenizer::P50kEdit) => (tiktoken_rs::p50k_edit_singleton(), "p50k_edit"),
            Some(Tokenizer::R50kBase | Tokenizer::Gpt2) => (tiktoken_rs::r50k_base_singleton(), "r50k_base"),
            Some(Tokenizer::O200kHarmony) => (tiktoken_rs::o200k_harmony_singleton(), "o200k_harmony"),
            Some(Tokenizer::O200kBase) | None => (tiktoken_rs::o200k_base_singleton(), "o200k_base"),
        };
        let tokenizer = name.to_owned();
        let source = if known.is_some() {
            UsageSource::Counted { tokenizer }
        } else {
            UsageSource::Approximated { tokenizer }
        };
        Self { bpe, source }
    }

    pub(crate) fn count(&self, text: &str) -> u64 {
        self.bpe.encode_ordinary(text).len() as u64
    }

    /// The tokens of a chat's prompt: texts and speakers, and what the protocol puts around them.
    pub(crate) fn count_prompt<'a>(&self, messages: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
        messages.fold(PER_REPLY, |sum, (speaker, text)| {
            sum + PER_MESSAGE + self.count(speaker) + self.count(text)
        })
    }

    pub(crate) fn source(&self) -> UsageSource {
        self.source.clone()
    }
}
