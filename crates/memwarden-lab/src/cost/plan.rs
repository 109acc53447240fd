//! The file of an experiment of kind `benign-cost`.

use super::conditions::{BASELINE, condition};
use crate::experiment::model::host;
use crate::experiment::{ExperimentError, ModelSpec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// `benign-cost`.
    pub kind: String,
    /// What chance starts from.
    pub seed: u64,
    /// The dialogues: a LoCoMo file, JSON or zip, or `lighthouse` for the small one of our own.
    pub dialogues: PathBuf,
    /// Which of them, by name.
    pub conversations: Vec<String>,
    /// The conditions; `none` must be among them.
    pub conditions: Vec<String>,
    /// Replicates of each cell: the planned number that a majority is taken of.
    pub replicates: u32,
    /// Turns of each dialogue that are kept.
    #[serde(default = "default_turns")]
    pub turns: usize,
    /// Questions of each dialogue that are asked at most.
    #[serde(default = "default_questions")]
    pub questions: usize,
    /// What extracts, answers, and judges for the defenses.
    pub model: ModelSpec,
    /// What grades core answers: of another provider than `model`.
    #[serde(default)]
    pub judge: Option<ModelSpec>,
    /// How core answers are graded.
    #[serde(default)]
    pub grading: Grading,
    /// How the model is asked to reply where its reply must be read.
    #[serde(default)]
    pub replies: Replies,
    /// A price table.
    #[serde(default)]
    pub prices: Option<PathBuf>,
    /// Most tokens of a reply, for each purpose.
    #[serde(default)]
    pub limits: Limits,
    /// How often the stand-in errs.
    #[serde(default)]
    pub stand_in: Rates,
    /// Below this share of extraction replies that are whole and parse, the run is reported as failed.
    #[serde(default = "default_parsed")]
    pub least_parsed: f64,
}

/// How a model is asked to reply when it extracts, and when it judges for a defense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// In lines and words that the prompt describes.
    #[default]
    Text,
    /// In JSON that a schema describes, at most one memory of a turn: for a small model that keeps to a schema and to no
    /// wording.
    Json,
}

/// How core answers are graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grading {
    /// By a model of another provider.
    #[default]
    Judge,
    /// Without a model: right is an exact match or a token F1 of at least one half. Labeled so in every report.
    ExactOrF1,
}

/// Most tokens of a reply. There is no call without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Of an extraction.
    pub extract: u32,
    /// Of an answer.
    pub answer: u32,
    /// Of a grade.
    pub judge: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            extract: 512,
            answer: 256,
            judge: 128,
        }
    }
}

/// How often the stand-in errs, each a probability.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rates {
    /// A turn with something in it is passed over.
    pub extract_miss: f64,
    /// An extraction is cut off at its limit.
    pub extract_cut: f64,
    /// An extraction is not in the form that was asked for.
    pub extract_garbled: f64,
    /// An answer that the memories hold is not given.
    pub answer_slip: f64,
    /// An answer is given where the memories hold none.
    pub answer_guess: f64,
    /// A grade is the wrong way round.
    pub judge_slip: f64,
    /// A consistent entry is called inconsistent.
    pub anomaly_false: f64,
    /// A fitting candidate is withheld.
    pub rerank_false: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            extract_miss: 0.12,
            extract_cut: 0.002,
            extract_garbled: 0.002,
            answer_slip: 0.08,
            answer_guess: 0.06,
            judge_slip: 0.03,
            anomaly_false: 0.005,
            rerank_false: 0.05,
        }
    }
}

impl Rates {
    fn all(&self) -> [(&'static str, f64); 8] {
        [
            ("extract_miss", self.extract_miss),
            ("extract_cut", self.extract_cut),
            ("extract_garbled", self.extract_garbled),
            ("answer_slip", self.answer_slip),
            ("answer_guess", self.answer_guess),
            ("judge_slip", self.judge_slip),
            ("anomaly_false", self.anomaly_false),
            ("rerank_false", self.rerank_false),
        ]
    }
}

/// `dialogues` that stand for [`crate::locomo::LIGHTHOUSE`].
pub const OWN_DIALOGUES: &str = "lighthouse";

impl Plan {
    /// Checks what needs the whole file.
    ///
    /// # Errors
    /// Names the key, the value and what was expected.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let wrong = |reason: String| Err(ExperimentError::value(reason));
        for name in &self.conditions {
            condition(name, self.replies)?;
        }
        if !self.conditions.iter().any(|name| name == BASELINE) {
            return wrong(format!(
                "`conditions` lacks `{BASELINE}`, which every other one is compared with"
            ));
        }
        if self.conversations.is_empty() || self.turns == 0 || self.questions == 0 {
            return wrong("`conversations`, `turns` and `questions`: expected at least one".to_owned());
        }
        if !(1..=99).contains(&self.replicates) {
            return wrong(format!("`replicates` is {}: expected 1 to 99", self.replicates));
        }
        for (name, rate) in self.stand_in.all() {
            if !(0.0..=1.0).contains(&rate) {
                return wrong(format!("`stand_in.{name}` is {rate}: expected 0 to 1"));
            }
        }
        if !(0.0..=1.0).contains(&self.least_parsed) {
            return wrong(format!(
                "`least_parsed` is {}: expected 0 to 1",
                self.least_parsed
            ));
        }
        self.check_judge()
    }

    /// What a stand-in did in place of a model, in words; none where nothing was simulated.
    #[must_use]
    pub fn stood_in(&self) -> Option<&'static str> {
        let judge = self.judge.as_ref().is_some_and(ModelSpec::is_simulated);
        match (self.model.is_simulated(), judge) {
            (false, false) => None,
            (true, false) => Some("extracted, answered and judged for the defenses"),
            (false, true) => Some("graded the answers"),
            (true, true) => Some("extracted, answered, judged for the defenses and graded the answers"),
        }
    }

    /// The judge is another provider's than the model whose answers it grades.
    fn check_judge(&self) -> Result<(), ExperimentError> {
        let wrong = |reason: String| Err(ExperimentError::value(reason));
        match (self.grading, &self.judge) {
            (Grading::ExactOrF1, None) => Ok(()),
            (Grading::ExactOrF1, Some(_)) => {
                wrong("`judge` under `grading = \"exact-or-f1\"` would grade nothing".to_owned())
            }
            (Grading::Judge, None) => {
                wrong("`judge` is missing: a model of another provider than `model`".to_owned())
            }
            (Grading::Judge, Some(judge)) => self.check_other_provider(judge),
        }
    }

    /// A judge is another provider's than the model. The stand-in has one rule for answering and another for grading, and
    /// says so.
    pub(super) fn check_other_provider(&self, judge: &ModelSpec) -> Result<(), ExperimentError> {
        let both_stand_in = judge.is_simulated() && self.model.is_simulated();
        if both_stand_in || provider(judge) != provider(&self.model) {
            return Ok(());
        }
        Err(ExperimentError::value(format!(
            "`judge` and `model` are both of `{}`: expected another provider, since a model favors its own answers",
            provider(judge)
        )))
    }
}

/// Whose model it is: the host of an endpoint, or this machine.
fn provider(model: &ModelSpec) -> String {
    match model {
        ModelSpec::Simulated => "the stand-in".to_owned(),
        ModelSpec::Local(_) => "this machine".to_owned(),
        // One proxy on this machine may serve models of several providers: the name before a slash is the provider.
        ModelSpec::Endpoint { url, model } => {
            let vendor = model.split_once('/').map_or("", |(vendor, _)| vendor);
            if vendor.is_empty() {
                host(url)
            } else {
                vendor.to_owned()
            }
        }
    }
}

const fn default_turns() -> usize {
    crate::locomo::MAX_TURNS
}

const fn default_questions() -> usize {
    crate::locomo::MAX_QUESTIONS
}

/// Four of five extraction replies must be whole and parse.
const fn default_parsed() -> f64 {
    0.8
}
