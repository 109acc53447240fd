//! Chroma: documents and their metadata, from its SQLite file or from a JSON dump.
//!
//! Not the vectors, which hold no text. Metadata stays with its document, whose texts are screened with it.

use super::database::{Table, text_of};
use super::fields::metadata;
use super::place::Place;
use super::strings::strings_of;
use super::{Collector, Format};
use memwarden_core::Entry;
use rusqlite::Connection;
use serde_json::{Map, Value};

/// The metadata key under which Chroma keeps the document.
const DOCUMENT_KEY: &str = "chroma:document";

/// Tables that [`read_database`] has read, and those in which Chroma keeps house: no memory is in them.
pub(super) const TABLES: [&str; 6] = [
    "embedding_metadata",
    "embeddings",
    "embeddings_queue_config",
    "migrations",
    "segments",
    "segment_metadata",
];

/// Whether the tables are those of Chroma.
pub(super) fn is_database(tables: &[Table]) -> bool {
    let columns = ["id", "key", "string_value"];
    tables
        .iter()
        .any(|table| table.name == "embedding_metadata" && table.has(&columns))
}

/// Reads documents and metadata, one entry for each embedding.
pub(super) fn read_database(
    connection: &Connection,
    tables: &[Table],
    collector: &mut Collector,
) -> rusqlite::Result<()> {
    let named = tables
        .iter()
        .any(|table| table.name == "embeddings" && table.has(&["id", "embedding_id"]));
    let query = if named {
        "SELECT m.id, e.embedding_id, m.key, m.string_value FROM embedding_metadata m
         LEFT JOIN embeddings e ON e.id = m.id WHERE m.string_value IS NOT NULL ORDER BY m.id, m.key"
    } else {
        "SELECT id, NULL, key, string_value FROM embedding_metadata
         WHERE string_value IS NOT NULL ORDER BY id, key"
    };
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    let mut open: Option<Embedding> = None;
    while let Some(row) = rows.next()? {
        let key = text_of(row.get_ref(0)?).unwrap_or_default();
        if open.as_ref().is_none_or(|embedding| embedding.key != key) {
            give(open.take(), collector);
            open = Some(Embedding {
                id: text_of(row.get_ref(1)?),
                key,
                fields: Map::new(),
            });
        }
        if let (Some(embedding), Some(name), Some(value)) =
            (&mut open, text_of(row.get_ref(2)?), text_of(row.get_ref(3)?))
        {
            embedding.fields.insert(name, Value::String(value));
        }
    }
    give(open, collector);
    Ok(())
}

/// An embedding whose metadata is being gathered.
struct Embedding {
    key: String,
    id: Option<String>,
    fields: Map<String, Value>,
}

fn give(embedding: Option<Embedding>, collector: &mut Collector) {
    if let Some(embedding) = embedding {
        let name = embedding.id.as_deref().unwrap_or(&embedding.key);
        let place = Place::Cell("embedding_metadata".to_owned()).foreign_field(name);
        one(&place, embedding.id.as_deref(), embedding.fields, collector);
    }
}

/// Whether a JSON document is a dump: a list of `{id, metadata}` with the document in the metadata, what
/// `collection.get()` returns, or a map from ids to `{document, metadata}`.
pub(super) fn is_dump(value: &Value) -> bool {
    match value {
        Value::Array(items) => items
            .iter()
            .any(|item| item.pointer("/metadata/chroma:document").is_some()),
        Value::Object(map) => {
            let lists = ["ids", "documents"];
            lists
                .iter()
                .all(|name| map.get(*name).is_some_and(Value::is_array))
                || (!map.is_empty()
                    && map
                        .values()
                        .all(|value| value.get("document").is_some_and(Value::is_string)))
        }
        _ => false,
    }
}

/// Reads a dump.
pub(super) fn read_dump(value: Value, collector: &mut Collector) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                listed(&Place::document().item(index), item, collector);
            }
        }
        Value::Object(map) if map.get("ids").is_some_and(Value::is_array) => columns(&map, collector),
        Value::Object(map) => {
            for (id, mut value) in map {
                let place = Place::document().foreign_field(&id);
                let document = value.get_mut("document").map(Value::take).unwrap_or_default();
                let fields = with_document(document, value.get("metadata"));
                one(&place, Some(&id), fields, collector);
            }
        }
        _ => {}
    }
}

fn listed(place: &Place, mut item: Value, collector: &mut Collector) {
    let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
    match item.get_mut("metadata").map(Value::take) {
        Some(Value::Object(fields)) => one(place, id.as_deref(), fields, collector),
        _ => rest(place, &item, collector),
    }
}

/// What `collection.get()` returns: lists side by side.
fn columns(map: &Map<String, Value>, collector: &mut Collector) {
    let item = |name: &str, index: usize| map.get(name).and_then(|list| list.get(index));
    let rows = ["ids", "documents", "metadatas"]
        .iter()
        .filter_map(|name| map.get(*name).and_then(Value::as_array).map(Vec::len))
        .max()
        .unwrap_or_default();
    for index in 0..rows {
        let place = Place::document().field("documents").item(index);
        let document = item("documents", index).cloned().unwrap_or_default();
        let fields = with_document(document, item("metadatas", index));
        one(
            &place,
            item("ids", index).and_then(Value::as_str),
            fields,
            collector,
        );
    }
}

fn with_document(document: Value, metadata: Option<&Value>) -> Map<String, Value> {
    let mut fields = metadata.and_then(Value::as_object).cloned().unwrap_or_default();
    fields.insert(DOCUMENT_KEY.to_owned(), document);
    fields
}

/// One document with its metadata; metadata without a document gives each of its texts.
fn one(place: &Place, id: Option<&str>, mut fields: Map<String, Value>, collector: &mut Collector) {
    match fields.remove(DOCUMENT_KEY) {
        Some(Value::String(document)) if !document.trim().is_empty() => {
            // Some tools keep the document in the metadata once more.
            fields.retain(|_, value| value.as_str() != Some(document.as_str()));
            let entry = Entry {
                metadata: metadata(fields),
                ..Entry::new(document)
            };
            collector.entry(place, Format::Chroma, id, entry);
        }
        _ => rest(place, &Value::Object(fields), collector),
    }
}

fn rest(place: &Place, value: &Value, collector: &mut Collector) {
    strings_of(value, place, &mut |place, id, text| {
        collector.text(place, Format::Chroma, id, text);
    });
}
