//! What a store answers, and the views that it gives. Nothing in a row is trusted until it was checked.

use super::{Candidate, Draft, Refusal, SaltedPayload, SealError, Sealer, Search, Tile};
use crate::{LogId, NamespaceId, PrincipalId, RecordId, Status, StoreId, StoredRecord, Timestamp};
use std::ops::Range;

/// The store cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process held the write lock longer than the busy limit.
    #[error("the store is busy: another process held the write lock for {waited_ms} ms; try again")]
    Busy {
        /// How long was waited.
        waited_ms: u64,
    },
    /// No space.
    #[error("the disk is full: nothing was written; free some space and try again")]
    DiskFull,
    /// The directory or file may not be written.
    #[error("the store is not writable: check the permissions of its directory")]
    ReadOnly,
    /// No store where one was expected.
    #[error("no store at `{path}`: create one with `memwarden init`")]
    Missing {
        /// The directory.
        path: String,
    },
    /// A store where none was expected.
    #[error("`{path}` already holds a store")]
    Exists {
        /// The directory.
        path: String,
    },
    /// A file of another program or version.
    #[error("`{path}` is not a store of this version: {reason}")]
    Foreign {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The database file is damaged.
    #[error("the database is damaged: {reason}; restore a backup with `memwarden restore`")]
    Damaged {
        /// What the engine said.
        reason: String,
    },
    /// A row that no version of this code writes.
    #[error("row {row} of table `{table}` does not read back: {reason}")]
    Row {
        /// The table.
        table: &'static str,
        /// The row's number.
        row: i64,
        /// What is wrong.
        reason: String,
    },
    /// The log refused.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Anything else that the engine reports.
    #[error("the database reports: {reason}")]
    Engine {
        /// What it said.
        reason: String,
    },
}

/// Place and time that a draft got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its place in the log.
    pub position: u64,
    /// Its entry time.
    pub time: Timestamp,
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// One outcome for each draft, in order.
    pub outcomes: Vec<Result<Placed, Refusal>>,
    /// Leaves after the commit.
    pub size: u64,
    /// The signed checkpoint after the commit.
    pub checkpoint: String,
}

/// A log of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// Its id.
    pub id: LogId,
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its first verifier key, in signed-note form.
    pub verifier_key: String,
}

/// A namespace as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceRow {
    /// Its id in leaves.
    pub id: NamespaceId,
    /// Its name.
    pub name: String,
    /// The number that names its index table.
    pub number: i64,
}

/// One row of the id set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef {
    /// The store's row number.
    pub row: i64,
    /// The row's id column.
    pub id: RecordId,
    /// The namespace it points at, if that exists.
    pub namespace: Option<NamespaceId>,
    /// The position column.
    pub position: u64,
    /// The status column.
    pub status: Status,
    /// The principal column.
    pub principal: PrincipalId,
    /// Whether the row says that it was taken out of the index.
    pub isolated: bool,
}

/// Size and checkpoint of a log at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Leaves.
    pub size: u64,
    /// The signed checkpoint; `None` before the first commit.
    pub checkpoint: Option<String>,
}

/// Takes position and bytes of one leaf after another.
pub type EachLeaf<'a> = dyn FnMut(u64, &[u8]) -> Result<(), StoreError> + 'a;

/// The canonical value of a structured field, as the index holds it. A truth value has none.
#[must_use]
pub fn field_key(value: &crate::FieldValue) -> Option<String> {
    match value {
        crate::FieldValue::String(text) => Some(crate::CanonicalValue::of_text(text).key()),
        crate::FieldValue::Integer(number) => {
            Some(crate::CanonicalValue::of_number(&number.to_string()).key())
        }
        crate::FieldValue::Boolean(_) => None,
    }
}

/// One consistent view of the store. Rows it returns are not trusted until [`crate::Verified::check`].
pub trait Snapshot {
    /// Size and checkpoint of a log.
    ///
    /// # Errors
    /// [`StoreError`].
    fn head(&mut self, log: LogId) -> Result<Head, StoreError>;

    /// Whether the file was changed since this connection last looked, without any log advancing.
    fn changed_outside_the_log(&self) -> bool;

    /// Calls `each` with position and bytes of the leaves in `range`, in order. A gap ends the call early.
    ///
    /// # Errors
    /// [`StoreError`], or what `each` returns.
    fn leaves(&mut self, log: LogId, range: Range<u64>, each: &mut EachLeaf<'_>) -> Result<(), StoreError>;

    /// Calls `each` with every stored tile of a log, by level and index.
    ///
    /// # Errors
    /// [`StoreError`].
    fn tiles(&mut self, log: LogId, each: &mut dyn FnMut(&Tile)) -> Result<(), StoreError>;

    /// The payload kept for the leaf at `position`; `None` for a write, or once it was destroyed.
    ///
    /// # Errors
    /// [`StoreError`].
    fn payload(&mut self, log: LogId, position: u64) -> Result<Option<SaltedPayload>, StoreError>;

    /// Calls `each` with every row of the record table of `log` whose position is at least `from`. A row that
    /// does not read back is left out, so that the comparison with the log names its record as missing.
    ///
    /// # Errors
    /// [`StoreError`].
    fn rows(&mut self, log: LogId, from: u64, each: &mut dyn FnMut(RowRef)) -> Result<(), StoreError>;

    /// All namespaces of a log.
    ///
    /// # Errors
    /// [`StoreError`].
    fn namespaces(&mut self, log: LogId) -> Result<Vec<NamespaceRow>, StoreError>;

    /// The encoders of the first and of the last vector of a log: one name if they are one.
    ///
    /// # Errors
    /// [`StoreError`].
    fn encoders(&mut self, log: LogId) -> Result<Vec<String>, StoreError>;

    /// The best candidates for a search, best first; ties by row number.
    ///
    /// # Errors
    /// [`StoreError`].
    fn candidates(&mut self, search: &Search<'_>) -> Result<Vec<Candidate>, StoreError>;

    /// The full row, with the leaf at its position; `None` if there is no such row.
    ///
    /// # Errors
    /// [`StoreError`].
    fn row(&mut self, row: i64) -> Result<Option<StoredRecord>, StoreError>;

    /// The row number of a record.
    ///
    /// # Errors
    /// [`StoreError`].
    fn find(&mut self, record: &RecordId) -> Result<Option<i64>, StoreError>;

    /// The row of the record with this `origin_key` in a namespace that was not purged.
    ///
    /// # Errors
    /// [`StoreError`].
    fn find_origin(&mut self, namespace: NamespaceId, origin_key: &str) -> Result<Option<i64>, StoreError>;

    /// Row numbers with this status in a namespace, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn with_status(&mut self, namespace: NamespaceId, status: Status) -> Result<Vec<i64>, StoreError>;

    /// Rows of a namespace with a structured field of this name and canonical value ([`field_key`]), newest
    /// first. An index: what it returns is checked like every other row.
    ///
    /// # Errors
    /// [`StoreError`].
    fn with_field(&mut self, namespace: NamespaceId, name: &str, value: &str)
    -> Result<Vec<i64>, StoreError>;

    /// Active reasoning records of a namespace, of one subject or of all.
    ///
    /// # Errors
    /// [`StoreError`].
    fn reasoning_count(&mut self, namespace: NamespaceId, subject: Option<&str>) -> Result<u64, StoreError>;

    /// Content bytes and records that each principal keeps in a log, purged ones excluded.
    ///
    /// # Errors
    /// [`StoreError`].
    fn usage(&mut self, log: LogId) -> Result<Vec<(PrincipalId, u64, u64)>, StoreError>;

    /// Active rows whose `valid_until` is at or before `now`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn expired(&mut self, log: LogId, now: Timestamp) -> Result<Vec<RecordId>, StoreError>;

    /// Positions of recall entries whose payload is kept and older than `before`.
    ///
    /// # Errors
    /// [`StoreError`].
    fn recall_payloads_before(&mut self, log: LogId, before: Timestamp) -> Result<Vec<u64>, StoreError>;

    /// Compares the namespace's search index with its active rows; returns row numbers that differ.
    ///
    /// # Errors
    /// [`StoreError`].
    fn index_differences(&mut self, namespace: NamespaceId) -> Result<Vec<i64>, StoreError>;
}

/// Durable records, leaves and indexes.
pub trait Records: Send + Sync {
    /// The random id of this store.
    fn store_id(&self) -> StoreId;

    /// The logs of this store.
    ///
    /// # Errors
    /// [`StoreError`].
    fn logs(&self) -> Result<Vec<LogRow>, StoreError>;

    /// Adds an empty log; does nothing if the tenant has one, and returns the row that is there.
    ///
    /// # Errors
    /// [`StoreError`].
    fn add_log(&self, log: &LogRow) -> Result<LogRow, StoreError>;

    /// The namespace of this name, made with `fresh` as its id if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    fn namespace(&self, log: LogId, name: &str, fresh: NamespaceId) -> Result<NamespaceRow, StoreError>;

    /// Seals and commits `drafts` in one transaction. Resolves only after it is durable.
    ///
    /// # Errors
    /// [`StoreError`]: nothing of the batch was committed, except where a crash of the machine leaves the
    /// outcome unknown; the sealer then learns it from the next tail.
    fn commit(&self, log: LogId, drafts: &[Draft], sealer: &mut dyn Sealer) -> Result<Committed, StoreError>;

    /// Opens a consistent view.
    ///
    /// # Errors
    /// [`StoreError`].
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// Destroys the payloads at `positions` (recall retention). Leaves stay.
    ///
    /// # Errors
    /// [`StoreError`].
    fn drop_payloads(&self, log: LogId, positions: &[u64]) -> Result<(), StoreError>;

    /// Leaves no copy of destroyed text in any file of the store: free pages, write-ahead log, index.
    ///
    /// # Errors
    /// [`StoreError`]; `Busy` if another process reads an old state.
    fn scrub(&self) -> Result<(), StoreError>;

    /// Makes the search indexes anew from the active rows.
    ///
    /// # Errors
    /// [`StoreError`].
    fn rebuild_indexes(&self, log: LogId) -> Result<(), StoreError>;

    /// Writes a consistent copy of the store to a new file.
    ///
    /// # Errors
    /// [`StoreError`].
    fn backup(&self, to: &std::path::Path) -> Result<(), StoreError>;
}
