//! A file of calls and their replies: made once with a real model, replayed byte for byte without it.
//!
//! A call is known by the SHA-256 of all that is sent, its model included and its purpose not; the same call made again gets the next
//! reply recorded for it. What was not recorded is an error and never a guess. Replies are kept as the backend gave
//! them, whole or cut off; a call that failed leaves no line. Numbers are written so that every bit comes back.
//!
//! One JSON object a line: `{"v": 1, "key", "model", "ability", "reply": {...}}`. It holds replies, and neither prompts nor keys.

use crate::backend::{Attempt, Backend, EncodeCall, Vectors};
use crate::call::Served;
use crate::pace::Pace;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memwarden_core::model::{
    Ability, ChatCall, EntailCall, Entailment, Finish, HiddenCall, HiddenStates, ModelError, Reply,
    ReplyShape, ReplyToken, ScoreCall, Scored, TokenLogprobs, TokenScore, Usage, UsageSource,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const VERSION: u32 = 1;

/// A cassette was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be opened or read.
    #[error("cassette `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line that is no recorded call.
    #[error("cassette `{path}`, line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// A model whose replies are written down.
#[derive(Debug)]
pub(crate) struct Recorder {
    inner: Arc<dyn Backend>,
    file: Mutex<File>,
}

impl Recorder {
    pub(crate) fn open(path: &Path, inner: Arc<dyn Backend>) -> Result<Self, CassetteError> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = Mutex::new(file.map_err(|source| CassetteError::File {
            path: path.to_owned(),
            source,
        })?);
        Ok(Self { inner, file })
    }

    /// The attempt as it was, or an error if its reply could not be written down.
    fn keep<T>(
        &self,
        ability: Ability,
        key: String,
        attempt: Attempt<T>,
        spell: impl FnOnce(&T) -> Spelled,
    ) -> Attempt<T> {
        let result = attempt.result.and_then(|given| {
            let line = Line {
                v: VERSION,
                key,
                model: self.inner.model().to_owned(),
                ability: ability.as_str().to_owned(),
                reply: spell(&given),
            };
            self.write(&line).map(|()| given)
        });
        Attempt { result, ..attempt }
    }

    fn write(&self, line: &Line) -> Result<(), ModelError> {
        let unrecorded = |reason: String| ModelError::Unrecorded {
            model: self.inner.model().to_owned(),
            reason,
        };
        let text = serde_json::to_string(line).map_err(|error| unrecorded(error.to_string()))? + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .map_err(|error| unrecorded(format!("cassette: {error}")))
    }
}

impl Backend for Recorder {
    fn model(&self) -> &str {
        self.inner.model()
    }

    fn served(&self) -> Served {
        self.inner.served()
    }

    fn at_once(&self) -> NonZeroUsize {
        self.inner.at_once()
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        let key = chat_key(self.model(), call);
        self.keep(Ability::Chat, key, self.inner.chat(call, pace), Spelled::reply)
    }

    fn embed(&self, call: &EncodeCall<'_>, pace: &dyn Pace) -> Attempt<Vectors> {
        let key = texts_key(self.model(), Ability::Encode, call.texts);
        self.keep(
            Ability::Encode,
            key,
            self.inner.embed(call, pace),
            Spelled::vectors,
        )
    }

    fn score(&self, call: &ScoreCall<'_>, pace: &dyn Pace) -> Attempt<Scored> {
        let key = score_key(self.model(), call);
        self.keep(Ability::Score, key, self.inner.score(call, pace), Spelled::scored)
    }

    fn hidden(&self, call: &HiddenCall<'_>, pace: &dyn Pace) -> Attempt<HiddenStates> {
        let key = hidden_key(self.model(), call);
        self.keep(
            Ability::Hidden,
            key,
            self.inner.hidden(call, pace),
            Spelled::hidden,
        )
    }

    fn entail(&self, call: &EntailCall<'_>, pace: &dyn Pace) -> Attempt<Entailment> {
        let key = entail_key(self.model(), call);
        self.keep(
            Ability::Entail,
            key,
            self.inner.entail(call, pace),
            Spelled::entailment,
        )
    }
}

/// Replies from a file.
#[derive(Debug)]
pub(crate) struct Replayer {
    model: String,
    replies: Mutex<HashMap<String, VecDeque<Spelled>>>,
}

impl Replayer {
    pub(crate) fn open(path: &Path, model: &str) -> Result<Self, CassetteError> {
        let text = std::fs::read_to_string(path).map_err(|source| CassetteError::File {
            path: path.to_owned(),
            source,
        })?;
        let mut replies: HashMap<String, VecDeque<Spelled>> = HashMap::new();
        for (index, line) in text.lines().enumerate() {
            let refused = |reason| CassetteError::Line {
                path: path.to_owned(),
                line: index + 1,
                reason,
            };
            let line: Line = serde_json::from_str(line).map_err(|error| refused(error.to_string()))?;
            if line.v != VERSION {
                return Err(refused(format!(
                    "version `{}` is not known: expected {VERSION}",
                    line.v
                )));
            }
            if line.model == model {
                replies.entry(line.key).or_default().push_back(line.reply);
            }
        }
        Ok(Self {
            model: model.to_owned(),
            replies: Mutex::new(replies),
        })
    }

    fn play<T>(
        &self,
        ability: Ability,
        purpose: &str,
        key: &str,
        pace: &dyn Pace,
        read: impl FnOnce(Spelled) -> Option<T>,
    ) -> Attempt<T> {
        Attempt::timed(pace, || {
            let next = {
                let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
                replies.get_mut(key).and_then(VecDeque::pop_front)
            };
            next.and_then(read).ok_or_else(|| ModelError::CassetteMiss {
                model: self.model.clone(),
                ability,
                purpose: purpose.to_owned(),
                key: key.chars().take(16).collect(),
            })
        })
    }
}

impl Backend for Replayer {
    fn model(&self) -> &str {
        &self.model
    }

    fn served(&self) -> Served {
        Served::Replayed
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        let key = chat_key(&self.model, call);
        self.play(
            Ability::Chat,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_reply,
        )
    }

    fn embed(&self, call: &EncodeCall<'_>, pace: &dyn Pace) -> Attempt<Vectors> {
        let key = texts_key(&self.model, Ability::Encode, call.texts);
        self.play(
            Ability::Encode,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_vectors,
        )
    }

    fn score(&self, call: &ScoreCall<'_>, pace: &dyn Pace) -> Attempt<Scored> {
        let key = score_key(&self.model, call);
        self.play(
            Ability::Score,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_scored,
        )
    }

    fn hidden(&self, call: &HiddenCall<'_>, pace: &dyn Pace) -> Attempt<HiddenStates> {
        let key = hidden_key(&self.model, call);
        self.play(
            Ability::Hidden,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_hidden,
        )
    }

    fn entail(&self, call: &EntailCall<'_>, pace: &dyn Pace) -> Attempt<Entailment> {
        let key = entail_key(&self.model, call);
        self.play(
            Ability::Entail,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_entailment,
        )
    }
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

fn chat_key(model: &str, call: &ChatCall<'_>) -> String {
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

fn texts_key(model: &str, ability: Ability, texts: &[&str]) -> String {
    texts
        .iter()
        .fold(Key::of(model, ability), |key, text| key.with(text))
        .finish()
}

fn score_key(model: &str, call: &ScoreCall<'_>) -> String {
    texts_key(model, Ability::Score, &[call.prefix, call.continuation])
}

fn hidden_key(model: &str, call: &HiddenCall<'_>) -> String {
    Key::of(model, Ability::Hidden)
        .number(call.layer as u64)
        .with(call.text)
        .finish()
}

fn entail_key(model: &str, call: &EntailCall<'_>) -> String {
    texts_key(model, Ability::Entail, &[call.premise, call.hypothesis])
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u32,
    key: String,
    model: String,
    ability: String,
    reply: Spelled,
}

/// What a backend gave, as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spelled {
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

    fn reply(reply: &Reply) -> Self {
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

    fn into_reply(self) -> Option<Reply> {
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

    fn vectors(given: &Vectors) -> Self {
        Self {
            vectors: given.vectors.iter().map(|vector| to_base64(vector)).collect(),
            ..Self::empty(given.usage.as_ref())
        }
    }

    fn into_vectors(self) -> Option<Vectors> {
        Some(Vectors {
            vectors: self
                .vectors
                .iter()
                .map(|text| from_base64(text))
                .collect::<Option<_>>()?,
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    fn scored(scored: &Scored) -> Self {
        let tokens = scored.tokens.iter();
        Self {
            tokens: tokens
                .map(|token| (token.text.clone(), Exact(token.log_probability)))
                .collect(),
            ..Self::empty(scored.usage.as_ref())
        }
    }

    fn into_scored(self) -> Option<Scored> {
        let token = |(text, Exact(log_probability))| TokenScore {
            text,
            log_probability,
        };
        Some(Scored {
            tokens: self.tokens.into_iter().map(token).collect(),
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    fn hidden(states: &HiddenStates) -> Self {
        Self {
            vectors: vec![to_base64(&states.values)],
            dimensions: Some(states.dimensions),
            ..Self::empty(states.usage.as_ref())
        }
    }

    fn into_hidden(self) -> Option<HiddenStates> {
        Some(HiddenStates {
            dimensions: self.dimensions?,
            values: from_base64(self.vectors.first()?)?,
            usage: self.usage.map(SpelledUsage::into_usage),
        })
    }

    fn entailment(given: &Entailment) -> Self {
        Self {
            probabilities: Some([given.entailed, given.neutral, given.contradicted].map(Exact)),
            ..Self::empty(given.usage.as_ref())
        }
    }

    fn into_entailment(self) -> Option<Entailment> {
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
