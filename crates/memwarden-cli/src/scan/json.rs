//! The report for programs: one document, or one line for each entry.

use super::screened::{Entry, File, Finding, NoteLevel, Scan, State};
use crate::output;
use serde_json::{Value, json};

/// The version of the document's shape.
const VERSION: u64 = 1;

/// One document: summary, files with their findings, notes and what the baseline says.
pub(super) fn document(scan: &Scan) -> String {
    let totals = scan.totals();
    let document = json!({
        "version": VERSION,
        "policy": {"name": scan.policy, "hash": scan.policy_hash},
        "summary": {
            "files": totals.files,
            "entries": totals.entries,
            "findings": totals.findings,
            "unreadable": totals.unreadable,
            "binary": scan.binary,
            "skipped_directories": scan.skipped_directories,
        },
        "baseline": scan.baseline.as_ref().map(|baseline| json!({
            "known": baseline.known,
            "stale": baseline.stale.iter().map(|known| json!({
                "content": known.content, "rule": known.rule, "file": known.file, "place": known.place,
            })).collect::<Vec<_>>(),
        })),
        "files": scan.files.iter().map(file).collect::<Vec<_>>(),
    });
    format!("{}\n", output::inert_json(&format!("{document:#}")))
}

/// One line for each entry, in the order of the files. A file that cannot be read gives a line with `error`.
pub(super) fn lines(scan: &Scan) -> String {
    let mut out = String::new();
    let mut line = |value: &Value| {
        out.push_str(&output::inert_json(&value.to_string()));
        out.push('\n');
    };
    for file in &scan.files {
        let path = file.path.to_string_lossy();
        if let Some(reason) = &file.unreadable {
            line(&json!({"file": path, "error": reason}));
        }
        for entry in &file.entries {
            let mut value = one(entry);
            if let Some(object) = value.as_object_mut() {
                object.insert("file".to_owned(), json!(path));
                object.insert("format".to_owned(), json!(file.format));
            }
            line(&value);
        }
    }
    out
}

fn file(file: &File) -> Value {
    let with_findings = file.entries.iter().filter(|entry| !entry.findings.is_empty());
    json!({
        "file": file.path.to_string_lossy(),
        "format": file.format,
        "bytes": file.bytes,
        "entries": file.entries.len(),
        "unreadable": file.unreadable,
        "notes": file.notes.iter().map(|note| json!({
            "level": match note.level { NoteLevel::Info => "note", NoteLevel::Warning => "warning" },
            "place": note.place,
            "line": note.line,
            "message": note.message,
        })).collect::<Vec<_>>(),
        "found": with_findings.map(one).collect::<Vec<_>>(),
    })
}

fn one(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "place": entry.place.to_string(),
        "verdict": entry.verdict.as_str(),
        "stage": entry.stage,
        "score": hundredths(entry.score),
        "findings": entry.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "stage": finding.stage,
        "rule": finding.rule,
        "severity": finding.severity.as_str(),
        "score": hundredths(finding.score),
        "span": finding.span.map(|(start, end)| json!([start, end])),
        "reason": finding.reason,
        "beside": finding.beside,
        "line": finding.position.line,
        "column": finding.position.column,
        "excerpt": finding.excerpt,
        "content_sha256": finding.content,
        "known": finding.state == State::Known,
    })
}

fn hundredths(score: u32) -> f64 {
    f64::from(score) / 100.0
}
