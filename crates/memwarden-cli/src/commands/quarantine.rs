//! Review: what was kept out, and what a person decides about it.

use crate::args::{Global, Quarantine};
use crate::failure::Failure;
use crate::wire::Body;
use crate::{Outcome, output, session, wire};
use memwarden::{Change, Changed, Record, RecordId, Role, Status};
use serde_json::Value;

pub(super) fn run(global: &Global, command: &Quarantine) -> Result<Outcome, Failure> {
    match command {
        Quarantine::List { retired } => {
            let status = if *retired {
                Status::Retired
            } else {
                Status::Quarantined
            };
            list(global, status)
        }
        Quarantine::Show { record, body } => {
            show(global, *record, if *body { Body::Shown } else { Body::Hidden })
        }
        Quarantine::Release {
            record,
            content,
            reason,
        } => {
            let changed = session::handle(global, Role::Owner)?.release(*record, content, reason)?;
            print(global, *record, &changed)
        }
        Quarantine::Reject { record, reason } => {
            let changed = session::handle(global, Role::Owner)?.reject(*record, reason)?;
            print(global, *record, &changed)
        }
    }
}

pub(super) fn retire(global: &Global, record: RecordId, reason: &str) -> Result<Outcome, Failure> {
    let changed = session::handle(global, Role::Agent)?.retire(record, reason)?;
    print(global, record, &changed)
}

fn list(global: &Global, status: Status) -> Result<Outcome, Failure> {
    let records = session::handle(global, Role::Agent)?.list(&global.namespace, status)?;
    if global.json {
        output::json(
            &records
                .iter()
                .map(|record| wire::record(record, Body::Hidden))
                .collect::<Value>(),
        )?;
        return Ok(Outcome::Clean);
    }
    if records.is_empty() {
        output::line(&format!("nothing in namespace {} is {status}", global.namespace))?;
        return Ok(Outcome::Clean);
    }
    let mut table = output::table(&["id", "written", "verdict", "stage", "reason", "bytes"]);
    for record in &records {
        let worst = record.findings.iter().max_by_key(|finding| finding.severity);
        table.add_row([
            record.id.to_string(),
            output::time(record.time),
            record.verdict.to_string(),
            worst.map_or_else(String::new, |finding| finding.stage.clone()),
            output::cell(worst.map_or("", |finding| finding.reason.as_str()), 100),
            record.entry.content.len().to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    Ok(Outcome::Clean)
}

fn show(global: &Global, record: RecordId, body: Body) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Agent)?;
    let found = handle.inspect(record)?;
    if global.json {
        output::json(&wire::record(&found, body))?;
        return Ok(Outcome::Clean);
    }
    describe(&found)?;
    if body == Body::Shown {
        output::line(&format!("\n{}", memwarden::visible(&found.entry.content)))?;
    } else {
        output::line("\nThe text is not shown; --body shows it.")?;
    }
    Ok(Outcome::Clean)
}

fn describe(record: &Record) -> Result<(), Failure> {
    for (name, value) in [
        ("id", record.id.to_string()),
        ("namespace", record.namespace.clone()),
        (
            "status",
            format!("{} since log entry {}", record.status, record.status_position),
        ),
        ("verdict", record.verdict.to_string()),
        (
            "authority",
            format!("{} (written {})", record.effective, record.written),
        ),
        (
            "written",
            format!(
                "{} by principal {}, channel {}",
                output::time(record.time),
                record.principal,
                record.channel
            ),
        ),
        (
            "kind",
            format!("{}, {}", record.entry.kind, record.entry.trace_type),
        ),
        (
            "declares",
            format!(
                "source {}, trust {}",
                output::cell(record.entry.source.as_deref().unwrap_or("none"), 60),
                output::cell(record.entry.trust.as_deref().unwrap_or("none"), 60)
            ),
        ),
        ("digest", record.content_digest().to_string()),
    ] {
        output::line(&format!("{name:<10} {value}"))?;
    }
    for finding in &record.findings {
        output::line(&format!(
            "finding    {} {} {:.2}: {}",
            finding.stage,
            finding.severity,
            f64::from(finding.score.hundredths()) / 100.0,
            output::cell(&finding.reason, 200)
        ))?;
    }
    Ok(())
}

fn print(global: &Global, record: RecordId, changed: &Changed) -> Result<Outcome, Failure> {
    if global.json {
        output::json(&wire::changed(changed))?;
    } else if changed.change == Change::Done {
        output::line(&format!(
            "{record} is {} (log entry {})",
            changed.status, changed.position
        ))?;
    } else {
        output::line(&format!(
            "{record} stays {}: a stronger principal wrote it; your wish is log entry {}",
            changed.status, changed.position
        ))?;
    }
    Ok(Outcome::Clean)
}
