//! Policies: show what one does, check a file, make one the store's.

use crate::args::{Global, PolicyCommand};
use crate::failure::Failure;
use crate::{Outcome, output, policy_source, session};
use memwarden::guard::{PRESETS, Row, explain, loosenings};
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
                output::json(&json!({"name": policy.name, "hash": policy.hash().to_string(), "valid": true}))?;
            } else {
                output::line(&format!("policy {} is valid; hash {}", policy.name, policy.hash()))?;
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
    output::line(&format!("policy {} is in force from log entry {position} on", policy.name))?;
    for line in &loosened {
        output::line(&format!("  loosened: {line}"))?;
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
            "quota": {"records": policy.quota.records, "bytes": policy.quota.bytes},
            "toml": policy.source,
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!("policy {} (hash {})", policy.name, policy.hash()))?;
    let mut table = output::table(&["phase", "stage", "on firing", "on failure", "parameters", "looks at"]);
    for row in &rows {
        let parameters: Vec<String> =
            row.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        table.add_row([
            row.phase.to_string(),
            row.stage.clone(),
            row.verdict.map_or("labels".to_owned(), |verdict| verdict.to_string()),
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
    output::line(&format!("quota: {} records, {} bytes for each principal", policy.quota.records, policy.quota.bytes))?;
    let presets: Vec<String> =
        PRESETS.iter().map(|preset| format!("  {:<16} {}", preset.name, preset.summary)).collect();
    output::line(&format!("\npresets:\n{}", presets.join("\n")))?;
    Ok(Outcome::Clean)
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
