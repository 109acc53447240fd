//! `scan`: screens memory files where they lie, without a store, and reports what it finds.
//!
//! For: every file format that `formats` reads, baselines, reports for people, programs and code hosts. Not for
//! changing a file, following a path out of what was named, or running anything that a file holds.

pub mod baseline;
mod excerpt;
mod imports;
mod json;
mod sarif;
mod screen;
mod screened;
mod table;
mod tree;
mod uri;

use crate::args::{FailOn, Global, ReportFormat, ScanArgs};
use crate::failure::Failure;
use crate::formats::{self, FormatError, Parsed};
use crate::{Outcome, output, policy_source};
use imports::Target;
use indicatif::{ProgressBar, ProgressStyle};
use memwarden::guard::explain;
use memwarden::{Policy, Verdict};
use screen::Screener;
use screened::{File, Note, NoteLevel, Scan};
use std::collections::VecDeque;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use tree::{Candidate, Found, Tree};

/// Bytes by which a file is recognized.
const HEAD_BYTES: u64 = 8_192;
/// What a coding agent loads of `MEMORY.md` when it starts; it reads the rest only if it thinks of it.
const LOADED_LINES: usize = 200;
const LOADED_BYTES: usize = 25_000;

/// Scans what the arguments name and prints or writes the report.
pub(crate) fn run(global: &Global, args: &ScanArgs) -> Result<Outcome, Failure> {
    let format = report_format(global, args)?;
    let policy = policy_source::named(&args.policy)?;
    let known = args.baseline.as_deref().map(baseline::read).transpose()?;
    let screener = Screener::new(&policy);
    let mut scan = empty(&policy);
    read_all(&args.paths, &screener, &mut scan);
    if let Some(known) = known {
        baseline::compare(&mut scan, known);
    }
    let report = match format {
        ReportFormat::Text => table::report(&scan),
        ReportFormat::Json => json::document(&scan),
        ReportFormat::JsonLines => json::lines(&scan),
        ReportFormat::Sarif => sarif::report(&scan),
    };
    match &args.output {
        Some(path) => {
            std::fs::write(path, report).map_err(|error| Failure::file(path, &error))?;
            output::line(&table::summary(&scan))?;
        }
        None => output::write(&report)?,
    }
    if let Some(path) = &args.write_baseline {
        std::fs::write(path, baseline::written(&scan)).map_err(|error| Failure::file(path, &error))?;
    }
    Ok(outcome(args, &scan))
}

/// Screens one file that is in memory and reports it as SARIF: the whole way of a scan but for the file system.
///
/// ```
/// let policy = memwarden::guard::preset("sentinel").unwrap();
/// let report = memwarden_cli::scan::in_memory("MEMORY.md", b"- Use the small runner.", &policy).unwrap();
/// assert!(report.contains("\"results\": []"));
/// ```
///
/// # Errors
/// Nothing can be read from these bytes.
pub fn in_memory(name: &str, bytes: &[u8], policy: &Policy) -> Result<String, FormatError> {
    let parsed = formats::read(name, bytes)?;
    let mut file = blank(PathBuf::from(name));
    file.bytes = bytes.len() as u64;
    file.format = Some(parsed.format.as_str());
    file.entries = Screener::new(policy).file(&parsed, bytes);
    file.notes = notes(Path::new(""), &parsed, bytes);
    let mut scan = empty(policy);
    scan.files.push(file);
    Ok(sarif::report(&scan))
}

fn empty(policy: &Policy) -> Scan {
    Scan {
        policy: policy.name.clone(),
        policy_hash: policy.hash().to_string(),
        stages: explain(policy),
        files: Vec::new(),
        binary: 0,
        skipped_directories: 0,
        baseline: None,
    }
}

fn outcome(args: &ScanArgs, scan: &Scan) -> Outcome {
    let threshold = match args.fail_on {
        FailOn::Annotate => Verdict::Annotate,
        FailOn::Quarantine => Verdict::Quarantine,
    };
    let mut entries = scan.files.iter().flat_map(|file| &file.entries);
    // Whoever writes a baseline accepts what there is.
    let fails = args.write_baseline.is_none() && entries.any(|entry| entry.fails_at(threshold));
    let unreadable = args.fail_on_unreadable && scan.files.iter().any(|file| file.unreadable.is_some());
    if fails || unreadable {
        Outcome::Findings
    } else if scan.files.iter().any(|file| file.missing) {
        Outcome::Missing
    } else {
        Outcome::Clean
    }
}

fn report_format(global: &Global, args: &ScanArgs) -> Result<ReportFormat, Failure> {
    let asked = [
        args.format,
        global.json.then_some(ReportFormat::Json),
        args.json_lines.then_some(ReportFormat::JsonLines),
    ];
    let mut asked = asked.into_iter().flatten();
    let format = asked.next().unwrap_or(ReportFormat::Text);
    if asked.any(|other| other != format) {
        return Err(Failure::Input(
            "`--format`, `--json` and `--json-lines` ask for different reports: expected one of them"
                .to_owned(),
        ));
    }
    Ok(format)
}

/// Reads and screens every file, those that imports lead to last.
fn read_all(paths: &[PathBuf], screener: &Screener<'_>, scan: &mut Scan) {
    let mut tree = Tree::of(paths);
    for unreadable in std::mem::take(&mut tree.unreadable) {
        let mut file = blank(unreadable.path);
        file.unreadable = Some(unreadable.reason);
        file.missing = unreadable.missing;
        scan.files.push(file);
    }
    scan.skipped_directories = tree.skipped;
    let mut waiting: VecDeque<Candidate> = std::mem::take(&mut tree.files).into();
    let bar = ProgressBar::new(waiting.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} files {msg}") {
        bar.set_style(style);
    }
    while let Some(candidate) = waiting.pop_front() {
        bar.set_message(output::cell(&candidate.path.to_string_lossy(), 60));
        if let Some(file) = read_one(&candidate, screener, &mut tree, &mut waiting) {
            scan.files.push(file);
        } else {
            scan.binary += 1;
        }
        bar.set_length(bar.position() + 1 + waiting.len() as u64);
        bar.inc(1);
    }
    bar.finish_and_clear();
    scan.files.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Reads one file; none if it is binary and nobody named it.
fn read_one(
    candidate: &Candidate,
    screener: &Screener<'_>,
    tree: &mut Tree,
    waiting: &mut VecDeque<Candidate>,
) -> Option<File> {
    let mut file = blank(candidate.path.clone());
    let name = candidate.path.to_string_lossy().into_owned();
    let read = match bytes_of(&candidate.path, &name) {
        Ok(Ok(bytes)) => formats::read(&name, &bytes).map(|parsed| (parsed, bytes)),
        Ok(Err(error)) => Err(error),
        Err(error) => {
            file.unreadable = Some(error.to_string());
            return Some(file);
        }
    };
    match read {
        Err(FormatError::Binary { .. }) if candidate.found == Found::Walked => return None,
        Err(error) => file.unreadable = Some(without_name(&error)),
        Ok((parsed, bytes)) => {
            file.bytes = bytes.len() as u64;
            file.format = Some(parsed.format.as_str());
            file.entries = screener.file(&parsed, &bytes);
            file.notes = notes(&candidate.path, &parsed, &bytes);
            if formats::is_markdown(&name) {
                follow(candidate, &bytes, tree, waiting, &mut file.notes);
            }
        }
    }
    Some(file)
}

/// What is wrong with a file, without its name, which every report shows beside it.
fn without_name(error: &FormatError) -> String {
    let said = error.to_string();
    said.split_once("` ")
        .map_or(said.clone(), |(_, what)| what.to_owned())
}

fn blank(path: PathBuf) -> File {
    File {
        uri: uri::of(&path),
        path,
        bytes: 0,
        format: None,
        unreadable: None,
        missing: false,
        notes: Vec::new(),
        entries: Vec::new(),
    }
}

/// The bytes of a file that is not too large for its kind.
fn bytes_of(path: &Path, name: &str) -> std::io::Result<Result<Vec<u8>, FormatError>> {
    let file = std::fs::File::open(path)?;
    let given = file.metadata()?.len();
    let mut bytes = Vec::new();
    (&file).take(HEAD_BYTES).read_to_end(&mut bytes)?;
    let shown = || output::cell(name, 400);
    if formats::is_foreign(name, &bytes) {
        return Ok(Err(FormatError::Binary { file: shown() }));
    }
    let limit = formats::max_bytes(&bytes);
    if given > limit {
        let file = shown();
        return Ok(Err(FormatError::TooLarge { file, given, limit }));
    }
    // It may have grown since.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Ok(bytes))
}

/// What a person should know about a file that was read.
fn notes(path: &Path, parsed: &Parsed, bytes: &[u8]) -> Vec<Note> {
    let mut notes: Vec<Note> = parsed
        .problems
        .iter()
        .map(|problem| Note {
            level: NoteLevel::Warning,
            place: problem.place.to_string(),
            line: match &problem.place {
                formats::Place::Line(line, _) | formats::Place::Text { line, .. } => Some(*line),
                _ => None,
            },
            message: problem.message.clone(),
        })
        .collect();
    if formats::is_database(bytes) {
        notes.extend(write_ahead_log(path));
    }
    if path.file_name().is_some_and(|name| name == "MEMORY.md") {
        notes.extend(not_loaded(bytes));
    }
    notes
}

/// Newest rows may lie in a file beside the database, which its own program alone can put together.
fn write_ahead_log(path: &Path) -> Option<Note> {
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    let bytes = std::fs::metadata(&beside).ok()?.len();
    (bytes > 0).then(|| Note {
        level: NoteLevel::Warning,
        place: String::new(),
        line: None,
        message: format!(
            "a write-ahead log of {bytes} bytes lies beside it, whose rows were not read: close the program that uses it, \
             or run `PRAGMA wal_checkpoint` on a copy"
        ),
    })
}

/// What lies beyond the part of `MEMORY.md` that an agent loads at its start.
fn not_loaded(bytes: &[u8]) -> Option<Note> {
    let text = formats::decoded(bytes).text;
    let mut loaded = 0;
    let mut first_left = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        loaded += line.len();
        if index >= LOADED_LINES || loaded > LOADED_BYTES {
            first_left = Some(index + 1);
            break;
        }
    }
    let first = first_left?;
    let last = text.lines().count();
    Some(Note {
        level: NoteLevel::Info,
        place: format!("lines {first}-{last}"),
        line: Some(first),
        message: format!(
            "a coding agent loads {LOADED_LINES} lines or {LOADED_BYTES} bytes of MEMORY.md at its start, and reads these \
             only when it looks for them; they were scanned all the same"
        ),
    })
}

/// Puts the files that a memory file imports in line, and notes those that are not read.
fn follow(
    candidate: &Candidate,
    bytes: &[u8],
    tree: &mut Tree,
    waiting: &mut VecDeque<Candidate>,
    notes: &mut Vec<Note>,
) {
    let text = formats::decoded(bytes).text;
    for (line, import) in imports::imports(&text) {
        let note = |why: &str| Note {
            level: NoteLevel::Warning,
            place: format!("line {line}"),
            line: Some(line),
            message: format!("import `@{}` {why}: not followed", output::cell(import, 200)),
        };
        match imports::target(import, &candidate.path, &candidate.root) {
            Target::Nothing => {}
            Target::Outside(why) => notes.push(note(why)),
            Target::Inside(real) if !tree.is_new(&real) => {}
            Target::Inside(_) if candidate.depth == imports::MAX_DEPTH => {
                notes.push(note("is the sixth in a row, and coding agents stop after five"));
            }
            Target::Inside(real) => {
                let named = candidate.path.parent().unwrap_or(Path::new("")).join(import);
                waiting.push_back(Candidate {
                    path: if named.is_file() { named } else { real },
                    root: candidate.root.clone(),
                    found: Found::Imported,
                    depth: candidate.depth + 1,
                });
            }
        }
    }
}
