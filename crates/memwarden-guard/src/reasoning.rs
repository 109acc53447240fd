//! Layer 5, the reasoning guard (FARMA §IV-E, §IV-F): five signals of forged reasoning and their weighted sum.
//!
//! For: the value of each signal and the score `F = Σ wᵢ·sᵢ` in integers. Not for: what a score over the
//! threshold leads to, which the policy says. No other part of an entry than its content, its kind, its trace
//! type, its subject and its declared source is read.

use crate::claims::largest;
use crate::layers::{decimal, score, span};
use crate::lists::Lists;
use crate::provenance::Label;
use crate::stage::{DEFAULT_WEIGHT, Precedents, Stage, StageError, StoreView, Undeclared};
use memwarden_core::{Entry, Finding, Kind, Policy, Severity};
use regex::Regex;

/// From this many claimed runs on, a claim of perfect consistency is implausible (§IV-E says "large", with
/// "100% across 60 runs" as its example; the bound is our reading).
pub const IMPLAUSIBLE_PRECEDENTS: u64 = 20;

/// Names of the five signals, as `[weights]` writes them.
pub const SIGNALS: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];

/// What each signal measures, in the order of [`SIGNALS`].
const MEANINGS: [&str; 5] = [
    "provenance anomaly",
    "self-reference mismatch",
    "suspicious density",
    "implausible claim",
    "structure",
];

/// Tiers of signal 3: from this many distinct phrases on, this value (§IV-E).
const DENSITY_TIERS: [(usize, u32); 3] = [(6, 100), (4, 75), (3, 50)];

/// One signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// `s1` to `s5`.
    pub name: &'static str,
    /// Its value in hundredths, 0 to 100.
    pub value: u32,
    /// Its weight in hundredths.
    pub weight: u32,
    /// Byte range of what made it fire, where there is one.
    pub span: Option<(u32, u32)>,
}

/// The five signals of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signals(pub [Signal; 5]);

impl Signals {
    /// Σ wᵢ·sᵢ in ten-thousandths: 5000 is F = 0.5.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.0.iter().fold(0, |sum: u32, signal| {
            sum.saturating_add(signal.weight.saturating_mul(signal.value))
        })
    }

    /// Whether F is over `threshold` hundredths; exactly the threshold is not.
    #[must_use]
    pub fn exceed(&self, threshold: u32) -> bool {
        self.sum() > threshold.saturating_mul(100)
    }
}

/// Whether the reasoning guard applies: to entries of the reasoning store (Figure 2), to those whose declared
/// trace type is reasoning, and to those that open like a decision log (§IV-F).
pub(crate) fn looks_like_reasoning(lists: &Lists, entry: &Entry) -> bool {
    entry.kind == Kind::Reasoning
        || entry.trace_type.is_reasoning()
        || opening(lists, &entry.content).is_some()
}

/// The signals of `entry`, whether or not it looks like reasoning.
pub(crate) fn signals(
    lists: &Lists,
    policy: &Policy,
    entry: &Entry,
    view: &dyn StoreView,
) -> Result<Signals, StageError> {
    let text = entry.content.as_str();
    let opening = opening(lists, text);
    let claim = largest(&lists.precedents, text);

    let role = opening.or_else(|| lists.roles.first(text).map(|hit| hit.span));
    let anomaly = role.filter(|_| Label::of(entry, Undeclared::of(policy)).is_suspect());

    let mismatch = match claim {
        Some(claim) => {
            let subject = entry.subject.as_deref();
            let stored = match Precedents::of(policy) {
                Precedents::Stored => view.reasoning_entries(subject)?,
                Precedents::ReceiptBacked => view.receipt_backed_entries(subject)?,
            };
            (stored < claim.runs).then_some(claim.span)
        }
        None => None,
    };

    let phrases = lists.indicators.distinct(text);
    let tier = DENSITY_TIERS.iter().find(|(count, _)| phrases.len() >= *count);
    let density = tier.map_or(0, |(_, value)| *value);
    let first_phrase = phrases.iter().map(|hit| hit.span).min().filter(|_| density > 0);

    let perfection = claim
        .filter(|claim| claim.runs >= IMPLAUSIBLE_PRECEDENTS)
        .and_then(|_| first_match(&lists.perfection, text));

    let fired = |at: Option<(usize, usize)>| (if at.is_some() { 100 } else { 0 }, at);
    let [s1, s2, s3, s4, s5] = SIGNALS;
    let signal = |name: &'static str, (value, at): (u32, Option<(usize, usize)>)| Signal {
        name,
        value,
        weight: weight(policy, name),
        span: at.and_then(span),
    };
    Ok(Signals([
        signal(s1, fired(anomaly)),
        signal(s2, fired(mismatch)),
        signal(s3, (density, first_phrase)),
        signal(s4, fired(perfection)),
        signal(s5, fired(opening)),
    ]))
}

/// Layer 5: fires when the entry looks like reasoning and F is over the threshold.
pub(crate) fn reasoning_guard(
    lists: &Lists,
    policy: &Policy,
    entry: &Entry,
    view: &dyn StoreView,
) -> Result<Vec<Finding>, StageError> {
    if !looks_like_reasoning(lists, entry) {
        return Ok(Vec::new());
    }
    let signals = signals(lists, policy, entry, view)?;
    let threshold = Stage::ReasoningGuard.threshold(policy).unwrap_or(100);
    if !signals.exceed(threshold) {
        return Ok(Vec::new());
    }
    let values: Vec<String> = signals
        .0
        .iter()
        .zip(MEANINGS)
        .map(|(signal, meaning)| format!("{} {meaning} {}", signal.name, decimal(signal.value)))
        .collect();
    Ok(vec![Finding {
        stage: Stage::ReasoningGuard.name().to_owned(),
        rule: "forgery-score".to_owned(),
        severity: Severity::High,
        score: score(signals.sum().div_euclid(100)),
        span: signals.0.iter().find_map(|signal| signal.span),
        reason: format!(
            "forgery score {} is over the threshold {}: {}",
            ten_thousandths(signals.sum()),
            decimal(threshold),
            values.join(", ")
        ),
    }])
}

/// The weight of `signal` in hundredths under `policy`.
pub(crate) fn weight(policy: &Policy, signal: &str) -> u32 {
    policy.weights.get(signal).copied().unwrap_or(DEFAULT_WEIGHT)
}

/// The highest F in hundredths that `weights` allow: every signal reaches 1.0.
pub(crate) fn highest_score(weights: impl IntoIterator<Item = u32>) -> u32 {
    weights.into_iter().fold(0, u32::saturating_add).min(100)
}

fn opening(lists: &Lists, text: &str) -> Option<(usize, usize)> {
    first_match(&lists.openings, text)
}

fn first_match(patterns: &[Regex], text: &str) -> Option<(usize, usize)> {
    let found = patterns.iter().filter_map(|pattern| pattern.find(text));
    found.map(|found| (found.start(), found.end())).min()
}

/// Ten-thousandths without trailing zeros beyond the second: `0.55`, `0.525`.
fn ten_thousandths(sum: u32) -> String {
    let text = format!("{}.{:04}", sum / 10_000, sum % 10_000);
    let keep = text.trim_end_matches('0').len().max(4);
    text.chars().take(keep).collect()
}
