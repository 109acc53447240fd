//! Rows of our own: `{id, content, source?, trust?, trace_type?, kind?, subject?, metadata?}`.

use super::collector::Taking;
use super::fields::{Fields, metadata};
use super::{Collector, Format, Problem};
use memwarden_core::{Entry, Kind, TraceType};
use serde_json::{Map, Value};

/// Reads one row. Fields that it does not know go into the metadata.
pub(super) fn row(mut row: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let id = row.id()?;
    let content = row.text("content")?;
    let labels = match collector.taking() {
        Taking::Storable(_) => Labels::checked(&mut row)?,
        // A row of another tool may mean something else by these names; its text is looked at all the same.
        Taking::Everything => Labels::known(&mut row),
    };
    let trace_type = labels.trace_type.unwrap_or(TraceType::Other);
    let place = row.place.clone();
    let entry = Entry {
        kind: labels.kind.unwrap_or_else(|| trace_type.default_kind()),
        trace_type,
        subject: labels.subject,
        source: labels.source,
        trust: labels.trust,
        metadata: metadata(merged(labels.metadata, row.rest())),
        ..Entry::new(content)
    };
    collector.entry(&place, Format::Jsonl, id.as_deref(), entry);
    Ok(())
}

/// What a row says beside its content.
struct Labels {
    trace_type: Option<TraceType>,
    kind: Option<Kind>,
    subject: Option<String>,
    source: Option<String>,
    trust: Option<String>,
    metadata: Map<String, Value>,
}

impl Labels {
    /// Each absent, null or as it must be.
    fn checked(row: &mut Fields) -> Result<Self, Problem> {
        Ok(Self {
            trace_type: row.optional_name("trace_type")?,
            kind: row.optional_name("kind")?,
            subject: row.optional_text("subject")?,
            source: row.optional_text("source")?,
            trust: row.optional_text("trust")?,
            metadata: row.optional_object("metadata")?.unwrap_or_default(),
        })
    }

    /// Those that are as they must be; the others stay in the row.
    fn known(row: &mut Fields) -> Self {
        Self {
            trace_type: row.known_name("trace_type"),
            kind: row.known_name("kind"),
            subject: row.declaration("subject"),
            source: row.declaration("source"),
            trust: row.declaration("trust"),
            metadata: row.known_object("metadata").unwrap_or_default(),
        }
    }
}

/// The row's metadata with its other fields beside them; where the names collide, the metadata moves to a
/// field of its own, so that nothing is lost.
fn merged(own: Map<String, Value>, mut others: Map<String, Value>) -> Map<String, Value> {
    if own.keys().any(|name| others.contains_key(name)) {
        others.insert("metadata".to_owned(), Value::Object(own));
    } else {
        others.extend(own);
    }
    others
}
