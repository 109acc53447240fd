//! The memory file of the official MCP memory server, and of its forks that add fields.

use super::fields::{Fields, metadata};
use super::place::{Place, described};
use super::{Collector, Format, Problem, read_each};
use memwarden_core::{Entry, TraceType};
use serde_json::{Map, Value};

/// Reads one document `{entities: [...], relations: [...]}`.
pub(super) fn read_graph(document: Value, collector: &mut Collector) {
    match Fields::of(Place::document(), document, "an object") {
        Err(problem) => collector.problem(problem),
        Ok(mut graph) => {
            for (name, read) in [
                ("entities", entity as fn(_, &mut _) -> _),
                ("relations", relation),
            ] {
                match graph.optional_list(name) {
                    Err(problem) => collector.problem(problem),
                    Ok(items) => {
                        let list = Place::document().field(name);
                        read_each(&list, items, Format::McpMemory, read, collector);
                    }
                }
            }
        }
    }
}

/// Reads an entity: one entry for each of its observations.
pub(super) fn entity(mut row: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let name = row.text("name")?;
    let entity_type = row.optional_text("entityType")?;
    let observations = row.list("observations")?;
    let source = row.declaration("source");
    let trust = row.declaration("trust");
    row.discard("type");
    let place = row.place.field("observations");
    let mut extras = row.rest();
    if let Some(entity_type) = &entity_type {
        extras.insert("entityType".to_owned(), entity_type.as_str().into());
    }
    let trace_type = entity_type
        .and_then(|name| name.parse().ok())
        .unwrap_or(TraceType::Fact);
    let shared_bytes = name.len() + metadata(extras.clone()).map_or(0, |text| text.len());
    if !collector.may_share(shared_bytes, observations.len()) {
        return Err(Problem {
            place,
            message: format!(
                "{} observations of an entity with {shared_bytes} bytes of other fields: expected fewer, or less beside them",
                observations.len()
            ),
        });
    }
    for (index, observation) in observations.into_iter().enumerate() {
        let place = place.item(index);
        match observed(&place, observation, extras.clone()) {
            Err(problem) => collector.problem(problem),
            Ok(observed) => {
                let entry = Entry {
                    subject: Some(name.clone()),
                    kind: trace_type.default_kind(),
                    trace_type,
                    source: observed.source.or_else(|| source.clone()),
                    trust: observed.trust.or_else(|| trust.clone()),
                    metadata: metadata(observed.extras),
                    ..Entry::new(observed.content)
                };
                collector.entry(&place, Format::McpMemory, None, entry);
            }
        }
    }
    Ok(())
}

/// Reads a relation: the entry `A relationType B`.
pub(super) fn relation(mut row: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let from = row.text("from")?;
    let to = row.text("to")?;
    let relation_type = row.text("relationType")?;
    let source = row.declaration("source");
    let trust = row.declaration("trust");
    row.discard("type");
    let place = row.place.clone();
    let content = format!("{from} {relation_type} {to}");
    let mut extras = row.rest();
    extras.insert("relationType".to_owned(), relation_type.into());
    extras.insert("to".to_owned(), to.into());
    let entry = Entry {
        subject: Some(from),
        trace_type: TraceType::Fact,
        source,
        trust,
        metadata: metadata(extras),
        ..Entry::new(content)
    };
    collector.entry(&place, Format::McpMemory, None, entry);
    Ok(())
}

struct Observed {
    content: String,
    source: Option<String>,
    trust: Option<String>,
    extras: Map<String, Value>,
}

/// An observation is text, or (in forks of the server) an object with `text` or `content`, whose other
/// fields go into the metadata under `observation`, so that they cannot replace those of the entity.
fn observed(place: &Place, observation: Value, mut extras: Map<String, Value>) -> Result<Observed, Problem> {
    let mut fields = match observation {
        Value::String(content) => {
            return Ok(Observed {
                content,
                source: None,
                trust: None,
                extras,
            });
        }
        Value::Object(map) if map.contains_key("text") || map.contains_key("content") => {
            Fields::new(place.clone(), map)
        }
        other => {
            return Err(Problem {
                place: place.clone(),
                message: format!(
                    "observation is {}: expected text, or an object with `text` or `content`",
                    described(&other)
                ),
            });
        }
    };
    let content = if fields.get("text").is_some() {
        fields.text("text")
    } else {
        fields.text("content")
    }?;
    let source = fields.declaration("source");
    let trust = fields.declaration("trust");
    let own = fields.rest();
    if !own.is_empty() {
        extras.insert("observation".to_owned(), Value::Object(own));
    }
    Ok(Observed {
        content,
        source,
        trust,
        extras,
    })
}
