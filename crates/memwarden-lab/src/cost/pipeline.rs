//! One cell: ingest, write, answer, grade, in a store of its own.
//!
//! The pipeline is that of arXiv 2609.22818 §3.1 and §4: an extractor for each turn, the condition's write stages, at most
//! three candidates for a question without a threshold, its read stages, one prompt form for every condition. A reply
//! that is cut off or does not parse is counted, asked for once more, and then stores nothing.

use super::conditions::{ANSWER_ACTION, Condition};
use super::grade::{self, Answered};
use super::model::Model;
use super::plan::{Grading, Limits, Replies};
use super::record::{Asked, CellResult, Extraction, KeptOut, Spent, StageCount};
use crate::experiment::model::check_heard;
use crate::experiment::prompt::list;
use crate::experiment::{ExperimentError, Prompt};
use crate::locomo::{Aligned, Question, Turn};
use memwarden::core::encode::Encode;
use memwarden::guard::{Phase, TURNS_BEFORE};
use memwarden::model::By;
use memwarden::{
    Adjudication, Authority, Clock, Durability, Entry, Handle, Namespace, Options, Places, Query, RecordId,
    Role, Status, Tap, Verdict, Warden, WriteOptions,
};
use memwarden_core::model::{Chat, ChatCall, Message, Purpose, ReplyShape};
use memwarden_core::{ParamValue, Params, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How many memories are retrieved for a question: from the paper's own cells, at most three were judged.
pub const CANDIDATES: usize = 3;
/// How often a model is asked for a reply that is one.
pub(super) const TRIES: u64 = 2;
/// How many turns before the last one an extractor is shown. Our reading.
const SHOWN_BEFORE: usize = 2;
/// From which share of lost turns a cell is degraded.
const DEGRADED_ABOVE: f64 = 0.01;

/// The extractor's prompt.
pub const EXTRACT: Prompt = Prompt {
    name: "extract-v1",
    form: include_str!("../../prompts/extract-v1.txt"),
};
/// The extractor's prompt for [`Replies::Json`].
pub const EXTRACT_JSON: Prompt = Prompt {
    name: "extract-json-v1",
    form: include_str!("../../prompts/extract-json-v1.txt"),
};
/// What its reply must look like.
const MEMORY_SHAPE: ReplyShape<'static> = ReplyShape::Json {
    name: "memory",
    schema: MEMORY,
};
const MEMORY: &str = r#"{"type": "object", "properties": {"memory": {"type": "string"}}, "required": ["memory"],
"additionalProperties": false}"#;
/// The answering prompt, the same for every condition.
pub const ANSWER: Prompt = Prompt {
    name: "answer-v1",
    form: include_str!("../../prompts/answer-v1.txt"),
};

/// The extractor's prompt for a form of replies.
#[must_use]
pub const fn extracting(replies: Replies) -> Prompt {
    match replies {
        Replies::Text => EXTRACT,
        Replies::Json => EXTRACT_JSON,
    }
}

/// What a cell is given.
#[derive(Debug)]
pub struct Work<'a> {
    /// The defense.
    pub condition: &'a Condition,
    /// The dialogue.
    pub dialogue: &'a Aligned,
    /// The namespace, of this cell alone.
    pub namespace: Namespace,
    /// What extracts, answers and judges for the defense. Its replies must not be asked for twice by itself.
    pub model: Model,
    /// What grades core answers; none under [`Grading::ExactOrF1`].
    pub judge: Option<Model>,
    /// How core answers are graded.
    pub grading: Grading,
    /// How replies that must be read are asked for.
    pub replies: Replies,
    /// Most tokens of a reply.
    pub limits: Limits,
    /// What turns memories into vectors.
    pub encoder: Arc<dyn Encode>,
}

/// Runs a cell. `scratch` must be empty: a store that is there already would be another cell's.
///
/// # Errors
/// A store that fails, a directory that is not empty, a model or judge that cannot be reached.
pub fn run(work: &Work<'_>, scratch: &Path) -> Result<CellResult, ExperimentError> {
    let is_taken = std::fs::read_dir(scratch)
        .map_err(|error| ExperimentError::path(scratch, &error))?
        .next()
        .is_some();
    if is_taken {
        return Err(ExperimentError::path(
            scratch,
            &"it is not empty: a cell shares its store with no other",
        ));
    }
    let mut cell = Cell::open(work, scratch)?;
    cell.ingest()?;
    let questions = cell.answer()?;
    cell.finish(questions)
}

/// A clock that stands still: no time is in a record, and none must decide anything.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_767_225_600_000_000)
    }

    fn running(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

/// What the tap has collected and nobody has taken yet.
type Told = Arc<Mutex<Vec<Adjudication>>>;

struct Cell<'a> {
    work: &'a Work<'a>,
    agent: Handle,
    told: Told,
    extraction: Extraction,
    numbers: BTreeMap<RecordId, u64>,
    extracted: u64,
    stored: u64,
    marked: u64,
    counts: Vec<StageCount>,
    kept_out: Vec<KeptOut>,
    gate: BTreeMap<String, u64>,
}

impl<'a> Cell<'a> {
    fn open(work: &'a Work<'a>, scratch: &Path) -> Result<Self, ExperimentError> {
        let at = |name: &str| scratch.join(name);
        let places = Places::within(at("store"), at("keys"), at("witness"));
        let made = Warden::init_at(&places, &work.condition.policy, Still.now())?;
        let told: Told = Arc::default();
        let heard = Arc::clone(&told);
        let tap = move |adjudication: &Adjudication| {
            heard
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(adjudication.clone());
        };
        let chat: Arc<dyn Chat> = Arc::new(work.model.clone());
        let options = Options {
            clock: Arc::new(Still),
            encoder: Some(Arc::clone(&work.encoder)),
            durability: Durability::Unsynced,
            chats: BTreeMap::from([(memwarden::guard::DEFAULT_MODEL.to_owned(), chat)]),
            tap: Some(Tap(Arc::new(tap))),
            ..Options::default()
        };
        let warden = Warden::open_with(&places, &options)?;
        let counts = work.condition.deciding.iter().flat_map(|deciding| {
            let count = |phase: Phase| StageCount {
                stage: deciding.shown.clone(),
                phase: phase.as_str().to_owned(),
                adjudicated: 0,
                kept_out: 0,
                distinct: 0,
                failed: BTreeMap::new(),
            };
            let runs = |phase: &Phase| phase.stages(&work.condition.policy).contains(&deciding.stage);
            [Phase::Write, Phase::Read].into_iter().filter(runs).map(count)
        });
        Ok(Self {
            agent: warden.handle(&made.credential(Role::Agent)?)?,
            counts: counts.collect(),
            work,
            told,
            extraction: Extraction::default(),
            numbers: BTreeMap::new(),
            extracted: 0,
            stored: 0,
            marked: 0,
            kept_out: Vec::new(),
            gate: BTreeMap::new(),
        })
    }

    fn ingest(&mut self) -> Result<(), ExperimentError> {
        let turns = &self.work.dialogue.turns;
        let lines: Vec<String> = turns.iter().map(Turn::line).collect();
        for (at, turn) in turns.iter().enumerate() {
            self.extraction.turns += 1;
            let before = lines.get(at.saturating_sub(SHOWN_BEFORE)..at).unwrap_or_default();
            let memories = self.extract(turn, before)?;
            let from = at.saturating_sub(TURNS_BEFORE);
            let said = lines.get(from..=at).unwrap_or_default();
            for memory in memories {
                self.write(memory, said)?;
            }
        }
        let lost = self.extraction.lost_turns;
        #[expect(clippy::cast_precision_loss, reason = "turns are few")]
        let share = lost as f64 / self.extraction.turns.max(1) as f64;
        self.extraction.degraded = share > DEGRADED_ABOVE;
        Ok(())
    }

    /// The memories of a turn; none where both replies are no extraction.
    fn extract(&mut self, turn: &Turn, before: &[String]) -> Result<Vec<String>, ExperimentError> {
        let line = list([turn.line().as_str()]);
        let line = ("turn", line.trim_start_matches("- "));
        let messages = match self.work.replies {
            Replies::Text => EXTRACT.fill(&[
                ("date", &one_line(&turn.when)),
                ("before", &list(before.iter().map(String::as_str))),
                line,
            ]),
            // A small model mixes up what stands around the turn with the turn.
            Replies::Json => EXTRACT_JSON.fill(&[line]),
        }?;
        for attempt in 0..TRIES {
            self.extraction.replies += 1;
            let shape = match self.work.replies {
                Replies::Text => ReplyShape::Text,
                Replies::Json => MEMORY_SHAPE,
            };
            let limit = self.work.limits.extract;
            let failed = match self.ask("extract", &messages, shape, limit, attempt)? {
                Ok(text) => match memories(&text, self.work.replies) {
                    Some(memories) => {
                        self.extraction.parsed += 1;
                        return Ok(memories);
                    }
                    None => "unparsable".to_owned(),
                },
                Err(name) => name,
            };
            *self.extraction.failed.entry(failed).or_default() += 1;
        }
        self.extraction.lost_turns += 1;
        Ok(Vec::new())
    }

    fn write(&mut self, memory: String, said: &[String]) -> Result<(), ExperimentError> {
        self.extracted += 1;
        let number = self.extracted;
        let entry = Entry {
            // Every turn of a dialogue is the word of a person.
            source: Some("user".to_owned()),
            ..Entry::new(memory)
        };
        let options = WriteOptions {
            turns: said.to_vec(),
            ..WriteOptions::default()
        };
        let remembered = self.agent.remember_with(&self.work.namespace, entry, &options)?;
        self.numbers.insert(remembered.id, number);
        if remembered.status == Status::Active {
            self.stored += 1;
            let is_lowered = remembered.written < Authority::Inform;
            let is_marked = remembered.verdict >= Verdict::Annotate;
            self.marked += u64::from(is_lowered || is_marked);
        }
        self.take(None);
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<Asked>, ExperimentError> {
        let questions = self.work.dialogue.questions.iter();
        questions.map(|question| self.ask_about(question)).collect()
    }

    fn ask_about(&mut self, question: &Question) -> Result<Asked, ExperimentError> {
        let query = Query {
            k: CANDIDATES,
            // The paper's threshold is read as 0.
            least_cosine: 0,
            ..Query::new(question.text.as_str())
        };
        let opened = if self.work.condition.gate {
            Some(self.agent.begin()?)
        } else {
            None
        };
        let handle = match &opened {
            Some(opened) => self.agent.within(&opened.token)?,
            None => self.agent.clone(),
        };
        let hits = if self.extracted == 0 {
            Vec::new()
        } else {
            handle.recall(&self.work.namespace, &query)?.hits
        };
        self.take(Some(question.place));
        let texts = hits.iter().map(|hit| hit.record.entry.content.as_str());
        let messages = ANSWER.fill(&[
            ("memories", &list(texts)),
            ("question", &one_line(&question.text)),
        ])?;
        let mut asked = Asked {
            question: question.place,
            category: question.category.as_str().to_owned(),
            shown: hits
                .iter()
                .filter_map(|hit| self.numbers.get(&hit.record.id).copied())
                .collect(),
            answer: None,
            error: None,
            grades: Vec::new(),
        };
        for attempt in 0..TRIES {
            let limit = self.work.limits.answer;
            match self.ask("answer", &messages, ReplyShape::Text, limit, attempt)? {
                Ok(text) => {
                    asked.answer = Some(text.trim().to_owned());
                    break;
                }
                Err(name) => asked.error = Some(name),
            }
        }
        if let Some(answer) = asked.answer.clone() {
            asked.error = None;
            if opened.is_some() {
                self.act(&handle, question)?;
            }
            asked.grades.push(self.grade(question, &answer)?);
        }
        Ok(asked)
    }

    fn grade(&self, question: &Question, answer: &str) -> Result<super::record::Grade, ExperimentError> {
        if !question.category.is_core() {
            return Ok(grade::adversarial(&question.text, answer));
        }
        let answered = Answered {
            question: &one_line(&question.text),
            expected: &one_line(&question.answer),
            answer: &one_line(answer),
        };
        match (&self.work.judge, self.work.grading) {
            (Some(judge), Grading::Judge) => grade::judged(judge, limit(self.work.limits.judge), answered),
            (None, Grading::Judge) => Err(ExperimentError::value("`judge` is missing")),
            (_, Grading::ExactOrF1) => Ok(grade::by_words(answered.expected, answered.answer)),
        }
    }

    /// Asks the gate whether the answer may be given.
    fn act(&mut self, handle: &Handle, question: &Question) -> Result<(), ExperimentError> {
        let number = ParamValue::String(question.place.to_string());
        let params = Params::new(BTreeMap::from([("question".to_owned(), number)]));
        let params = params.map_err(|error| ExperimentError::Unexpected(error.to_string()))?;
        let authorized = handle.authorize(&self.work.namespace, ANSWER_ACTION, &params, None)?;
        let decision = authorized.decided.decision.as_str().to_owned();
        *self.gate.entry(decision).or_default() += 1;
        Ok(())
    }

    /// The text of a reply, or the name of what is wrong with it.
    fn ask(
        &self,
        purpose: &str,
        messages: &[Message],
        shape: ReplyShape<'_>,
        tokens: u32,
        attempt: u64,
    ) -> Result<Result<String, String>, ExperimentError> {
        let purpose: Purpose = purpose
            .parse()
            .map_err(|error| ExperimentError::Unexpected(format!("{error}")))?;
        let call = ChatCall {
            seed: grade::seed_of_try(attempt),
            shape,
            ..ChatCall::new(&purpose, messages, limit(tokens))
        };
        match self.work.model.chat(&[call]).into_iter().next() {
            Some(Ok(reply)) => Ok(Ok(reply.text)),
            Some(Err(error)) if error.is_about_the_call() => Ok(Err(error.name().to_owned())),
            // A model that is not there says nothing about a defense: the run stops and can be resumed.
            Some(Err(error)) => Err(error.into()),
            None => Err(ExperimentError::Unexpected("the model gave no reply".to_owned())),
        }
    }

    /// Counts what the stages have said since the last time.
    fn take(&mut self, question: Option<usize>) {
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        for Adjudication { phase, record, ran } in told {
            let deciding = self
                .work
                .condition
                .deciding
                .iter()
                .find(|known| known.stage == ran.stage.name());
            let Some(deciding) = deciding else { continue };
            let count = self
                .counts
                .iter_mut()
                .find(|count| count.stage == deciding.shown && count.phase == phase.as_str());
            let Some(count) = count else { continue };
            count.adjudicated += 1;
            if let Some(failed) = &ran.failed {
                *count.failed.entry(failed.clone()).or_default() += 1;
            }
            if ran.asked >= Verdict::Quarantine {
                count.kept_out += 1;
                self.kept_out.push(KeptOut {
                    memory: self.numbers.get(&record).copied().unwrap_or_default(),
                    stage: deciding.shown.clone(),
                    question,
                    failed: ran.failed,
                });
            }
        }
    }

    fn finish(mut self, questions: Vec<Asked>) -> Result<CellResult, ExperimentError> {
        for count in &mut self.counts {
            let lost: BTreeSet<u64> = self
                .kept_out
                .iter()
                .filter(|kept| {
                    kept.stage == count.stage && kept.question.is_some() == (count.phase == "read")
                })
                .map(|kept| kept.memory)
                .collect();
            count.distinct = lost.len() as u64;
        }
        let idle = self.counts.iter().find(|count| count.adjudicated == 0);
        let void =
            idle.map(|count| format!("stage `{}` decided about nothing at {}", count.stage, count.phase));
        Ok(CellResult {
            simulated: self.work.model.is_simulated()
                || self.work.judge.as_ref().is_some_and(Model::is_simulated),
            void,
            extraction: self.extraction,
            extracted: self.extracted,
            stored: self.stored,
            marked: self.marked,
            stages: self.counts,
            kept_out: self.kept_out,
            gate: self.work.condition.gate.then_some(self.gate),
            spent: spent(&self.work.model)?,
            judge_spent: self
                .work
                .judge
                .as_ref()
                .map(spent)
                .transpose()?
                .unwrap_or_default(),
            grading: self.work.grading,
            questions,
        })
    }
}

/// The memories of a reply; none where it is no extraction.
fn memories(text: &str, replies: Replies) -> Option<Vec<String>> {
    match replies {
        Replies::Text => lines(text),
        Replies::Json => memory(text),
    }
}

/// The memories of a reply in lines: those that begin with `- `, or `NONE` alone. Anything else is no extraction.
fn lines(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if text == "NONE" {
        return Some(Vec::new());
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let memories: Option<Vec<String>> = lines
        .map(|line| Some(line.strip_prefix("- ")?.trim().to_owned()))
        .collect();
    memories.filter(|memories| !memories.is_empty() && memories.iter().all(|memory| !memory.is_empty()))
}

/// The one memory of a reply in JSON, none where it is empty. Anything else is no extraction.
fn memory(text: &str) -> Option<Vec<String>> {
    let reply: serde_json::Value = serde_json::from_str(text).ok()?;
    let memory = one_line(reply.get("memory")?.as_str()?);
    Some(
        Some(memory)
            .filter(|memory| !memory.is_empty())
            .into_iter()
            .collect(),
    )
}

pub(super) fn spent(model: &Model) -> Result<BTreeMap<String, Spent>, ExperimentError> {
    check_heard(model.meter())?;
    let rows = model.meter().report(By::Purpose).rows.into_iter();
    let rows = rows.map(|row| {
        let cost = row.sum.whole_cost();
        let spent = Spent {
            calls: row.sum.calls,
            prompt_tokens: row.sum.prompt_tokens,
            completion_tokens: row.sum.completion_tokens,
            counted: row.sum.counted,
            failed: row.sum.failed,
            cost_picousd: cost.map(memwarden::model::Cost::picodollars),
        };
        (row.name, spent)
    });
    Ok(rows.collect())
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) const fn limit(tokens: u32) -> NonZeroU32 {
    match NonZeroU32::new(tokens) {
        Some(tokens) => tokens,
        None => NonZeroU32::MIN,
    }
}

#[cfg(test)]
pub(super) mod tests;
