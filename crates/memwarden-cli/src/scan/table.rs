//! The report for people: a table for each file with findings, what could not be read, and one line of figures.

use super::screened::{Entry, File, Finding, NoteLevel, Scan, State};
use crate::output;
use std::fmt::Write as _;

/// Most notes that are listed of one file.
const MAX_NOTES: usize = 20;

/// The whole report.
pub(super) fn report(scan: &Scan) -> String {
    let mut out = String::new();
    for file in scan.files.iter().filter(|file| file.findings().next().is_some()) {
        findings(file, &mut out);
    }
    for file in &scan.files {
        notes(file, &mut out);
    }
    if let Some(baseline) = &scan.baseline {
        for stale in &baseline.stale {
            let place = output::cell(&format!("{}, {}", stale.file, stale.place), 200);
            let _ = writeln!(
                out,
                "baseline: {} at {place} is not found any more",
                output::cell(&stale.rule, 120)
            );
        }
    }
    out.push_str(&summary(scan));
    out.push('\n');
    out
}

/// The line of figures.
pub(super) fn summary(scan: &Scan) -> String {
    let totals = scan.totals();
    let mut line = format!(
        "{}, {}, {}, {} unreadable",
        counted(totals.files, "file", "files"),
        counted(totals.entries, "entry", "entries"),
        counted(totals.findings, "finding", "findings"),
        totals.unreadable
    );
    if let Some(baseline) = &scan.baseline {
        let _ = write!(
            line,
            "; the baseline knows {}, {} of it stale",
            baseline.known,
            baseline.stale.len()
        );
    }
    if scan.binary > 0 {
        let _ = write!(line, "; {} binary files left out", scan.binary);
    }
    let _ = write!(line, " (policy {})", scan.policy);
    line
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn findings(file: &File, out: &mut String) {
    let format = file.format.unwrap_or("unknown");
    let _ = writeln!(out, "{} ({format})", file.shown());
    let mut table = output::table(&["severity", "stage", "rule", "where", "excerpt"]);
    for (entry, finding) in file.findings() {
        let known = if finding.state == State::Known {
            " (known)"
        } else {
            ""
        };
        table.add_row([
            format!("{}{known}", finding.severity),
            output::cell(&finding.stage, 60),
            output::cell(&finding.rule, 80),
            place(file, entry, finding),
            finding.excerpt.clone(),
        ]);
    }
    let _ = writeln!(out, "{table}\n");
}

/// `MEMORY.md:12`, or the place in a file without lines.
fn place(file: &File, entry: &Entry, finding: &Finding) -> String {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let place = match finding.position.line {
        Some(line) => format!("{name}:{line}"),
        None => format!("{name}: {}", entry.place),
    };
    let beside = finding
        .beside
        .as_deref()
        .map_or(String::new(), |beside| format!(" {beside}"));
    output::cell(&format!("{place}{beside}"), 160)
}

fn notes(file: &File, out: &mut String) {
    let shown = file.shown();
    if let Some(reason) = &file.unreadable {
        let _ = writeln!(out, "unreadable: {shown}: {}", output::cell(reason, 400));
    }
    for note in file.notes.iter().take(MAX_NOTES) {
        let level = match note.level {
            NoteLevel::Info => "note",
            NoteLevel::Warning => "warning",
        };
        let place = if note.place.is_empty() {
            String::new()
        } else {
            format!("{}: ", note.place)
        };
        let _ = writeln!(
            out,
            "{level}: {shown}: {}",
            output::cell(&format!("{place}{}", note.message), 400)
        );
    }
    let more = file.notes.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        let _ = writeln!(out, "warning: {shown}: {more} more, which --json lists");
    }
}
