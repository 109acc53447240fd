//! Traffic from files: whatever `scan` reads, entry by entry.

use crate::failure::Failure;
use crate::formats;
use memwarden_core::Entry;
use std::path::Path;

/// One entry and where it stands.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) place: String,
    pub(crate) entry: Entry,
}

/// The entries of a file in order, and what in it could not be read.
pub(crate) fn read(path: &Path) -> Result<(Vec<Item>, Vec<String>), Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parsed = formats::read(&name, &bytes)
        .map_err(|error| Failure::Input(format!("`{}`: {error}", path.display())))?;
    let problems = parsed
        .problems
        .iter()
        .map(|problem| format!("{}: {problem}", path.display()))
        .collect();
    let items = parsed.entries.into_iter().map(|imported| Item {
        place: format!("{}: {}", path.display(), imported.place),
        entry: imported.entry,
    });
    Ok((items.collect(), problems))
}
