//! What an experiment on agents that learn from experience consists of, as its file says it.

use crate::experiment::cell::seed_of;
use crate::experiment::file::within;
use crate::experiment::model::ModelSpec;
use crate::experiment::{Cell, CellId, ExperimentError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Changes when the meaning of a record does.
const RECORD_VERSION: u32 = 1;

/// What a cell may be asked for: far more than any experiment wants, and what memory holds.
const MAX_REQUESTS: usize = 10_000;
const MAX_RECORDS: usize = 100_000;
const MAX_K: usize = 100;
const MAX_TRIGGER: usize = 100;

/// The file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) name: String,
    #[expect(dead_code, reason = "every plan has it")]
    kind: String,
    pub(super) attack: Attack,
    pub(super) seed: u64,
    pub(super) models: Vec<ModelSpec>,
    pub(super) agents: Vec<AgentName>,
    pub(super) defenses: Vec<String>,
    /// Honest records before the attack.
    pub(super) honest: Vec<usize>,
    /// Requests of the attacker, or records that it brings in.
    pub(super) budget: Vec<usize>,
    /// Requests of victims that are judged.
    pub(super) victims: usize,
    /// Honest requests that are none of the victims.
    pub(super) others: usize,
    /// Examples that an agent retrieves.
    pub(super) k: usize,
    pub(super) question: QuestionPlan,
    pub(super) shop: ShopPlan,
    #[serde(default)]
    pub(super) trigger: TriggerPlan,
    /// A directory with a static encoder in the place of the one that is built in.
    #[serde(default)]
    pub(super) encoder: Option<PathBuf>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionPlan {
    /// The directory of CSV files; without it, the project's own few questions.
    #[serde(default)]
    pub(super) files: Option<PathBuf>,
    /// The word of the victims.
    pub(super) victim: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShopPlan {
    /// The noun of the victims.
    pub(super) victim: String,
    /// The brand that the attacker wants to be bought.
    pub(super) brand: String,
}

/// How a trigger is searched.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TriggerPlan {
    /// Its words.
    pub(super) words: usize,
    /// Words that are tried for each place.
    pub(super) candidates: usize,
    /// Requests that it is searched with.
    pub(super) requests: usize,
}

impl Default for TriggerPlan {
    fn default() -> Self {
        Self {
            words: 5,
            candidates: 150,
            requests: 24,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Attack {
    Minja,
    #[serde(rename = "agentpoison")]
    AgentPoison,
    #[serde(rename = "memorygraft")]
    MemoryGraft,
}

impl Attack {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Minja => "minja",
            Self::AgentPoison => "agentpoison",
            Self::MemoryGraft => "memorygraft",
        }
    }

    /// What the attacker holds.
    pub(super) const fn grant(self) -> &'static str {
        match self {
            Self::Minja => "query",
            Self::AgentPoison => "plugin",
            Self::MemoryGraft => "document",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AgentName {
    MmluQa,
    Rap,
}

impl AgentName {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::MmluQa => "mmlu-qa",
            Self::Rap => "rap",
        }
    }
}

/// What one cell does; its configuration holds this and what the plan says once for all.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Axes {
    pub(super) model: String,
    pub(super) agent: AgentName,
    pub(super) honest: usize,
    pub(super) budget: usize,
    pub(super) defense: String,
}

impl Plan {
    /// Refuses what cannot be run, before anything is.
    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        let empty = [
            ("models", self.models.is_empty()),
            ("agents", self.agents.is_empty()),
            ("defenses", self.defenses.is_empty()),
            ("honest", self.honest.is_empty()),
            ("budget", self.budget.is_empty()),
        ];
        if let Some((name, _)) = empty.iter().find(|(_, empty)| *empty) {
            return Err(ExperimentError::value(format!(
                "`{name}` is empty: expected at least one"
            )));
        }
        within("victims", self.victims, 1, MAX_REQUESTS)?;
        within("others", self.others, 1, MAX_REQUESTS)?;
        within("k", self.k, 1, MAX_K)?;
        self.honest
            .iter()
            .try_for_each(|honest| within("honest", *honest, 0, MAX_RECORDS))?;
        self.budget
            .iter()
            .try_for_each(|budget| within("budget", *budget, 0, MAX_RECORDS))?;
        within("trigger.words", self.trigger.words, 1, MAX_TRIGGER)?;
        within("trigger.candidates", self.trigger.candidates, 1, MAX_RECORDS)?;
        within("trigger.requests", self.trigger.requests, 1, MAX_REQUESTS)
    }

    /// Every combination, with `more` in its configuration (digests of what the files hold) and what `made` says of model and
    /// condition.
    pub(super) fn cells(
        &self,
        more: &Value,
        made: impl Fn(&Value, &str) -> Result<Value, ExperimentError>,
    ) -> Result<Vec<Cell>, ExperimentError> {
        let mut cells = Vec::new();
        for model in &self.models {
            let identity = model.identity()?;
            for agent in &self.agents {
                for honest in &self.honest {
                    for budget in &self.budget {
                        for defense in &self.defenses {
                            let axes = Axes {
                                model: model.name(),
                                agent: *agent,
                                honest: *honest,
                                budget: *budget,
                                defense: defense.clone(),
                            };
                            let made = made(&identity, defense)?;
                            cells.push(self.cell(&axes, more, &made));
                        }
                    }
                }
            }
        }
        Ok(cells)
    }

    fn cell(&self, axes: &Axes, more: &Value, made: &Value) -> Cell {
        let (honest, budget) = (format!("n{}", axes.honest), format!("b{}", axes.budget));
        let id = [
            axes.model.as_str(),
            axes.agent.as_str(),
            self.attack.as_str(),
            &honest,
            &budget,
            &axes.defense,
        ];
        let config = json!({
            "axes": axes,
            "version": RECORD_VERSION,
            "attack": self.attack,
            "seed": self.seed,
            "victims": self.victims,
            "others": self.others,
            "k": self.k,
            "victim": [self.question.victim, self.shop.victim, self.shop.brand],
            "trigger": self.trigger,
            "data": more,
            "made": made,
        });
        Cell::new(CellId::of(&id), config)
    }

    /// The seed of one matter, the same in every cell, so that all defenses meet the same tasks and the same attack.
    pub(super) fn seed_of(&self, matter: &str) -> u64 {
        seed_of(&[self.attack.as_str(), matter], self.seed)
    }
}
