//! What mem0 lists, from `get_all`, its REST server or an export.
//!
//! An expiration date stays in the metadata with the rest of the row; it is not enforced.

use super::fields::{Fields, metadata};
use super::place::Place;
use super::{Collector, Format, Problem, read_each};
use memwarden_core::Entry;
use serde_json::{Map, Value};

/// Reads one document `{results: [...]}` or `{memories: [...]}`.
pub(super) fn read(document: Value, collector: &mut Collector) {
    match Fields::of(Place::document(), document, "an object") {
        Err(problem) => collector.problem(problem),
        Ok(mut document) => {
            for name in ["results", "memories"] {
                match document.optional_list(name) {
                    Err(problem) => collector.problem(problem),
                    Ok(items) => {
                        let list = Place::document().field(name);
                        read_each(&list, items, Format::Mem0, memory, collector);
                    }
                }
            }
            match document.optional_list("relations") {
                Ok(relations) if !relations.is_empty() => collector.problem(Problem {
                    place: Place::document().field("relations"),
                    message: format!(
                        "{} relations of a graph store: these are not read",
                        relations.len()
                    ),
                }),
                _ => {}
            }
        }
    }
}

/// Reads one memory. The rest of its row is its metadata.
pub(super) fn memory(mut row: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let id = row.id()?;
    let content = row.text("memory")?;
    let place = row.place.clone();
    let rest = row.rest();
    let entry = Entry {
        source: declared(&rest, "source"),
        trust: declared(&rest, "trust"),
        metadata: metadata(rest),
        ..Entry::new(content)
    };
    collector.entry(&place, Format::Mem0, id.as_deref(), entry);
    Ok(())
}

/// What the row, or the metadata that the caller of `add` gave, says under this name.
fn declared(row: &Map<String, Value>, name: &str) -> Option<String> {
    let in_metadata = || row.get("metadata").and_then(|metadata| metadata.get(name));
    row.get(name)
        .or_else(in_metadata)
        .and_then(Value::as_str)
        .map(str::to_owned)
}
