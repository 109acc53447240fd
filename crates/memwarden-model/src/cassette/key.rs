//! What a call is known by: the digest of all that is sent, its model included.

use memwarden_core::model::{
    Ability, AttentionCall, ChatCall, EntailCall, HiddenCall, ReplyShape, ScoreCall, TokenLogprobs,
};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

pub(super) fn chat_key(model: &str, call: &ChatCall<'_>) -> String {
    let (name, schema) = match call.shape {
        ReplyShape::Text => ("", ""),
        ReplyShape::Json { name, schema } => (name, schema),
    };
    let key = Key::of(model, Ability::Chat)
        .number(call.max_tokens.get().into())
        .number(call.temperature.to_bits().into())
        .with(&call.seed.map(|seed| seed.to_string()).unwrap_or_default())
        .with(name)
        .with(schema)
        .number((call.logprobs == TokenLogprobs::Need).into());
    let messages = call.messages.iter();
    messages
        .fold(key, |key, message| {
            key.with(message.speaker.as_str()).with(&message.text)
        })
        .finish()
}

pub(super) fn texts_key(model: &str, ability: Ability, texts: &[&str]) -> String {
    texts
        .iter()
        .fold(Key::of(model, ability), |key, text| key.with(text))
        .finish()
}

pub(super) fn score_key(model: &str, call: &ScoreCall<'_>) -> String {
    let mut parts = vec![call.prefix, call.continuation];
    for message in call.conversation {
        parts.extend([message.speaker.as_str(), &message.text]);
    }
    texts_key(model, Ability::Score, &parts)
}

pub(super) fn hidden_key(model: &str, call: &HiddenCall<'_>) -> String {
    Key::of(model, Ability::Hidden)
        .number(call.layer as u64)
        .with(call.text)
        .finish()
}

pub(super) fn attention_key(model: &str, call: &AttentionCall<'_>) -> String {
    Key::of(model, Ability::Attention)
        .number(call.block as u64)
        .with(call.text)
        .finish()
}

pub(super) fn entail_key(model: &str, call: &EntailCall<'_>) -> String {
    texts_key(model, Ability::Entail, &[call.premise, call.hypothesis])
}

/// Parts with their lengths before them, so that no two calls are the same bytes.
struct Key(Sha256);

impl Key {
    fn of(model: &str, ability: Ability) -> Self {
        Self(Sha256::new()).with(model).with(ability.as_str())
    }

    fn with(mut self, part: &str) -> Self {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part.as_bytes());
        self
    }

    fn number(self, number: u64) -> Self {
        self.with(&number.to_string())
    }

    fn finish(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
