//! SQLite files of other tools. The bytes are read into memory and SQLite works on that copy, read-only: the
//! file is never opened by it, so that nothing can be written to it or left beside it.
//!
//! A database is untrusted: its schema may not call functions, only tables are read (no views), and what is
//! read is bounded by the size of the file.

use super::place::{Place, escaped};
use super::strings::strings_of;
use super::whole::Left;
use super::{Collector, Format, FormatError, Problem, chroma, crewai, langgraph};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io::Read as _;

/// Bytes 18 and 19 of a database say whether it is in WAL mode, which one in memory cannot be.
const JOURNAL_MODES: std::ops::Range<usize> = 18..20;
/// Most columns of a table and most bytes of a statement: more than any tool needs.
const MAX_COLUMNS: i32 = 2_000;
const MAX_SQL_BYTES: i32 = 1_000_000;
/// Text that may come out of a database for each of its bytes, and besides: a damaged tree may repeat itself.
const TEXT_PER_BYTE: usize = 4;
const TEXT_BYTES: usize = 1 << 20;

/// What a full-text search keeps beside the texts, in tables named after it.
const SEARCH_INDEXES: [&str; 6] = ["_data", "_idx", "_docsize", "_config", "_segments", "_segdir"];

/// A table and its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

impl Table {
    /// Whether it has all of these columns.
    pub(super) fn has(&self, columns: &[&str]) -> bool {
        columns
            .iter()
            .all(|name| self.columns.iter().any(|column| column == name))
    }
}

/// Reads the tables of the tools that are known, then every text that these left.
pub(super) fn read(file_name: &str, bytes: &[u8], collector: &mut Collector) -> Result<Format, FormatError> {
    let damaged = |error: rusqlite::Error| FormatError::Database {
        file: escaped(file_name),
        reason: escaped(&error.to_string()),
    };
    let connection = open(bytes).map_err(damaged)?;
    let tables = tables(&connection).map_err(damaged)?;
    if is_qdrant(&connection, &tables) {
        return Err(FormatError::Pickles {
            file: escaped(file_name),
            what: "a local Qdrant collection",
            advice: "export it with the program that wrote it, for mem0 `json.dump(memory.get_all(...))`, for Qdrant \
                     `client.scroll(...)`, and scan that JSON",
        });
    }
    let mut format = None;
    let mut done: Vec<&str> = Vec::new();
    if langgraph::has_checkpoints(&tables) {
        let read = langgraph::read_checkpoints(&connection, &tables, collector);
        outcome("checkpoints", read, collector);
        done.extend(langgraph::CHECKPOINT_TABLES);
        format = format.or(Some(Format::LangGraphCheckpoints));
    }
    if langgraph::has_store(&tables) {
        outcome("store", langgraph::read_store(&connection, collector), collector);
        done.push(langgraph::STORE_TABLE);
        format = format.or(Some(Format::LangGraphStore));
    }
    if chroma::is_database(&tables) {
        let read = chroma::read_database(&connection, &tables, collector);
        outcome("embedding_metadata", read, collector);
        done.extend(chroma::TABLES);
        format = format.or(Some(Format::Chroma));
    }
    if crewai::is_database(&tables) {
        outcome(
            crewai::TABLE,
            crewai::read_database(&connection, collector),
            collector,
        );
        done.push(crewai::TABLE);
        format = format.or(Some(Format::CrewAi));
    }
    let format = format.unwrap_or(Format::Sqlite);
    let mut reader = Rest {
        left: Left::after(collector),
        rows_left: bytes.len(),
        text_left: bytes
            .len()
            .saturating_mul(TEXT_PER_BYTE)
            .saturating_add(TEXT_BYTES),
    };
    for table in tables.iter().filter(|table| !done.contains(&table.name.as_str())) {
        let read = reader.table(&connection, table, collector);
        outcome(&table.name, read, collector);
    }
    reader.left.give(format, collector);
    Ok(format)
}

/// The text of a cell: what is text, a blob that is UTF-8, or a number.
pub(super) fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
    }
}

/// Whether bytes are a Python pickle of protocol 2 or later.
pub(super) fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, .., b'.'])
}

/// The name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn open(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(
        ":memory:",
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let before = bytes.get(..JOURNAL_MODES.start).unwrap_or(bytes);
    let after = bytes.get(JOURNAL_MODES.end..).unwrap_or_default();
    let rolled_back: &[u8] = if after.is_empty() { &[] } else { &[1, 1] };
    let size = before.len() + rolled_back.len() + after.len();
    connection.deserialize_read_exact("main", before.chain(rolled_back).chain(after), size, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMNS)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)?;
    connection
        .execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

/// Every ordinary table, by name. Virtual ones are left out, their rows lie in tables that are listed too, and so are
/// the indexes of a full-text search.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let name = |row: &rusqlite::Row<'_>| row.get_ref(0).map(|name| text_of(name).unwrap_or_default());
    let mut statement = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'")?;
    let searches: Vec<String> = statement.query_map([], name)?.collect::<Result<_, _>>()?;
    let is_index = |table: &str| {
        let part = searches
            .iter()
            .find_map(|search| table.strip_prefix(search.as_str()));
        part.is_some_and(|part| SEARCH_INDEXES.contains(&part))
    };
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
         AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )?;
    let mut tables = Vec::new();
    for name in statement.query_map([], name)? {
        let name = name?;
        if is_index(&name) {
            continue;
        }
        // A table that cannot be described will say so when it is read.
        let columns = columns(connection, &name).unwrap_or_default();
        tables.push(Table { name, columns });
    }
    Ok(tables)
}

/// The columns that `SELECT *` gives. Taken as values: a name that is not UTF-8 must not end the program.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA table_xinfo({})", quoted(table)))?;
    let mut rows = statement.query([])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        let is_hidden = matches!(row.get_ref(6)?, ValueRef::Integer(1));
        if !is_hidden {
            columns.push(text_of(row.get_ref(1)?).unwrap_or_default());
        }
    }
    Ok(columns)
}

fn is_qdrant(connection: &Connection, tables: &[Table]) -> bool {
    let points = tables
        .iter()
        .any(|table| table.name == "points" && table.has(&["id", "point"]));
    points
        && connection
            .query_row("SELECT point FROM points LIMIT 1", [], |row| {
                Ok(matches!(row.get_ref(0)?, ValueRef::Blob(bytes) if is_pickle(bytes)))
            })
            .unwrap_or(false)
}

/// What could not be read of a table. What was read before stays.
fn outcome(table: &str, read: rusqlite::Result<()>, collector: &mut Collector) {
    if let Err(error) = read {
        collector.problem(Problem {
            place: Place::Cell(escaped(table)),
            message: format!(
                "the rest of the table cannot be read: {}",
                escaped(&error.to_string())
            ),
        });
    }
}

/// Reads the tables that nobody knows.
struct Rest {
    left: Left,
    rows_left: usize,
    text_left: usize,
}

impl Rest {
    fn table(
        &mut self,
        connection: &Connection,
        table: &Table,
        collector: &mut Collector,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("SELECT * FROM {}", quoted(&table.name)))?;
        let place = Place::Cell(escaped(&table.name));
        let mut rows = statement.query([])?;
        let mut pickles = 0_usize;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            let place = place.item(number);
            number += 1;
            self.rows_left = self.rows_left.saturating_sub(1);
            for (at, column) in table.columns.iter().enumerate() {
                let cell = match row.get_ref(at)? {
                    ValueRef::Blob(bytes) if is_pickle(bytes) => {
                        pickles += 1;
                        continue;
                    }
                    ValueRef::Integer(_) | ValueRef::Real(_) => continue,
                    cell => text_of(cell),
                };
                let Some(text) = cell else { continue };
                self.text_left = self.text_left.saturating_sub(text.len());
                let place = place.foreign_field(column);
                strings_of(&Value::String(text), &place, &mut |place, id, text| {
                    self.left.take(place, id, text);
                });
            }
            if self.rows_left == 0 || self.text_left == 0 {
                collector.problem(Problem {
                    place,
                    message: "more rows than a file of this size can hold: the rest is not read".to_owned(),
                });
                break;
            }
        }
        if pickles > 0 {
            collector.problem(Problem {
                place,
                message: format!(
                    "{pickles} cells are Python pickles: opening one may run code, so none was read"
                ),
            });
        }
        Ok(())
    }
}
