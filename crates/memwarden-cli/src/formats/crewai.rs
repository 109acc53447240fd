//! The long-term memory of crewAI: tasks and what was suggested for them, from SQLite or from a JSON dump.

use super::database::{Table, text_of};
use super::fields::metadata;
use super::place::Place;
use super::strings::strings_of;
use super::{Collector, Format};
use memwarden_core::Entry;
use rusqlite::Connection;
use serde_json::{Map, Value};

/// The table that [`read_database`] reads.
pub(super) const TABLE: &str = "long_term_memories";

/// Whether the tables are those of crewAI.
pub(super) fn is_database(tables: &[Table]) -> bool {
    tables
        .iter()
        .any(|table| table.name == TABLE && table.has(&["id", "task_description", "metadata"]))
}

/// Reads every task.
pub(super) fn read_database(connection: &Connection, collector: &mut Collector) -> rusqlite::Result<()> {
    let query = "SELECT id, task_description, metadata FROM long_term_memories ORDER BY id";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = text_of(row.get_ref(0)?).unwrap_or_default();
        let mut fields = Map::new();
        for (at, name) in [(1, "task_description"), (2, "metadata")] {
            fields.insert(
                name.to_owned(),
                text_of(row.get_ref(at)?).map_or(Value::Null, Value::String),
            );
        }
        let place = Place::Cell(TABLE.to_owned()).foreign_field(&id);
        one(&place, Some(&id), fields, collector);
    }
    Ok(())
}

/// Whether a JSON document is a list of the table's rows.
pub(super) fn is_dump(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| {
        items.iter().any(|item| {
            item.get("task_description").is_some_and(Value::is_string) && item.get("metadata").is_some()
        })
    })
}

/// Reads a dump.
pub(super) fn read_dump(value: Value, collector: &mut Collector) {
    let Value::Array(items) = value else { return };
    for (index, item) in items.into_iter().enumerate() {
        let place = Place::document().item(index);
        match item {
            Value::Object(fields) => {
                let id = fields
                    .get("id")
                    .map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
                one(&place, id.as_deref(), fields, collector);
            }
            other => strings_of(&other, &place, &mut |place, id, text| {
                collector.text(place, Format::CrewAi, id, text);
            }),
        }
    }
}

/// A task with its metadata, which is JSON in a string; a row without a task gives each of its texts.
fn one(place: &Place, id: Option<&str>, mut fields: Map<String, Value>, collector: &mut Collector) {
    match fields.remove("task_description") {
        Some(Value::String(task)) if !task.trim().is_empty() => {
            let entry = Entry {
                metadata: metadata(fields),
                ..Entry::new(task)
            };
            collector.entry(place, Format::CrewAi, id, entry);
        }
        _ => strings_of(&Value::Object(fields), place, &mut |place, id, text| {
            collector.text(place, Format::CrewAi, id, text);
        }),
    }
}
