//! `lab report`: a table on the terminal, and files beside the records.

use super::failure;
use super::run::FILE;
use crate::args::Global;
use crate::failure::Failure;
use crate::{Outcome, output};
use memwarden_lab::experiment::tables::html::{Imprint, page};
use memwarden_lab::experiment::{ExperimentFile, Table, load, record};
use std::path::Path;

pub(super) fn run(global: &Global, directory: &Path) -> Result<Outcome, Failure> {
    let records = record::read(directory).map_err(|error| failure(&error))?;
    let file = ExperimentFile::read(&directory.join(FILE)).map_err(|error| failure(&error))?;
    let experiment = load(&file).map_err(|error| failure(&error))?;
    let report = experiment.report(&records).map_err(|error| failure(&error))?;
    let imprint = Imprint {
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        commit: env!("MEMWARDEN_COMMIT").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::file(&path, &error))
    };
    write("report.html", &page(&report, &imprint))?;
    write("report.json", &format!("{:#}\n", report.to_json()))?;
    for table in &report.tables {
        write(&format!("{}.csv", table.name), &table.to_csv())?;
    }
    if global.json {
        output::json(&report.to_json())?;
        return Ok(Outcome::Clean);
    }
    output::line(&report.title)?;
    for note in &report.notes {
        output::line(&format!("- {note}"))?;
    }
    for table in &report.tables {
        show(table)?;
    }
    output::line(&format!("written: {}", directory.join("report.html").display()))?;
    Ok(Outcome::Clean)
}

fn show(table: &Table) -> Result<(), Failure> {
    output::line(&format!("\n{}", table.title))?;
    if !table.note.is_empty() {
        output::line(&table.note)?;
    }
    let headings: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut shown = output::table(&headings);
    for row in &table.rows {
        let cells = table.columns.iter().zip(row);
        shown.add_row(cells.map(|(column, value)| output::cell(&column.show(value), 60)));
    }
    output::line(&shown.to_string())
}
