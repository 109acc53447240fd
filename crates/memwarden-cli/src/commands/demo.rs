//! The demo: runs the laboratory's comparison in a temporary directory and writes its report.

use crate::args::Global;
use crate::failure::Failure;
use crate::{Outcome, formats, output};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden_core::Limits;
use memwarden_lab::demo::{ATTACKS, Honest, POLICIES, TASK_K};
use memwarden_lab::report::{DemoReport, DemoRow, TamperVerdict};
use memwarden_lab::{HONEST_MEMORY, demo};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const SUMMARY: &str = "Three agents wrote an honest memory. An attacker with a plugin's credential then wrote forged \
    decision logs that claim work nobody did (the FARMA attack, arXiv 2607.05029), once in overt words and once in \
    evasive ones. Each policy met the same writes on a store of its own.";

const LIMITS: [&str; 4] = [
    "No language model ran: the report counts what is stored and served, not what an agent would do with it.",
    "The policies are the published ones. They judge wording and declared sources, which the attacker chooses; the \
     gate that judges origin is not part of this version.",
    "sentinel-strict counts only prior runs that a receipt backs. No receipts exist in this version, so it counts 0.",
    "The attack's texts come from templates of this project after the paper's examples; the honest file is our own.",
];

pub(super) fn run(global: &Global, report: &Path, seed: u64) -> Result<Outcome, Failure> {
    let directory =
        tempfile::tempdir().map_err(|error| Failure::file(Path::new("temporary directory"), &error))?;
    let bar = ProgressBar::new((POLICIES.len() * ATTACKS.len() + 1) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let honest = honest()?;
    let measured = demo::run(&honest, seed, directory.path(), &mut |what| {
        bar.set_message(what.to_owned());
        bar.inc(1);
    })?;
    bar.finish_and_clear();

    let page = DemoReport {
        title: "Memwarden demo: what each policy let through".to_owned(),
        summary: SUMMARY.to_owned(),
        k: TASK_K,
        rows: measured.rows.clone(),
        tamper: measured.tamper.clone(),
        limits: LIMITS.map(str::to_owned).to_vec(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        commit: env!("MEMWARDEN_COMMIT").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    std::fs::write(report, page.to_html()).map_err(|error| Failure::file(report, &error))?;
    let refused = measured.tamper.verdict == TamperVerdict::Refused;
    if global.json {
        output::json(&json!({
            "rows": measured.rows.iter().map(row_json).collect::<Vec<_>>(),
            "tamper_refused": u64::from(refused),
            "report": report,
        }))?;
    } else {
        print(&measured.rows, measured.tamper.verdict, &measured.tamper.said)?;
        output::line(&format!("\nreport: {}", report.display()))?;
    }
    Ok(if refused {
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

fn print(rows: &[DemoRow], verdict: TamperVerdict, said: &[String]) -> Result<(), Failure> {
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
    output::line(&table.to_string())?;
    output::line(
        "sentinel-strict counts only prior runs that a receipt backs; no receipts exist yet, so it counts 0\n",
    )?;
    output::line(match verdict {
        TamperVerdict::Refused => "a row was edited behind the store's back: the read was refused",
        TamperVerdict::Reported => {
            "a row was edited behind the store's back: it was not served, nothing was said"
        }
        TamperVerdict::Accepted => "a row was edited behind the store's back: IT WAS SERVED",
    })?;
    for line in said {
        output::line(&format!("  {}", output::cell(line, 400)))?;
    }
    Ok(())
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
