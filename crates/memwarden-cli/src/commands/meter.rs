//! `meter`: what model calls cost, as a table, JSON or CSV.

use crate::args::{Global, MeterBy, MeterCommand};
use crate::failure::Failure;
use crate::{Outcome, output};
use memwarden::model::{By, Damaged, MeterError, Report, Sum, read_meter};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The most damaged lines that are named one by one.
const NAMED: usize = 20;

pub(super) fn run(global: &Global, command: &MeterCommand) -> Result<Outcome, Failure> {
    match command {
        MeterCommand::Report { file, by, csv } => {
            let form = match (global.json, csv) {
                (true, _) => Form::Json,
                (false, true) => Form::Csv,
                (false, false) => Form::Table,
            };
            report(file, by_of(*by), form)
        }
    }
}

#[derive(Clone, Copy)]
enum Form {
    Table,
    Json,
    Csv,
}

const fn by_of(by: MeterBy) -> By {
    match by {
        MeterBy::Purpose => By::Purpose,
        MeterBy::Model => By::Model,
        MeterBy::Cell => By::Cell,
    }
}

fn report(file: &Path, by: By, form: Form) -> Result<Outcome, Failure> {
    let metering = read_meter(file).map_err(|error| match error {
        MeterError::File { path, source } => Failure::file(&path, &source),
        other => Failure::Input(other.to_string()),
    })?;
    let report = metering.report(by);
    match form {
        Form::Json => output::json(&json_of(&report, &metering.damaged))?,
        Form::Csv => output::write(&csv(&report))?,
        Form::Table => table(&report)?,
    }
    for damaged in metering.damaged.iter().take(NAMED) {
        let reason = output::cell(&damaged.reason, 200);
        eprintln!("line {} is damaged and in no sum: {reason}", damaged.line);
    }
    let more = metering.damaged.len().saturating_sub(NAMED);
    if more > 0 {
        eprintln!("{more} more lines are damaged and in no sum");
    }
    Ok(if metering.damaged.is_empty() {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

fn table(report: &Report) -> Result<(), Failure> {
    let mut table = output::table(&[
        report.by.as_str(),
        "calls",
        "failed",
        "prompt",
        "completion",
        "counted by us",
        "retries",
        "waiting",
        "serving",
        "cost, USD",
    ]);
    let total = ("total", &report.total);
    let rows = report.rows.iter().map(|row| (named(&row.name), &row.sum));
    for (name, sum) in rows.chain([total]) {
        table.add_row([
            output::cell(name, 60),
            sum.calls.to_string(),
            failed(sum),
            sum.prompt_tokens.to_string(),
            sum.completion_tokens.to_string(),
            sum.counted.to_string(),
            sum.retries.to_string(),
            seconds(sum.waiting),
            seconds(sum.serving),
            cost(sum),
        ]);
    }
    output::line(&table.to_string())?;
    for note in notes(&report.total) {
        output::line(&note)?;
    }
    Ok(())
}

/// What a reader of the table must know to believe it.
fn notes(total: &Sum) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |calls: u64, text: &str| {
        if calls > 0 {
            notes.push(format!(
                "{calls} {} {text}",
                if calls == 1 { "call" } else { "calls" }
            ));
        }
    };
    note(total.unpriced, "of unknown cost, which no sum of costs includes");
    note(total.uncounted, "without a count of tokens");
    note(
        total.approximated,
        "counted with a tokenizer that is not the model's",
    );
    note(total.simulated, "answered by the simulated model");
    note(
        total.replayed,
        "replayed from a cassette: nothing was spent on them now",
    );
    notes
}

/// Calls outside of any cell.
fn named(name: &str) -> &str {
    if name.is_empty() { "(none)" } else { name }
}

/// `3: 2 truncated, 1 upstream`.
fn failed(sum: &Sum) -> String {
    let all: u64 = sum.failed.values().sum();
    if all == 0 {
        return "0".to_owned();
    }
    let each = sum.failed.iter().map(|(name, count)| format!("{count} {name}"));
    output::cell(&format!("{all}: {}", each.collect::<Vec<_>>().join(", ")), 120)
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

/// The cost; what is known of it as a lower bound; or that nothing is known.
fn cost(sum: &Sum) -> String {
    match sum.whole_cost() {
        Some(cost) => cost.to_string(),
        None if sum.unpriced == sum.calls => "unknown".to_owned(),
        None => format!("at least {}", sum.cost),
    }
}

fn json_of(report: &Report, damaged: &[Damaged]) -> Value {
    let row = |name: &str, sum: &Sum| {
        json!({
            "name": name,
            "calls": sum.calls,
            "failed": sum.failed,
            "prompt_tokens": sum.prompt_tokens,
            "completion_tokens": sum.completion_tokens,
            "counted": sum.counted,
            "approximated": sum.approximated,
            "uncounted": sum.uncounted,
            "retries": sum.retries,
            "waiting_us": micros(sum.waiting),
            "serving_us": micros(sum.serving),
            "cost_usd": sum.whole_cost().map(|cost| cost.to_string()),
            "known_cost_usd": sum.cost.to_string(),
            "unpriced": sum.unpriced,
            "simulated": sum.simulated,
            "replayed": sum.replayed,
        })
    };
    let damaged = damaged
        .iter()
        .map(|damaged| json!({"line": damaged.line, "reason": damaged.reason}));
    json!({
        "by": report.by.as_str(),
        "rows": report.rows.iter().map(|each| row(&each.name, &each.sum)).collect::<Vec<_>>(),
        "total": row("total", &report.total),
        "damaged": damaged.collect::<Vec<_>>(),
    })
}

/// RFC 4180. An unknown cost is an empty field, which adds up to no sum by mistake.
fn csv(report: &Report) -> String {
    let mut out = format!(
        "{},calls,failed,prompt_tokens,completion_tokens,counted,approximated,uncounted,retries,waiting_us,serving_us,\
         cost_usd,known_cost_usd,unpriced,simulated,replayed\r\n",
        report.by.as_str()
    );
    for row in &report.rows {
        let sum = &row.sum;
        let numbers = [
            sum.calls.to_string(),
            sum.failed.values().sum::<u64>().to_string(),
            sum.prompt_tokens.to_string(),
            sum.completion_tokens.to_string(),
            sum.counted.to_string(),
            sum.approximated.to_string(),
            sum.uncounted.to_string(),
            sum.retries.to_string(),
            micros(sum.waiting).to_string(),
            micros(sum.serving).to_string(),
            sum.whole_cost().map(|cost| cost.to_string()).unwrap_or_default(),
            sum.cost.to_string(),
            sum.unpriced.to_string(),
            sum.simulated.to_string(),
            sum.replayed.to_string(),
        ];
        out.push_str(&format!("{},{}\r\n", field(&row.name), numbers.join(",")));
    }
    out
}

/// A name that came from a client: quoted, inert, and no formula to a spreadsheet.
fn field(name: &str) -> String {
    // Whole: two names that are cut alike would be one to whoever reads the table.
    let name = output::cell(name, usize::MAX).replace('"', "\"\"");
    let guard = if name.starts_with(['=', '+', '-', '@']) {
        "'"
    } else {
        ""
    };
    format!("\"{guard}{name}\"")
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
