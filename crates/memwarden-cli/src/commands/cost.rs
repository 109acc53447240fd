//! `cost`: what a policy would do to ordinary memories, as a table or JSON.

use crate::args::Global;
use crate::cost::{Cost, StageCost, measure, read};
use crate::cost_args::CostArgs;
use crate::failure::Failure;
use crate::stage_models::models;
use crate::{Outcome, output, policy_source};
use memwarden::guard::Stage;
use memwarden::model::{By, Meter, Prices};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The most problems that are named one by one.
const NAMED: usize = 20;

/// Tokens by purpose.
type Tokens = BTreeMap<String, u64>;

pub(super) fn run(global: &Global, args: &CostArgs) -> Result<Outcome, Failure> {
    let policy = policy_source::named(&args.policy)?;
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let chats = models(&global.stage_models, &meter)?;
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    for path in &args.traffic {
        let (read, wrong) = read(path)?;
        items.extend(read);
        problems.extend(wrong);
    }
    let cost = measure(&policy, &items, &chats, args.examples);
    let spent: Tokens = meter
        .report(By::Purpose)
        .rows
        .into_iter()
        .map(|row| (row.name, row.sum.prompt_tokens + row.sum.completion_tokens))
        .collect();
    let mut notes = Vec::new();
    if policy.read.iter().any(|stage| stage == Stage::Rerank.name()) {
        notes.push("`rerank` judges the candidates of a query; traffic has no queries, so it was not run");
    }
    if cost
        .stages
        .iter()
        .any(|stage| stage.failed.contains_key("failed"))
    {
        notes.push("a stage had no model to ask: give one with --stage-model");
    }
    if global.json {
        output::json(&as_json(&policy.name, &cost, &spent, &notes, &problems))?;
    } else {
        table(&policy.name, &cost, &spent)?;
        for note in notes {
            output::line(&format!("note: {note}"))?;
        }
    }
    for problem in problems.iter().take(NAMED) {
        eprintln!("not read: {}", output::cell(problem, 300));
    }
    let more = problems.len().saturating_sub(NAMED);
    if more > 0 {
        eprintln!("{more} more places were not read");
    }
    Ok(if problems.is_empty() {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

fn table(policy: &str, cost: &Cost, spent: &Tokens) -> Result<(), Failure> {
    output::line(&format!(
        "policy {policy}: of {} entries {} would be kept out ({}), {} withheld at recall, {} marked",
        cost.entries,
        cost.kept_out,
        percent(cost.kept_out, cost.entries),
        cost.withheld,
        cost.marked
    ))?;
    if cost.stages.is_empty() {
        return output::line("no stages: nothing is looked at and nothing costs anything");
    }
    let mut table = output::table(&[
        "phase",
        "stage",
        "looked at",
        "fired",
        "kept out",
        "share",
        "alone to blame",
        "undecided",
        "time an entry",
        "tokens",
    ]);
    for stage in &cost.stages {
        table.add_row([
            stage.phase.to_string(),
            stage.stage.clone(),
            stage.looked_at.to_string(),
            stage.fired.to_string(),
            stage.kept_out.to_string(),
            percent(stage.kept_out, stage.looked_at),
            stage.alone.to_string(),
            undecided(stage),
            micros(stage.time, stage.looked_at),
            tokens(stage, spent).to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    output::line(&format!(
        "time of all stages at write together, without models: {} an entry (they read a text once)",
        micros(cost.together, cost.entries)
    ))?;
    for stage in cost.stages.iter().filter(|stage| !stage.examples.is_empty()) {
        output::line(&format!("\n{} would keep out, for example:", stage.stage))?;
        for example in &stage.examples {
            output::line(&format!(
                "  {}\n    {}\n    {}",
                output::cell(&example.place, 200),
                output::cell(&example.text, 200),
                output::cell(&example.reason, 200)
            ))?;
        }
    }
    Ok(())
}

fn as_json(policy: &str, cost: &Cost, spent: &Tokens, notes: &[&str], problems: &[String]) -> Value {
    let stage = |stage: &StageCost| {
        json!({
            "phase": stage.phase.as_str(),
            "stage": stage.stage,
            "looked_at": stage.looked_at,
            "fired": stage.fired,
            "kept_out": stage.kept_out,
            "alone_to_blame": stage.alone,
            "undecided": stage.failed,
            "seconds": stage.time.as_secs_f64(),
            "tokens": tokens(stage, spent),
            "examples": stage.examples.iter().map(|example| json!({
                "place": example.place, "text": example.text, "reason": example.reason,
            })).collect::<Vec<_>>(),
        })
    };
    json!({
        "policy": policy,
        "entries": cost.entries,
        "kept_out": cost.kept_out,
        "withheld": cost.withheld,
        "marked": cost.marked,
        "seconds_together": cost.together.as_secs_f64(),
        "stages": cost.stages.iter().map(stage).collect::<Vec<_>>(),
        "notes": notes,
        "not_read": problems,
    })
}

fn tokens(stage: &StageCost, spent: &Tokens) -> u64 {
    spent
        .get(&format!("defense:{}", stage.stage))
        .copied()
        .unwrap_or_default()
}

fn undecided(stage: &StageCost) -> String {
    let named: Vec<String> = stage
        .failed
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    named.join("\n")
}

#[expect(clippy::cast_precision_loss, reason = "entries are far below 2^52")]
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    format!("{:.2} %", 100.0 * part as f64 / whole as f64)
}

#[expect(clippy::cast_precision_loss, reason = "entries are far below 2^52")]
fn micros(time: Duration, entries: u64) -> String {
    format!("{:.1} µs", 1e6 * time.as_secs_f64() / entries.max(1) as f64)
}
