//! Policies: show what one does, check a file, make one the store's.

use crate::args::{Global, PolicyCommand};
use crate::failure::Failure;
use crate::{Outcome, output, policy_source, session};
use memwarden::core::{Authority, OriginMode};
use memwarden::guard::{PRESETS, Row, explain, explain_actions, explain_tools, loosenings, warnings};
use memwarden::{Policy, Role};
use serde_json::{Value, json};

pub(super) fn run(global: &Global, command: &PolicyCommand) -> Result<Outcome, Failure> {
    match command {
        PolicyCommand::Show { name } => {
            let policy = match name {
                Some(name) => policy_source::named(name)?,
                None => (*session::open(global)?.policy()).clone(),
            };
            show(global, &policy)
        }
        PolicyCommand::Check { file } => {
            let policy = policy_source::read(file)?;
            if global.json {
                output::json(&json!({
                    "name": policy.name, "hash": policy.hash().to_string(), "valid": true, "warnings": warnings(&policy),
                }))?;
            } else {
                output::line(&format!(
                    "policy {} is valid; hash {}",
                    policy.name,
                    policy.hash()
                ))?;
                for warning in warnings(&policy) {
                    output::line(&format!("note: {warning}"))?;
                }
            }
            Ok(Outcome::Clean)
        }
        PolicyCommand::Load { name } => load(global, &policy_source::named(name)?),
    }
}

fn load(global: &Global, policy: &Policy) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Owner)?;
    let loosened = loosenings(&handle.warden().policy(), policy);
    let position = handle.load_policy(policy)?;
    if global.json {
        output::json(&json!({
            "name": policy.name, "hash": policy.hash().to_string(), "position": position, "loosened": loosened,
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!(
        "policy {} is in force from log entry {position} on",
        policy.name
    ))?;
    for line in &loosened {
        output::line(&format!("  loosened: {line}"))?;
    }
    for warning in warnings(policy) {
        output::line(&format!("note: {warning}"))?;
    }
    Ok(Outcome::Clean)
}

fn show(global: &Global, policy: &Policy) -> Result<Outcome, Failure> {
    let rows = explain(policy);
    if global.json {
        output::json(&json!({
            "name": policy.name,
            "hash": policy.hash().to_string(),
            "stages": rows.iter().map(row_json).collect::<Vec<_>>(),
            "origin": if policy.origin == OriginMode::Off { "off" } else { "enforced" },
            "endorse_k": policy.endorse_k,
            "recall": {
                "max_share_per_principal": f64::from(policy.recall.max_share_per_principal) / 100.0,
                "near_duplicates": f64::from(policy.recall.near_duplicates) / 100.0,
                "trust": {
                    "none": policy.recall.weight(Authority::None),
                    "inform": policy.recall.weight(Authority::Inform),
                    "act": policy.recall.weight(Authority::Act),
                },
            },
            "actions": explain_actions(policy).iter().map(|row| json!({
                "tool": row.tool, "class": row.class.as_str(), "control": row.control, "requires": row.requires,
            })).collect::<Vec<_>>(),
            "tools": explain_tools(policy).iter().map(|row| json!({
                "tool": row.tool, "trusted": row.trusted, "summary": row.summary,
            })).collect::<Vec<_>>(),
            "warnings": warnings(policy),
            "quota": {"records": policy.quota.records, "bytes": policy.quota.bytes},
            "toml": policy.source,
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!("policy {} (hash {})", policy.name, policy.hash()))?;
    let mut table = output::table(&[
        "phase",
        "stage",
        "on firing",
        "on failure",
        "parameters",
        "looks at",
    ]);
    for row in &rows {
        let parameters: Vec<String> = row
            .parameters
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        table.add_row([
            row.phase.to_string(),
            row.stage.clone(),
            row.verdict
                .map_or("labels".to_owned(), |verdict| verdict.to_string()),
            format!("{:?}", row.fail).to_lowercase(),
            parameters.join("\n"),
            row.summary.clone(),
        ]);
    }
    if rows.is_empty() {
        output::line("no stages: everything is admitted and served")?;
    } else {
        output::line(&table.to_string())?;
    }
    show_origin(policy)?;
    output::line(&format!(
        "quota: {} records, {} bytes for each principal",
        policy.quota.records, policy.quota.bytes
    ))?;
    let presets: Vec<String> = PRESETS
        .iter()
        .map(|preset| format!("  {:<16} {}", preset.name, preset.summary))
        .collect();
    output::line(&format!("\npresets:\n{}", presets.join("\n")))?;
    Ok(Outcome::Clean)
}

/// The rules of origin, and what is worth a word about them.
fn show_origin(policy: &Policy) -> Result<(), Failure> {
    if policy.origin == OriginMode::Off {
        return output::line("origin: off; actions are allowed and logged, nothing is checked");
    }
    let endorsers = policy.endorse_k.map_or_else(
        || "2, or 1 in a store of one domain".to_owned(),
        |k| k.to_string(),
    );
    output::line(&format!("origin: enforced; endorsers needed: {endorsers}"))?;
    output::line(&format!(
        "recall: one principal takes at most {} % of the places while others fit; records of one writer with {} % \
         of their words in common are shown once; scores count {} (none), {} (inform), {} (act)",
        policy.recall.max_share_per_principal,
        policy.recall.near_duplicates,
        policy.recall.weight(Authority::None),
        policy.recall.weight(Authority::Inform),
        policy.recall.weight(Authority::Act),
    ))?;
    let actions = explain_actions(policy);
    if !actions.is_empty() {
        let mut table = output::table(&["action", "class", "parameters that matter", "needs", "so"]);
        for row in actions {
            let control = row
                .control
                .map_or_else(|| "all".to_owned(), |names| names.join(", "));
            table.add_row([
                row.tool,
                row.class.as_str().to_owned(),
                control,
                row.requires.join("\n"),
                row.summary.to_owned(),
            ]);
        }
        output::line(&table.to_string())?;
    }
    for row in explain_tools(policy) {
        output::line(&format!("tool {}: {}", output::cell(&row.tool, 128), row.summary))?;
    }
    for warning in warnings(policy) {
        output::line(&format!("note: {warning}"))?;
    }
    Ok(())
}

fn row_json(row: &Row) -> Value {
    json!({
        "phase": row.phase.to_string(),
        "stage": row.stage,
        "verdict": row.verdict.map(memwarden::Verdict::as_str),
        "fail": format!("{:?}", row.fail).to_lowercase(),
        "parameters": row.parameters.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "summary": row.summary,
    })
}
