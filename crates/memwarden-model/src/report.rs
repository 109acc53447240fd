//! Calls added up: by purpose, model or cell. Data only; how a table looks is the command's business.

use crate::call::{Call, Cost, Outcome, Served};
use memwarden_core::model::UsageSource;
use std::collections::BTreeMap;
use std::time::Duration;

/// What gets a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// What calls were for.
    Purpose,
    /// What they asked.
    Model,
    /// The cell that they were made for.
    Cell,
}

impl By {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Purpose => "purpose",
            Self::Model => "model",
            Self::Cell => "cell",
        }
    }
}

/// Calls, added up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sum {
    /// Requests.
    pub calls: u64,
    /// How many ended without a whole reply, by the name of the error.
    pub failed: BTreeMap<String, u64>,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Calls whose tokens we counted, since the provider did not.
    pub counted: u64,
    /// Of those, how many with a tokenizer that is not the model's.
    pub approximated: u64,
    /// Calls whose tokens nobody knows.
    pub uncounted: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Time spent waiting for a turn.
    pub waiting: Duration,
    /// Time spent being served.
    pub serving: Duration,
    /// What the calls with a known cost cost.
    pub cost: Cost,
    /// Calls of unknown cost; while there are any, `cost` is a lower bound.
    pub unpriced: u64,
    /// Calls that the simulated model answered.
    pub simulated: u64,
    /// Calls that a cassette answered.
    pub replayed: u64,
}

impl Sum {
    /// The cost, if every call's is known.
    #[must_use]
    pub fn whole_cost(&self) -> Option<Cost> {
        (self.unpriced == 0).then_some(self.cost)
    }

    fn add(&mut self, call: &Call, cost: Option<Cost>) {
        self.calls += 1;
        if let Outcome::Failed(name) = &call.outcome {
            *self.failed.entry(name.clone()).or_default() += 1;
        }
        match &call.usage {
            None => self.uncounted += 1,
            Some(usage) => {
                self.prompt_tokens = self.prompt_tokens.saturating_add(usage.prompt);
                self.completion_tokens = self.completion_tokens.saturating_add(usage.completion);
                self.counted += u64::from(usage.source != UsageSource::Provider);
                self.approximated += u64::from(matches!(usage.source, UsageSource::Approximated { .. }));
            }
        }
        self.retries += u64::from(call.retries);
        self.waiting = self.waiting.saturating_add(call.waiting);
        self.serving = self.serving.saturating_add(call.serving);
        self.unpriced += u64::from(cost.is_none());
        self.spend(cost.unwrap_or_default(), 1);
        self.simulated += u64::from(call.served == Served::Simulated);
        self.replayed += u64::from(call.served == Served::Replayed);
    }

    /// Adds what `calls` cost. Where the sum cannot be written it stays the lower bound that it was.
    fn spend(&mut self, cost: Cost, calls: u64) {
        match self.cost.plus(cost) {
            Some(sum) => self.cost = sum,
            None => self.unpriced += calls,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        for (name, count) in &other.failed {
            *self.failed.entry(name.clone()).or_default() += count;
        }
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.counted += other.counted;
        self.approximated += other.approximated;
        self.uncounted += other.uncounted;
        self.retries += other.retries;
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.serving = self.serving.saturating_add(other.serving);
        self.unpriced += other.unpriced;
        self.spend(other.cost, other.calls - other.unpriced);
        self.simulated += other.simulated;
        self.replayed += other.replayed;
    }
}

/// One row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The purpose, model or cell; empty for calls outside of any cell.
    pub name: String,
    /// Its calls.
    pub sum: Sum,
}

/// Rows in the order of their names, and all of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What has a row.
    pub by: By,
    /// The rows.
    pub rows: Vec<Row>,
    /// Their sum.
    pub total: Sum,
}

/// Sums by purpose, model and cell: as large as there are different ones, however many calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    sums: BTreeMap<(String, String, String), Sum>,
}

impl Tally {
    pub(crate) fn add(&mut self, call: &Call, cost: Option<Cost>) {
        let key = (
            call.purpose.as_str().to_owned(),
            call.model.clone(),
            call.cell
                .as_ref()
                .map(|cell| cell.as_str().to_owned())
                .unwrap_or_default(),
        );
        self.sums.entry(key).or_default().add(call, cost);
    }

    pub(crate) fn report(&self, by: By) -> Report {
        let mut rows: BTreeMap<&str, Sum> = BTreeMap::new();
        let mut total = Sum::default();
        for ((purpose, model, cell), sum) in &self.sums {
            let name = match by {
                By::Purpose => purpose,
                By::Model => model,
                By::Cell => cell,
            };
            rows.entry(name).or_default().merge(sum);
            total.merge(sum);
        }
        let row = |(name, sum): (&str, Sum)| Row {
            name: name.to_owned(),
            sum,
        };
        Report {
            by,
            rows: rows.into_iter().map(row).collect(),
            total,
        }
    }
}
