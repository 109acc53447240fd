//! LangGraph in SQLite: checkpoints, pending writes and the long-term store.
//!
//! A checkpoint repeats the whole conversation so far; each message is one entry, at the first place where it
//! stands. Values are MessagePack or JSON, and nothing that they name is constructed. Pickled and encrypted
//! values are named, not opened.

use super::database::{Table, is_pickle, quoted, text_of};
use super::place::Place;
use super::strings::{strings_in, strings_of};
use super::{Collector, Format, Problem, msgpack};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value;
use std::collections::HashSet;

/// Tables that [`read_checkpoints`] reads.
pub(super) const CHECKPOINT_TABLES: [&str; 2] = ["checkpoints", "writes"];
/// The table that [`read_store`] reads.
pub(super) const STORE_TABLE: &str = "store";

/// Whether there are checkpoints, of the current schema or of the one of 2024 without types.
pub(super) fn has_checkpoints(tables: &[Table]) -> bool {
    tables
        .iter()
        .any(|table| table.name == "checkpoints" && table.has(&["thread_id", "checkpoint"]))
}

/// Whether there is a long-term store.
pub(super) fn has_store(tables: &[Table]) -> bool {
    tables
        .iter()
        .any(|table| table.name == STORE_TABLE && table.has(&["prefix", "key", "value"]))
}

/// Reads the state of every checkpoint, the writes that wait, and what the metadata repeats of them.
pub(super) fn read_checkpoints(
    connection: &Connection,
    tables: &[Table],
    collector: &mut Collector,
) -> rusqlite::Result<()> {
    let mut said = Said::default();
    let mut read = Ok(());
    for (table, columns) in [
        ("checkpoints", ["checkpoint", "metadata"].as_slice()),
        ("writes", ["value"].as_slice()),
    ] {
        let Some(table) = tables.iter().find(|found| found.name == table) else {
            continue;
        };
        let columns: Vec<&str> = columns
            .iter()
            .copied()
            .filter(|name| table.has(&[name]))
            .collect();
        read = read.and(values(connection, table, &columns, &mut said, collector));
    }
    said.give(collector);
    read
}

/// Reads every item: one entry for each text of its value, under the id `prefix/key`.
pub(super) fn read_store(connection: &Connection, collector: &mut Collector) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT prefix, key, value FROM store ORDER BY prefix, key")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cell = |at| row.get_ref(at).map(|value| text_of(value).unwrap_or_default());
        let (prefix, key, value) = (cell(0)?, cell(1)?, cell(2)?);
        let place = Place::Cell(STORE_TABLE.to_owned())
            .foreign_field(&prefix)
            .foreign_field(&key);
        let id = format!("{prefix}/{key}");
        let mut texts = Vec::new();
        strings_in(&value, &place, &mut |place, _, text| {
            texts.push((place.clone(), text.to_owned()))
        });
        // One text is the item; of several, each has its own place, and the id would not tell them apart.
        let id = (texts.len() == 1).then_some(id.as_str());
        for (place, text) in texts {
            collector.text(&place, Format::LangGraphStore, id, text);
        }
    }
    Ok(())
}

fn values(
    connection: &Connection,
    table: &Table,
    columns: &[&str],
    said: &mut Said,
    collector: &mut Collector,
) -> rusqlite::Result<()> {
    let kind = if table.has(&["type"]) { "type" } else { "NULL" };
    let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let query = format!("SELECT {kind}, {} FROM {}", names.join(", "), quoted(&table.name));
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        let place = Place::Cell(table.name.clone()).item(number);
        number += 1;
        let kind = text_of(row.get_ref(0)?);
        for (at, column) in columns.iter().enumerate() {
            // Metadata is JSON whatever the type of the checkpoint; in some versions it is MessagePack too.
            let kind = if *column == "metadata" {
                None
            } else {
                kind.as_deref()
            };
            let place = place.field(column);
            if let Err(message) = value(row, at + 1, kind, &place, said) {
                collector.problem(Problem { place, message });
            }
        }
    }
    Ok(())
}

/// Takes the texts of one serialized value.
fn value(row: &Row<'_>, at: usize, kind: Option<&str>, place: &Place, said: &mut Said) -> Result<(), String> {
    let bytes = match row.get_ref(at).map_err(|error| error.to_string())? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Ok(()),
    };
    let unreadable = |what: &str| Err(format!("{what}: not read"));
    match kind {
        Some("null" | "empty") => return Ok(()),
        Some("pickle") => return unreadable("a Python pickle, which may run code when it is opened"),
        Some(kind) if kind.contains('+') => return unreadable("encrypted"),
        Some("msgpack") => {
            let value = msgpack::to_json(bytes).map_err(|error| format!("damaged MessagePack: {error}"))?;
            strings_of(&value, place, &mut |place, id, text| said.take(place, id, text));
            return Ok(());
        }
        _ if is_pickle(bytes) => return unreadable("a Python pickle, which may run code when it is opened"),
        _ => {}
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        strings_in(text, place, &mut |place, id, text| said.take(place, id, text));
        return Ok(());
    }
    let value: Value =
        msgpack::to_json(bytes).map_err(|_| "neither JSON nor MessagePack: not read".to_owned())?;
    strings_of(&value, place, &mut |place, id, text| said.take(place, id, text));
    Ok(())
}

/// What was said, each message once.
#[derive(Default)]
struct Said {
    seen: HashSet<(Option<String>, String)>,
    with_id: HashSet<String>,
    in_order: Vec<(Place, Option<String>, String)>,
}

impl Said {
    fn take(&mut self, place: &Place, id: Option<&str>, text: &str) {
        let id = id.map(str::to_owned);
        if id.is_some() {
            self.with_id.insert(text.to_owned());
        }
        if self.seen.insert((id.clone(), text.to_owned())) {
            self.in_order.push((place.clone(), id, text.to_owned()));
        }
    }

    /// A message that has an id elsewhere is not given once more without it.
    fn give(self, collector: &mut Collector) {
        for (place, id, text) in self.in_order {
            if id.is_some() || !self.with_id.contains(&text) {
                collector.text(&place, Format::LangGraphCheckpoints, id.as_deref(), text);
            }
        }
    }
}
