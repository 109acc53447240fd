//! The report for code hosts: SARIF 2.1.0 (OASIS).
//!
//! One rule for each stage and rule that found something. Findings of severity `info` are labels and left out.
//! What could not be read is a notification of the invocation, and so is a stale line of the baseline: as a result
//! it would show up as an alert for something that is no longer there.

use super::screened::{Entry, File, Finding, Note, NoteLevel, Position, Scan, State};
use crate::formats::Place;
use crate::output;
use memwarden_core::Severity;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap};

/// The schema that the report keeps to.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The whole log: one run.
pub(super) fn report(scan: &Scan) -> String {
    let rules = Rules::of(scan);
    let mut seen = HashMap::new();
    let mut results = Vec::new();
    for file in &scan.files {
        for (entry, finding) in file.findings() {
            let state = scan.baseline.as_ref().map(|_| finding.state);
            results.push(result(file, entry, finding, &rules, state, &mut seen));
        }
    }
    let read = scan.files.iter().filter(|file| file.unreadable.is_none());
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "memwarden",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.described,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(scan),
            }],
            "artifacts": read.map(|file| json!({
                "location": {"uri": file.uri}, "length": file.bytes,
            })).collect::<Vec<_>>(),
            "results": results,
            "properties": {"policy": scan.policy, "policyHash": scan.policy_hash},
        }],
    });
    format!("{}\n", output::inert_json(&format!("{log:#}")))
}

/// The rules that found something, and where each stands in the list.
struct Rules {
    described: Vec<Value>,
    index: BTreeMap<String, usize>,
}

impl Rules {
    fn of(scan: &Scan) -> Self {
        let mut met: BTreeMap<String, &Finding> = BTreeMap::new();
        for (_, finding) in scan.files.iter().flat_map(File::findings) {
            let known = met.entry(finding.rule_id()).or_insert(finding);
            if finding.severity > known.severity {
                *known = finding;
            }
        }
        Self {
            described: met.iter().map(|(id, finding)| rule(scan, id, finding)).collect(),
            index: met
                .into_keys()
                .enumerate()
                .map(|(index, id)| (id, index))
                .collect(),
        }
    }
}

fn rule(scan: &Scan, id: &str, finding: &Finding) -> Value {
    let stage = scan.stages.iter().find(|row| row.stage == finding.stage);
    let looks_at = stage.map_or("what the policy asks for", |row| row.summary.as_str());
    let asks = stage
        .and_then(|row| row.verdict)
        .map_or("labels the entry", |verdict| verdict.as_str());
    let help = format!(
        "Stage {} of policy {} looks at {looks_at}; its rule {} fired. The policy answers: {asks}. Read the entry where it \
         stands and ask who wrote it. If it is yours, accept it with `memwarden scan --write-baseline`; if not, remove it \
         and look at what it may have led to.",
        finding.stage, scan.policy, finding.rule
    );
    json!({
        "id": id,
        "name": format!("{} {}", finding.stage, finding.rule),
        "shortDescription": {"text": format!("{}: {}", finding.stage, finding.rule)},
        "fullDescription": {"text": format!("The stage {} looks at {looks_at}.", finding.stage)},
        "help": {"text": help},
        "defaultConfiguration": {"level": level(finding.severity)},
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(
    file: &File,
    entry: &Entry,
    finding: &Finding,
    rules: &Rules,
    state: Option<State>,
    seen: &mut HashMap<String, usize>,
) -> Value {
    let id = finding.rule_id();
    let mut result = json!({
        "ruleId": id,
        "level": level(finding.severity),
        "rank": f64::from(finding.score),
        "message": {"text": format!("{}: {}", output::cell(&finding.reason, 400), finding.excerpt)},
        "locations": [location(file, entry, finding)],
        "partialFingerprints": {"memwardenText/v1": fingerprint(&id, finding, seen)},
        "properties": {"entry": entry.id, "verdict": entry.verdict.as_str()},
    });
    if let Some(object) = result.as_object_mut() {
        if let Some(index) = rules.index.get(&id) {
            object.insert("ruleIndex".to_owned(), json!(index));
        }
        if let Some(state) = state {
            let state = match state {
                State::New => "new",
                State::Known => "unchanged",
            };
            object.insert("baselineState".to_owned(), json!(state));
        }
    }
    result
}

/// Rule and text, and which of equal ones it is: it stays when lines or files move.
fn fingerprint(id: &str, finding: &Finding, seen: &mut HashMap<String, usize>) -> String {
    let digest = super::screen::hex(&Sha256::digest(format!("{id}\0{}", finding.content)));
    let count = seen.entry(digest.clone()).or_default();
    *count += 1;
    format!("{digest}:{count}")
}

fn location(file: &File, entry: &Entry, finding: &Finding) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": file.uri}});
    if let (Some(region), Some(object)) = (region(&finding.position), physical.as_object_mut()) {
        object.insert("region".to_owned(), region);
    }
    let mut location = json!({"physicalLocation": physical});
    let beside = finding.beside.as_deref().unwrap_or_default();
    let logical = match &entry.place {
        Place::Pointer(pointer) => Some((format!("{pointer}{beside}"), "value")),
        Place::Cell(cell) => Some((format!("{cell}{beside}"), "value")),
        Place::Line(_, path) if !path.is_empty() => Some((format!("{path}{beside}"), "value")),
        Place::Line(..) | Place::Text { .. } => (!beside.is_empty()).then(|| (beside.to_owned(), "member")),
    };
    if let (Some((name, kind)), Some(object)) = (logical, location.as_object_mut()) {
        object.insert(
            "logicalLocations".to_owned(),
            json!([{"fullyQualifiedName": name, "kind": kind}]),
        );
    }
    location
}

fn region(position: &Position) -> Option<Value> {
    let mut region = Map::new();
    let mut put = |name: &str, value: Option<usize>| {
        if let Some(value) = value {
            region.insert(name.to_owned(), json!(value));
        }
    };
    put("startLine", position.line);
    put("startColumn", position.column);
    put("endLine", position.end.map(|(line, _)| line));
    put("endColumn", position.end.map(|(_, column)| column));
    put("byteOffset", position.bytes.map(|(offset, _)| offset));
    put("byteLength", position.bytes.map(|(_, length)| length));
    (!region.is_empty()).then_some(Value::Object(region))
}

fn notifications(scan: &Scan) -> Vec<Value> {
    let mut all = Vec::new();
    for file in &scan.files {
        if let Some(reason) = &file.unreadable {
            all.push(notification(&file.uri, "unreadable", "error", None, reason));
        }
        all.extend(file.notes.iter().map(|note| noted(file, note)));
    }
    for stale in scan.baseline.iter().flat_map(|baseline| &baseline.stale) {
        let text = format!(
            "the baseline lists {} at {}, {}, which is not found any more",
            stale.rule, stale.file, stale.place
        );
        all.push(json!({
            "descriptor": {"id": "stale-baseline"}, "level": "note", "message": {"text": output::cell(&text, 600)},
        }));
    }
    all
}

fn noted(file: &File, note: &Note) -> Value {
    let level = match note.level {
        NoteLevel::Info => "note",
        NoteLevel::Warning => "warning",
    };
    let place = if note.place.is_empty() {
        String::new()
    } else {
        format!("{}: ", note.place)
    };
    notification(
        &file.uri,
        "partly-read",
        level,
        note.line,
        &format!("{place}{}", note.message),
    )
}

fn notification(uri: &str, id: &str, level: &str, line: Option<usize>, text: &str) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri}});
    if let (Some(line), Some(object)) = (line, physical.as_object_mut()) {
        object.insert("region".to_owned(), json!({"startLine": line}));
    }
    json!({
        "descriptor": {"id": id},
        "level": level,
        "message": {"text": output::cell(text, 600)},
        "locations": [{"physicalLocation": physical}],
    })
}
