//! The store: one connection that writes, a few that read, one file.

use crate::connection::{self, BUSY_LIMIT, Durability, Purpose};
use crate::fault::{self, Fault};
use crate::ids::Ids;
use crate::schema::{APPLICATION_ID, DATABASE_FILE, SCHEMA_VERSION, TABLES};
use crate::snapshot::{Reader, View, log_number};
use crate::transaction::{CommitPhase, Writer};
use crate::vectors::Vectors;
use crate::watch::Watch;
use crate::{commit, index, upkeep};
use memwarden_core::log::{Committed, Draft, LogRow, NamespaceRow, Records, Sealer, Snapshot, StoreError};
use memwarden_core::{LogId, NamespaceId, StoreId};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections kept for the next snapshots; more are opened when more are wanted at once.
const IDLE_READERS: usize = 8;

/// Records, leaves and indexes in `memwarden.db` of one directory.
///
/// Any number of threads and processes may have the same directory open; writers take turns.
///
/// ```
/// use memwarden_core::{StoreId, log::Records};
/// use memwarden_store::SqliteStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory = tempfile::tempdir()?;
/// let store = SqliteStore::create(directory.path(), StoreId::from_bytes([7; 16]))?;
/// assert_eq!(SqliteStore::open(directory.path())?.store_id(), store.store_id());
/// # Ok(())
/// # }
/// ```
pub struct SqliteStore {
    id: StoreId,
    path: PathBuf,
    writer: Mutex<Writer>,
    idle: Mutex<Vec<Reader>>,
    watch: Watch,
    ids: Ids,
    vectors: Vectors,
}

impl SqliteStore {
    /// Makes a new store in `directory`, which is made too if it is not there.
    ///
    /// The file gets its name only when it is complete: a crash leaves a store or none.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is one already, and any failure of the file system.
    pub fn create(directory: &Path, id: StoreId) -> Result<Self, StoreError> {
        make(directory, id)?;
        Self::open(directory)
    }

    /// Opens the store in `directory`.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Foreign`], [`StoreError::Damaged`], [`StoreError::ReadOnly`],
    /// or [`StoreError::Busy`].
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(DATABASE_FILE);
        let conn = connection::open(&path, Purpose::Write)?;
        let id = read_id(&conn)?;
        Ok(Self {
            id,
            watch: Watch::open(&path)?,
            path,
            writer: Mutex::new(Writer {
                conn,
                probe: None,
                patience: BUSY_LIMIT,
            }),
            idle: Mutex::new(Vec::new()),
            ids: Ids::default(),
            vectors: Vectors::default(),
        })
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has `probe` called in each commit once the write lock is held and again once the transaction ended.
    ///
    /// For tests that kill the process inside a commit; `probe` must not call the store.
    pub fn set_commit_probe(&self, probe: Box<dyn Fn(CommitPhase) + Send + Sync>) {
        self.writer().probe = Some(probe);
    }

    /// Says when this process's commits are on the disk.
    ///
    /// # Errors
    /// The connection refuses.
    pub fn set_durability(&self, durability: Durability) -> Result<(), StoreError> {
        let level = match durability {
            Durability::Synced => "FULL",
            Durability::Unsynced => "OFF",
        };
        let set = self.writer().conn.pragma_update(None, "synchronous", level);
        set.map_err(|error| Fault::from(error).into())
    }

    /// Waits at most `limit` for another process, instead of [`BUSY_LIMIT`], in calls that write.
    pub fn set_busy_limit(&self, limit: Duration) {
        self.writer().patience = limit;
    }

    pub(crate) const fn ids(&self) -> &Ids {
        &self.ids
    }

    pub(crate) const fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    pub(crate) const fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn give_back(&self, reader: Reader) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_READERS {
            idle.push(reader);
        }
    }

    /// A panic elsewhere leaves no transaction open (it is rolled back while unwinding), so the connection
    /// behind a poisoned lock is as good as before.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.writer)
    }

    fn view(&self) -> Result<View<'_>, Fault> {
        let idle = lock(&self.idle).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => Reader::open(&self.path)?,
        };
        View::begin(self, reader)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("id", &self.id)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Records for SqliteStore {
    fn store_id(&self) -> StoreId {
        self.id
    }

    fn logs(&self) -> Result<Vec<LogRow>, StoreError> {
        Ok(read_logs(&self.writer().conn)?)
    }

    fn add_log(&self, log: &LogRow) -> Result<LogRow, StoreError> {
        Ok(add_log(&self.writer(), log)?)
    }

    fn namespace(&self, log: LogId, name: &str, fresh: NamespaceId) -> Result<NamespaceRow, StoreError> {
        Ok(add_namespace(&self.writer(), log, name, fresh)?)
    }

    fn commit(&self, log: LogId, drafts: &[Draft], sealer: &mut dyn Sealer) -> Result<Committed, StoreError> {
        let writer = self.writer();
        Ok(commit::commit(
            &writer,
            &self.ids,
            &self.watch,
            &self.vectors,
            log,
            drafts,
            sealer,
        )?)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError> {
        Ok(Box::new(self.view()?))
    }

    fn drop_payloads(&self, log: LogId, positions: &[u64]) -> Result<(), StoreError> {
        let writer = self.writer();
        let log = log_number(&writer.conn, log)?;
        Ok(upkeep::drop_payloads(&writer, log, positions)?)
    }

    fn scrub(&self) -> Result<(), StoreError> {
        Ok(upkeep::scrub(&self.writer())?)
    }

    fn rebuild_indexes(&self, log: LogId) -> Result<(), StoreError> {
        let writer = self.writer();
        let log = log_number(&writer.conn, log)?;
        Ok(upkeep::rebuild(&writer, log)?)
    }

    fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let conn = connection::open(&self.path, Purpose::Write)?;
        Ok(upkeep::backup(&conn, to)?)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make(directory: &Path, id: StoreId) -> Result<(), Fault> {
    std::fs::create_dir_all(directory).map_err(|error| fault::file(directory, &error))?;
    let path = directory.join(DATABASE_FILE);
    let exists = || StoreError::Exists {
        path: directory.display().to_string(),
    };
    if path.symlink_metadata().is_ok() {
        return Err(exists().into());
    }
    let token = getrandom::u32().map_err(|error| fault::misuse(format!("no random numbers: {error}")))?;
    let draft = directory.join(format!("{DATABASE_FILE}.new-{token:08x}"));
    let outcome = fill(&draft, id).and_then(|()| match std::fs::hard_link(&draft, &path) {
        Ok(()) => upkeep::sync_directory(&path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists().into()),
        Err(error) => Err(fault::file(&path, &error)),
    });
    // Left behind, the draft is only a file that nobody reads.
    let _ = std::fs::remove_file(&draft);
    outcome
}

fn fill(path: &Path, id: StoreId) -> Result<(), Fault> {
    let conn = Connection::open(path)?;
    connection::settle(&conn)?;
    conn.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         BEGIN;
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {SCHEMA_VERSION};
         {TABLES}"
    ))?;
    conn.execute("INSERT INTO store (one, id) VALUES (1, ?1)", [id.as_bytes()])?;
    conn.execute_batch("COMMIT")?;
    // Closing folds the write-ahead log into the file.
    conn.close().map_err(|(_, error)| error.into())
}

pub(crate) fn read_id(conn: &Connection) -> Result<StoreId, Fault> {
    let damaged = |reason: String| Fault::Named(StoreError::Damaged { reason });
    let bytes: [u8; 16] = conn
        .query_row("SELECT id FROM store", [], |row| row.get(0))
        .optional()
        .map_err(|error| match error {
            // The table is not there.
            error if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
                damaged(error.to_string())
            }
            error => error.into(),
        })?
        .ok_or_else(|| damaged("the id of the store is gone".into()))?;
    Ok(StoreId::from_bytes(bytes))
}

fn read_logs(conn: &Connection) -> Result<Vec<LogRow>, Fault> {
    let rows = conn
        .prepare_cached("SELECT id, tenant, verifier_key FROM log ORDER BY num")?
        .query_map([], log_row)?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}

fn log_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<LogRow> {
    Ok(LogRow {
        id: LogId::from_bytes(row.get(0)?),
        tenant: row.get(1)?,
        verifier_key: row.get(2)?,
    })
}

fn add_log(writer: &Writer, log: &LogRow) -> Result<LogRow, Fault> {
    let conn = &writer.conn;
    let transaction = writer.begin()?;
    conn.execute(
        "INSERT INTO log (id, tenant, verifier_key) VALUES (?1, ?2, ?3) ON CONFLICT (tenant) DO NOTHING",
        params![log.id.as_bytes(), log.tenant, log.verifier_key],
    )?;
    let row = conn.query_row(
        "SELECT id, tenant, verifier_key FROM log WHERE tenant = ?1",
        [&log.tenant],
        log_row,
    )?;
    transaction.commit()?;
    Ok(row)
}

fn add_namespace(writer: &Writer, log: LogId, name: &str, fresh: NamespaceId) -> Result<NamespaceRow, Fault> {
    let conn = &writer.conn;
    let log = log_number(conn, log)?;
    if let Some(row) = find_namespace(conn, log, name)? {
        return Ok(row);
    }
    let transaction = writer.begin()?;
    if let Some(row) = find_namespace(conn, log, name)? {
        return Ok(row);
    }
    conn.execute(
        "INSERT INTO namespace (log, id, name) VALUES (?1, ?2, ?3)",
        params![log, fresh.as_bytes(), name],
    )?;
    let number = conn.last_insert_rowid();
    index::create(conn, number)?;
    transaction.commit()?;
    Ok(NamespaceRow {
        id: fresh,
        name: name.to_owned(),
        number,
    })
}

fn find_namespace(conn: &Connection, log: i64, name: &str) -> Result<Option<NamespaceRow>, Fault> {
    Ok(conn
        .prepare_cached("SELECT id, name, num FROM namespace WHERE log = ?1 AND name = ?2")?
        .query_row(params![log, name], |row| {
            Ok(NamespaceRow {
                id: NamespaceId::from_bytes(row.get(0)?),
                name: row.get(1)?,
                number: row.get(2)?,
            })
        })
        .optional()?)
}
