//! The JSON forms of what goes in and out. Wire types live here and nowhere below.

use crate::output;
use crate::strict::{self, Json, Named};
use memwarden::ledger::Checkpoint;
use memwarden::{
    Changed, Entry, Event, FieldValue, Finding, IntegrityReport, Kind, PurgeReport, Recall, Record, RecordId,
    Remembered, StoreStatus, TraceType,
};
use memwarden_core::{StageName, Timestamp};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Whether the text of a record goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Shown,
    Hidden,
}

/// An entry as it comes in.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryIn {
    pub(crate) content: String,
    pub(crate) kind: Option<String>,
    pub(crate) trace_type: Option<String>,
    pub(crate) subject: Option<String>,
    #[serde(default)]
    pub(crate) fields: Named<FieldIn>,
    pub(crate) source: Option<String>,
    pub(crate) trust: Option<String>,
    #[serde(default)]
    pub(crate) parents: Vec<String>,
    /// Microseconds since 1970, or RFC 3339.
    pub(crate) valid_until: Option<TimeIn>,
    pub(crate) metadata: Option<Named<Json>>,
    pub(crate) supersedes: Option<String>,
}

#[derive(Debug)]
pub(crate) enum FieldIn {
    Boolean(bool),
    Integer(i64),
    String(String),
}

impl<'de> Deserialize<'de> for FieldIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = FieldIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a whole number of 64 bits, true or false")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<FieldIn, E> {
                Ok(FieldIn::Boolean(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<FieldIn, E> {
                Ok(FieldIn::Integer(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<FieldIn, E> {
                let signed = i64::try_from(value);
                signed
                    .map(FieldIn::Integer)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<FieldIn, E> {
                Ok(FieldIn::String(value.to_owned()))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[derive(Debug)]
pub(crate) enum TimeIn {
    Micros(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for TimeIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = TimeIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("RFC 3339 or microseconds since 1970")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<TimeIn, E> {
                Ok(TimeIn::Micros(value))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<TimeIn, E> {
                Ok(TimeIn::Text(value.to_owned()))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl TimeIn {
    pub(crate) fn read(&self) -> Result<Timestamp, String> {
        match self {
            Self::Micros(micros) => Ok(Timestamp::from_micros(*micros)),
            Self::Text(text) => text.parse::<jiff::Timestamp>().map(from_jiff).map_err(|_| {
                format!(
                    "`valid_until` is `{}`: expected RFC 3339 or microseconds since 1970",
                    short(text)
                )
            }),
        }
    }
}

pub(crate) fn from_jiff(time: jiff::Timestamp) -> Timestamp {
    Timestamp::from_micros(u64::try_from(time.as_microsecond()).unwrap_or(0))
}

/// A value for an error message: cut, and inert.
pub(crate) fn short(text: &str) -> String {
    output::cell(text, 80)
}

pub(crate) fn record_id(field: &str, text: &str) -> Result<RecordId, String> {
    text.parse().map_err(|error| format!("`{field}`: {error}"))
}

/// Reads a checkpoint without checking who signed it.
pub(crate) fn checkpoint(field: &str, note: &str) -> Result<Checkpoint, String> {
    Checkpoint::read_unverified(note).map_err(|error| format!("`{field}` is not a checkpoint: {error}"))
}

impl EntryIn {
    /// The entry, and the record that it replaces.
    pub(crate) fn read(self) -> Result<(Entry, Option<RecordId>), String> {
        let trace_type = match &self.trace_type {
            None => TraceType::Other,
            Some(text) => text.parse::<TraceType>().map_err(|error| error.to_string())?,
        };
        let kind = match &self.kind {
            None => trace_type.default_kind(),
            Some(text) => text.parse::<Kind>().map_err(|error| error.to_string())?,
        };
        let fields = self.fields.0.into_iter().map(|(name, value)| {
            let value = match value {
                FieldIn::Boolean(value) => FieldValue::Boolean(value),
                FieldIn::Integer(value) => FieldValue::Integer(value),
                FieldIn::String(value) => FieldValue::String(value),
            };
            (name, value)
        });
        let parents: Result<Vec<_>, _> = self
            .parents
            .iter()
            .map(|text| record_id("parents", text))
            .collect();
        let entry = Entry {
            kind,
            trace_type,
            subject: self.subject,
            fields: fields.collect(),
            source: self.source,
            trust: self.trust,
            parents: parents?,
            valid_until: self.valid_until.as_ref().map(TimeIn::read).transpose()?,
            metadata: self.metadata.map(strict::object_text),
            ..Entry::new(self.content)
        };
        let supersedes = self
            .supersedes
            .as_deref()
            .map(|text| record_id("supersedes", text))
            .transpose()?;
        Ok((entry, supersedes))
    }
}

pub(crate) fn remembered(remembered: &Remembered) -> Value {
    json!({
        "id": remembered.id.to_string(),
        "verdict": remembered.verdict.as_str(),
        "stage": remembered.stage,
        "status": remembered.status.as_str(),
        "written": remembered.written.as_str(),
        "position": remembered.position,
        "time": output::time(remembered.time),
        "findings": findings(&remembered.findings),
        "proposal_for": remembered.proposal_for.map(|id| id.to_string()),
        "original": remembered.original.map(|id| id.to_string()),
    })
}

pub(crate) fn findings(findings: &[Finding]) -> Value {
    findings
        .iter()
        .map(|finding| {
            json!({
                "stage": finding.stage,
                "rule": finding.rule,
                "severity": finding.severity.as_str(),
                "score": f64::from(finding.score.hundredths()) / 100.0,
                "span": finding.span.map(|(start, end)| json!([start, end])),
                "reason": finding.reason,
            })
        })
        .collect()
}

pub(crate) fn recall(recall: &Recall) -> Value {
    let hits: Vec<Value> = recall
        .hits
        .iter()
        .map(|hit| {
            let mut value = record(&hit.record, Body::Shown);
            if let Some(object) = value.as_object_mut() {
                object.insert("score".to_owned(), json!(hit.score));
                object.insert("rank".to_owned(), json!(hit.rank));
                object.insert("writer".to_owned(), json!(hit.writer));
                object.insert("receipts".to_owned(), json!(hit.receipts));
                object.insert("read_findings".to_owned(), findings(&hit.findings));
                object.insert("rendered".to_owned(), json!(hit.rendered));
            }
            value
        })
        .collect();
    let withheld: BTreeMap<&StageName, u64> = recall.withheld.iter().map(|(stage, n)| (stage, *n)).collect();
    json!({
        "hits": hits,
        "block": recall.block,
        "withheld": withheld,
        "collapsed": recall.collapsed,
        "label": recall.label.as_str(),
        "position": recall.position,
    })
}

pub(crate) fn record(record: &Record, body: Body) -> Value {
    let fields: Map<String, Value> = record
        .entry
        .fields
        .iter()
        .map(|(name, value)| {
            let value = match value {
                FieldValue::String(value) => json!(value),
                FieldValue::Integer(value) => json!(value),
                FieldValue::Boolean(value) => json!(value),
            };
            (name.clone(), value)
        })
        .collect();
    let metadata = record
        .entry
        .metadata
        .as_deref()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut value = json!({
        "id": record.id.to_string(),
        "namespace": record.namespace,
        "kind": record.entry.kind.as_str(),
        "trace_type": record.entry.trace_type.as_str(),
        "subject": record.entry.subject,
        "source": record.entry.source,
        "trust": record.entry.trust,
        "fields": fields,
        "metadata": metadata,
        "valid_until": record.entry.valid_until.map(output::time),
        "principal": record.principal.to_string(),
        "channel": record.channel.as_str(),
        "parents": record.lineage.parents.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "position": record.lineage.position,
        "time": output::time(record.time),
        "written": record.written.as_str(),
        "effective": record.effective.as_str(),
        "status": record.status.as_str(),
        "status_position": record.status_position,
        "verdict": record.verdict.as_str(),
        "findings": findings(&record.findings),
        "content_sha256": record.content_digest().to_string(),
    });
    if let (Body::Shown, Some(object)) = (body, value.as_object_mut()) {
        object.insert("content".to_owned(), json!(record.entry.content));
    }
    value
}

pub(crate) fn changed(changed: &Changed) -> Value {
    json!({
        "done": changed.change == memwarden::Change::Done,
        "status": changed.status.as_str(),
        "position": changed.position,
    })
}

pub(crate) fn event(event: &Event) -> Value {
    json!({
        "position": event.position,
        "time": output::time(event.time),
        "kind": event.kind.as_str(),
        "status": event.status.as_str(),
        "by": event.by.as_ref().map_or("warden", |principal| principal.name.as_str()),
        "change": event.change.map(memwarden_core::StatusChange::as_str),
        "reason": event.reason,
        "policy": event.policy.to_string(),
    })
}

pub(crate) fn integrity(report: &IntegrityReport) -> Value {
    let trust = match &report.trust {
        memwarden::Trust::Held { whose, size } => json!({"held_by": whose, "size": size}),
        memwarden::Trust::InternallyConsistent => json!("internally consistent only"),
    };
    json!({
        "intact": report.is_intact(),
        "entries": report.entries,
        "tiles": report.tiles,
        "rotations": report.rotations,
        "records": report.records,
        "payloads": report.payloads,
        "deep": report.deep,
        "damage": report.damage.iter().map(damage).collect::<Vec<_>>(),
        "index_differences": report.index_differences,
        "relative_to": trust,
        "checkpoint": report.checkpoint,
        "verifier_key": report.verifier_key,
    })
}

pub(crate) fn damage(damage: &memwarden::Damage) -> Value {
    json!({"record": damage.record.to_string(), "what": damage.what})
}

pub(crate) fn purge(report: &PurgeReport) -> Value {
    json!({
        "purged": report.purged.iter().map(|purged| json!({
            "id": purged.record.to_string(), "position": purged.position,
        })).collect::<Vec<_>>(),
        "descendants_left": report.descendants_left.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "backups_that_still_hold_the_text": report.backups,
    })
}

pub(crate) fn status(status: &StoreStatus) -> Value {
    json!({
        "store": status.store.to_string(),
        "directory": status.directory,
        "keys": status.keys,
        "entries": status.entries,
        "epoch": status.epoch,
        "policy": {"name": status.policy.0, "hash": status.policy.1},
        "principals": status.principals.iter().map(|principal| json!({
            "id": principal.id.to_string(),
            "name": principal.name,
            "role": principal.role.as_str(),
            "domain": principal.domain,
        })).collect::<Vec<_>>(),
        "namespaces": status.namespaces.iter().map(|namespace| {
            let counts: Map<String, Value> = memwarden::Status::ALL
                .into_iter()
                .map(|status| (status.as_str().to_owned(), json!(namespace.count(status))))
                .collect();
            json!({
                "name": namespace.name,
                "records": counts,
                "damage": namespace.damage.iter().map(damage).collect::<Vec<_>>(),
            })
        }).collect::<Vec<_>>(),
        "isolated": status.isolated,
        "witness": status.witness.map(|(size, epoch)| json!({"size": size, "epoch": epoch})),
        "stray": status.stray.iter().map(damage).collect::<Vec<_>>(),
        "warnings": status.warnings,
        "receipts": status.receipts,
        "authorize_calls": status.decisions,
        "endorsers_needed": status.endorsers_needed,
    })
}
