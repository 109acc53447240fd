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
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Input(format!("the output cannot be written: {error}")),
        })
}

/// Prints one JSON value, indented.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    line(&inert_json(&format!("{value:#}")))
}

/// JSON text in which every character that could act on a terminal or hide in it is an escape. They stand in
/// strings only, where an escape says the same.
pub(crate) fn inert_json(text: &str) -> String {
    let mut inert = String::with_capacity(text.len());
    for c in text.chars() {
        let plain = matches!(c, ' '..='~' | '\n') || (!c.is_control() && is_visible(c));
        if plain {
            inert.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            inert.push_str(&format!("\\u{unit:04x}"));
        }
    }
    inert
}

fn is_visible(c: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = c.encode_utf8(&mut bytes);
    memwarden::visible(text) == text
}

/// A table with these headings.
pub(crate) fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headings);
    table
}

/// Text for one cell: inert, and cut to `limit` characters.
pub(crate) fn cell(text: &str, limit: usize) -> String {
    let shown = memwarden::visible(text);
    let flat: String = shown
        .chars()
        .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
        .collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn inert_json_says_the_same_and_holds_nothing_that_acts() {
        let value =
            json!({"a\u{9b}": ["\u{1b}[2J", "\u{7f}\u{202e}x\u{e0041}", "Мария 朝 👩\u{200d}🚀\n\t"]});
        for text in [value.to_string(), format!("{value:#}")] {
            let inert = inert_json(&text);
            assert_eq!(serde_json::from_str::<Value>(&inert).unwrap(), value);
            assert!(
                !inert.contains(
                    |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{e0041}')
                )
            );
            assert!(inert.contains("Мария 朝 👩\u{200d}🚀"));
        }
    }
}
