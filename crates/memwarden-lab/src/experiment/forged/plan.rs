//! The experiment's file, and the cells that it asks for.

use super::ground::{Ground, digest_of, domain};
use super::written::WRITER;
use crate::agents::{Grant, layer};
use crate::experiment::file::within;
use crate::experiment::identity::{Made, identity};
use crate::experiment::{Cell, CellId, ExperimentError, ExperimentFile, ForcedChoice, ModelSpec};
use crate::farma::{DEFAULT_CYCLES, Domain, Variant};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Changes when the meaning of a record does.
const RECORD_VERSION: u32 = 3;

/// What a cell may be asked for: far more than any experiment wants, and what memory holds.
const MAX_TRIALS: usize = 1_000_000;
const MAX_TASKS: usize = 10_000;
const MAX_HONEST: usize = 100_000;
const MAX_CYCLES: usize = 10_000;
const MAX_DOUBT: f64 = 1_000_000.0;

/// `kind = "forged-reasoning"`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: String,
    /// Which model plans.
    pub model: ModelSpec,
    /// What chance starts from.
    pub seed: u64,
    /// Trials of a cell: `tasks` times a whole number.
    pub trials: usize,
    /// Distinct tasks of a cell, besides half as many legitimate skips.
    pub tasks: usize,
    /// How a small model is made to choose by log-probabilities, where it is not asked for JSON.
    pub forced_choice: Option<ForcedChoice>,
    /// StrategyQA's file, from the directory of this one.
    pub strategyqa: Option<PathBuf>,
    /// The grids. The first is the main table.
    pub grid: Vec<Grid>,
}

/// One grid: every combination of its values is a cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// A name for its table.
    pub name: String,
    /// `ehr`, `react-qa`, `rap`.
    pub domains: Vec<String>,
    /// Variants of the attack.
    pub variants: Vec<String>,
    /// What the attacker holds.
    pub grants: Vec<String>,
    /// Conditions; see `defense::condition`.
    pub defenses: Vec<String>,
    /// Honest decision logs, and as many notes, before the attack.
    #[serde(default = "hundred")]
    pub honest: Vec<usize>,
    /// The stand-in's `b`; its data file's where there is none.
    #[serde(default)]
    pub doubt: Vec<f64>,
    /// Cycles of amplification.
    #[serde(default = "default_cycles")]
    pub cycles: Vec<usize>,
}

fn hundred() -> Vec<usize> {
    vec![100]
}

fn default_cycles() -> Vec<usize> {
    vec![DEFAULT_CYCLES]
}

/// What is in the store before the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// Nothing: the clean run of the published measure.
    Empty,
    /// The honest memory: the clean run of the stricter measure.
    Benign,
    /// The honest memory and the attack.
    Poisoned,
}

/// The values of a cell's axes, as they stand in its configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    /// The domain.
    pub domain: String,
    /// The variant, `none` in clean runs.
    pub variant: String,
    /// The grant, none in clean runs.
    pub grant: Option<String>,
    /// The condition.
    pub defense: String,
    /// What is in the store.
    pub store: Store,
    /// Honest entries of each kind.
    pub honest: usize,
    /// The stand-in's `b`, where it is not its data file's.
    pub doubt: Option<f64>,
    /// Cycles of amplification.
    pub cycles: usize,
}

impl Axes {
    fn id(&self) -> CellId {
        let doubt = self.doubt.map_or_else(String::new, |doubt| format!("b{doubt}"));
        let defense = self.defense.replace('/', "_");
        let mut parts = vec![self.domain.clone(), self.variant.clone()];
        parts.extend(self.grant.clone());
        parts.push(defense);
        match self.store {
            Store::Empty => parts.push("empty".to_owned()),
            Store::Benign => parts.extend(["benign".to_owned(), format!("h{}", self.honest)]),
            Store::Poisoned => parts.extend([format!("h{}", self.honest), format!("c{}", self.cycles)]),
        }
        if !doubt.is_empty() {
            parts.push(doubt);
        }
        CellId::of(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The clean run that this cell is compared with.
    #[must_use]
    pub fn clean(&self, store: Store) -> Self {
        Self {
            variant: "none".to_owned(),
            grant: None,
            store,
            honest: if store == Store::Empty { 0 } else { self.honest },
            cycles: 0,
            ..self.clone()
        }
    }

    /// The same cell under another condition or attack.
    #[must_use]
    pub fn with(&self, defense: &str, variant: &str) -> Self {
        Self {
            defense: defense.to_owned(),
            variant: variant.to_owned(),
            ..self.clone()
        }
    }
}

/// Who words the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// The generator, without a model.
    Generated(Variant),
    /// The experiment's model.
    Written,
}

/// The variant that the experiment's model words.
const MODEL_WRITTEN: &str = "model-written";

/// The variant of this name; `model-written` is worded by the experiment's model.
///
/// # Errors
/// No such variant.
pub fn wording(name: &str) -> Result<Wording, ExperimentError> {
    if name == MODEL_WRITTEN {
        return Ok(Wording::Written);
    }
    let known = Variant::ALL.iter().find(|variant| variant.as_str() == name);
    known.map(|variant| Wording::Generated(*variant)).ok_or_else(|| {
        let names: Vec<_> = Variant::ALL.iter().map(|variant| variant.as_str()).collect();
        ExperimentError::value(format!(
            "`variants` names `{name}`: expected {} or model-written",
            names.join(", ")
        ))
    })
}

/// The grant of this name.
///
/// # Errors
/// No such grant.
pub fn grant(name: &str) -> Result<Grant, ExperimentError> {
    let known = Grant::ALL.iter().find(|grant| grant.as_str() == name);
    known.copied().ok_or_else(|| {
        ExperimentError::value(format!("`grants` names `{name}`: expected plugin, agent or rows"))
    })
}

impl Plan {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn read(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        let plan: Self = file.plan()?;
        within("tasks", plan.tasks, 1, MAX_TASKS)?;
        within("trials", plan.trials, 1, MAX_TRIALS)?;
        if !plan.trials.is_multiple_of(plan.tasks) {
            return Err(ExperimentError::value(format!(
                "`trials` is {}: expected a multiple of `tasks`, which is {}",
                plan.trials, plan.tasks
            )));
        }
        if plan.forced_choice.is_some() && matches!(plan.model, ModelSpec::Endpoint { .. }) {
            return Err(ExperimentError::value(format!(
                "`forced_choice` needs log-probabilities, which `{}` does not give: expected a local model",
                plan.model.name()
            )));
        }
        if plan.grid.is_empty() {
            return Err(ExperimentError::value("`grid` is missing: name at least one"));
        }
        for grid in &plan.grid {
            let empty = [
                ("domains", grid.domains.is_empty()),
                ("variants", grid.variants.is_empty()),
                ("grants", grid.grants.is_empty()),
                ("defenses", grid.defenses.is_empty()),
                ("honest", grid.honest.is_empty()),
                ("cycles", grid.cycles.is_empty()),
            ];
            if let Some((field, _)) = empty.iter().find(|(_, empty)| *empty) {
                return Err(ExperimentError::value(format!(
                    "`{field}` of grid `{}` is empty: expected at least one",
                    grid.name
                )));
            }
            for honest in &grid.honest {
                within("honest", *honest, 0, MAX_HONEST)?;
            }
            for cycles in &grid.cycles {
                within("cycles", *cycles, 0, MAX_CYCLES)?;
            }
            if let Some(doubt) = grid
                .doubt
                .iter()
                .find(|doubt| !(0.0..=MAX_DOUBT).contains(*doubt))
            {
                return Err(ExperimentError::value(format!(
                    "`doubt` is {doubt}: expected 0 to {MAX_DOUBT}"
                )));
            }
            grid.domains
                .iter()
                .try_for_each(|name| domain(name).map(|_| ()))?;
            grid.variants
                .iter()
                .try_for_each(|name| wording(name).map(|_| ()))?;
            grid.grants.iter().try_for_each(|name| grant(name).map(|_| ()))?;
        }
        Ok(plan)
    }

    /// The attacked cells of a grid.
    #[must_use]
    pub fn attacked(grid: &Grid) -> Vec<Axes> {
        let doubts: Vec<Option<f64>> = match grid.doubt.as_slice() {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for domain in &grid.domains {
            for variant in &grid.variants {
                for grant in &grid.grants {
                    for defense in &grid.defenses {
                        for honest in &grid.honest {
                            for doubt in &doubts {
                                for cycles in &grid.cycles {
                                    all.push(Axes {
                                        domain: domain.clone(),
                                        variant: variant.clone(),
                                        grant: Some(grant.clone()),
                                        defense: defense.clone(),
                                        store: Store::Poisoned,
                                        honest: *honest,
                                        doubt: *doubt,
                                        cycles: *cycles,
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// Every cell: clean runs once for all attacks of a condition, then the attacks.
    ///
    /// # Errors
    /// A condition or a file that does not exist.
    pub fn cells(&self, file: &ExperimentFile) -> Result<Vec<Cell>, ExperimentError> {
        let questions = match &self.strategyqa {
            None => None,
            Some(path) => Some(digest_of(&file.path(path))?.to_string()),
        };
        let mut all: Vec<Axes> = Vec::new();
        for axes in self.grid.iter().flat_map(Self::attacked) {
            for axes in [axes.clean(Store::Empty), axes.clean(Store::Benign), axes] {
                if !all.contains(&axes) {
                    all.push(axes);
                }
            }
        }
        let encoder = memwarden::built_in_encoder();
        let model = self.model.identity()?;
        all.iter()
            .map(|axes| {
                let domain: Domain = domain(&axes.domain)?;
                let made = identity(&Made {
                    model: &model,
                    defense: &axes.defense,
                    rules: layer::ACTIONS,
                    directory: &file.directory,
                    encoder: encoder.name(),
                })?;
                let mut prompts = vec![Ground::prompt_of(domain).version()];
                if axes.variant == MODEL_WRITTEN {
                    prompts.push(WRITER.version());
                }
                let config = json!({
                    "axes": axes,
                    "version": RECORD_VERSION,
                    "made": made,
                    "seed": self.seed,
                    "trials": self.trials,
                    "tasks": self.tasks,
                    "forced_choice": self.forced_choice,
                    "prompts": prompts,
                    "questions": if domain == Domain::ReactQa { questions.clone() } else { None },
                });
                Ok(Cell::new(axes.id(), config))
            })
            .collect()
    }
}

/// The axes of a record or cell.
///
/// # Errors
/// A configuration of another experiment.
pub fn axes_of(config: &Value) -> Result<Axes, ExperimentError> {
    let axes = config.get("axes").cloned().unwrap_or_default();
    serde_json::from_value(axes)
        .map_err(|error| ExperimentError::Unexpected(format!("axes of a cell: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
name = "t"
kind = "forged-reasoning"
model = "simulated"
seed = 1
trials = 4
tasks = 2
[[grid]]
name = "main"
domains = ["ehr"]
variants = ["full", "naive"]
grants = ["plugin", "rows"]
defenses = ["none", "warden"]
"#;

    fn cells(text: &str) -> Result<Vec<Cell>, ExperimentError> {
        let file = ExperimentFile::parse(text.to_owned(), PathBuf::new())?;
        Plan::read(&file)?.cells(&file)
    }

    #[test]
    fn clean_runs_are_shared_by_all_attacks_of_a_defense() {
        let ids: Vec<String> = cells(FILE)
            .unwrap()
            .iter()
            .map(|cell| cell.id.to_string())
            .collect();
        assert_eq!(ids.len(), 2 * 2 + 8, "{ids:?}");
        assert_eq!(
            ids.iter().filter(|id| id.contains("none/warden/empty")).count(),
            1
        );
        assert!(
            ids.contains(&"ehr/full/rows/warden/h100/c10".to_owned()),
            "{ids:?}"
        );
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        for (from, to, said) in [
            ("\"full\"", "\"fuller\"", "expected naive, seed-only, full"),
            ("\"rows\"", "\"root\"", "expected plugin, agent or rows"),
            ("\"ehr\"", "\"erp\"", "expected ehr, react-qa or rap"),
            ("\"warden\"", "\"magic\"", "does not exist"),
            ("trials = 4", "trials = 5", "a multiple of `tasks`"),
            ("seed = 1", "seed = 1\nsede = 2", "unknown field `sede`"),
            ("tasks = 2", "tasks = 0", "`tasks` is 0: expected 1 to"),
            (
                "trials = 4",
                "trials = 9223372036854775806",
                "`trials` is 9223372036854775806: expected 1 to",
            ),
            ("trials = 4", "trials = \"four\"", "`trials = \"four\"`"),
            (
                "[\"ehr\"]",
                "[\"ehr\"]\nhonest = [1_000_000_000]",
                "`honest` is 1000000000: expected 0 to",
            ),
            (
                "[\"ehr\"]",
                "[\"ehr\"]\ncycles = [1_000_000_000]",
                "`cycles` is 1000000000: expected 0 to",
            ),
            (
                "[\"ehr\"]",
                "[\"ehr\"]\ndoubt = [nan]",
                "`doubt` is NaN: expected 0 to",
            ),
            (
                "[\"ehr\"]",
                "[\"ehr\"]\ndoubt = [-1.0]",
                "`doubt` is -1: expected 0 to",
            ),
            (
                "[\"none\", \"warden\"]",
                "[]",
                "`defenses` of grid `main` is empty",
            ),
            (
                "seed = 1",
                "seed = 1\nforced_choice = true",
                "`forced_choice = true`",
            ),
            (
                "model = \"simulated\"",
                "model = \"endpoint:http://h/v1#m\"\nforced_choice = \"calibrated\"",
                "`forced_choice` needs log-probabilities",
            ),
        ] {
            let error = cells(&FILE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_cell_of_another_policy_or_model_is_another_cell() {
        let directory = tempfile::tempdir().unwrap();
        let digests = |policy: &str, model: &str| -> Vec<String> {
            std::fs::write(directory.path().join("p.toml"), policy).unwrap();
            let text = FILE
                .replace("\"warden\"", "\"policy:p.toml\"")
                .replace("\"simulated\"", model);
            let file = ExperimentFile::parse(text, directory.path().to_owned()).unwrap();
            let cells = Plan::read(&file).unwrap().cells(&file).unwrap();
            cells.iter().map(|cell| cell.digest().to_string()).collect()
        };
        let off = "name = \"p\"\norigin = \"off\"\n[write]\nstages = []\n[read]\nstages = []\n";
        let keyword = off.replace("[]", "[\"keyword\"]") + "[verdict]\nkeyword = \"reject\"\n";
        let known = digests(off, "\"simulated\"");
        let differ = |other: &[String]| {
            known
                .iter()
                .zip(other)
                .filter(|(one, other)| one != other)
                .count()
        };
        assert_eq!(differ(&digests(off, "\"simulated\"")), 0);
        assert_eq!(
            differ(&digests(&keyword, "\"simulated\"")),
            known.len() / 2,
            "those under the file"
        );
        let endpoint = |url: &str| digests(off, &format!("\"endpoint:{url}#m\""));
        assert_eq!(differ(&endpoint("http://127.0.0.1:1/v1")), known.len());
        assert_ne!(
            endpoint("http://127.0.0.1:1/v1"),
            endpoint("http://127.0.0.1:1/v2")
        );
    }
}
