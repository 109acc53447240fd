//! Connections as this store wants them: durable, patient, and deaf to code inside the file.

use crate::fault::{self, Fault};
use crate::schema::{APPLICATION_ID, SCHEMA_VERSION};
use memwarden_core::log::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

/// How long another process may hold the write lock before a call gives up.
pub const BUSY_LIMIT: Duration = Duration::from_secs(10);

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const STATEMENTS: usize = 256;

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Before it returns.
    #[default]
    Synced,
    /// Whenever the operating system likes: a crash of the machine may lose it and damage the file. For measurements
    /// whose stores are thrown away.
    Unsynced,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The one that writes.
    Write,
    /// One of those that read.
    Read,
}

/// Opens the database file at `path`, which must be a store of this version.
pub(crate) fn open(path: &Path, purpose: Purpose) -> Result<Connection, Fault> {
    recognize(path)?;
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    settle(&conn)?;
    if conn.is_readonly("main")? {
        return Err(StoreError::ReadOnly.into());
    }
    let foreign = |reason: String| {
        Fault::Named(StoreError::Foreign {
            path: path.display().to_string(),
            reason,
        })
    };
    let application: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Err(foreign("it is a database of another program".into()));
    }
    let version: i32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != SCHEMA_VERSION {
        return Err(foreign(format!(
            "its tables have version {version}: expected {SCHEMA_VERSION}"
        )));
    }
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(fault::misuse(format!(
            "the file system does not allow a write-ahead log: journal mode is `{mode}`"
        )));
    }
    if purpose == Purpose::Read {
        conn.execute_batch("PRAGMA query_only = ON")?;
    }
    Ok(conn)
}

/// Settings that every connection has, before it looks at the file.
///
/// No `mmap_size`: with a mapping, somebody who cuts the file short kills the process instead of causing
/// an error. Triggers and views are off because the store has none: any that are found were planted.
pub(crate) fn settle(conn: &Connection) -> Result<(), Fault> {
    conn.busy_timeout(BUSY_LIMIT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // Otherwise a statement over a table with partial indexes is compiled anew for every bound value.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        conn.set_db_config(setting, on)?;
    }
    conn.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16384;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    Ok(())
}

fn recognize(path: &Path) -> Result<(), Fault> {
    let missing = || StoreError::Missing {
        path: path.parent().unwrap_or(path).display().to_string(),
    };
    let foreign = |reason: &str| StoreError::Foreign {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let mut head = Vec::with_capacity(MAGIC.len());
    let opened = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing().into()),
        opened => opened,
    };
    opened
        .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head))
        .map_err(|error| fault::file(path, &error))?;
    if head.is_empty() {
        return Err(foreign("the file is empty").into());
    }
    if head != MAGIC {
        return Err(foreign("it is not an SQLite database").into());
    }
    Ok(())
}
