//! The one way to a model: asks, checks that the reply is whole, and enters the call before the reply is handed over.
//!
//! A reply that was cut off, is empty or fails its schema was paid for and is entered as what it is; it is asked for
//! again a bounded number of times, each time as a call of its own.

use crate::backend::{Attempt, Backend, EncodeCall, Vectors};
use crate::call::{Call, Outcome, Served};
use crate::cassette::{CassetteError, Recorder, Replayer};
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::foreign::{ForeignChat, ForeignEntail, ForeignHidden, ForeignScore};
use crate::meter::Meter;
use crate::pace::{Pace, SystemPace};
use crate::schema::Schema;
use crate::simulated::{Knowledge, SimulatedModel};
use crate::tokens::{Counted, TOKENS_PER_MESSAGE, TOKENS_PER_REPLY, TokenCount};
use memwarden_core::encode::{Embedding, Encode, EncodeError};
use memwarden_core::model::{
    Ability, Attend, AttentionCall, AttentionWeights, Cell, Chat, ChatCall, Entail, EntailCall, Entailment,
    Finish, Hidden, HiddenCall, HiddenStates, ModelError, Purpose, Reply, ReplyShape, Score, ScoreCall,
    Scored, TokenLogprobs, Usage,
};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often a reply that is not whole is asked for again, unless [`Metered::with_reply_retries`] says otherwise:
/// once, as "The Price of Safety" (arXiv 2609.22818) does in extraction.
pub const REPLY_RETRIES: u32 = 1;

/// A model whose every call is entered in a meter. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metered {
    backend: Arc<dyn Backend>,
    meter: Arc<Meter>,
    cell: Option<Cell>,
    reply_retries: u32,
    pace: Arc<dyn Pace>,
}

impl Metered {
    /// A model behind an OpenAI-compatible endpoint.
    #[must_use]
    pub fn endpoint(config: EndpointConfig, meter: Arc<Meter>) -> Self {
        Self::of(Arc::new(Endpoint::new(config)), meter)
    }

    /// The rule-based stand-in; `seed` decides what chance decides. Its calls are entered as simulated.
    ///
    /// # Errors
    /// Its rule, a file of this crate, cannot be read.
    pub fn simulated(seed: u64, meter: Arc<Meter>) -> Result<Self, ModelError> {
        Ok(Self::of(Arc::new(SimulatedModel::new(seed)?), meter))
    }

    /// [`Metered::simulated`], for which some questions with options are nothing new.
    ///
    /// # Errors
    /// Its rule, a file of this crate, cannot be read.
    pub fn simulated_knowing(
        seed: u64,
        knowledge: Arc<Knowledge>,
        meter: Arc<Meter>,
    ) -> Result<Self, ModelError> {
        Ok(Self::of(
            Arc::new(SimulatedModel::knowing(seed, knowledge)?),
            meter,
        ))
    }

    /// The stand-in with another `b`, the doubt with which it meets claims; a measurement sweeps it.
    ///
    /// # Errors
    /// Its rule cannot be read.
    pub fn simulated_with_doubt(seed: u64, doubt: f64, meter: Arc<Meter>) -> Result<Self, ModelError> {
        let model = SimulatedModel::new(seed)?.doubting(doubt);
        Ok(Self::of(Arc::new(model), meter))
    }

    /// Replays what [`Metered::recording_to`] has recorded of `model`; what was not recorded is an error.
    ///
    /// # Errors
    /// The file cannot be read, or is no cassette.
    pub fn cassette(path: &Path, model: &str, meter: Arc<Meter>) -> Result<Self, CassetteError> {
        Ok(Self::of(Arc::new(Replayer::open(path, model)?), meter))
    }

    /// A chat that is brought along.
    #[must_use]
    pub fn foreign(chat: Box<dyn Chat>, meter: Arc<Meter>) -> Self {
        let served = Served::Live;
        Self::of(Arc::new(ForeignChat { chat, served }), meter)
    }

    /// A model that scores and is brought along.
    #[must_use]
    pub fn foreign_score(score: Box<dyn Score>, meter: Arc<Meter>) -> Self {
        Self::of(Arc::new(ForeignScore(score)), meter)
    }

    /// A model that shows its states and is brought along.
    #[must_use]
    pub fn foreign_hidden(hidden: Box<dyn Hidden>, meter: Arc<Meter>) -> Self {
        Self::of(Arc::new(ForeignHidden(hidden)), meter)
    }

    /// A model that compares statements and is brought along.
    #[must_use]
    pub fn foreign_entail(entail: Box<dyn Entail>, meter: Arc<Meter>) -> Self {
        Self::of(Arc::new(ForeignEntail(entail)), meter)
    }

    /// A rule-based stand-in that is brought along; its calls are entered as simulated.
    #[must_use]
    pub fn stand_in(chat: Box<dyn Chat>, meter: Arc<Meter>) -> Self {
        let served = Served::Simulated;
        Self::of(Arc::new(ForeignChat { chat, served }), meter)
    }

    /// A language model whose file lies on this machine. A reply of it that is not whole is not asked for again: it
    /// would be the same.
    #[cfg(feature = "local")]
    #[must_use]
    pub fn local(model: crate::LanguageModel, meter: Arc<Meter>) -> Self {
        Self::of(Arc::new(model), meter).with_reply_retries(0)
    }

    pub(crate) fn of(backend: Arc<dyn Backend>, meter: Arc<Meter>) -> Self {
        Self {
            backend,
            meter,
            cell: None,
            reply_retries: REPLY_RETRIES,
            pace: Arc::new(SystemPace),
        }
    }

    /// The same model, whose replies are also appended to a cassette.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn recording_to(mut self, path: &Path) -> Result<Self, CassetteError> {
        self.backend = Arc::new(Recorder::open(path, self.backend)?);
        Ok(self)
    }

    /// The same model, whose calls are entered under a cell.
    #[must_use]
    pub fn for_cell(&self, cell: Cell) -> Self {
        Self {
            cell: Some(cell),
            ..self.clone()
        }
    }

    /// The same model; a reply that is not whole is asked for again up to `retries` times.
    #[must_use]
    pub fn with_reply_retries(mut self, retries: u32) -> Self {
        self.reply_retries = retries;
        self
    }

    /// The same model under another clock.
    #[must_use]
    pub fn with_pace(mut self, pace: Arc<dyn Pace>) -> Self {
        self.pace = pace;
        self
    }

    /// Its vectors of `dimensions` components, each text spent on `purpose`.
    #[must_use]
    pub fn encoder(&self, purpose: Purpose, dimensions: usize) -> MeteredEncoder {
        self.encoder_named(
            format!("{}/{dimensions}", self.backend.model()),
            purpose,
            dimensions,
        )
    }

    pub(crate) fn encoder_named(&self, name: String, purpose: Purpose, dimensions: usize) -> MeteredEncoder {
        MeteredEncoder {
            name,
            dimensions,
            purpose,
            model: self.clone(),
        }
    }

    /// Where its calls are entered.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The same model for a program that hands its replies on.
    #[must_use]
    pub fn passing_on(&self) -> PassingOn {
        PassingOn(self.clone())
    }

    fn schema(&self, call: &ChatCall<'_>) -> Result<Option<Schema>, ModelError> {
        match call.shape {
            ReplyShape::Text => Ok(None),
            ReplyShape::Json { schema, .. } => match Schema::parse(schema) {
                Ok(schema) => Ok(Some(schema)),
                Err(reason) => Err(ModelError::Call {
                    model: self.backend.model().to_owned(),
                    reason,
                }),
            },
        }
    }

    fn chat_one(&self, call: &ChatCall<'_>) -> Result<Reply, ModelError> {
        let schema = self.schema(call)?;
        let mut left = self.reply_retries;
        loop {
            let result = self.chat_once(call, schema.as_ref(), |_| ());
            match &result {
                Err(ModelError::Truncated { .. } | ModelError::Empty { .. } | ModelError::Schema { .. })
                    if left > 0 =>
                {
                    left -= 1
                }
                _ => return result,
            }
        }
    }

    /// One request; `came` gets the reply before it is known to be whole.
    fn chat_once(
        &self,
        call: &ChatCall<'_>,
        schema: Option<&Schema>,
        came: impl FnOnce(&Reply),
    ) -> Result<Reply, ModelError> {
        let mut entry = self.begin(Ability::Chat, call.purpose)?;
        let mut attempt = self.backend.chat(call, self.pace.as_ref());
        if let Ok(reply) = &mut attempt.result {
            if reply.usage.is_none() {
                reply.usage = self.count_chat(call, &reply.text);
            }
            entry.usage.clone_from(&reply.usage);
            entry.finish = Some(reply.finish.clone());
            came(reply);
        }
        attempt.result = attempt.result.and_then(|reply| self.whole(call, schema, reply));
        self.enter(entry, attempt)
    }

    /// The reply, if it is one.
    fn whole(&self, call: &ChatCall<'_>, schema: Option<&Schema>, reply: Reply) -> Result<Reply, ModelError> {
        let model = || self.backend.model().to_owned();
        match &reply.finish {
            Finish::Stop => {}
            Finish::Length => {
                return Err(ModelError::Truncated {
                    model: model(),
                    max_tokens: call.max_tokens.get(),
                });
            }
            finish => {
                return Err(ModelError::Withheld {
                    model: model(),
                    finish: crate::endpoint::short(finish.as_str()),
                });
            }
        }
        if reply.text.trim().is_empty() {
            return Err(ModelError::Empty { model: model() });
        }
        if let Some(Err(reason)) = schema.map(|schema| schema.check(&reply.text)) {
            return Err(ModelError::Schema {
                model: model(),
                reason,
            });
        }
        if call.logprobs == TokenLogprobs::Need && reply.tokens.is_empty() {
            return Err(ModelError::Unsupported {
                model: model(),
                ability: Ability::Logprobs,
            });
        }
        Ok(reply)
    }

    fn count_chat(&self, call: &ChatCall<'_>, reply: &str) -> Option<Usage> {
        let mut count = TokenCount::of(self.backend.model(), Counted::Reply)?;
        count.prompt_tokens(TOKENS_PER_REPLY);
        for message in call.messages {
            count.prompt_tokens(TOKENS_PER_MESSAGE);
            count.prompt(message.speaker.as_str());
            count.prompt(&message.text);
        }
        count.completion(reply);
        count.usage()
    }

    fn count_texts(&self, texts: &[&str]) -> Option<Usage> {
        let mut count = TokenCount::of(self.backend.model(), Counted::Texts)?;
        texts.iter().for_each(|text| count.prompt(text));
        count.usage()
    }

    /// The entry of a call that may be made: one that could not be entered is not.
    fn begin(&self, ability: Ability, purpose: &Purpose) -> Result<Call, ModelError> {
        let ready = self.meter.ready();
        ready.map_err(|error| ModelError::Unrecorded {
            model: self.backend.model().to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Call {
            at: self.pace.now(),
            ability,
            purpose: purpose.clone(),
            model: self.backend.model().to_owned(),
            cell: self.cell.clone(),
            served: self.backend.served(),
            outcome: Outcome::Whole,
            status: None,
            finish: None,
            usage: None,
            retries: 0,
            unsettled: 0,
            waiting: std::time::Duration::ZERO,
            serving: std::time::Duration::ZERO,
        })
    }

    fn enter<T>(&self, mut entry: Call, attempt: Attempt<T>) -> Result<T, ModelError> {
        entry.status = attempt.status;
        entry.retries = attempt.retries;
        entry.unsettled = attempt.unsettled;
        entry.usage = entry.usage.or(attempt.spent);
        entry.waiting = attempt.waiting;
        entry.serving = attempt.serving;
        if let Err(error) = &attempt.result {
            entry.outcome = Outcome::Failed(error.name().to_owned());
        }
        self.meter
            .record(&entry)
            .map_err(|error| ModelError::Unrecorded {
                model: entry.model,
                reason: error.to_string(),
            })?;
        attempt.result
    }

    /// A call about given texts: entered with the tokens that the model counted, or that we count.
    fn weigh<T>(
        &self,
        ability: Ability,
        purpose: &Purpose,
        texts: &[&str],
        ask: impl FnOnce() -> Attempt<T>,
        usage: impl FnOnce(&mut T) -> &mut Option<Usage>,
    ) -> Result<T, ModelError> {
        let mut entry = self.begin(ability, purpose)?;
        let mut attempt = ask();
        if let Ok(given) = &mut attempt.result {
            let usage = usage(given);
            if usage.is_none() {
                *usage = self.count_texts(texts);
            }
            entry.usage.clone_from(usage);
        }
        self.enter(entry, attempt)
    }

    fn embed(&self, purpose: &Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let call = EncodeCall { purpose, texts };
        let ask = || self.backend.embed(&call, self.pace.as_ref());
        self.weigh(Ability::Encode, purpose, texts, ask, |given| &mut given.usage)
    }

    /// One result for each call, in order, as many at once as the backend takes.
    fn each<C: Sync, T: Send>(
        &self,
        calls: &[C],
        ask: impl Fn(&C) -> Result<T, ModelError> + Sync,
    ) -> Vec<Result<T, ModelError>> {
        let workers = self.backend.at_once().get().min(calls.len());
        if workers <= 1 {
            return calls.iter().map(ask).collect();
        }
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Result<T, ModelError>>>> =
            calls.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(call), Some(place)) = (calls.get(index), results.get(index)) else {
                            return;
                        };
                        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(ask(call));
                    }
                });
            }
        });
        let missing = || ModelError::Failed {
            model: self.backend.model().to_owned(),
            reason: "the call was not made".to_owned(),
        };
        results
            .into_iter()
            .map(|place| {
                let result = place.into_inner().unwrap_or_else(PoisonError::into_inner);
                result.unwrap_or_else(|| Err(missing()))
            })
            .collect()
    }

    /// Where its replies come from; what a simulated model answers is labeled so wherever it is reported.
    #[must_use]
    pub fn served(&self) -> Served {
        self.backend.served()
    }
}

impl Chat for Metered {
    fn model(&self) -> &str {
        self.backend.model()
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        self.each(calls, |call| self.chat_one(call))
    }
}

impl Score for Metered {
    fn model(&self) -> &str {
        self.backend.model()
    }

    fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>> {
        self.each(calls, |call| {
            let conversation = call.conversation.iter().map(|message| message.text.as_str());
            let texts: Vec<&str> = conversation.chain([call.prefix, call.continuation]).collect();
            let ask = || self.backend.score(call, self.pace.as_ref());
            self.weigh(Ability::Score, call.purpose, &texts, ask, |given| {
                &mut given.usage
            })
        })
    }
}

impl Hidden for Metered {
    fn model(&self) -> &str {
        self.backend.model()
    }

    fn hidden(&self, calls: &[HiddenCall<'_>]) -> Vec<Result<HiddenStates, ModelError>> {
        self.each(calls, |call| {
            let ask = || self.backend.hidden(call, self.pace.as_ref());
            self.weigh(Ability::Hidden, call.purpose, &[call.text], ask, |given| {
                &mut given.usage
            })
        })
    }
}

impl Attend for Metered {
    fn model(&self) -> &str {
        self.backend.model()
    }

    fn attend(&self, calls: &[AttentionCall<'_>]) -> Vec<Result<AttentionWeights, ModelError>> {
        self.each(calls, |call| {
            let ask = || self.backend.attend(call, self.pace.as_ref());
            self.weigh(Ability::Attention, call.purpose, &[call.text], ask, |given| {
                &mut given.usage
            })
        })
    }
}

impl Entail for Metered {
    fn model(&self) -> &str {
        self.backend.model()
    }

    fn entail(&self, calls: &[EntailCall<'_>]) -> Vec<Result<Entailment, ModelError>> {
        self.each(calls, |call| {
            let texts = [call.premise, call.hypothesis];
            let ask = || self.backend.entail(call, self.pace.as_ref());
            self.weigh(Ability::Entail, call.purpose, &texts, ask, |given| {
                &mut given.usage
            })
        })
    }
}

/// A model whose replies are handed on to somebody else, who sees why they ended: one that was cut off, is empty or has
/// another shape is entered as what it is, and comes as it came. It is not asked for again.
#[derive(Debug, Clone)]
pub struct PassingOn(Metered);

impl Chat for PassingOn {
    fn model(&self) -> &str {
        self.0.backend.model()
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        self.0.each(calls, |call| {
            let schema = self.0.schema(call)?;
            let mut came = None;
            let entered = self
                .0
                .chat_once(call, schema.as_ref(), |reply| came = Some(reply.clone()));
            match (entered, came) {
                (Err(error), Some(reply)) if error.is_about_the_reply() => Ok(reply),
                (entered, _) => entered,
            }
        })
    }
}

/// A model's vectors, for one purpose.
#[derive(Debug, Clone)]
pub struct MeteredEncoder {
    model: Metered,
    name: String,
    purpose: Purpose,
    dimensions: usize,
}

impl Encode for MeteredEncoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        let vectors = self.vectors(texts)?;
        vectors.iter().map(|vector| Embedding::quantize(vector)).collect()
    }

    fn encode_query(&self, text: &str) -> Result<Vec<f32>, EncodeError> {
        Ok(self.vectors(&[text])?.pop().unwrap_or_default())
    }
}

impl MeteredEncoder {
    /// As the model gave them, if there is one for each text and each has the dimensions that it should.
    fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EncodeError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |reason: String| EncodeError::Failed {
            encoder: self.name.clone(),
            reason,
        };
        let given = self
            .model
            .embed(&self.purpose, texts)
            .map_err(|error| failed(error.to_string()))?;
        if given.vectors.len() != texts.len() {
            return Err(failed(format!(
                "{} vectors for {} texts",
                given.vectors.len(),
                texts.len()
            )));
        }
        for vector in &given.vectors {
            if vector.len() != self.dimensions {
                return Err(failed(format!(
                    "a vector of {} components, expected {}",
                    vector.len(),
                    self.dimensions
                )));
            }
            if let Some(index) = vector.iter().position(|component| !component.is_finite()) {
                return Err(EncodeError::NotFinite { index });
            }
        }
        Ok(given.vectors)
    }
}
