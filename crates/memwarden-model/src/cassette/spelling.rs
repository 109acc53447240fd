//! How replies are written so that every bit comes back: text as it is, numbers as what reads back to the same.

use crate::backend::Vectors;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memwarden_core::model::{
    AttentionWeights, Entailment, Finish, HiddenStates, Reply, ReplyToken, Scored, TokenScore, Usage,
    UsageSource,
};
use serde::{Deserialize, Serialize};

/// What a backend gave, as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spelled {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<(String, Exact)>,
    /// Little-endian singles in base64, one string a vector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    vectors: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probabilities: Option<[Exact; 3]>,
    usage: Option<SpelledUsage>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpelledUsage {
    prompt: u64,
    completion: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approximated: Option<String>,
}

/// A number in the shortest decimals that give back its bits; a string, because not every reader of JSON numbers
/// does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Exact(f64);

impl From<Exact> for String {
    fn from(exact: Exact) -> Self {
        exact.0.to_string()
    }
}

impl TryFrom<String> for Exact {
    type Error = std::num::ParseFloatError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl Spelled {
    fn empty(usage: Option<&Usage>) -> Self {
        Self {
            text: None,
            finish: None,
            tokens: Vec::new(),
            vectors: Vec::new(),
            dimensions: None,
            probabilities: None,
            usage: usage.map(SpelledUsage::of),
        }
    }

    pub(super) fn reply(reply: &Reply) -> Self {
        let tokens = reply.tokens.iter();
        Self {
            text: Some(reply.text.clone()),
            finish: Some(reply.finish.as_str().to_owned()),
            tokens: tokens
                .map(|token| (token.text.clone(), Exact(token.log_probability)))
                .collect(),
            ..Self::empty(reply.usage.as_ref())
        }
    }

    pub(super) fn into_reply(self) -> Option<Reply> {
        let token = |(text, Exact(log_probability))| ReplyToken {
            text,
            log_probability,
        };
        Some(Reply {
            text: self.text?,
            finish: Finish::from_word(&self.finish?),
            usage: self.usage.map(SpelledUsage::into_usage),
            tokens: self.tokens.into_iter().map(token).collect(),
        })
    }

    pub(super) fn vectors(given: &Vectors) -> Self {
        Self {
            vectors: given.vectors.iter().map(|vector| to_base64(vector)).collect(),
            ..Self::empty(given.usage.as_ref())
        }
    }

    pub(super) fn into_vectors(self) -> Option<Vectors> {
        Some(Vectors {
            vectors: self
                .vectors
                .iter()
                .map(|text| from_base64(text))
                .collect::<Option<_>>()?,
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    pub(super) fn scored(scored: &Scored) -> Self {
        let tokens = scored.tokens.iter();
        Self {
            tokens: tokens
                .map(|token| (token.text.clone(), Exact(token.log_probability)))
                .collect(),
            ..Self::empty(scored.usage.as_ref())
        }
    }

    pub(super) fn into_scored(self) -> Option<Scored> {
        let token = |(text, Exact(log_probability))| TokenScore {
            text,
            log_probability,
        };
        Some(Scored {
            tokens: self.tokens.into_iter().map(token).collect(),
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    pub(super) fn hidden(states: &HiddenStates) -> Self {
        Self {
            vectors: vec![to_base64(&states.values)],
            dimensions: Some(states.dimensions),
            ..Self::empty(states.usage.as_ref())
        }
    }

    pub(super) fn into_hidden(self) -> Option<HiddenStates> {
        Some(HiddenStates {
            dimensions: self.dimensions?,
            values: from_base64(self.vectors.first()?)?,
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    /// One vector a head.
    pub(super) fn attention(given: &AttentionWeights) -> Self {
        let size = (given.tokens * given.tokens).max(1);
        Self {
            vectors: given.values.chunks(size).map(to_base64).collect(),
            dimensions: Some(given.tokens),
            ..Self::empty(given.usage.as_ref())
        }
    }

    pub(super) fn into_attention(self) -> Option<AttentionWeights> {
        let heads: Vec<Vec<f32>> = self
            .vectors
            .iter()
            .map(|head| from_base64(head))
            .collect::<Option<_>>()?;
        Some(AttentionWeights {
            heads: heads.len(),
            tokens: self.dimensions?,
            values: heads.concat(),
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    pub(super) fn entailment(given: &Entailment) -> Self {
        Self {
            probabilities: Some([given.entailed, given.neutral, given.contradicted].map(Exact)),
            ..Self::empty(given.usage.as_ref())
        }
    }

    pub(super) fn into_entailment(self) -> Option<Entailment> {
        let [Exact(entailed), Exact(neutral), Exact(contradicted)] = self.probabilities?;
        Some(Entailment {
            entailed,
            neutral,
            contradicted,
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }
}

impl SpelledUsage {
    fn of(usage: &Usage) -> Self {
        let (counted, approximated) = match &usage.source {
            UsageSource::Provider => (None, None),
            UsageSource::Counted { tokenizer } => (Some(tokenizer.clone()), None),
            UsageSource::Approximated { tokenizer } => (None, Some(tokenizer.clone())),
        };
        Self {
            prompt: usage.prompt,
            completion: usage.completion,
            counted,
            approximated,
        }
    }

    fn into_usage(self) -> Usage {
        let source = match (self.counted, self.approximated) {
            (Some(tokenizer), _) => UsageSource::Counted { tokenizer },
            (None, Some(tokenizer)) => UsageSource::Approximated { tokenizer },
            (None, None) => UsageSource::Provider,
        };
        Usage {
            prompt: self.prompt,
            completion: self.completion,
            source,
        }
    }
}

fn to_base64(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

fn from_base64(text: &str) -> Option<Vec<f32>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (singles, rest) = bytes.as_chunks::<4>();
    rest.is_empty()
        .then(|| singles.iter().map(|single| f32::from_le_bytes(*single)).collect())
}
