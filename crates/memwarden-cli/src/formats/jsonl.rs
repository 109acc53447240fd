//! Rows of our own: `{id, content, source?, trust?, trace_type?, kind?, subject?, metadata?}`.

use super::fields::{Fields, metadata};
use super::{Collector, Format, Problem};
use memwarden_core::{Entry, TraceType};
use serde_json::{Map, Value};

/// Reads one row. Fields that it does not know go into the metadata.
pub(super) fn row(mut row: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let id = row.id()?;
    let content = row.text("content")?;
    let trace_type = row.optional_name("trace_type")?.unwrap_or(TraceType::Other);
    let kind = row
        .optional_name("kind")?
        .unwrap_or_else(|| trace_type.default_kind());
    let subject = row.optional_text("subject")?;
    let source = row.optional_text("source")?;
    let trust = row.optional_text("trust")?;
    let own_metadata = row.optional_object("metadata")?.unwrap_or_default();
    let place = row.place.clone();
    let entry = Entry {
        kind,
        trace_type,
        subject,
        source,
        trust,
        metadata: metadata(merged(own_metadata, row.rest())),
        ..Entry::new(content)
    };
    collector.entry(&place, Format::Jsonl, id.as_deref(), entry);
    Ok(())
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
