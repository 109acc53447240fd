//! Layers 1 to 4 of SENTINEL (FARMA §IV-A to §IV-D): what each finds in a candidate.
//!
//! For: findings. Not for: what a finding leads to, which the policy says (`guard`), nor layer 5 (`reasoning`).

use crate::lists::Lists;
use crate::provenance::{Label, taint};
use crate::stage::{Candidate, Stage, Undeclared};
use memwarden_core::{Finding, Policy, Score, Severity, Taint};

/// Layer 1: one finding for each block-listed word or phrase, at its first occurrence.
pub(crate) fn keyword(lists: &Lists, candidate: &Candidate<'_>) -> Vec<Finding> {
    let hits = lists.keywords.distinct(&candidate.entry.content);
    let finding = |hit: crate::phrases::Hit<'_>| Finding {
        stage: Stage::Keyword.name().to_owned(),
        rule: hit.phrase.to_owned(),
        severity: Severity::Warning,
        score: Score::MAX,
        span: span(hit.span),
        reason: format!("the text holds the block-listed `{}`", hit.phrase),
    };
    hits.into_iter().map(finding).collect()
}

/// Layer 2: the label of the declared source, as an [`Severity::Info`] finding where it speaks against the
/// entry.
pub(crate) fn provenance(policy: &Policy, candidate: &Candidate<'_>) -> Vec<Finding> {
    let label = Label::of(candidate.entry, Undeclared::of(policy));
    if !label.is_suspect() {
        return Vec::new();
    }
    let taint = taint_under(policy, candidate);
    let what = match label {
        Label::External => "a tool or an external origin",
        Label::Poisoned | Label::Trusted | Label::Unlabeled => "no source that the guard knows",
    };
    vec![Finding {
        stage: Stage::Provenance.name().to_owned(),
        rule: label.as_str().to_owned(),
        severity: Severity::Info,
        score: score(taint.hundredths()),
        span: None,
        reason: format!("the entry declares {what}: taint {}", decimal(taint.hundredths())),
    }]
}

/// Layer 3: fires when the taint is over the threshold.
pub(crate) fn taint_threshold(policy: &Policy, candidate: &Candidate<'_>) -> Vec<Finding> {
    let taint = taint_under(policy, candidate).hundredths();
    let threshold = threshold(Stage::Taint, policy);
    if taint <= threshold {
        return Vec::new();
    }
    vec![Finding {
        stage: Stage::Taint.name().to_owned(),
        rule: "threshold".to_owned(),
        severity: Severity::Warning,
        score: score(taint),
        span: None,
        reason: format!(
            "taint {} is over the threshold {}",
            decimal(taint),
            decimal(threshold)
        ),
    }]
}

/// Layer 4: fires when the risk is over the threshold, and for each pattern that matches.
///
/// risk = taint², our reading of the paper's "nonlinear transformation" (§IV-D); compared as integers.
pub(crate) fn pattern(lists: &Lists, policy: &Policy, candidate: &Candidate<'_>) -> Vec<Finding> {
    let taint = taint_under(policy, candidate);
    let threshold = threshold(Stage::Pattern, policy);
    let mut findings = Vec::new();
    if risk_exceeds(taint, threshold) {
        let risk = squared(taint).div_euclid(100);
        findings.push(Finding {
            stage: Stage::Pattern.name().to_owned(),
            rule: "risk".to_owned(),
            severity: Severity::Warning,
            score: score(risk),
            span: None,
            reason: format!(
                "risk {} (taint {} squared) is over the threshold {}",
                decimal(risk),
                decimal(taint.hundredths()),
                decimal(threshold)
            ),
        });
    }
    for (rule, regex) in &lists.rules {
        if let Some(found) = regex.find(&candidate.entry.content) {
            findings.push(Finding {
                stage: Stage::Pattern.name().to_owned(),
                rule: rule.clone(),
                severity: Severity::Warning,
                score: Score::MAX,
                span: span((found.start(), found.end())),
                reason: format!("the text matches the pattern `{rule}`"),
            });
        }
    }
    findings
}

/// A byte range as findings carry it; none where it does not fit.
pub(crate) fn span((start, end): (usize, usize)) -> Option<(u32, u32)> {
    Some((u32::try_from(start).ok()?, u32::try_from(end).ok()?))
}

/// A score, at most 100.
pub(crate) fn score(hundredths: u32) -> Score {
    Score::from_hundredths(hundredths).unwrap_or(Score::MAX)
}

/// Hundredths as a person writes them: `0.45`.
pub(crate) fn decimal(hundredths: u32) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn taint_under(policy: &Policy, candidate: &Candidate<'_>) -> Taint {
    taint(candidate.entry, candidate.inherited, Undeclared::of(policy))
}

/// taint² in ten-thousandths.
fn squared(taint: Taint) -> u32 {
    taint.hundredths().saturating_mul(taint.hundredths())
}

fn risk_exceeds(taint: Taint, threshold: u32) -> bool {
    squared(taint) > threshold.saturating_mul(100)
}

fn threshold(stage: Stage, policy: &Policy) -> u32 {
    // A stage without a threshold would never fire by it.
    stage.threshold(policy).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceeds(taint: u32, threshold: u32) -> bool {
        risk_exceeds(Taint::from_hundredths(taint).unwrap(), threshold)
    }

    #[test]
    fn risk_is_compared_without_rounding() {
        assert!(exceeds(71, 50), "0.5041 is over 0.5 although it rounds to 0.50");
        assert!(!exceeds(70, 50), "0.49 is not over 0.5");
        assert!(!exceeds(50, 25), "exactly 0.25 passes");
        assert!(exceeds(100, 99));
        assert!(!exceeds(100, 100));
    }
}
