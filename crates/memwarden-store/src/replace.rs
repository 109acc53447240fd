//! Putting a backup in the place of a store's database.
//!
//! The pages are copied into the live file under its own locks, so that a process that has it open sees the
//! whole change or none; only a file that SQLite cannot open at all is replaced by name.

use crate::connection::{self, Purpose};
use crate::fault::{self, Fault};
use crate::schema::DATABASE_FILE;
use crate::sqlite::read_id;
use crate::upkeep;
use memwarden_core::StoreId;
use memwarden_core::log::StoreError;
use rusqlite::backup::{Backup, StepResult};
use std::path::Path;

/// The id of the store that a backup file holds.
///
/// # Errors
/// No such file, or one that is not a store of this version.
pub fn backup_id(file: &Path) -> Result<StoreId, StoreError> {
    Ok(connection::open(file, Purpose::Read).and_then(|conn| read_id(&conn))?)
}

/// Makes the database of the store in `directory` what `backup` holds. What lay there is gone.
///
/// # Errors
/// A file that is not a store of this version; a backup of another store than the one that lies there; a
/// directory that cannot be written; a process that holds the write lock.
pub fn replace(directory: &Path, backup: &Path) -> Result<(), StoreError> {
    let source = connection::open(backup, Purpose::Read)?;
    let id = read_id(&source)?;
    let path = directory.join(DATABASE_FILE);
    match connection::open(&path, Purpose::Write) {
        Ok(mut present) => {
            if let Ok(other) = read_id(&present)
                && other != id
            {
                let reason = format!("it is a backup of store {id}, and store {other} lies there");
                return Err(StoreError::Foreign {
                    path: backup.display().to_string(),
                    reason,
                });
            }
            Ok(copy_into(&source, &mut present)?)
        }
        Err(_) => Ok(put_in_place(directory, &path, backup)?),
    }
}

fn copy_into(source: &rusqlite::Connection, present: &mut rusqlite::Connection) -> Result<(), Fault> {
    {
        let backup = Backup::new(source, present)?;
        // All pages in one step: one transaction of the file that is replaced.
        match backup.step(-1)? {
            StepResult::Done => {}
            _ => return Err(Fault::Named(StoreError::Busy { waited_ms: 0 })),
        }
    }
    present.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// For a file that does not open: a complete copy takes its name.
fn put_in_place(directory: &Path, path: &Path, backup: &Path) -> Result<(), Fault> {
    std::fs::create_dir_all(directory).map_err(|error| fault::file(directory, &error))?;
    let draft = directory.join(format!("{DATABASE_FILE}.restoring"));
    std::fs::copy(backup, &draft).map_err(|error| fault::file(&draft, &error))?;
    std::fs::File::open(&draft)
        .and_then(|file| file.sync_all())
        .map_err(|error| fault::file(&draft, &error))?;
    for side in ["-wal", "-shm"] {
        let side = directory.join(format!("{DATABASE_FILE}{side}"));
        match std::fs::remove_file(&side) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(fault::file(&side, &error));
            }
            _ => {}
        }
    }
    std::fs::rename(&draft, path).map_err(|error| fault::file(path, &error))?;
    upkeep::sync_directory(path)
}
