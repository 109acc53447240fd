//! The grid of conditions, dialogues and replicates, as an experiment that `lab run` knows.

use super::conditions::{Condition, condition};
use super::grade::{JUDGE, WORDS};
use super::pipeline::{ANSWER, EXTRACT, Work};
use super::plan::{Grading, OWN_DIALOGUES, Plan};
use super::stand_in::StandIn;
use super::{abstain, pipeline, report};
use crate::experiment::cell::seed_of;
use crate::experiment::{
    Cell, CellId, Experiment, ExperimentError, ExperimentFile, ModelSpec, Record, Report,
};
use crate::locomo::{self, Aligned, Conversation};
use memwarden::guard::{PROMPTS, lists_version};
use memwarden::model::{Meter, Metered, Prices};
use memwarden_core::Digest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An experiment of kind `benign-cost`.
#[derive(Debug)]
pub struct BenignCost {
    plan: Plan,
    dialogues: PathBuf,
    prices: Option<PathBuf>,
    read: OnceLock<Vec<Aligned>>,
}

impl BenignCost {
    /// The kind in experiment files.
    pub const KIND: &'static str = "benign-cost";

    /// Reads the plan; files that it names are read when cells are asked for.
    ///
    /// # Errors
    /// A plan that does not hold.
    pub fn load(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        let plan: Plan = file.plan()?;
        plan.check()?;
        Ok(Self {
            dialogues: file.path(&plan.dialogues),
            prices: plan.prices.as_deref().map(|path| file.path(path)),
            plan,
            read: OnceLock::new(),
        })
    }

    /// The dialogues of the plan, cut and aligned.
    fn aligned(&self) -> Result<&[Aligned], ExperimentError> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let failed = |error: locomo::LocomoError| ExperimentError::value(error.to_string());
        let all: Vec<Conversation> = if self.plan.dialogues == Path::new(OWN_DIALOGUES) {
            locomo::parse(locomo::LIGHTHOUSE).map_err(failed)?
        } else {
            locomo::read_file(&self.dialogues).map_err(failed)?
        };
        let wanted = self.plan.conversations.iter().map(|name| {
            let found = all.iter().find(|dialogue| dialogue.name == *name);
            found
                .map(|dialogue| locomo::align(dialogue, self.plan.turns, self.plan.questions))
                .ok_or_else(|| {
                    ExperimentError::value(format!(
                        "`conversations` names `{name}`, which the dialogues lack"
                    ))
                })
        });
        let aligned: Vec<Aligned> = wanted.collect::<Result<_, _>>()?;
        Ok(self.read.get_or_init(|| aligned))
    }

    fn prices(&self) -> Result<Prices, ExperimentError> {
        let Some(path) = &self.prices else {
            return Ok(Prices::default());
        };
        let text = std::fs::read_to_string(path).map_err(|error| ExperimentError::path(path, &error))?;
        Prices::parse(&text).map_err(|error| ExperimentError::path(path, &error))
    }

    fn config(&self, condition: &Condition, dialogue: &Aligned, replicate: u32) -> Value {
        let plan = &self.plan;
        let prompts = PROMPTS.map(|prompt| {
            let digest: String = Digest::of(prompt.text.as_bytes())
                .to_string()
                .chars()
                .take(16)
                .collect();
            format!("{}@{digest}", prompt.version)
        });
        let prompts: Vec<String> = prompts
            .into_iter()
            .chain([EXTRACT.version(), ANSWER.version(), JUDGE.version()])
            .collect();
        let simulated = plan.model.is_simulated();
        json!({
            "kind": Self::KIND,
            "seed": plan.seed,
            "condition": condition.name,
            "policy": condition.policy.hash().to_string(),
            "conversation": dialogue.name,
            "dialogue": digest_of(dialogue),
            "turns": dialogue.turns.len(),
            "questions": dialogue.questions.len(),
            "replicate": replicate,
            "model": plan.model.name(),
            "judge": plan.judge.as_ref().map(ModelSpec::name),
            "grading": plan.grading,
            "limits": plan.limits,
            "prompts": prompts,
            "lists": lists_version(),
            "graders": [abstain::DETECTOR, WORDS],
            "stand_in": if simulated { json!(plan.stand_in) } else { Value::Null },
            "candidates": pipeline::CANDIDATES,
        })
    }

    /// A model behind a meter, whose replies that are no replies the pipeline counts itself.
    fn model(&self, spec: &ModelSpec, seed: u64) -> Result<Metered, ExperimentError> {
        let meter = Arc::new(Meter::in_memory(self.prices()?));
        let model = if spec.is_simulated() {
            Metered::stand_in(Box::new(StandIn::new(seed, self.plan.stand_in)), meter)
        } else {
            spec.metered(seed, &meter)?
        };
        Ok(model.with_reply_retries(0))
    }
}

impl Experiment for BenignCost {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        // A wrong price table is found before the first call is paid for.
        self.prices()?;
        let mut cells = Vec::new();
        for name in &self.plan.conditions {
            let condition = condition(name)?;
            for dialogue in self.aligned()? {
                for replicate in 1..=self.plan.replicates {
                    let id = CellId::of(&[name, &dialogue.name, &replicate.to_string()]);
                    cells.push(Cell::new(id, self.config(&condition, dialogue, replicate)));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError> {
        let text = |key: &str| cell.config.get(key).and_then(Value::as_str).unwrap_or_default();
        let condition = condition(text("condition"))?;
        let dialogue = self
            .aligned()?
            .iter()
            .find(|dialogue| dialogue.name == text("conversation"));
        let dialogue =
            dialogue.ok_or_else(|| ExperimentError::Unexpected("a dialogue is gone".to_owned()))?;
        // Condition, dialogue and replicate are the cell's id.
        let seed = seed_of(&[cell.id.as_str()], self.plan.seed);
        let model = self.model(&self.plan.model, seed)?;
        let judge = match (&self.plan.judge, self.plan.grading) {
            (Some(judge), Grading::Judge) => Some(self.model(judge, seed_of(&["judge"], seed))?),
            _ => None,
        };
        let work = Work {
            condition: &condition,
            dialogue,
            namespace: namespace(cell.id.as_str())?,
            model,
            judge,
            grading: self.plan.grading,
            limits: self.plan.limits,
            encoder: memwarden::built_in_encoder(),
        };
        let result = pipeline::run(&work, scratch)?;
        serde_json::to_value(result).map_err(|error| ExperimentError::Unexpected(error.to_string()))
    }

    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError> {
        report::report(&self.plan, records)
    }
}

/// The namespace of a cell: its id in the characters that a namespace may have.
fn namespace(id: &str) -> Result<memwarden::Namespace, ExperimentError> {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '.'
        }
    };
    let name: String = id.chars().map(plain).collect();
    name.parse()
        .map_err(|error| ExperimentError::Unexpected(format!("the namespace of a cell: {error}")))
}

fn digest_of(dialogue: &Aligned) -> String {
    Digest::of(format!("{dialogue:?}").as_bytes()).to_string()
}
