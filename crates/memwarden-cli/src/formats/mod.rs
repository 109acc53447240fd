//! Reads the memory files of other tools into entries: bytes in, entries and named problems out.
//!
//! It opens no file, decides nothing about trust and stores nothing. What a file says about its own
//! source and trust becomes the entry's declaration, which proves nothing.
//!
//! A file is recognized by what it holds, never by its name. A damaged line or field is a [`Problem`]
//! and the rest of the file is still read; an entry is read whole or not at all. A file in which nothing
//! can be recognized is a [`FormatError`].

//!
//! [`parse`] is for `import`: JSON formats of memories only, and only what a store would take. [`read`] is for
//! `scan`: every format, and every text, also where it stands in a damaged or foreign place.

mod chroma;
mod collector;
mod crewai;
mod database;
mod fields;
mod json_text;
mod jsonl;
mod langgraph;
mod letta;
mod mcp;
mod mem0;
mod msgpack;
mod place;
mod prose;
mod shape;
mod strings;
mod text;
mod whole;

use collector::{Collector, Taking};
use fields::Fields;
pub(crate) use json_text::locate;
use memwarden_core::{Entry, Limits};
pub use place::Place;
use place::escaped;
use serde_json::Value;
use shape::Shape;
use std::fmt;
pub(crate) use strings::{reads_like_text, strings_of};
pub(crate) use text::decoded;
pub use whole::{MAX_DATABASE_BYTES, MAX_TEXT_BYTES, read};
pub(crate) use whole::{is_database, is_foreign, is_markdown, max_bytes};

/// Most problems that are listed one by one; the last one then counts the others.
pub const MAX_LISTED_PROBLEMS: usize = 1_000;

/// A memory file format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// The official MCP memory server: one entity or relation a line, or `{entities, relations}`.
    ///
    /// Each observation is one entry with the entity's name as its subject; an entity without
    /// observations says nothing and gives no entry. A relation is the entry `A relationType B`.
    McpMemory,
    /// One `{id, content, source?, trust?, trace_type?, kind?, subject?, metadata?}` a line.
    Jsonl,
    /// What mem0 lists: `{results: [{id, memory, ...}]}`, `{memories: [...]}`, or the bare list.
    Mem0,
    /// A Letta agent file (`.af`), also when it is wrapped once more in a JSON string.
    ///
    /// Memory blocks and archival passages are read. Messages are not: they are the agent's context,
    /// which it loses anyway, and not its long-term memory. Blocks without a value are left out.
    LettaAgentFile,
    /// Checkpoints of LangGraph in SQLite: every text of the state, the messages first of all.
    LangGraphCheckpoints,
    /// The long-term store of LangGraph in SQLite.
    LangGraphStore,
    /// A Chroma database, or a JSON dump of one: documents and the texts of their metadata.
    Chroma,
    /// The long-term memory of crewAI in SQLite, or a JSON dump of it.
    CrewAi,
    /// Another SQLite database: every text in it.
    Sqlite,
    /// Another JSON document: every text in it.
    Json,
    /// Other JSON lines: every text in them.
    JsonLines,
    /// Markdown: list items, paragraphs and headings.
    Markdown,
    /// Other running text, by paragraphs.
    Text,
}

impl Format {
    /// The name used in output and in origin keys.
    ///
    /// ```
    /// assert_eq!(memwarden_cli::formats::Format::McpMemory.as_str(), "mcp-memory");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::McpMemory => "mcp-memory",
            Self::Jsonl => "jsonl",
            Self::Mem0 => "mem0",
            Self::LettaAgentFile => "letta-agent-file",
            Self::LangGraphCheckpoints => "langgraph-checkpoints",
            Self::LangGraphStore => "langgraph-store",
            Self::Chroma => "chroma",
            Self::CrewAi => "crewai",
            Self::Sqlite => "sqlite",
            Self::Json => "json",
            Self::JsonLines => "json-lines",
            Self::Markdown => "markdown",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An entry and where in the file it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The entry; one of [`parse`] has passed [`Entry::check`], one of [`read`] has content.
    pub entry: Entry,
    /// The file's own id for it, if it has one.
    pub id: Option<String>,
    /// `line 12, observations[3]` for lines, a JSON pointer for a single document.
    pub place: Place,
}

/// A part of the file that gave no entry, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as in [`Imported::place`].
    pub place: Place,
    /// The field, its value (cut short, without control characters) and what was expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// How the file was read.
    pub format: Format,
    /// The entries, in the order of the file.
    pub entries: Vec<Imported>,
    /// What gave no entry, in the order in which it was found.
    pub problems: Vec<Problem>,
}

/// Nothing can be read from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Nothing but white space.
    #[error("file `{file}` is empty: expected a memory file")]
    Empty {
        /// Its name.
        file: String,
    },
    /// Not text.
    #[error("file `{file}` is not UTF-8: byte {at} (counted from 0) begins no character")]
    NotUtf8 {
        /// Its name.
        file: String,
        /// Offset of the first bad byte.
        at: usize,
    },
    /// Text of another kind, or damaged beyond recognition.
    #[error("file `{file}` is not a memory file that can be read: {reason}")]
    Unrecognized {
        /// Its name.
        file: String,
        /// What was found instead.
        reason: String,
    },
    /// Larger than what is read at once.
    #[error("file `{file}` has {given} bytes: expected at most {limit}; export it in parts and scan those")]
    TooLarge {
        /// Its name.
        file: String,
        /// Its size.
        given: u64,
        /// The limit for its kind.
        limit: u64,
    },
    /// Neither text nor a database that is known.
    #[error("file `{file}` is binary: expected text, JSON or a SQLite database")]
    Binary {
        /// Its name.
        file: String,
    },
    /// A database that SQLite cannot read.
    #[error("file `{file}` is a damaged SQLite database: {reason}")]
    Database {
        /// Its name.
        file: String,
        /// What SQLite said.
        reason: String,
    },
    /// Python pickles, which run code when they are opened.
    #[error(
        "file `{file}` is {what}, whose records are Python pickles: opening one may run code, so none is opened; {advice}"
    )]
    Pickles {
        /// Its name.
        file: String,
        /// What wrote it.
        what: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
}

/// Reads a memory file. `file_name` is for messages only.
///
/// Each entry carries an origin key: the SHA-256 of format, subject, content and the file's own id for it,
/// by which a second import recognizes the entry. Equal observations of one entity have equal keys.
///
/// ```
/// use memwarden_cli::formats::{Format, parse};
/// let file = br#"{"type":"entity","name":"billing","entityType":"fact","observations":["Closes on the 25th."]}"#;
/// let parsed = parse("memory.jsonl", file, memwarden_core::Limits::default()).unwrap();
/// assert_eq!(parsed.format, Format::McpMemory);
/// assert_eq!(parsed.entries[0].entry.subject.as_deref(), Some("billing"));
/// assert_eq!(parsed.entries[0].place.to_string(), "line 1, observations[0]");
/// ```
///
/// # Errors
/// The file is empty, is not UTF-8, or holds nothing that can be recognized.
pub fn parse(file_name: &str, bytes: &[u8], limits: Limits) -> Result<Parsed, FormatError> {
    let file = || escaped(file_name);
    let text = std::str::from_utf8(bytes).map_err(|error| FormatError::NotUtf8 {
        file: file(),
        at: error.valid_up_to(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(FormatError::Empty { file: file() });
    }
    let mut collector = Collector::new(bytes.len(), Taking::Storable(limits));
    let format = match serde_json::from_str::<Value>(text) {
        Ok(Value::String(inner)) => read_inner(&inner, &mut collector),
        Ok(document) => read_document(document, first_line(text), &mut collector),
        Err(error) => read_lines(text, &mut collector)
            .map_err(|reason| format!("as one JSON document: {error}; as JSON lines: {reason}")),
    };
    match format {
        Ok(format) => Ok(collector.finish(format)),
        Err(reason) => Err(FormatError::Unrecognized { file: file(), reason }),
    }
}

/// The line on which the first character that is no white space stands, counted from 1.
fn first_line(text: &str) -> usize {
    let blank = text.chars().take_while(|c| c.is_whitespace());
    1 + blank.filter(|c| *c == '\n').count()
}

/// Reads what a JSON string holds; some agent files were saved as JSON twice.
fn read_inner(inner: &str, collector: &mut Collector) -> Result<Format, String> {
    let document = serde_json::from_str(inner)
        .map_err(|error| format!("it is one JSON string, and what that holds is not JSON: {error}"))?;
    read_document(document, 1, collector).map_err(|reason| format!("inside one JSON string: {reason}"))
}

fn read_document(document: Value, first_line: usize, collector: &mut Collector) -> Result<Format, String> {
    let has_list = |name| document.get(name).is_some_and(Value::is_array);
    if has_list("agents") || has_list("core_memory") {
        letta::read(document, collector);
        return Ok(Format::LettaAgentFile);
    }
    if has_list("results") || has_list("memories") {
        mem0::read(document, collector);
        return Ok(Format::Mem0);
    }
    if has_list("entities") || has_list("relations") {
        mcp::read_graph(document, collector);
        return Ok(Format::McpMemory);
    }
    let rows = match document {
        Value::Array(items) => {
            let place = |index| Place::document().item(index);
            items
                .into_iter()
                .enumerate()
                .map(|(index, item)| (place(index), Ok(item)))
                .collect()
        }
        row => vec![(Place::line(first_line), Ok(row))],
    };
    read_rows(rows, collector)
}

fn read_lines(text: &str, collector: &mut Collector) -> Result<Format, String> {
    let rows = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let row = serde_json::from_str(line).map_err(|error| line_message(&error));
            (Place::line(index + 1), row)
        })
        .collect();
    read_rows(rows, collector)
}

/// A value and its place, or what is wrong with the text there.
type Row = (Place, Result<Value, String>);

/// Reads each object of the list that stands at `list`, in a document of this format.
fn read_each(
    list: &Place,
    items: Vec<Value>,
    format: Format,
    read: impl Fn(Fields, &mut Collector) -> Result<(), Problem>,
    collector: &mut Collector,
) {
    for (index, item) in items.into_iter().enumerate() {
        let place = list.item(index);
        let done = match item {
            Value::Object(map) => read(Fields::new(place, map), collector),
            other => Err(shape::unexpected(&place, &other, format)),
        };
        if let Err(problem) = done {
            collector.problem(problem);
        }
    }
}

/// Reads rows in the format that most of them have.
fn read_rows(rows: Vec<Row>, collector: &mut Collector) -> Result<Format, String> {
    let shapes: Vec<Option<Shape>> = rows
        .iter()
        .map(|(_, row)| row.as_ref().ok().and_then(Shape::of))
        .collect();
    let Some(format) = shape::most_frequent(&shapes) else {
        return Err(nothing_known(&rows));
    };
    for ((place, row), shape) in rows.into_iter().zip(shapes) {
        match (row, shape) {
            (Err(message), _) => collector.problem(Problem { place, message }),
            (Ok(Value::Object(map)), Some(shape)) if shape.format() == format => {
                shape.read(Fields::new(place, map), collector);
            }
            (Ok(other), _) => collector.problem(shape::unexpected(&place, &other, format)),
        }
    }
    Ok(format)
}

fn nothing_known(rows: &[Row]) -> String {
    let first = match rows.first() {
        None => return "an empty list".to_owned(),
        Some((_, Ok(value))) => place::described(value),
        Some((_, Err(message))) => message.clone(),
    };
    format!(
        "none of {} values is an entity, a relation, or a row with `content` or `memory`; the first: {first}",
        rows.len()
    )
}

/// A JSON error of one line, without the line number that counts within the line only.
fn line_message(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the line ends inside a JSON value: expected a complete JSON object".to_owned();
    }
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    format!(
        "{what} at column {}: expected one JSON object and nothing else on the line",
        error.column()
    )
}

#[cfg(test)]
mod tests;
