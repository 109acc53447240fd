//! Chores on the file: retention, erasing for good, rebuilding indexes, backups.

use crate::fault::{self, Fault};
use crate::index;
use crate::schema::number;
use crate::transaction::Writer;
use memwarden_core::log::StoreError;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// Destroys the payloads at `positions`.
pub(crate) fn drop_payloads(writer: &Writer, log: i64, positions: &[u64]) -> Result<(), Fault> {
    let conn = &writer.conn;
    conn.execute_batch("PRAGMA secure_delete = ON")?;
    let outcome = (|| {
        let transaction = writer.begin()?;
        {
            let mut delete = conn.prepare_cached("DELETE FROM payload WHERE num = ?1")?;
            for position in positions {
                delete.execute([number(log, *position)?])?;
            }
        }
        transaction.commit()
    })();
    conn.execute_batch("PRAGMA secure_delete = OFF")?;
    outcome
}

/// Makes all indexes of a log anew.
pub(crate) fn rebuild(writer: &Writer, log: i64) -> Result<(), Fault> {
    let transaction = writer.begin()?;
    index::rebuild(&writer.conn, log)?;
    transaction.commit()
}

/// Rewrites the file from what is alive and empties the write-ahead log.
///
/// An index keeps the words of deleted rows in its segments until they are merged, so that comes first.
/// The new file is put together in memory (`temp_store`): nothing is written outside the store's directory.
pub(crate) fn scrub(writer: &Writer) -> Result<(), Fault> {
    let conn = &writer.conn;
    let transaction = writer.begin()?;
    let namespaces: Vec<i64> = conn
        .prepare_cached("SELECT num FROM namespace")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for namespace in namespaces {
        index::compact(conn, namespace)?;
    }
    transaction.commit()?;
    conn.busy_timeout(writer.patience)?;
    conn.execute_batch("PRAGMA secure_delete = ON")?;
    let outcome = conn.execute_batch("VACUUM");
    conn.execute_batch("PRAGMA secure_delete = OFF")?;
    outcome?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        return Err(Writer::busy(writer.patience));
    }
    Ok(())
}

/// Writes a consistent copy to the new file `to`, durably.
pub(crate) fn backup(conn: &Connection, to: &Path) -> Result<(), Fault> {
    match OpenOptions::new().write(true).create_new(true).open(to) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Exists {
                path: to.display().to_string(),
            }
            .into());
        }
        Err(error) => return Err(fault::file(to, &error)),
    }
    let outcome = copy(conn, to);
    if outcome.is_err() {
        // The half-written copy is of no use; that it could not be removed is less than why it failed.
        let _ = std::fs::remove_file(to);
    }
    outcome
}

fn copy(conn: &Connection, to: &Path) -> Result<(), Fault> {
    let name = to
        .to_str()
        .ok_or_else(|| fault::misuse(format!("`{}` is not valid UTF-8", to.display())))?;
    conn.execute("VACUUM INTO ?1", [name])?;
    File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(|error| fault::file(to, &error))?;
    sync_directory(to)
}

/// Makes the name of `path` durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Fault> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| fault::file(parent, &error))
}
