//! A report as one page that needs nothing else: no script, no font, no image, no network.

use super::{Column, Form, Report, Table};
use crate::report::{Escaped, begin};
use std::fmt::{self, Write as _};

/// Where a page comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imprint {
    /// When the report was made.
    pub date: String,
    /// The commit of the program.
    pub commit: String,
    /// The version of the program.
    pub version: String,
}

/// The page. Every text is escaped; the page forbids scripts and network access to itself.
#[must_use]
pub fn page(report: &Report, imprint: &Imprint) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut page, report, imprint);
    page
}

fn write(page: &mut String, report: &Report, imprint: &Imprint) -> fmt::Result {
    begin(page, &report.title, include_str!("figures.css"))?;
    if !report.notes.is_empty() {
        writeln!(page, "<ul>")?;
        for note in &report.notes {
            writeln!(page, "<li>{}</li>", Escaped(note))?;
        }
        writeln!(page, "</ul>")?;
    }
    if !report.figures.is_empty() {
        writeln!(page, "<div class=\"charts\">")?;
        for figure in &report.figures {
            writeln!(
                page,
                "<figure class=\"card\"><h3>{}</h3>{}<figcaption class=\"soft\">{}</figcaption></figure>",
                Escaped(&figure.title),
                figure.svg,
                Escaped(&figure.caption)
            )?;
        }
        writeln!(page, "</div>")?;
    }
    for table in &report.tables {
        self::table(page, table)?;
    }
    writeln!(
        page,
        "<footer class=\"soft\">Made on {} by memwarden {}, commit {}.</footer>\n</body>\n</html>",
        Escaped(&imprint.date),
        Escaped(&imprint.version),
        Escaped(&imprint.commit)
    )
}

fn table(page: &mut String, table: &Table) -> fmt::Result {
    writeln!(page, "<h2>{}</h2>", Escaped(&table.title))?;
    if !table.note.is_empty() {
        writeln!(page, "<p class=\"soft\">{}</p>", Escaped(&table.note))?;
    }
    write!(page, "<div class=\"scroll\"><table>\n<thead><tr>")?;
    for (at, column) in table.columns.iter().enumerate() {
        write!(
            page,
            "<th{}>{}</th>",
            class(table, at, column),
            Escaped(&column.name)
        )?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for row in &table.rows {
        write!(page, "<tr>")?;
        for (at, (column, value)) in table.columns.iter().zip(row).enumerate() {
            write!(
                page,
                "<td{}>{}</td>",
                class(table, at, column),
                Escaped(&column.show(value))
            )?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// Numbers stand at the right.
fn class(table: &Table, at: usize, column: &Column) -> &'static str {
    let mut values = table.rows.iter().filter_map(|row| row.get(at));
    let numbers = values.any(serde_json::Value::is_number);
    if numbers || column.form != Form::Plain {
        " class=\"number\""
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_needs_nothing_else_and_shows_texts_as_texts() {
        let mut table = Table::new("t", "<b>", vec![Column::plain("x")]);
        table.rows.push(vec![json!("<img src=x onerror=alert(1)>")]);
        let report = Report {
            title: "A & B".to_owned(),
            notes: vec!["a note".to_owned()],
            tables: vec![table],
            figures: Vec::new(),
        };
        let imprint = Imprint {
            date: "2026-12-01".to_owned(),
            commit: "abc".to_owned(),
            version: "0".to_owned(),
        };
        let page = page(&report, &imprint);
        assert!(page.contains("A &amp; B") && page.contains("&lt;img"));
        for outside in ["<img", "<script", "http://", "https://", "url(", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
