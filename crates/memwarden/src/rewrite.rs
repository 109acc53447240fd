//! The verdict `rewrite`: the cleaned text is what is remembered, the text as it came stays beside it out of sight.
//!
//! For: deciding whether a cleaned text may take the place of the one that came. Not for: cleaning, which a stage of
//! the guard does, nor for writing either.

use memwarden_core::{Entry, Finding, Limits, Verdict};
use memwarden_guard::Screening;

/// What becomes of an entry for which `screening` asks: the final screening, and the cleaned entry where the verdict
/// is still [`Verdict::Rewrite`].
///
/// The cleaned text is screened like any other: what hid a word from a stage is gone, and what it hid must not come in
/// by being cleaned. If it is kept out itself, if cleaning it leaves no entry, or if no stage gave a text, then nothing
/// is rewritten, and the entry as it came is kept out.
pub(crate) fn settle(
    entry: &Entry,
    mut screening: Screening,
    limits: Limits,
    screen: impl FnOnce(&Entry) -> Screening,
) -> (Screening, Option<Entry>) {
    if screening.verdict != Verdict::Rewrite {
        return (screening, None);
    }
    let Some(cleaned) = cleaned(entry, screening.rewritten.take(), limits) else {
        screening.verdict = Verdict::Quarantine;
        return (screening, None);
    };
    let again = screen(&cleaned);
    let known = screening.findings.len();
    for finding in without_spans(&again.findings) {
        let before = screening.findings.iter().take(known);
        if !before
            .into_iter()
            .any(|seen| seen.stage == finding.stage && seen.rule == finding.rule)
        {
            screening.findings.push(finding);
        }
    }
    match again.verdict {
        Verdict::Admit | Verdict::Annotate => (screening, Some(cleaned)),
        Verdict::Rewrite => {
            screening.verdict = Verdict::Quarantine;
            (screening, None)
        }
        Verdict::Quarantine | Verdict::Reject => {
            screening.verdict = again.verdict;
            screening.stage = again.stage;
            (screening, None)
        }
    }
}

/// Findings as the cleaned record keeps them: their spans were of another text.
pub(crate) fn without_spans(findings: &[Finding]) -> Vec<Finding> {
    let spanless = |finding: &Finding| Finding {
        span: None,
        ..finding.clone()
    };
    findings.iter().map(spanless).collect()
}

fn cleaned(entry: &Entry, text: Option<String>, limits: Limits) -> Option<Entry> {
    let mut cleaned = entry.clone();
    cleaned.content = text?;
    cleaned.check(limits).is_ok().then_some(cleaned)
}
