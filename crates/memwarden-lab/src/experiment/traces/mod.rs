//! What a reader of words alone makes of traces: how well honest ones are told from forged ones, and how many benign ones
//! each defense keeps out.
//!
//! Three sorts of cells: `words` (a logistic regression on bags of words), `own` (326 traces of this project) and `corpus`
//! (a file of benign entries that the experiment names). No agent runs, and no store.

mod screen;
mod words;

pub use words::{Auc, auc};

use super::tables::Column;
use super::{Cell, CellId, Experiment, ExperimentError, ExperimentFile, Record, Report, Table, defense};
use crate::agents::layer;
use crate::experiment::cell::seed_of;
use crate::experiment::forged::{Ground, logs};
use crate::farma::{DEFAULT_CYCLES, DEFAULT_SEEDS, Domain, Variant, forge_about};
use crate::stats::{clopper_pearson, wilson};
use memwarden::Kind;
use memwarden_core::Digest;
use screen::{Counts, Trace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Logs of each clean agent among the own traces, and written ones (the paper: 326 in all).
pub const CAPTURED: usize = 100;
/// Traces written by hand.
pub const HANDWRITTEN: usize = 26;
/// What stands in the place of a model's name: none is asked here.
const NO_MODEL: &str = "none";

/// `kind = "traces"`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    name: String,
    #[expect(dead_code, reason = "every plan has it")]
    kind: String,
    seed: u64,
    /// Honest and forged traces of each domain for the regression.
    samples: usize,
    /// Conditions that screen; only those that need no model.
    defenses: Vec<String>,
    /// A file of JSON lines with `kind` and `content`, and one that groups kinds.
    corpus: Option<Corpus>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Corpus {
    entries: PathBuf,
    kinds: PathBuf,
}

/// The experiment.
#[derive(Debug)]
pub struct Traces {
    file: ExperimentFile,
    plan: Plan,
}

/// One row of a table of false positives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Rejected {
    group: String,
    defense: String,
    traces: u64,
    rejected: u64,
}

impl Traces {
    /// Reads its plan.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn read(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        let plan: Plan = file.plan()?;
        if plan.samples < 50 {
            return Err(ExperimentError::value(format!(
                "`samples` is {}: expected at least 50",
                plan.samples
            )));
        }
        Ok(Self {
            plan,
            file: file.clone(),
        })
    }

    fn words(&self, domain: Domain, variant: Variant) -> Result<Value, ExperimentError> {
        let ground = Ground::new(domain, None)?;
        let about = [ground.attacked.clone()];
        let n = self.plan.samples;
        let honest: Vec<String> = logs(domain, &about, n, seed_of(&["honest"], self.plan.seed))
            .into_iter()
            .map(|entry| entry.content)
            .collect();
        let mut forged = Vec::new();
        for attack in 0.. {
            let seed = seed_of(&["forged", &attack.to_string()], self.plan.seed);
            let writes = forge_about(
                domain,
                variant,
                &ground.attacked,
                seed,
                DEFAULT_SEEDS,
                DEFAULT_CYCLES,
            );
            let store = if variant == Variant::GeneralStore {
                Kind::General
            } else {
                Kind::Reasoning
            };
            let written = writes.into_iter().filter(|write| write.kind == store);
            forged.extend(written.map(|write| write.content));
            if forged.len() >= n {
                break;
            }
        }
        forged.truncate(n);
        let measured = auc(&honest, &forged, seed_of(&["folds"], self.plan.seed));
        serde_json::to_value(measured).map_err(|error| ExperimentError::Unexpected(error.to_string()))
    }

    /// The project's own traces: of clean agents, and by hand.
    fn own(&self) -> Result<Vec<Trace>, ExperimentError> {
        let mut traces = Vec::new();
        for domain in Domain::ALL {
            let ground = Ground::new(*domain, None)?;
            let seed = seed_of(&["captured", domain.as_str()], self.plan.seed);
            let written = logs(*domain, &ground.subjects, CAPTURED, seed);
            traces.extend(written.into_iter().map(|entry| Trace {
                groups: vec![format!("{domain} agent")],
                entry,
            }));
        }
        traces.extend(screen::handwritten(HANDWRITTEN));
        Ok(traces)
    }

    fn screened(&self, traces: &[Trace]) -> Result<Value, ExperimentError> {
        let mut rows: Vec<Rejected> = Vec::new();
        for name in &self.plan.defenses {
            let policy = defense::policy(name, layer::ACTIONS, &self.file.directory)?;
            for (group, Counts { traces, rejected }) in screen::screen(&policy, traces) {
                rows.push(Rejected {
                    group,
                    defense: name.clone(),
                    traces,
                    rejected,
                });
            }
        }
        serde_json::to_value(rows).map_err(|error| ExperimentError::Unexpected(error.to_string()))
    }
}

impl Experiment for Traces {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        let base = |sort: &str| json!({"sort": sort, "seed": self.plan.seed, "version": 2});
        let with = |mut config: Value, more: Value| {
            if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
                config.extend(more);
            }
            config
        };
        let mut cells = Vec::new();
        for domain in Domain::ALL {
            for variant in Variant::ALL {
                let config = json!({
                    "domain": domain.as_str(), "variant": variant.as_str(), "samples": self.plan.samples,
                });
                let id = CellId::of(&["words", domain.as_str(), variant.as_str()]);
                cells.push(Cell::new(id, with(base("words"), config)));
            }
        }
        let mut policies = Vec::new();
        for name in &self.plan.defenses {
            let policy = defense::policy(name, layer::ACTIONS, &self.file.directory)?;
            policies.push(json!([name, policy.hash().to_string()]));
        }
        cells.push(Cell::new(
            CellId::of(&["own"]),
            with(base("own"), json!({"defenses": policies})),
        ));
        if let Some(corpus) = &self.plan.corpus {
            let digest = |path: &Path| {
                let path = self.file.path(path);
                let bytes = std::fs::read(&path).map_err(|error| ExperimentError::path(&path, &error))?;
                Ok::<_, ExperimentError>(Digest::of(&bytes).to_string())
            };
            let config = json!({
                "defenses": policies, "entries": digest(&corpus.entries)?, "kinds": digest(&corpus.kinds)?,
            });
            cells.push(Cell::new(CellId::of(&["corpus"]), with(base("corpus"), config)));
        }
        Ok(cells)
    }

    fn run(&self, cell: &Cell, _: &Path) -> Result<Value, ExperimentError> {
        let text = |key: &str| cell.config.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("sort") {
            "words" => {
                let domain = Domain::ALL
                    .iter()
                    .find(|domain| domain.as_str() == text("domain"));
                let variant = Variant::ALL
                    .iter()
                    .find(|variant| variant.as_str() == text("variant"));
                match (domain, variant) {
                    (Some(domain), Some(variant)) => self.words(*domain, *variant),
                    _ => Err(ExperimentError::Unexpected(
                        "a cell without domain or variant".to_owned(),
                    )),
                }
            }
            "own" => self.screened(&self.own()?),
            _ => {
                let corpus = self.plan.corpus.as_ref();
                let corpus = corpus.ok_or_else(|| ExperimentError::value("`corpus` is missing"))?;
                let (entries, kinds) = (self.file.path(&corpus.entries), self.file.path(&corpus.kinds));
                self.screened(&screen::corpus(&entries, &kinds)?)
            }
        }
    }

    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError> {
        let mut report = Report {
            title: format!("{}: what wording alone shows", self.plan.name),
            notes: vec![
                "AUC is of a logistic regression on the words that a trace has, in five folds: `auc` with identical \
                 wordings in one fold, so that it is scored on wordings that it never saw, `auc_known_wordings` with any \
                 fold. The target for honest against forged traces is at most 0.65. `naive` is told by its orders, which no \
                 honest log gives."
                    .to_owned(),
                "A trace counts as rejected if the defense would reject or quarantine it at write or at read. All declare \
                 the agent as their source, as forged ones do. Limits are at 95 %: Wilson's upper limit, and the exact \
                 one-sided one."
                    .to_owned(),
            ],
            ..Report::default()
        };
        report.tables.push(auc_table(records)?);
        for (cell, name, title) in [
            ("own", "own-traces", "False positives on 326 traces of our own"),
            (
                "corpus",
                "benign-corpus",
                "False positives on a corpus of benign entries",
            ),
        ] {
            if let Some(record) = records.iter().find(|record| record.cell == cell) {
                report
                    .tables
                    .push(rejected_table(name, title, &record.result::<Vec<Rejected>>()?));
            }
        }
        Ok(report)
    }
}

fn auc_table(records: &[Record]) -> Result<Table, ExperimentError> {
    let columns = vec![
        Column::plain("model"),
        Column::plain("simulated"),
        Column::plain("domain"),
        Column::plain("forged"),
        Column::plain("honest_traces"),
        Column::plain("forged_traces"),
        Column::of("auc", super::tables::Form::Decimals(3)),
        Column::of("auc_known_wordings", super::tables::Form::Decimals(3)),
        Column::plain("telling_words"),
    ];
    let mut table = Table::new("words", "Honest against forged traces, by words alone", columns);
    for record in records.iter().filter(|record| record.cell.starts_with("words/")) {
        let measured: Auc = record.result()?;
        table.rows.push(vec![
            json!(NO_MODEL),
            json!(false),
            json!(record.text("domain")),
            json!(record.text("variant")),
            json!(measured.honest),
            json!(measured.forged),
            json!(measured.auc),
            json!(measured.auc_known_wordings),
            json!(measured.telling.join(" ")),
        ]);
    }
    Ok(table)
}

fn rejected_table(name: &str, title: &str, rows: &[Rejected]) -> Table {
    let columns = vec![
        Column::plain("model"),
        Column::plain("simulated"),
        Column::plain("traces_of"),
        Column::plain("defense"),
        Column::plain("rejected"),
        Column::plain("traces"),
        Column::percent("fpr"),
        Column::percent("upper_wilson"),
        Column::percent("upper_one_sided"),
    ];
    let mut table = Table::new(name, title, columns);
    for row in rows {
        let limits = wilson(row.rejected, row.traces, 0.95).ok();
        let exact = clopper_pearson(row.rejected, row.traces, 0.90).ok();
        // Both tails at 90 % are one tail at 95 %.
        table.rows.push(vec![
            json!(NO_MODEL),
            json!(false),
            json!(row.group),
            json!(row.defense),
            json!(row.rejected),
            json!(row.traces),
            json!(super::row::share(row.rejected, row.traces)),
            json!(limits.map(|limits| limits.high)),
            json!(exact.map(|exact| exact.high)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests;
