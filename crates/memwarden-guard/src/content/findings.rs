//! Matches of one stage as findings with one score.

use super::Topic;
use super::scan::{Match, Scan};
use crate::excerpt::excerpt;
use crate::layers::{score, span};
use memwarden_core::{Finding, Policy, Severity};

/// Findings of one stage that are written out; the last says how many there were.
const MAX_FINDINGS: usize = 8;
/// Below this, in hundredths, a stage that does not fire says nothing.
const MENTION: u32 = 30;

/// What `topic`'s stage says about `text`: every finding carries the score of the whole, and is a warning if
/// that is over the threshold of `policy`.
pub(crate) fn findings(topic: Topic, scan: &Scan, policy: &Policy, text: &str) -> Vec<Finding> {
    let evidence = scan.of(topic);
    let mut matches: Vec<&Match> = evidence.best().iter().collect();
    matches.sort_by_key(|found| std::cmp::Reverse(found.weight()));
    let total = evidence.total();
    let stage = topic.stage();
    let fires = total > stage.threshold(policy).unwrap_or(100);
    if !fires && total < MENTION {
        return Vec::new();
    }
    let severity = if fires { Severity::Warning } else { Severity::Info };
    let shown = matches.len().min(MAX_FINDINGS);
    let count = usize::try_from(evidence.count()).unwrap_or(usize::MAX);
    let more = count.saturating_sub(shown);
    let finding = |(index, found): (usize, &&Match)| {
        let through = found
            .view
            .map_or_else(String::new, |view| format!(" (read through {})", view.as_str()));
        let rest = if index.saturating_add(1) == shown && more > 0 {
            format!("; {more} more")
        } else {
            String::new()
        };
        Finding {
            stage: stage.name().to_owned(),
            rule: found.rule.name.clone(),
            severity,
            score: score(total),
            span: span((found.span.start, found.span.end)),
            reason: format!(
                "{}: `{}`{}{through}{rest}",
                found.rule.about,
                excerpt(text, &found.span),
                found.setting.words()
            ),
        }
    };
    matches.iter().take(shown).enumerate().map(finding).collect()
}
