//! Cells added up: each condition against none, by both rules, for core and adversarial questions apart.

use super::conditions::BASELINE;
use super::record::{CellResult, Spent};
use crate::experiment::{ExperimentError, Record};
use crate::stats::{
    BOOTSTRAP_SAMPLES, Collapse, Graded, Interval, Missing, Paired, SignFlip, StatsError, pair,
};
use std::collections::BTreeMap;

/// A cell that was read.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its id.
    pub id: String,
    /// Its condition.
    pub condition: String,
    /// Its dialogue.
    pub conversation: String,
    /// From 1.
    pub replicate: u32,
    /// What it came to.
    pub result: CellResult,
}

/// Which questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Those with an answer.
    Core,
    /// Those where declining is right.
    Adversarial,
}

impl Set {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Core, Self::Adversarial];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Adversarial => "adversarial",
        }
    }

    /// Whether a question belongs to it.
    #[must_use]
    pub const fn holds(self, is_core: bool) -> bool {
        matches!((self, is_core), (Self::Core, true) | (Self::Adversarial, false))
    }
}

/// One condition on one set of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The condition.
    pub condition: String,
    /// The questions.
    pub set: Set,
    /// By the vote.
    pub vote: Compared,
    /// By the mean of replicates.
    pub mean: Compared,
    /// By the vote, without questions that miss a grade anywhere.
    pub sensitivity: Option<f64>,
    /// Exact McNemar over the votes.
    pub mcnemar: Option<f64>,
    /// Exact sign-flip over the dialogues' deltas by the vote.
    pub sign_flip: Option<SignFlip>,
    /// Questions with a missing grade on either side.
    pub incomplete: Vec<String>,
    /// Cells that are in it.
    pub cells: usize,
}

/// A difference with its interval, in shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Condition minus none.
    pub delta: Option<f64>,
    /// The bootstrap interval.
    pub interval: Option<Interval>,
    /// By dialogue.
    pub by_conversation: Vec<(String, f64)>,
    /// How many questions were compared.
    pub questions: usize,
}

/// The cells of a run. Void ones are named and are in no number of a condition.
#[derive(Debug, Clone, Default)]
pub struct Cells {
    /// Those that count.
    pub counted: Vec<Cell>,
    /// Those in which an active stage decided about nothing.
    pub void: Vec<Cell>,
}

impl Cells {
    /// All of them, void ones last.
    pub fn all(&self) -> impl Iterator<Item = &Cell> {
        self.counted.iter().chain(&self.void)
    }
}

/// Reads the cells of a run.
///
/// # Errors
/// A record that is not of this kind.
pub fn read(records: &[Record]) -> Result<Cells, ExperimentError> {
    let cell = |record: &Record| {
        let replicate = record.config.get("replicate").and_then(serde_json::Value::as_u64);
        Ok(Cell {
            id: record.cell.clone(),
            condition: record.text("condition").to_owned(),
            conversation: record.text("conversation").to_owned(),
            replicate: replicate
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or_default(),
            result: record.result()?,
        })
    };
    let cells: Vec<Cell> = records.iter().map(cell).collect::<Result<_, ExperimentError>>()?;
    let (void, counted) = cells.into_iter().partition(|cell| cell.result.void.is_some());
    Ok(Cells { counted, void })
}

/// Grades by question, one place for each planned replicate; a cell that is not among `cells`, since it is void or was not
/// run, leaves its place empty.
#[must_use]
pub fn graded(cells: &[Cell], condition: &str, set: Set, replicates: u32) -> Vec<Graded> {
    let mut grades: BTreeMap<(String, usize), Vec<Option<bool>>> = BTreeMap::new();
    let planned = usize::try_from(replicates).unwrap_or(usize::MAX);
    for cell in cells.iter().filter(|cell| cell.condition == condition) {
        let place = usize::try_from(cell.replicate.saturating_sub(1)).unwrap_or(usize::MAX);
        for asked in cell
            .result
            .questions
            .iter()
            .filter(|asked| set.holds(asked.is_core()))
        {
            let key = (cell.conversation.clone(), asked.question);
            let places = grades.entry(key).or_insert_with(|| vec![None; planned]);
            if let Some(place) = places.get_mut(place) {
                *place = asked.correct();
            }
        }
    }
    grades
        .into_iter()
        .map(|((conversation, question), grades)| Graded {
            conversation,
            question: question.to_string(),
            grades,
        })
        .collect()
}

/// A condition against none.
///
/// # Errors
/// Never for cells of a run; [`StatsError`] where there is nothing to compare is `None` in the row.
pub fn row(cells: &[Cell], condition: &str, set: Set, replicates: u32, seed: u64) -> Result<Row, StatsError> {
    let of = |name: &str| graded(cells, name, set, replicates);
    let (with, without) = (of(condition), of(BASELINE));
    let vote = pair(&with, &without, Collapse::Vote, Missing::Counts);
    let mean = pair(&with, &without, Collapse::Mean, Missing::Counts);
    let sensitivity = pair(&with, &without, Collapse::Vote, Missing::Drops).delta();
    Ok(Row {
        condition: condition.to_owned(),
        set,
        mcnemar: vote.mcnemar().filter(|_| vote.questions() > 0),
        sign_flip: vote.sign_flip().ok(),
        incomplete: vote.incomplete.clone(),
        vote: compared(&vote, seed)?,
        mean: compared(&mean, seed)?,
        sensitivity,
        cells: cells.iter().filter(|cell| cell.condition == condition).count(),
    })
}

fn compared(paired: &Paired, seed: u64) -> Result<Compared, StatsError> {
    let interval = if paired.questions() == 0 {
        None
    } else {
        Some(paired.interval(BOOTSTRAP_SAMPLES, seed)?)
    };
    Ok(Compared {
        delta: paired.delta(),
        interval,
        by_conversation: paired
            .strata
            .iter()
            .map(|stratum| (stratum.conversation.clone(), stratum.delta()))
            .collect(),
        questions: paired.questions(),
    })
}

/// Tokens of a condition over its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Of the defense.
    pub defense: u64,
    /// Of extraction.
    pub extract: u64,
    /// Of answers.
    pub answer: u64,
}

impl Tokens {
    /// Defense over extraction and answers; judge and embeddings are in neither.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
    pub fn overhead(self) -> Option<f64> {
        let framework = self.extract + self.answer;
        (framework > 0).then(|| self.defense as f64 / framework as f64)
    }
}

/// What a condition spent.
#[must_use]
pub fn tokens(cells: &[Cell], condition: &str) -> Tokens {
    let mut sum = Tokens::default();
    let spent = cells.iter().filter(|cell| cell.condition == condition);
    for (purpose, spent) in spent.flat_map(|cell| &cell.result.spent) {
        let tokens = Spent::tokens(spent);
        match purpose.as_str() {
            "extract" => sum.extract += tokens,
            "answer" => sum.answer += tokens,
            name if name.starts_with("defense:") => sum.defense += tokens,
            _ => {}
        }
    }
    sum
}

/// What one stage of a condition did, over its cells.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRate {
    /// The stage.
    pub stage: String,
    /// `write` or `read`.
    pub phase: String,
    /// The false quarantine rate: kept out over adjudicated, averaged over cells. Nobody attacks, so each is false.
    pub fqr: f64,
    /// Distinct memories lost over memories stored, averaged over cells.
    pub distinct: f64,
    /// Adjudications in all cells.
    pub adjudicated: u64,
    /// Kept out in all cells.
    pub kept_out: u64,
    /// Decisions that could not be made, by name.
    pub failed: BTreeMap<String, u64>,
    /// The most that one cell lost.
    pub most: u64,
}

/// The false quarantine rates of a condition's stages.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn stages(cells: &[Cell], condition: &str) -> Vec<StageRate> {
    let mut rates: Vec<(StageRate, u64)> = Vec::new();
    let of = cells.iter().filter(|cell| cell.condition == condition);
    for cell in of {
        for count in &cell.result.stages {
            let at = rates
                .iter()
                .position(|(rate, _)| rate.stage == count.stage && rate.phase == count.phase);
            let at = at.unwrap_or_else(|| {
                let rate = StageRate {
                    stage: count.stage.clone(),
                    phase: count.phase.clone(),
                    fqr: 0.0,
                    distinct: 0.0,
                    adjudicated: 0,
                    kept_out: 0,
                    failed: BTreeMap::new(),
                    most: 0,
                };
                rates.push((rate, 0));
                rates.len() - 1
            });
            let Some((rate, of)) = rates.get_mut(at) else {
                continue;
            };
            *of += 1;
            rate.fqr += count.kept_out as f64 / count.adjudicated.max(1) as f64;
            // What a write stage keeps out was never stored: the whole is what would have been.
            let stored = if count.phase == "write" {
                cell.result.extracted
            } else {
                cell.result.stored
            };
            rate.distinct += count.distinct as f64 / stored.max(1) as f64;
            rate.adjudicated += count.adjudicated;
            rate.kept_out += count.kept_out;
            rate.most = rate.most.max(count.kept_out);
            for (name, failed) in &count.failed {
                *rate.failed.entry(name.clone()).or_default() += failed;
            }
        }
    }
    let averaged = |(mut rate, of): (StageRate, u64)| {
        rate.fqr /= of.max(1) as f64;
        rate.distinct /= of.max(1) as f64;
        rate
    };
    rates.into_iter().map(averaged).collect()
}

/// The one rate that a row shows: of the reranker where it runs, else of the last deciding stage; 0 by definition
/// without any.
#[must_use]
pub fn fqr(stages: &[StageRate]) -> f64 {
    let rerank = stages.iter().find(|rate| rate.stage == "rerank");
    rerank.or(stages.last()).map_or(0.0, |rate| rate.fqr)
}

/// Memories in sight with a finding or lowered authority over those in sight, averaged over a condition's cells.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "memories are few")]
pub fn marked(cells: &[Cell], condition: &str) -> f64 {
    let of: Vec<&Cell> = cells.iter().filter(|cell| cell.condition == condition).collect();
    let shares = of
        .iter()
        .map(|cell| cell.result.marked as f64 / cell.result.stored.max(1) as f64);
    shares.sum::<f64>() / of.len().max(1) as f64
}

#[cfg(test)]
pub(super) mod tests;
