//! `import`: other tools' files into records of authority `none`, each entry once.

use crate::args::Global;
use crate::failure::Failure;
use crate::formats::{self, Imported, Parsed};
use crate::{Outcome, output, session};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden::{Channel, Handle, Namespace, Role, Verdict, WardenError, WriteOptions};
use memwarden_core::Limits;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries that wait for the same commit: the writer takes what queued while it committed.
const AT_ONCE: usize = 16;

/// What became of one file.
#[derive(Debug, Default)]
pub(crate) struct FileReport {
    pub(crate) path: String,
    pub(crate) format: Option<&'static str>,
    pub(crate) imported: u64,
    pub(crate) known: u64,
    pub(crate) kept_out: u64,
    pub(crate) problems: Vec<String>,
}

impl FileReport {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "file": self.path,
            "format": self.format,
            "imported": self.imported,
            "already_there": self.known,
            "kept_out": self.kept_out,
            "problems": self.problems,
        })
    }

    pub(crate) const fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.kept_out == 0
    }
}

/// Imports every file it recognizes; the rest is named.
pub(crate) fn run(global: &Global, paths: &[PathBuf]) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Agent)?;
    let mut reports = Vec::with_capacity(paths.len());
    for path in paths {
        reports.push(file(&handle, &global.namespace, path)?);
    }
    let clean = reports.iter().all(FileReport::is_clean);
    if global.json {
        output::json(&reports.iter().map(FileReport::to_json).collect())?;
    } else {
        print(&reports)?;
    }
    Ok(if clean { Outcome::Clean } else { Outcome::Findings })
}

/// Imports one file.
pub(crate) fn file(handle: &Handle, namespace: &Namespace, path: &Path) -> Result<FileReport, Failure> {
    let mut report = FileReport {
        path: path.display().to_string(),
        ..FileReport::default()
    };
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            report.problems.push(format!("skipped: {error}"));
            return Ok(report);
        }
    };
    match formats::parse(&report.path, &bytes, Limits::default()) {
        Ok(parsed) => entries(handle, namespace, parsed, &mut report)?,
        Err(error) => report.problems.push(format!("skipped: {error}")),
    }
    Ok(report)
}

fn entries(
    handle: &Handle,
    namespace: &Namespace,
    parsed: Parsed,
    report: &mut FileReport,
) -> Result<(), Failure> {
    report.format = Some(parsed.format.as_str());
    report.problems.extend(
        parsed
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.place, problem.message)),
    );
    let mut seen = HashSet::new();
    let mut fresh = Vec::new();
    for imported in parsed.entries {
        let key = imported.entry.origin_key.clone().unwrap_or_default();
        if !seen.insert(key.clone()) || handle.imported_before(namespace, &key)?.is_some() {
            report.known += 1;
        } else {
            fresh.push(imported);
        }
    }
    let bar = ProgressBar::new(fresh.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.set_message(output::cell(&report.path, 120));
    let outcomes = write_all(handle, namespace, &fresh, &bar);
    bar.finish_and_clear();
    for (imported, outcome) in fresh.iter().zip(outcomes) {
        match outcome {
            Some(Ok(Verdict::Quarantine | Verdict::Reject)) => report.kept_out += 1,
            Some(Ok(_)) => report.imported += 1,
            Some(Err(
                error @ (WardenError::Entry(_) | WardenError::Refused(_) | WardenError::BadInput { .. }),
            )) => {
                report.problems.push(format!("{}: {error}", imported.place));
            }
            Some(Err(error)) => return Err(error.into()),
            None => report.problems.push(format!(
                "{}: not written: an earlier entry failed",
                imported.place
            )),
        }
    }
    Ok(())
}

/// Writes from several threads, so that entries share commits; the outcomes are in the order of `entries`.
fn write_all(
    handle: &Handle,
    namespace: &Namespace,
    entries: &[Imported],
    bar: &ProgressBar,
) -> Vec<Option<Result<Verdict, WardenError>>> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Result<Verdict, WardenError>>>> =
        entries.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(entries.len()) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let (Some(imported), Some(slot)) = (entries.get(at), outcomes.get(at))
                {
                    let options = WriteOptions {
                        channel: Channel::Import,
                        ..WriteOptions::default()
                    };
                    let outcome = handle.remember_with(namespace, imported.entry.clone(), &options);
                    let failed = matches!(&outcome, Err(WardenError::Store(_) | WardenError::Closed { .. }));
                    if let Ok(mut slot) = slot.lock() {
                        *slot = Some(outcome.map(|remembered| remembered.verdict));
                    }
                    bar.inc(1);
                    if failed {
                        next.store(entries.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    outcomes
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or(None))
        .collect()
}

fn print(reports: &[FileReport]) -> Result<(), Failure> {
    let mut table = output::table(&[
        "file",
        "format",
        "imported",
        "already there",
        "kept out",
        "problems",
    ]);
    for report in reports {
        table.add_row([
            output::cell(&report.path, 120),
            report.format.unwrap_or("not recognized").to_owned(),
            report.imported.to_string(),
            report.known.to_string(),
            report.kept_out.to_string(),
            report.problems.len().to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    output::line("everything imported has authority none: it is shown, and may support nothing")?;
    for report in reports {
        for problem in &report.problems {
            output::line(&format!(
                "{}: {}",
                output::cell(&report.path, 120),
                output::cell(problem, 400)
            ))?;
        }
    }
    Ok(())
}
