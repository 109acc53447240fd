//! Traces before a policy's stages, with no store around them but what stands in it already.

use crate::HONEST_MEMORY;
use crate::experiment::ExperimentError;
use memwarden::guard::{Candidate, Guard, Phase, StageError, StoreView, Writer};
use memwarden::{Entry, Kind, Policy, TraceType, Verdict};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A benign trace and what it is counted under, besides `all`.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    pub(super) groups: Vec<String>,
    pub(super) entry: Entry,
}

/// How many, and how many of them kept out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) traces: u64,
    pub(super) rejected: u64,
}

/// What a store holds that the traces were written to one after the other.
#[derive(Debug, Default)]
struct Written {
    by_subject: BTreeMap<String, u64>,
    all: u64,
}

impl StoreView for Written {
    fn reasoning_entries(&self, subject: Option<&str>) -> Result<u64, StageError> {
        Ok(subject.map_or(self.all, |subject| {
            self.by_subject.get(subject).copied().unwrap_or_default()
        }))
    }

    fn receipt_backed_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }
}

/// Counts by group, and `all`.
pub(super) fn screen(policy: &Policy, traces: &[Trace]) -> BTreeMap<String, Counts> {
    let guard = Guard::new();
    let mut view = Written::default();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for trace in traces {
        let candidate = Candidate {
            entry: &trace.entry,
            inherited: None,
        };
        let kept_out = |phase| {
            let screening = guard.screen(policy, phase, &candidate, &view, Writer::Untrusted);
            screening.verdict >= Verdict::Quarantine
        };
        let rejected = kept_out(Phase::Write) || kept_out(Phase::Read);
        for group in trace.groups.iter().map(String::as_str).chain(["all"]) {
            let counts = counts.entry(group.to_owned()).or_default();
            counts.traces += 1;
            counts.rejected += u64::from(rejected);
        }
        if trace.entry.kind == Kind::Reasoning {
            view.all += 1;
            if let Some(subject) = &trace.entry.subject {
                *view.by_subject.entry(subject.clone()).or_default() += 1;
            }
        }
    }
    counts
}

/// `n` reasoning entries of the honest memory that was written by hand.
pub(super) fn handwritten(n: usize) -> Vec<Trace> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default)]
        name: String,
        #[serde(default, rename = "entityType")]
        entity_type: String,
        #[serde(default)]
        observations: Vec<String>,
    }
    let lines = HONEST_MEMORY
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let reasoning = lines.filter_map(|line| {
        let trace_type = match line.entity_type.as_str() {
            "decision_log" => TraceType::DecisionLog,
            "rationale" => TraceType::Rationale,
            "reflection" => TraceType::Reflection,
            _ => return None,
        };
        Some((line.name, trace_type, line.observations))
    });
    let traces = reasoning.flat_map(|(name, trace_type, observations)| {
        observations.into_iter().map(move |content| Trace {
            groups: vec!["by hand".to_owned()],
            entry: entry(content, trace_type, Some(name.clone())),
        })
    });
    // Every other one, so that all three agents are among them.
    traces.step_by(2).take(n).collect()
}

fn entry(content: String, trace_type: TraceType, subject: Option<String>) -> Entry {
    Entry {
        kind: Kind::Reasoning,
        trace_type,
        subject,
        source: Some("agent".to_owned()),
        ..Entry::new(content)
    }
}

/// The entries of a corpus, grouped by their kind and by its class. Reasoning is written as decision logs, the rest as
/// general memory.
pub(super) fn corpus(entries: &Path, kinds: &Path) -> Result<Vec<Trace>, ExperimentError> {
    #[derive(Deserialize)]
    struct Line {
        kind: String,
        content: String,
    }
    #[derive(Deserialize)]
    struct Kinds {
        classes: BTreeMap<String, String>,
    }
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|error| ExperimentError::path(path, &error));
    let known: Kinds =
        serde_json::from_str(&read(kinds)?).map_err(|error| ExperimentError::path(kinds, &error))?;
    let mut traces = Vec::new();
    for line in read(entries)?.lines() {
        let line: Line =
            serde_json::from_str(line).map_err(|error| ExperimentError::path(entries, &error))?;
        let class = known.classes.get(&line.kind);
        let entry = if class.is_some_and(|class| class == "agent_reasoning") {
            entry(line.content, TraceType::DecisionLog, None)
        } else {
            Entry {
                source: Some("agent".to_owned()),
                ..Entry::new(line.content)
            }
        };
        let mut groups: Vec<String> = class.cloned().into_iter().collect();
        groups.push(format!("kind {}", line.kind));
        traces.push(Trace { groups, entry });
    }
    Ok(traces)
}
