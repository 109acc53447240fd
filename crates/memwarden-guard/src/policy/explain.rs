//! What a policy does, in rows for a table, and what a change of policy gives up, in lines.

use super::origin_review;
use crate::judged::{ReplyForm, backfills, max_tokens_of, model_of, persists};
use crate::layers::decimal;
use crate::reasoning::{SIGNALS, weight};
use crate::stage::{Phase, Precedents, Stage, Undeclared, Weigh, Writer};
use memwarden_core::{FailMode, Policy, Verdict};

/// One stage of a policy in one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// When it runs.
    pub phase: Phase,
    /// Its name.
    pub stage: String,
    /// What it leads to when it fires; none for a stage that only labels.
    pub verdict: Option<Verdict>,
    /// What its failure leads to for an untrusted writer.
    pub fail: FailMode,
    /// Its parameters as they apply, defaults included, in a fixed order.
    pub parameters: Vec<(String, String)>,
    /// What it looks at.
    pub summary: String,
}

/// Every stage that `policy` runs, in the order in which they run, write before read.
#[must_use]
pub fn explain(policy: &Policy) -> Vec<Row> {
    let rows = |phase: Phase| {
        phase
            .stages(policy)
            .iter()
            .map(move |name| row(policy, phase, name))
    };
    rows(Phase::Write).chain(rows(Phase::Read)).collect()
}

/// What `new` lets pass that `old` does not, one line for each: stages removed, thresholds raised, verdicts,
/// fail modes, weights and readings weakened, quotas raised; origin no longer enforced, actions removed or
/// checked less, tools trusted more, fewer endorsers. Empty where nothing is loosened. The order of stages does
/// not matter here: it never changes what is let pass.
#[must_use]
pub fn loosenings(old: &Policy, new: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    for phase in [Phase::Write, Phase::Read] {
        for name in phase.stages(old) {
            if !phase.stages(new).contains(name) {
                lines.push(format!("{phase}: stage `{name}` no longer runs"));
                continue;
            }
            let Some(stage) = Stage::from_name(name) else {
                continue;
            };
            let fails = |policy| stage.fail_mode(policy, phase, Writer::Untrusted);
            if fails(old) == FailMode::Closed && fails(new) == FailMode::Open {
                lines.push(format!("{phase}: stage `{name}` fails open, was closed"));
            }
        }
    }
    let runs = |policy: &Policy, stage: Stage| {
        let listed = |list: &[String]| list.iter().any(|name| name == stage.name());
        listed(&policy.write) || listed(&policy.read)
    };
    for stage in Stage::ALL {
        if runs(old, stage) && runs(new, stage) {
            stage_loosenings(stage, old, new, &mut lines);
        }
    }
    let reads_declarations = |stage: &Stage| {
        matches!(
            stage,
            Stage::Provenance | Stage::Taint | Stage::Pattern | Stage::ReasoningGuard
        )
    };
    let both = |stage: Stage| runs(old, stage) && runs(new, stage);
    if Undeclared::of(old) == Undeclared::Poisoned
        && Undeclared::of(new) == Undeclared::Unlabeled
        && Stage::ALL.into_iter().filter(reads_declarations).any(both)
    {
        lines.push("stage `provenance`: undeclared weakened from poisoned to unlabeled".to_owned());
    }
    for (what, was, is) in [
        ("records", old.quota.records, new.quota.records),
        ("bytes", old.quota.bytes, new.quota.bytes),
    ] {
        if is > was {
            lines.push(format!("quota: {what} raised from {was} to {is}"));
        }
    }
    lines.extend(origin_review::loosenings(old, new));
    lines
}

fn stage_loosenings(stage: Stage, old: &Policy, new: &Policy, lines: &mut Vec<String>) {
    let name = stage.name();
    let (was, is) = (old.verdict_of(name), new.verdict_of(name));
    if stage.can_fire() && is < was {
        lines.push(format!("stage `{name}`: verdict weakened from {was} to {is}"));
    }
    if let (Some(was), Some(is)) = (stage.threshold(old), stage.threshold(new))
        && is > was
    {
        let (was, is) = (decimal(was), decimal(is));
        lines.push(format!("stage `{name}`: threshold raised from {was} to {is}"));
    }
    if stage != Stage::ReasoningGuard {
        return;
    }
    if Precedents::of(old) == Precedents::ReceiptBacked && Precedents::of(new) == Precedents::Stored {
        lines.push(format!(
            "stage `{name}`: precedents weakened from receipt-backed to stored"
        ));
    }
    for signal in SIGNALS {
        let (was, is) = (weight(old, signal), weight(new, signal));
        if is < was {
            let (was, is) = (decimal(was), decimal(is));
            lines.push(format!("weights: {signal} lowered from {was} to {is}"));
        }
    }
}

fn row(policy: &Policy, phase: Phase, name: &str) -> Row {
    let stage = Stage::from_name(name);
    let mut parameters = Vec::new();
    if let Some(threshold) = stage.and_then(|stage| stage.threshold(policy)) {
        parameters.push(("threshold".to_owned(), decimal(threshold)));
    }
    if stage == Some(Stage::Provenance) {
        parameters.push((
            "undeclared".to_owned(),
            Undeclared::of(policy).as_str().to_owned(),
        ));
    }
    if let Some(stage) = stage.filter(|stage| stage.asks_a_model()) {
        parameters.push(("model".to_owned(), model_of(policy, stage).to_owned()));
        parameters.push(("max_tokens".to_owned(), max_tokens_of(policy, stage).to_string()));
        let reply = ReplyForm::of(policy, stage).as_str();
        parameters.push(("reply".to_owned(), reply.to_owned()));
    }
    if stage == Some(Stage::Rerank) {
        parameters.push(("backfill".to_owned(), backfills(policy).to_string()));
        parameters.push(("persist".to_owned(), persists(policy).to_string()));
    }
    if stage == Some(Stage::Provenance) && Weigh::of(policy) != Weigh::Nothing {
        parameters.push(("weigh".to_owned(), Weigh::of(policy).as_str().to_owned()));
    }
    if stage == Some(Stage::ReasoningGuard) {
        parameters.push((
            "precedents".to_owned(),
            Precedents::of(policy).as_str().to_owned(),
        ));
        for signal in SIGNALS {
            parameters.push((signal.to_owned(), decimal(weight(policy, signal))));
        }
    }
    Row {
        phase,
        stage: name.to_owned(),
        verdict: stage.is_none_or(Stage::can_fire).then(|| policy.verdict_of(name)),
        fail: crate::stage::fail_mode(policy, name, phase, Writer::Untrusted),
        parameters,
        summary: stage.map_or("no stage has this name", Stage::summary).to_owned(),
    }
}
