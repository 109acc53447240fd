//! What the letters of an entry say without their wording: the stages `sanitize`, `gibberish` and `secrets`.
//!
//! For: findings from `sanitize`, `gibberish`, `flood` and `secrets`. Not for: how those find what they find.

use crate::flood::flood;
use crate::layers::{score, span};
use crate::sanitize::Sanitized;
use crate::secrets::secrets;
use crate::stage::Stage;
use memwarden_core::{Finding, Policy, Score, Severity};

/// Findings of the stage `secrets` that are written out; the last says how many there were.
const MAX_SECRETS: usize = 8;

/// One finding for each kind of character that was taken out.
pub(crate) fn sanitize_findings(cleaned: &Sanitized) -> Vec<Finding> {
    let finding = |(name, tally): (&str, &crate::Tally)| Finding {
        stage: Stage::Sanitize.name().to_owned(),
        rule: name.to_owned(),
        severity: Severity::Warning,
        score: Score::MAX,
        span: tally
            .first
            .clone()
            .and_then(|first| span((first.start, first.end))),
        reason: format!(
            "holds characters that are not shown: {} of kind {name}; the first stands here",
            tally.count
        ),
    };
    let kinds = cleaned.removed.by_name().into_iter();
    kinds.filter(|(_, tally)| tally.count > 0).map(finding).collect()
}

/// The strangest string of the text, and a flood of tokens.
pub(crate) fn gibberish_findings(policy: &Policy, text: &str) -> Vec<Finding> {
    let threshold = Stage::Gibberish.threshold(policy).unwrap_or(100);
    let finding = |rule: &str, hundredths: u32, range: (usize, usize), reason: String| Finding {
        stage: Stage::Gibberish.name().to_owned(),
        rule: rule.to_owned(),
        severity: if hundredths > threshold {
            Severity::Warning
        } else {
            Severity::Info
        },
        score: score(hundredths),
        span: span(range),
        reason,
    };
    let flooded = flood(text).map(|found| {
        let reason = format!("{} short tokens in a row, few of them different", found.tokens);
        finding("flood", 90, (found.span.start, found.span.end), reason)
    });
    flooded.into_iter().collect()
}

/// Each credential, redacted.
pub(crate) fn secrets_findings(text: &str) -> Vec<Finding> {
    let found = secrets(text);
    let shown = found.len().min(MAX_SECRETS);
    let finding = |(index, secret): (usize, &crate::Secret)| {
        let more = found.len().saturating_sub(shown);
        let rest = if index.saturating_add(1) == shown && more > 0 {
            format!("; {more} more")
        } else {
            String::new()
        };
        Finding {
            stage: Stage::Secrets.name().to_owned(),
            rule: secret.kind.to_owned(),
            severity: Severity::Warning,
            score: Score::MAX,
            span: span((secret.span.start, secret.span.end)),
            reason: format!("holds a credential: {}{rest}", secret.redacted),
        }
    };
    found.iter().take(shown).enumerate().map(finding).collect()
}
