//! A file of calls and their replies: made once with a real model, replayed byte for byte without it.
//!
//! A call is known by the SHA-256 of all that is sent (`key`), its model included and its purpose not; the same call
//! made again gets the next reply recorded for it. What was not recorded is an error and never a guess. Replies are
//! kept as the backend gave them (`spelling`), whole or cut off; a call that failed leaves no line, and neither does half
//! a write (`tape`).
//!
//! One JSON object a line: `{"v": 1, "key", "model", "ability", "reply": {...}}`. It holds replies, and neither
//! prompts nor keys.

mod key;
mod spelling;
mod tape;

use crate::backend::{Attempt, Backend, EncodeCall, Given, Vectors};
use crate::call::Served;
use crate::pace::Pace;
use key::{attention_key, chat_key, entail_key, hidden_key, score_key, texts_key};
use memwarden_core::model::{
    Ability, AttentionCall, AttentionWeights, ChatCall, EntailCall, Entailment, HiddenCall, HiddenStates,
    ModelError, Reply, ScoreCall, Scored,
};
use serde::{Deserialize, Serialize};
use spelling::Spelled;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tape::Tape;

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
    tape: Mutex<Tape>,
}

impl Recorder {
    pub(crate) fn open(path: &Path, inner: Arc<dyn Backend>) -> Result<Self, CassetteError> {
        let tape = Tape::open(path).map_err(|source| CassetteError::File {
            path: path.to_owned(),
            source,
        })?;
        let tape = Mutex::new(tape);
        Ok(Self { inner, tape })
    }

    /// The attempt as it was, or an error if its reply could not be written down.
    fn keep<T: Given>(
        &self,
        ability: Ability,
        key: String,
        attempt: Attempt<T>,
        spell: impl FnOnce(&T) -> Spelled,
    ) -> Attempt<T> {
        let spent = match &attempt.result {
            Ok(given) => given.usage().cloned(),
            Err(_) => attempt.spent,
        };
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
        Attempt {
            result,
            spent,
            ..attempt
        }
    }

    fn write(&self, line: &Line) -> Result<(), ModelError> {
        let unrecorded = |reason: String| ModelError::Unrecorded {
            model: self.inner.model().to_owned(),
            reason,
        };
        let text = serde_json::to_string(line).map_err(|error| unrecorded(error.to_string()))? + "\n";
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.append(&text)
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

    fn attend(&self, call: &AttentionCall<'_>, pace: &dyn Pace) -> Attempt<AttentionWeights> {
        let key = attention_key(self.model(), call);
        self.keep(
            Ability::Attention,
            key,
            self.inner.attend(call, pace),
            Spelled::attention,
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

    fn attend(&self, call: &AttentionCall<'_>, pace: &dyn Pace) -> Attempt<AttentionWeights> {
        let key = attention_key(&self.model, call);
        self.play(
            Ability::Attention,
            call.purpose.as_str(),
            &key,
            pace,
            Spelled::into_attention,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u32,
    key: String,
    model: String,
    ability: String,
    reply: Spelled,
}
