//! Evidence of one stage, gathered over a text.
//!
//! For: adding up what stands close together. Signs that are weak each say something when they meet in a few
//! sentences and nothing when they lie pages apart, so a long document is not suspect for its length. Not for:
//! finding anything (`scan`), nor for what evidence leads to (`findings`).

use super::context::Setting;
use super::scan::Match;

/// Bytes of the original text within which matches add up.
const REACH: usize = 1_500;
/// At this total, in hundredths, further matches are only counted.
const PLENTY: u32 = 95;

/// What one stage saw.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The strongest match of each name among those that still add up.
    near: Vec<Match>,
    /// The set that said most, and what it said in hundredths.
    best: Vec<Match>,
    total: u32,
    count: u32,
}

impl Evidence {
    /// How many matches there were.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// What the strongest neighbors say together, in hundredths.
    pub(super) const fn total(&self) -> u32 {
        self.total
    }

    /// The strongest neighbors.
    pub(super) fn best(&self) -> &[Match] {
        &self.best
    }

    /// Whether more matches could not change anything that matters.
    pub(super) const fn is_plenty(&self) -> bool {
        self.total >= PLENTY
    }

    /// Counts a match that need not be weighed.
    pub(super) const fn count_one(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Matches of another view do not add up with those before.
    pub(super) fn next_view(&mut self) {
        self.near.clear();
    }

    /// Weighs a match. They come in the order of the text.
    pub(super) fn add(&mut self, found: Match) {
        self.count_one();
        let from = found.span.start.saturating_sub(REACH);
        self.near.retain(|kept| kept.span.start >= from);
        match self
            .near
            .iter_mut()
            .find(|kept| kept.rule.name == found.rule.name)
        {
            Some(kept) if found.weight() < kept.weight() => return,
            // The same again says nothing new, but reaches further.
            Some(kept) => *kept = found,
            None => self.near.push(found),
        }
        let total = total(&self.near);
        if total > self.total {
            self.total = total;
            self.best.clone_from(&self.near);
        }
    }
}

/// Independent evidence: 1 − Π(1 − weight) over what is said, and the strongest of what is only told about.
fn total(matches: &[Match]) -> u32 {
    let weight = |found: &Match| f64::from(found.weight()) / 10_000.0;
    let mut left = 1.0;
    let mut told: f64 = 0.0;
    for found in matches {
        match found.setting {
            Setting::Said | Setting::Quoted => left *= 1.0 - weight(found),
            Setting::Reported | Setting::QuotedReport | Setting::Negated => told = told.max(weight(found)),
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let hundredths = (100.0 - left * (1.0 - told) * 100.0).round() as u32;
    hundredths
}
