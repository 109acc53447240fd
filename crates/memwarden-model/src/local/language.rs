//! A language model from a GGUF file: answers, weighs continuations, shows its states and its attention.
//!
//! Its weights come into memory when they are first needed: 32-bit floats to weigh and to show, eight bits to answer.
//! One call at a time goes through; the tensor library uses every core for it.

use super::files::FileError;
use super::gguf::{Gguf, shown};
use super::grammar::Grammar;
use super::llama::{BLOCK, Cache, Llama, Precision, Shape, Watch};
use super::sampling::Sampler;
use super::template::Template;
use super::vocabulary::Vocabulary;
use crate::backend::{Attempt, Backend};
use crate::pace::Pace;
use crate::schema::Schema;
use candle_core::Tensor;
use memwarden_core::Digest;
use memwarden_core::model::{
    Ability, AttentionCall, AttentionWeights, ChatCall, Finish, HiddenCall, HiddenStates, Message,
    ModelError, Reply, ReplyShape, ReplyToken, ScoreCall, Scored, TokenLogprobs, TokenScore, Usage,
    UsageSource,
};
use rayon::prelude::*;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The most weights that are shown at once, 256 MiB of them: they grow with the square of a text.
const MOST_WEIGHTS: usize = 1 << 26;

/// A language model on this machine. [`Metered::local`](crate::Metered::local) is the way to ask it.
#[derive(Debug)]
pub struct LanguageModel {
    name: String,
    file: Gguf,
    shape: Shape,
    vocabulary: Vocabulary,
    template: Option<Template>,
    full: Mutex<Option<Engine>>,
    eight: Mutex<Option<Engine>>,
}

/// Weights, and what they saw last.
#[derive(Debug)]
struct Engine {
    llama: Llama,
    cache: Cache,
}

impl LanguageModel {
    /// Reads a GGUF file of architecture `llama` with a byte-level tokenizer. Its name is the file's without `.gguf`.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is of another architecture; or its tokenizer or chat template cannot
    /// be used.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::from_gguf(Gguf::open(path)?)
    }

    /// From a file that has been read.
    ///
    /// # Errors
    /// As [`LanguageModel::open`].
    pub fn from_gguf(file: Gguf) -> Result<Self, FileError> {
        const TEMPLATE: &str = "tokenizer.chat_template";
        let shape = Shape::read(&file)?;
        let vocabulary = Vocabulary::read(&file, shape.vocabulary)?;
        let template = match file.says(TEMPLATE) {
            false => None,
            true => {
                let control = |key| vocabulary.control(&file, key).unwrap_or_default();
                let (first, last) = (
                    control("tokenizer.ggml.bos_token_id"),
                    control("tokenizer.ggml.eos_token_id"),
                );
                let template = Template::new(file.text(TEMPLATE)?, first, last);
                Some(template.map_err(|reason| file.lies(TEMPLATE, &shown(&reason)))?)
            }
        };
        let name = file
            .path()
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            name: name.unwrap_or_default(),
            file,
            shape,
            vocabulary,
            template,
            full: Mutex::new(None),
            eight: Mutex::new(None),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its blocks; states are there for one layer more.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.shape.blocks
    }

    /// Components of its states.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.shape.width
    }

    /// The most tokens of a prompt and its reply together.
    #[must_use]
    pub const fn context(&self) -> usize {
        self.shape.context
    }

    /// Numbers that it was trained to.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.file.parameters()
    }

    /// Of its file: a name says nothing of what is in it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.file.digest()
    }

    /// Asks the weights of one precision, which come into memory at the first time.
    fn ask<T: Send>(
        &self,
        precision: Precision,
        ask: impl FnOnce(&mut Engine) -> Result<T, ModelError> + Send,
    ) -> Result<T, ModelError> {
        let place = match precision {
            Precision::Full => &self.full,
            Precision::Eight => &self.eight,
        };
        let mut place = place.lock().unwrap_or_else(|poisoned| {
            // What a thread left behind when it broke off may be half of a pass.
            let mut engine = PoisonError::into_inner(poisoned);
            *engine = None;
            engine
        });
        let engine = match place.as_mut() {
            Some(engine) => engine,
            None => place.insert(Engine {
                llama: Llama::load(&self.file, &self.shape, precision)
                    .map_err(|error| self.failed(&error))?,
                cache: Cache::default(),
            }),
        };
        // One of the cores' own threads asks, so that the hundreds of steps of a pass need not be handed over one by one.
        let given = rayon::scope(|_| ask(engine));
        if given.is_err() {
            engine.cache = Cache::default();
        }
        given
    }

    /// Sends tokens through; `each` gets the states of a pass and the position of the first, from the pass on that
    /// holds position `needed`.
    fn feed(
        &self,
        engine: &mut Engine,
        tokens: &[u32],
        needed: usize,
        watch: &mut Watch,
        mut each: impl FnMut(&Llama, usize, &Tensor) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let mut from = engine.cache.keep(tokens, needed);
        while let Some(rest) = tokens.get(from..).filter(|rest| !rest.is_empty()) {
            let pass = rest.get(..BLOCK).unwrap_or(rest);
            let states = engine.llama.step(&mut engine.cache, pass, watch);
            let states = states.map_err(|error| self.failed(&error))?;
            if from + pass.len() > needed {
                each(&engine.llama, from, &states)?;
            }
            from += pass.len();
        }
        Ok(())
    }

    /// The scores of what follows each of `rows` states from `skip` on.
    fn scores(
        &self,
        llama: &Llama,
        states: &Tensor,
        skip: usize,
        rows: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let scores = states
            .narrow(0, skip, rows)
            .and_then(|states| llama.scores(&states)?.to_vec2::<f32>());
        let scores = scores.map_err(|error| self.failed(&error))?;
        if scores.iter().flatten().any(|score| !score.is_finite()) {
            return Err(self.failed(&"its numbers are not finite"));
        }
        Ok(scores)
    }

    fn score_one(&self, call: &ScoreCall<'_>) -> Result<Scored, ModelError> {
        let mut tokens = if call.conversation.is_empty() {
            Vec::new()
        } else {
            self.prompt(call.conversation)?
        };
        tokens.extend(self.encode(call.prefix)?);
        if tokens.is_empty() {
            tokens.push(self.vocabulary.first());
        }
        let before = tokens.len();
        tokens.extend(self.encode(call.continuation)?);
        self.fits(tokens.len())?;
        let usage = usage(tokens.len(), 0);
        let weighed = tokens.split_off(before);
        // The last one is only weighed; nothing comes after it.
        tokens.extend(weighed.iter().take(weighed.len().saturating_sub(1)));
        let needed = before - 1;
        let mut scored = Vec::with_capacity(weighed.len());
        if !weighed.is_empty() {
            self.ask(Precision::Full, |engine| {
                self.feed(
                    engine,
                    &tokens,
                    needed,
                    &mut Watch::default(),
                    |llama, from, states| {
                        let rows = states.dim(0).map_err(|error| self.failed(&error))?;
                        let skip = needed.saturating_sub(from);
                        let rows = self.scores(llama, states, skip, rows - skip)?;
                        let targets = weighed.get(scored.len()..).unwrap_or_default();
                        let weighed = rows.par_iter().zip(targets).map(|(row, target)| TokenScore {
                            text: self.vocabulary.text(*target),
                            log_probability: log_probability(row, *target),
                        });
                        scored.extend(weighed.collect::<Vec<_>>());
                        Ok(())
                    },
                )
            })?;
        }
        Ok(Scored {
            tokens: scored,
            usage: Some(usage),
        })
    }

    fn hidden_one(&self, call: &HiddenCall<'_>) -> Result<HiddenStates, ModelError> {
        if call.layer > self.shape.blocks {
            let most = self.shape.blocks;
            return Err(self.refused(format!("there is no layer {}: expected 0 to {most}", call.layer)));
        }
        let mut watch = Watch {
            layer: Some(call.layer),
            ..Watch::default()
        };
        let given = self.encode(call.text)?;
        self.watched(&given, &mut watch)?;
        Ok(HiddenStates {
            dimensions: self.shape.width,
            values: watch.states,
            usage: Some(usage(given.len(), 0)),
        })
    }

    fn attend_one(&self, call: &AttentionCall<'_>) -> Result<AttentionWeights, ModelError> {
        if call.block >= self.shape.blocks {
            let most = self.shape.blocks - 1;
            return Err(self.refused(format!("there is no block {}: expected 0 to {most}", call.block)));
        }
        let mut watch = Watch {
            attention: Some(call.block),
            ..Watch::default()
        };
        let heads = self.shape.heads;
        let given = self.encode(call.text)?;
        let tokens = given.len();
        if tokens.saturating_mul(tokens).saturating_mul(heads) > MOST_WEIGHTS {
            let most = (MOST_WEIGHTS / heads.max(1)).isqrt();
            return Err(self.refused(format!("{tokens} tokens: attention is shown of at most {most}")));
        }
        self.watched(&given, &mut watch)?;
        let mut values = Vec::with_capacity(heads * tokens * tokens);
        for head in 0..heads {
            for (seen, weights) in &watch.weights {
                let rows = weights.len() / (seen * heads).max(1);
                for row in weights.chunks_exact((*seen).max(1)).skip(head * rows).take(rows) {
                    values.extend_from_slice(row);
                    values.resize(values.len() + tokens - seen, 0.0);
                }
            }
        }
        Ok(AttentionWeights {
            heads,
            tokens,
            values,
            usage: Some(usage(tokens, 0)),
        })
    }

    /// Sends a text through from its beginning.
    fn watched(&self, tokens: &[u32], watch: &mut Watch) -> Result<(), ModelError> {
        self.fits(tokens.len())?;
        self.ask(Precision::Full, |engine| {
            self.feed(engine, tokens, 0, watch, |_, _, _| Ok(()))
        })
    }

    fn chat_one(&self, call: &ChatCall<'_>) -> Result<Reply, ModelError> {
        if !(call.temperature.is_finite() && call.temperature >= 0.0) {
            return Err(self.refused(format!("temperature {}: expected 0 or more", call.temperature)));
        }
        let grammar = match call.shape {
            ReplyShape::Text => None,
            ReplyShape::Json { schema, .. } => {
                let schema = Schema::parse(schema);
                let grammar = schema.and_then(|schema| Grammar::new(schema.as_json()));
                Some(grammar.map_err(|reason| self.refused(reason))?)
            }
        };
        let prompt = self.prompt(call.messages)?;
        self.fits(prompt.len() + 1)?;
        self.ask(Precision::Eight, |engine| {
            let mut scores = Vec::new();
            let last = prompt.len() - 1;
            self.feed(
                engine,
                &prompt,
                last,
                &mut Watch::default(),
                |llama, from, states| {
                    scores = self
                        .scores(llama, states, last - from, 1)?
                        .pop()
                        .unwrap_or_default();
                    Ok(())
                },
            )?;
            self.say(engine, call, grammar.as_ref(), prompt.len(), scores)
        })
    }

    /// Token by token, until the reply is said or may not be longer.
    fn say(
        &self,
        engine: &mut Engine,
        call: &ChatCall<'_>,
        grammar: Option<&Grammar>,
        prompt: usize,
        mut scores: Vec<f32>,
    ) -> Result<Reply, ModelError> {
        let room = self.shape.context - prompt;
        let limit = room.min(usize::try_from(call.max_tokens.get()).unwrap_or(usize::MAX));
        let mut sampler = Sampler::new(call.temperature, call.seed);
        let mut state = grammar.map(Grammar::start);
        let (mut said, mut tokens) = (Vec::new(), Vec::new());
        let (mut finish, mut count) = (Finish::Length, 0);
        while count < limit {
            let may = |token: u32| {
                let bytes = self.vocabulary.bytes(token);
                match (grammar, &state) {
                    _ if self.vocabulary.is_end(token) => state.as_ref().is_none_or(|state| state.is_whole()),
                    (Some(grammar), Some(state)) => grammar.advance_all(state, bytes).is_some(),
                    _ => !bytes.is_empty(),
                }
            };
            let Some(token) = sampler.choose(&scores, may) else {
                return Err(self.failed(&"no token of it can come next"));
            };
            count += 1;
            if self.vocabulary.is_end(token) {
                finish = Finish::Stop;
                break;
            }
            let bytes = self.vocabulary.bytes(token);
            said.extend_from_slice(bytes);
            if call.logprobs == TokenLogprobs::Need {
                tokens.push(ReplyToken {
                    text: self.vocabulary.text(token),
                    log_probability: log_probability(&scores, token),
                });
            }
            if let (Some(grammar), Some(at)) = (grammar, &state) {
                state = grammar.advance_all(at, bytes);
                if state
                    .as_ref()
                    .is_some_and(|state| state.is_whole() && !state.can_go_on())
                {
                    finish = Finish::Stop;
                    break;
                }
            }
            if count < limit {
                let states = engine
                    .llama
                    .step(&mut engine.cache, &[token], &mut Watch::default());
                let states = states.map_err(|error| self.failed(&error))?;
                scores = self
                    .scores(&engine.llama, &states, 0, 1)?
                    .pop()
                    .unwrap_or_default();
            }
        }
        Ok(Reply {
            text: String::from_utf8_lossy(&said).into_owned(),
            finish,
            usage: Some(usage(prompt, count)),
            tokens,
        })
    }

    /// The conversation as tokens, ready for a reply. What messages say is text, whatever they spell out.
    fn prompt(&self, messages: &[Message]) -> Result<Vec<u32>, ModelError> {
        let Some(template) = &self.template else {
            return Err(ModelError::Unsupported {
                model: self.name.clone(),
                ability: Ability::Chat,
            });
        };
        let is_free = |mark: &char| messages.iter().all(|message| !message.text.contains(*mark));
        // Code points that are no characters (Unicode, section 23.7).
        let Some(mark) = ('\u{FDD0}'..='\u{FDEF}').find(is_free) else {
            return Err(self.refused("its messages hold all of U+FDD0 to U+FDEF".to_owned()));
        };
        let escaped: Vec<Message> = messages
            .iter()
            .map(|message| Message {
                speaker: message.speaker,
                text: self.vocabulary.escape(&message.text, mark),
            })
            .collect();
        let rendered = template.render(&escaped);
        let tokens = rendered.and_then(|rendered| self.vocabulary.encode_template(&rendered, mark));
        let tokens = tokens.map_err(|reason| self.refused(reason))?;
        if messages.is_empty() || tokens.is_empty() {
            return Err(self.refused("there is no message".to_owned()));
        }
        Ok(tokens)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        self.vocabulary
            .encode(text)
            .map_err(|reason| self.refused(reason))
    }

    fn fits(&self, tokens: usize) -> Result<(), ModelError> {
        let most = self.shape.context;
        if tokens > most {
            return Err(self.refused(format!("{tokens} tokens: it sees at most {most}")));
        }
        Ok(())
    }

    fn refused(&self, reason: String) -> ModelError {
        ModelError::Call {
            model: self.name.clone(),
            reason,
        }
    }

    fn failed(&self, reason: &dyn std::fmt::Display) -> ModelError {
        ModelError::Failed {
            model: self.name.clone(),
            reason: reason.to_string(),
        }
    }
}

impl Backend for LanguageModel {
    fn model(&self) -> &str {
        &self.name
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        Attempt::timed(pace, || self.chat_one(call))
    }

    fn score(&self, call: &ScoreCall<'_>, pace: &dyn Pace) -> Attempt<Scored> {
        Attempt::timed(pace, || self.score_one(call))
    }

    fn hidden(&self, call: &HiddenCall<'_>, pace: &dyn Pace) -> Attempt<HiddenStates> {
        Attempt::timed(pace, || self.hidden_one(call))
    }

    fn attend(&self, call: &AttentionCall<'_>, pace: &dyn Pace) -> Attempt<AttentionWeights> {
        Attempt::timed(pace, || self.attend_one(call))
    }
}

/// The tokens are those that went through, so the count is the model's own.
fn usage(prompt: usize, completion: usize) -> Usage {
    Usage {
        prompt: prompt as u64,
        completion: completion as u64,
        source: UsageSource::Provider,
    }
}

/// ln softmax(scores)[token], added up in doubles.
fn log_probability(scores: &[f32], token: u32) -> f64 {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|score| f64::from(score - most).exp()).sum();
    let score = scores.get(token as usize).copied().unwrap_or(f32::NEG_INFINITY);
    (f64::from(score) - f64::from(most) - sum.ln()).min(0.0)
}
