//! Where in a file something stands, and how a bad value is shown. It prints; it parses nothing.

use serde_json::Value;
use std::fmt;

/// Longest excerpt of a value in a message, in characters.
const MAX_EXCERPT_CHARS: usize = 60;
/// Most field names that are listed of an object.
const MAX_NAMED_FIELDS: usize = 6;

/// A place in a file of lines (`line 12, observations[3]`), in one document (a JSON pointer), in running text
/// or in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line, counted from 1, and the path below it.
    Line(usize, String),
    /// A JSON pointer (RFC 6901).
    Pointer(String),
    /// A piece of running text.
    Text {
        /// Its first line, counted from 1.
        line: usize,
        /// Its last line.
        last_line: usize,
        /// Where it begins in the decoded text, in bytes.
        offset: usize,
    },
    /// A cell of a database, or a path in what the cell holds: `writes, row 3, value/messages/0/content`.
    Cell(String),
}

impl Place {
    /// A whole line, counted from 1.
    pub(super) const fn line(number: usize) -> Self {
        Self::Line(number, String::new())
    }

    /// The whole document.
    pub(super) const fn document() -> Self {
        Self::Pointer(String::new())
    }

    /// A field below this place. `name` is one of ours, so it needs no pointer escapes.
    pub(super) fn field(&self, name: &str) -> Self {
        match self {
            Self::Line(number, path) if path.is_empty() => Self::Line(*number, name.to_owned()),
            Self::Line(number, path) => Self::Line(*number, format!("{path}.{name}")),
            Self::Pointer(path) => Self::Pointer(format!("{path}/{name}")),
            Self::Text { .. } => self.clone(),
            Self::Cell(path) => Self::Cell(format!("{path}/{name}")),
        }
    }

    /// A field below this place whose name the file chose: escaped as in a JSON pointer, and cut where it is long.
    pub(super) fn foreign_field(&self, name: &str) -> Self {
        self.field(&pointer_segment(name))
    }

    /// An item of a list at this place, counted from 0.
    pub(super) fn item(&self, index: usize) -> Self {
        match self {
            Self::Line(number, path) => Self::Line(*number, format!("{path}[{index}]")),
            Self::Pointer(path) => Self::Pointer(format!("{path}/{index}")),
            Self::Text { .. } => self.clone(),
            Self::Cell(path) => Self::Cell(format!("{path}/{index}")),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number, path) if path.is_empty() => write!(f, "line {number}"),
            Self::Line(number, path) => write!(f, "line {number}, {path}"),
            Self::Pointer(path) if path.is_empty() => f.write_str("the document"),
            Self::Pointer(path) | Self::Cell(path) => f.write_str(path),
            Self::Text { line, last_line, .. } if line == last_line => write!(f, "line {line}"),
            Self::Text { line, last_line, .. } => write!(f, "lines {line}-{last_line}"),
        }
    }
}

/// A name as it stands in a JSON pointer. A long one is cut: places are shown beside every entry below it.
pub(super) fn pointer_segment(name: &str) -> String {
    let mut segment = String::new();
    for (count, c) in name.chars().enumerate() {
        match c {
            _ if count == MAX_EXCERPT_CHARS => {
                segment.push('…');
                break;
            }
            '~' => segment.push_str("~0"),
            '/' => segment.push_str("~1"),
            c => segment.push(c),
        }
    }
    segment
}

/// The beginning of a text, without anything that could steer a terminal.
pub(super) fn escaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::new();
    for c in chars.by_ref().take(MAX_EXCERPT_CHARS) {
        match c {
            '"' | '\'' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// A value in a few words.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => format!("the number `{value}`"),
        Value::String(text) => format!("the text `{}`", escaped(text)),
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(map) if map.is_empty() => "an object without fields".to_owned(),
        Value::Object(map) => {
            let names: Vec<_> = map
                .keys()
                .take(MAX_NAMED_FIELDS)
                .map(|name| format!("`{}`", escaped(name)))
                .collect();
            let more = map.len().saturating_sub(MAX_NAMED_FIELDS);
            let and = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            format!("an object with {}{and}", names.join(", "))
        }
    }
}
