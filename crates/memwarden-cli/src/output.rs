//! How results reach a terminal: tables whose cells cannot act on it, or one JSON value.

use crate::failure::Failure;
use comfy_table::{ContentArrangement, Table, presets};
use memwarden_core::Timestamp;
use serde_json::Value;
use std::io::Write as _;

/// Prints a line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Prints text as it is. The reader going away is no failure.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::Input(format!("the output cannot be written: {error}")),
    })
}

/// Prints one JSON value, indented.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    line(&format!("{value:#}"))
}

/// A table with these headings.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headings);
    table
}

/// Text for one cell: inert, and cut to `limit` characters.
pub(crate) fn cell(text: &str, limit: usize) -> String {
    let shown = memwarden::visible(text);
    let flat: String = shown.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    if flat.chars().count() <= limit {
        return flat;
    }
    let mut cut: String = flat.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A time for people and programs: RFC 3339, UTC.
pub(crate) fn time(time: Timestamp) -> String {
    let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_microsecond(micros).map_or_else(|_| micros.to_string(), |time| time.to_string())
}
