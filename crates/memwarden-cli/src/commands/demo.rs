//! The demo: runs the laboratory's comparison in a temporary directory and writes its report.

use crate::args::Global;
use crate::failure::Failure;
use crate::{Outcome, formats, output};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden_core::Limits;
use memwarden_lab::agents::OriginAttack;
use memwarden_lab::demo::{AGENT_POLICIES, Demo, Honest, Size, TASK_K};
use memwarden_lab::report::{AgentRow, DemoReport, DemoRow, TamperVerdict, held};
use memwarden_lab::{HONEST_MEMORY, demo};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const SUMMARY: &str = "Three agents wrote an honest memory. An attacker then wrote forged decision logs that claim work \
    nobody did (the FARMA attack, arXiv 2607.05029): in overt words, in evasive ones, and in words that avoid every \
    pattern of the published guard. It held a plugin's key, the agent's own key, or the database file. Simulated \
    agents that believe what they recall then did honest tasks under each policy.";

const LIMITS: [&str; 5] = [
    "No language model ran: the agents are simulated by a fixed rule that believes any claim it recalls. How often a \
     real model does is not measured here.",
    "The published policies judge wording and declared sources, which the attacker chooses. They know no origin, so \
     no gate runs under them.",
    "A receipt holds against a deceived model, not against a compromised process that runs the step: run that one \
     elsewhere, with a key of its own.",
    "Edited rows are refused by the log under every policy, so nothing shows what they would do without it.",
    "The attack's texts come from templates of this project after the paper's examples; the honest file is our own.",
];

pub(super) fn run(global: &Global, report: &Path, seed: u64) -> Result<Outcome, Failure> {
    let directory =
        tempfile::tempdir().map_err(|error| Failure::file(Path::new("temporary directory"), &error))?;
    let bar = ProgressBar::new(demo::steps(Size::Full) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let measured = demo::run(&honest()?, Size::Full, seed, directory.path(), &mut |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    })?;
    bar.finish_and_clear();

    let attacks = OriginAttack::ALL
        .iter()
        .map(|attack| (attack.name.to_owned(), attack.what.to_owned()));
    let page = DemoReport {
        title: "Memwarden demo: what each policy let through".to_owned(),
        summary: SUMMARY.to_owned(),
        k: TASK_K,
        rows: measured.rows.clone(),
        agents: measured.agents.clone(),
        attacks: attacks.collect(),
        tamper: measured.tamper.clone(),
        limits: LIMITS.map(str::to_owned).to_vec(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        commit: env!("MEMWARDEN_COMMIT").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    std::fs::write(report, page.to_html()).map_err(|error| Failure::file(report, &error))?;
    if global.json {
        let published = measured.rows.iter().map(row_json);
        output::json(&json!({
            "rows": published.chain(measured.agents.iter().map(agent_json)).collect::<Vec<_>>(),
            "tamper_refused": measured.tamper_refused(),
            "report": report,
        }))?;
    } else {
        print(&measured)?;
        output::line(&format!("\nreport: {}", report.display()))?;
    }
    Ok(if measured.holds() {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

/// The project's own memory file, read like any other tool's.
fn honest() -> Result<Vec<Honest>, Failure> {
    let parsed = formats::parse("honest-memory.jsonl", HONEST_MEMORY.as_bytes(), Limits::default())
        .map_err(|error| Failure::Input(error.to_string()))?;
    let agent = |metadata: Option<&str>| {
        let metadata: Value = serde_json::from_str(metadata.unwrap_or("{}")).unwrap_or_default();
        metadata
            .get("agent")
            .and_then(Value::as_str)
            .unwrap_or("agent")
            .to_owned()
    };
    Ok(parsed
        .entries
        .into_iter()
        .map(|imported| Honest {
            agent: agent(imported.entry.metadata.as_deref()),
            entry: imported.entry,
        })
        .collect())
}

fn print(measured: &Demo) -> Result<(), Failure> {
    print_published(&measured.rows)?;
    print_agents(&measured.agents)?;
    print_mechanisms(&measured.agents)?;
    output::line(match measured.tamper.verdict {
        TamperVerdict::Refused => "\na row was edited behind the store's back: the read was refused",
        TamperVerdict::Reported => {
            "\na row was edited behind the store's back: it was not served, nothing was said"
        }
        TamperVerdict::Accepted => "\na row was edited behind the store's back: IT WAS SERVED",
    })?;
    for line in &measured.tamper.said {
        output::line(&format!("  {}", output::cell(line, 400)))?;
    }
    Ok(())
}

fn print_published(rows: &[DemoRow]) -> Result<(), Failure> {
    let mut table = output::table(&[
        "policy",
        "attack",
        "forged admitted",
        "forged in the top 5",
        "honest entries lost",
    ]);
    for row in rows {
        table.add_row([
            row.policy.clone(),
            row.attack.clone(),
            format!("{} of {}", row.forged_admitted, row.forged_written),
            format!("{:.0} %", row.forged_share_top_k * 100.0),
            format!("{} of {}", row.honest_lost, row.honest_written),
        ]);
    }
    output::line("published policies: what is stored and served\n")?;
    output::line(&table.to_string())
}

/// Wrong actions by attack and grant, a column for each policy.
fn print_agents(rows: &[AgentRow]) -> Result<(), Failure> {
    let mut headings = vec!["simulated attack".to_owned(), "attacker holds".to_owned()];
    headings.extend(AGENT_POLICIES.map(|policy| format!("{policy}: wrong actions")));
    headings.extend(["warden: honest refused", "warden: tasks completed", "note"].map(str::to_owned));
    let mut table = output::table(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    let on = |row: &&AgentRow| row.mechanism_off.is_none();
    let reasoning = |row: &&AgentRow| row.grant.is_some() || row.attack == "none";
    let defended = rows
        .iter()
        .filter(on)
        .filter(reasoning)
        .filter(|row| row.policy == "warden");
    for warden in defended {
        let mut line = vec![warden.attack.clone(), held(warden.grant.as_deref()).to_owned()];
        for policy in AGENT_POLICIES {
            let same = |row: &&AgentRow| {
                row.policy == policy && row.attack == warden.attack && row.grant == warden.grant
            };
            line.push(
                rows.iter()
                    .filter(on)
                    .find(same)
                    .map_or_else(String::new, AgentRow::wrong),
            );
        }
        line.push(format!("{} of {}", warden.honest_refused, warden.honest_actions));
        line.push(format!("{} of {}", warden.tasks_completed, warden.tasks));
        line.push(
            match (warden.power, warden.tamper_refused) {
                (Some(false), 1..) => "no power: edits refused",
                (Some(false), 0) => "no power",
                _ => "",
            }
            .to_owned(),
        );
        table.add_row(line);
    }
    output::line("\nsimulated agents: they leave a check out if a recalled trace claims that it was done\n")?;
    output::line(&table.to_string())?;
    output::line("no power: below half of the chances without a defense, so a 0 says nothing about one")?;
    for policy in AGENT_POLICIES {
        let of_policy = rows
            .iter()
            .filter(on)
            .filter(reasoning)
            .filter(|row| row.policy == policy);
        let load = of_policy.clone().map(|row| row.review_load).fold(0.0, f64::max);
        let creep = of_policy.filter_map(|row| row.label_creep).next().unwrap_or(0.0);
        output::line(&format!(
            "{policy}: label creep {:.0} % of honest entries after 100 simulated tasks; at most {load:.0} items to \
             review for 100 tasks",
            creep * 100.0
        ))?;
    }
    Ok(())
}

/// Each attack on the rules of origin, with the mechanism that stops it and without.
fn print_mechanisms(rows: &[AgentRow]) -> Result<(), Failure> {
    let mut table = output::table(&[
        "simulated attack",
        "mechanism",
        "wrong actions with it",
        "asked about",
        "without it",
    ]);
    for without in rows.iter().filter(|row| row.mechanism_off.is_some()) {
        let same = |row: &&AgentRow| {
            row.mechanism_off.is_none()
                && row.policy == without.policy
                && row.attack == without.attack
                && row.grant == without.grant
        };
        let with = rows.iter().find(same);
        table.add_row([
            without.attack.clone(),
            without.mechanism_off.clone().unwrap_or_default(),
            with.map_or_else(String::new, AgentRow::wrong),
            with.map_or_else(String::new, |row| row.wrong_confirmed.to_string()),
            without.wrong(),
        ]);
    }
    output::line("\nsimulated attacks on the rules of origin, under warden\n")?;
    output::line(&table.to_string())
}

fn row_json(row: &DemoRow) -> Value {
    json!({
        "policy": row.policy,
        "attack": row.attack,
        "forged_written": row.forged_written,
        "forged_admitted": row.forged_admitted,
        "forged_share_top_k": row.forged_share_top_k,
        "honest_written": row.honest_written,
        "honest_lost": row.honest_lost,
    })
}

fn agent_json(row: &AgentRow) -> Value {
    json!({
        "policy": row.policy,
        "attack": row.attack,
        "grant": row.grant,
        "mechanism_off": row.mechanism_off,
        "simulated": true,
        "power": row.power,
        "forged_written": row.forged_written,
        "forged_admitted": row.forged_admitted,
        "forged_share_top_k": row.forged_share_top_k,
        "honest_written": row.honest_written,
        "honest_lost": row.honest_lost,
        "chances": row.chances,
        "wrong_actions": row.wrong_actions,
        "wrong_confirmed": row.wrong_confirmed,
        "actions": row.actions,
        "honest_actions": row.honest_actions,
        "honest_refused": row.honest_refused,
        "honest_confirmed": row.honest_confirmed,
        "tasks": row.tasks,
        "tasks_completed": row.tasks_completed,
        "legitimate_skips": row.legitimate_skips,
        "skips_allowed": row.skips_allowed,
        "untrusted_contexts": row.untrusted_contexts,
        "receipts_refused": row.receipts_refused,
        "tamper_refused": row.tamper_refused,
        "label_creep": row.label_creep,
        "review_load": row.review_load,
    })
}
