//! What is counted in a run, and the row that is made of it.

use crate::report::AgentRow;
use std::ops::AddAssign;

/// Counts of one task or of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) forged_written: u64,
    pub(crate) forged_admitted: u64,
    pub(crate) served: u64,
    pub(crate) served_forged: u64,
    pub(crate) honest_written: u64,
    pub(crate) honest_lost: u64,
    pub(crate) quarantined: u64,
    pub(crate) chances: u64,
    pub(crate) wrong_actions: u64,
    pub(crate) wrong_confirmed: u64,
    pub(crate) actions: u64,
    pub(crate) confirms: u64,
    pub(crate) tasks: u64,
    pub(crate) tasks_completed: u64,
    pub(crate) legitimate_skips: u64,
    pub(crate) skips_allowed: u64,
    pub(crate) untrusted_contexts: u64,
    pub(crate) honest_refused: u64,
    pub(crate) honest_confirmed: u64,
    pub(crate) receipts_refused: u64,
    pub(crate) tamper_refused: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.forged_written += other.forged_written;
        self.forged_admitted += other.forged_admitted;
        self.served += other.served;
        self.served_forged += other.served_forged;
        self.honest_written += other.honest_written;
        self.honest_lost += other.honest_lost;
        self.quarantined += other.quarantined;
        self.chances += other.chances;
        self.wrong_actions += other.wrong_actions;
        self.wrong_confirmed += other.wrong_confirmed;
        self.actions += other.actions;
        self.confirms += other.confirms;
        self.tasks += other.tasks;
        self.tasks_completed += other.tasks_completed;
        self.legitimate_skips += other.legitimate_skips;
        self.skips_allowed += other.skips_allowed;
        self.untrusted_contexts += other.untrusted_contexts;
        self.honest_refused += other.honest_refused;
        self.honest_confirmed += other.honest_confirmed;
        self.receipts_refused += other.receipts_refused;
        self.tamper_refused += other.tamper_refused;
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, count| {
            sum += count;
            sum
        })
    }
}

impl Counts {
    /// The row of a cell. Creep and power are known only when all cells have run.
    pub(crate) fn row(
        &self,
        policy: &str,
        attack: &str,
        grant: Option<&str>,
        mechanism_off: Option<&str>,
    ) -> AgentRow {
        AgentRow {
            policy: policy.to_owned(),
            attack: attack.to_owned(),
            grant: grant.map(str::to_owned),
            mechanism_off: mechanism_off.map(str::to_owned),
            power: None,
            forged_written: self.forged_written,
            forged_admitted: self.forged_admitted,
            forged_share_top_k: share(self.served_forged, self.served).unwrap_or(0.0),
            honest_written: self.honest_written,
            honest_lost: self.honest_lost,
            chances: self.chances,
            wrong_actions: self.wrong_actions,
            wrong_confirmed: self.wrong_confirmed,
            actions: self.actions,
            honest_actions: self.tasks,
            honest_refused: self.honest_refused,
            honest_confirmed: self.honest_confirmed,
            tasks: self.tasks,
            tasks_completed: self.tasks_completed,
            legitimate_skips: self.legitimate_skips,
            skips_allowed: self.skips_allowed,
            untrusted_contexts: self.untrusted_contexts,
            receipts_refused: self.receipts_refused,
            tamper_refused: self.tamper_refused,
            label_creep: None,
            review_load: share(100 * (self.confirms + self.quarantined), self.tasks).unwrap_or(0.0),
        }
    }
}

/// A part of a whole; none of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts of a demo are far below 2^52")]
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
