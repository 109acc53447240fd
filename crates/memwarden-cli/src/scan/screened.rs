//! What a scan found: plain data that the reports print. It reads and decides nothing.

use crate::formats::Place;
use memwarden::Verdict;
use memwarden::guard::Row;
use memwarden_core::{Severity, StageName};

/// Everything that one scan found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The policy's name.
    pub(crate) policy: String,
    /// The policy's digest.
    pub(crate) policy_hash: String,
    /// What the stages of the policy look at.
    pub(crate) stages: Vec<Row>,
    /// The files, in the order in which they were read.
    pub(crate) files: Vec<File>,
    /// Files that are neither text nor a known database, in directories that were walked.
    pub(crate) binary: u64,
    /// Directories that were not walked: version control and installed packages.
    pub(crate) skipped_directories: u64,
    /// What a baseline said, if there is one.
    pub(crate) baseline: Option<Compared>,
}

/// How a baseline compares.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Findings that it knows.
    pub(crate) known: u64,
    /// What it lists and this scan did not find.
    pub(crate) stale: Vec<super::baseline::Known>,
}

/// One file.
#[derive(Debug)]
pub(crate) struct File {
    /// As it was named or found.
    pub(crate) path: std::path::PathBuf,
    /// Relative to the working directory and percent-encoded.
    pub(crate) uri: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// How it was read; none if it could not be.
    pub(crate) format: Option<&'static str>,
    /// Why it could not be read.
    pub(crate) unreadable: Option<String>,
    /// Whether that is because nothing lies at a path that the user named.
    pub(crate) missing: bool,
    /// What a person should know about it that is no finding.
    pub(crate) notes: Vec<Note>,
    /// Its entries, in the order of the file.
    pub(crate) entries: Vec<Entry>,
}

/// Something about a file that is no finding.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) level: NoteLevel,
    /// Where, as it is shown; empty for the whole file.
    pub(crate) place: String,
    /// The line, if it has one.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteLevel {
    /// Good to know.
    Info,
    /// Something was not read.
    Warning,
}

/// One entry and what the stages made of it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The file's own id, or a digest.
    pub(crate) id: String,
    pub(crate) place: Place,
    pub(crate) verdict: Verdict,
    /// The stage that asked for the verdict.
    pub(crate) stage: Option<StageName>,
    /// The highest score of any finding, in hundredths.
    pub(crate) score: u32,
    pub(crate) findings: Vec<Finding>,
}

/// One finding, placed.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) stage: StageName,
    pub(crate) rule: String,
    pub(crate) severity: Severity,
    pub(crate) score: u32,
    pub(crate) reason: String,
    /// A few words around it.
    pub(crate) excerpt: String,
    /// SHA-256 of the text that it is in.
    pub(crate) content: String,
    /// Where beside the entry's content that text stands: `/subject`, `/metadata/title`.
    pub(crate) beside: Option<String>,
    /// Byte range in that text.
    pub(crate) span: Option<(u32, u32)>,
    /// Where it is in the file.
    pub(crate) position: Position,
    /// Whether the baseline knows it.
    pub(crate) state: State,
}

/// Where in a file a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// Counted from 1, in a file that has lines.
    pub(crate) line: Option<usize>,
    /// Counted from 1, in characters.
    pub(crate) column: Option<usize>,
    /// End of the match: line, and the column after it.
    pub(crate) end: Option<(usize, usize)>,
    /// Offset and length in bytes, in a file that has no lines.
    pub(crate) bytes: Option<(usize, usize)>,
}

/// How a finding compares with the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    New,
    Known,
}

impl Finding {
    /// `stage/rule`.
    pub(crate) fn rule_id(&self) -> String {
        format!("{}/{}", self.stage, self.rule)
    }

    /// Whether it is more than a label: those of [`Severity::Info`] say something and find nothing.
    pub(crate) fn counts(&self) -> bool {
        self.severity > Severity::Info
    }
}

impl Entry {
    /// Whether it must fail a build that fails at `threshold`: its verdict is as strong, and not all of it is known.
    pub(crate) fn fails_at(&self, threshold: Verdict) -> bool {
        let mut counted = self.findings.iter().filter(|finding| finding.counts()).peekable();
        let known = counted.peek().is_some() && counted.all(|finding| finding.state == State::Known);
        self.verdict >= threshold && !known
    }
}

impl File {
    /// The findings that count, with their entries.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&Entry, &Finding)> {
        let all = |entry| Entry::counted(entry).map(move |finding| (entry, finding));
        self.entries.iter().flat_map(all)
    }

    /// The path for people.
    pub(crate) fn shown(&self) -> String {
        crate::output::cell(&self.path.to_string_lossy(), 400)
    }
}

impl Entry {
    fn counted(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.counts())
    }
}

impl Scan {
    pub(crate) fn totals(&self) -> Totals {
        let sum = |count: fn(&File) -> usize| self.files.iter().map(count).sum::<usize>();
        Totals {
            files: sum(|file| usize::from(file.unreadable.is_none())),
            entries: sum(|file| file.entries.len()),
            findings: sum(|file| file.findings().count()),
            unreadable: sum(|file| usize::from(file.unreadable.is_some())),
        }
    }
}

/// The figures of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) files: usize,
    pub(crate) entries: usize,
    pub(crate) findings: usize,
    pub(crate) unreadable: usize,
}
