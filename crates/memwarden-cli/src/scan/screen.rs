//! Screens the entries of one file and places what is found.
//!
//! An entry is screened as an untrusted write into an empty store. Its subject and the texts of its metadata are
//! screened beside its content, each once in a file, because a model reads them too; what is found there belongs
//! to the entry.

use super::excerpt::excerpt;
use super::screened::{Entry, Finding, Position, State};
use crate::formats::{Imported, Parsed, Place, decoded, is_database, locate, reads_like_text, strings_of};
use memchr::memmem;
use memwarden::guard::{Candidate, EmptyStore, Guard, Phase, Screening, Writer};
use memwarden::{Policy, Verdict};
use memwarden_core::Entry as Memory;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// How much of a text is looked for in a file without lines.
const SOUGHT_BYTES: usize = 64;

/// Screens entries under one policy.
pub(super) struct Screener<'a> {
    guard: Guard,
    policy: &'a Policy,
}

impl<'a> Screener<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        Self {
            guard: Guard::new(),
            policy,
        }
    }

    /// Screens every entry of a file and says where in `bytes` the findings are.
    pub(super) fn file(&self, parsed: &Parsed, bytes: &[u8]) -> Vec<Entry> {
        let mut beside = HashSet::new();
        let mut entries: Vec<Entry> = parsed
            .entries
            .iter()
            .map(|imported| self.entry(imported, &mut beside))
            .collect();
        place(&mut entries, parsed, bytes);
        entries
    }

    fn entry(&self, imported: &Imported, beside: &mut HashSet<[u8; 32]>) -> Entry {
        let memory = &imported.entry;
        let mut screened = Entry {
            id: imported.id.clone().unwrap_or_else(|| {
                let key = memory.origin_key.as_deref().unwrap_or_default();
                key.get(..24).unwrap_or(key).to_owned()
            }),
            place: imported.place.clone(),
            verdict: Verdict::Admit,
            stage: None,
            score: 0,
            findings: Vec::new(),
        };
        self.text(memory, None, &mut screened);
        let mut texts = Vec::new();
        if let Some(subject) = &memory.subject
            && reads_like_text(subject)
        {
            texts.push(("/subject".to_owned(), subject.clone()));
        }
        if let Some(metadata) = &memory.metadata
            && beside.insert(Sha256::digest(metadata).into())
            && let Ok(value) = serde_json::from_str(metadata)
        {
            let root = Place::Pointer("/metadata".to_owned());
            strings_of(&value, &root, &mut |place, _, text| {
                texts.push((place.to_string(), text.to_owned()));
            });
        }
        for (pointer, text) in texts {
            if beside.insert(Sha256::digest(&text).into()) && text != memory.content {
                let aside = Memory {
                    content: text,
                    subject: None,
                    metadata: None,
                    ..memory.clone()
                };
                self.text(&aside, Some(&pointer), &mut screened);
            }
        }
        screened
    }

    fn text(&self, memory: &Memory, beside: Option<&str>, screened: &mut Entry) {
        let candidate = Candidate {
            entry: memory,
            inherited: None,
        };
        let Screening {
            verdict,
            stage,
            findings,
            // What a cleaned text would be is of no use where nothing is stored.
            rewritten: _,
            ran: _,
        } = self.guard.screen(
            self.policy,
            Phase::Write,
            &candidate,
            &EmptyStore,
            Writer::Untrusted,
        );
        if verdict > screened.verdict {
            screened.verdict = verdict;
            screened.stage = stage;
        }
        if findings.is_empty() {
            return;
        }
        let content = hex(&Sha256::digest(&memory.content));
        for finding in findings {
            let score = finding.score.hundredths();
            screened.score = screened.score.max(score);
            screened.findings.push(Finding {
                excerpt: excerpt(&memory.content, finding.span),
                stage: finding.stage,
                rule: finding.rule,
                severity: finding.severity,
                score,
                reason: finding.reason,
                content: content.clone(),
                beside: beside.map(str::to_owned),
                span: finding.span,
                position: Position::default(),
                state: State::New,
            });
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Fills in the positions of the findings. Only entries that have some cost anything.
fn place(entries: &mut [Entry], parsed: &Parsed, bytes: &[u8]) {
    if entries.iter().all(|entry| entry.findings.is_empty()) {
        return;
    }
    let text = decoded(if is_database(bytes) { &[] } else { bytes });
    let has_lines = !is_database(bytes);
    let wanted: HashSet<&str> = entries
        .iter()
        .filter(|entry| !entry.findings.is_empty())
        .filter_map(|entry| match &entry.place {
            Place::Pointer(pointer) => Some(pointer.as_str()),
            _ => None,
        })
        .flat_map(prefixes)
        .collect();
    let located: HashMap<String, usize> = if wanted.is_empty() || !has_lines {
        HashMap::new()
    } else {
        locate(&text.text, &wanted)
    };
    let lines = Lines::of(&text.text);
    for (entry, imported) in entries.iter_mut().zip(&parsed.entries) {
        let content = imported.entry.content.as_str();
        for finding in &mut entry.findings {
            let span = finding.span.filter(|_| finding.beside.is_none());
            finding.position = match &entry.place {
                Place::Line(number, _) => Position {
                    line: Some(*number),
                    ..Position::default()
                },
                Place::Text { offset, .. } => lines.range(*offset, span),
                Place::Pointer(pointer) => prefixes(pointer)
                    .find_map(|outer| located.get(outer))
                    .map_or_else(Position::default, |at| lines.range(*at, None)),
                Place::Cell(_) => in_bytes(bytes, content),
            };
        }
    }
}

/// The pointer and those of all that it stands in, innermost first: a pointer into JSON that stands in a string is
/// found no deeper than that string.
fn prefixes(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |inner| {
        inner.rsplit_once('/').map(|(outer, _)| outer)
    })
}

/// Where a text stands in a file without lines, if it stands there as it is.
fn in_bytes(bytes: &[u8], content: &str) -> Position {
    let sought = content.as_bytes();
    let sought = sought.get(..SOUGHT_BYTES).unwrap_or(sought);
    Position {
        bytes: memmem::find(bytes, sought).map(|at| (at, sought.len())),
        ..Position::default()
    }
}

/// The lines of a text.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(breaks).collect(),
        }
    }

    /// Line and column, counted from 1, the column in characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The position of `span` in what stands at `offset`, or of `offset` where there is no span.
    fn range(&self, offset: usize, span: Option<(u32, u32)>) -> Position {
        let at = |byte: u32| {
            offset
                .saturating_add(usize::try_from(byte).unwrap_or(usize::MAX))
                .min(self.text.len())
        };
        let (line, column) = self.position(at(span.map_or(0, |(start, _)| start)));
        Position {
            line: Some(line),
            column: Some(column),
            end: span.map(|(_, end)| self.position(at(end))),
            bytes: None,
        }
    }
}
