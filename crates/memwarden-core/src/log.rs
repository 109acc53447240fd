//! The seams between rooms: what the façade asks of a store and of a sealer.
//!
//! The store owns the transaction and calls [`Sealer::seal`] inside it, so a position exists only where it
//! is committed. The sealer owns the log's cryptographic state and the re-checks that need the log's newest
//! state; it does no I/O.

use crate::{
    Authority, Channel, ContextId, Digest, Entry, Leaf, LeafKind, LogId, NamespaceId, PrincipalId, RecordId,
    Salt, Status, StoreId, StoredRecord, Timestamp, Verdict,
};
use std::ops::Range;

/// The log as the store's transaction sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// The log.
    pub log: LogId,
    /// Leaves in the log.
    pub size: u64,
    /// The signed checkpoint over them; `None` before the first commit.
    pub checkpoint: Option<String>,
    /// Leaves from [`Sealer::seen`] to `size`, written by other processes; position order.
    pub unseen: Vec<Vec<u8>>,
    /// For each of them, the content bytes of the record that it wrote; 0 where it wrote none.
    pub unseen_bytes: Vec<u64>,
}

/// A leaf before it has a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafDraft {
    /// The clock at the time of the call; the entry time is never before that of the leaf in front.
    pub at: Timestamp,
    /// What it is about.
    pub kind: LeafKind,
    /// The namespace, where there is one.
    pub namespace: Option<NamespaceId>,
    /// The record, where there is one.
    pub record: Option<RecordId>,
    /// Who caused it.
    pub principal: PrincipalId,
    /// The window it happened in.
    pub context: Option<ContextId>,
    /// The way in.
    pub channel: Channel,
    /// Written authority.
    pub authority: Authority,
    /// Status after this leaf.
    pub status: Status,
    /// Declared parents.
    pub parents: Vec<RecordId>,
    /// Commitment to the payload.
    pub payload: Digest,
    /// Commitment to the findings.
    pub findings: Option<Digest>,
    /// Commitment to the vector.
    pub vector: Option<Digest>,
    /// Hash of the policy in force.
    pub policy: Digest,
}

impl LeafDraft {
    /// The leaf at its place.
    #[must_use]
    pub fn place(&self, log: LogId, epoch: u32, position: u64, time: Timestamp) -> Leaf {
        Leaf {
            log,
            epoch,
            position,
            time,
            kind: self.kind,
            namespace: self.namespace,
            record: self.record,
            principal: self.principal,
            context: self.context,
            channel: self.channel,
            authority: self.authority,
            status: self.status,
            parents: self.parents.clone(),
            payload: self.payload,
            findings: self.findings,
            vector: self.vector,
            policy: self.policy,
        }
    }
}

/// A payload and the salt of its commitment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaltedPayload {
    /// The salt.
    pub salt: Salt,
    /// The canonical bytes.
    pub bytes: Vec<u8>,
}

/// A new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// Its id.
    pub id: RecordId,
    /// Its namespace, made known to the store by [`Records::namespace`].
    pub namespace: NamespaceId,
    /// The entry.
    pub entry: Entry,
    /// Salt of the payload commitment.
    pub salt: Salt,
    /// The write verdict.
    pub verdict: Verdict,
    /// Salt and encoded findings.
    pub findings: Option<(Salt, Vec<u8>)>,
    /// The encoded [`crate::VectorPayload`], committed to with `salt`.
    pub vector: Option<Vec<u8>>,
    /// Its first status.
    pub status: Status,
}

/// What the store does with its tables when the leaf is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Insert a record.
    Record(Box<NewRecord>),
    /// Set a record's status (the leaf's), keep the payload.
    Status(SaltedPayload),
    /// Destroy a record's text, salt, findings, logged queries that served it, and index entries.
    Purge(SaltedPayload),
    /// Take a record out of the index, keep the payload.
    Isolate(SaltedPayload),
    /// Keep the payload, nothing else.
    Note(SaltedPayload),
}

/// One change to be committed: a leaf and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The leaf.
    pub leaf: LeafDraft,
    /// What goes with it.
    pub body: Body,
}

/// A draft was refused when its leaf was about to be sealed; the others of its batch go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A record that the draft needs is not there.
    #[error("record {record} is not in this store")]
    NoSuchRecord {
        /// The record.
        record: RecordId,
    },
    /// A record that the draft needs has another status than it must have.
    #[error("record {record} is {status}: expected {expected}")]
    WrongStatus {
        /// The record.
        record: RecordId,
        /// Its status.
        status: Status,
        /// What was needed.
        expected: &'static str,
    },
    /// Authority fell below the draft's since it was screened.
    #[error("parent {record} now has authority {now}, below {drafted} of the new record")]
    ParentFell {
        /// The parent.
        record: RecordId,
        /// Its authority.
        now: Authority,
        /// The draft's.
        drafted: Authority,
    },
    /// The writer's quota is used up.
    #[error("quota `{what}` of this principal is used up: {used} of {limit}")]
    Quota {
        /// Which quota.
        what: &'static str,
        /// How much is used, with this draft.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// Another policy came into force since the entry was screened.
    #[error("the policy changed while the entry was screened: try again")]
    PolicyChanged,
    /// Evidence changed since an action was decided.
    #[error("evidence changed while the action was decided: ask again")]
    EvidenceChanged,
    /// Something that works once was used already, has expired, or was never given.
    #[error("{what} {id} {problem}")]
    Spent {
        /// What it is.
        what: &'static str,
        /// Its id.
        id: RecordId,
        /// What is wrong.
        problem: &'static str,
    },
    /// A context that is not open.
    #[error("context {context} {problem}")]
    Context {
        /// The context.
        context: ContextId,
        /// What is wrong.
        problem: &'static str,
    },
    /// The label fell since the entry was screened.
    #[error("the label of this context fell to {label} while the entry was screened: try again")]
    LabelFell {
        /// The label now.
        label: Authority,
    },
    /// A weaker principal may not take a stronger record out of sight.
    #[error(
        "record {record} has authority {record_authority}: a principal of class {class} cannot {verb} it"
    )]
    TooWeak {
        /// The record.
        record: RecordId,
        /// Its effective authority.
        record_authority: Authority,
        /// The class of the principal.
        class: Authority,
        /// What was tried.
        verb: &'static str,
    },
}

/// A sealed leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedLeaf {
    /// Its place.
    pub position: u64,
    /// Its entry time.
    pub time: Timestamp,
    /// Its canonical bytes.
    pub bytes: Vec<u8>,
}

/// A full tile of 256 hashes (C2SP tlog-tiles; partial tiles follow from the leaves and are not stored).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// Level, 0 for leaf hashes.
    pub level: u8,
    /// Index within the level.
    pub index: u64,
    /// 256 hashes of 32 bytes.
    pub hashes: Vec<u8>,
}

/// What one commit adds to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// One outcome for each draft, in order.
    pub outcomes: Vec<Result<SealedLeaf, Refusal>>,
    /// Tiles that became full.
    pub tiles: Vec<Tile>,
    /// Leaves after the commit.
    pub size: u64,
    /// The signed checkpoint after the commit.
    pub checkpoint: String,
}

/// The log could not be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The log in the store is not the one that was verified.
    #[error("the log does not verify: {reason}")]
    Unverified {
        /// What is wrong.
        reason: String,
    },
}

/// Extends a log. Implemented by the ledger (hashing and signing) and wrapped by the façade (re-checks).
pub trait Sealer: Send {
    /// How many leaves it knows; the store hands over the rest in [`LogTail::unseen`].
    fn seen(&self) -> u64;

    /// Verifies what is unseen, refuses what no longer holds, and seals the rest in order.
    ///
    /// Called inside the store's transaction, which may still fail: an implementation MUST accept a later
    /// `tail` that does not contain what this call returned.
    ///
    /// # Errors
    /// [`SealError`] when the log itself is not as it was left; nothing may then be committed.
    fn seal(&mut self, tail: &LogTail, drafts: &[Draft]) -> Result<Sealed, SealError>;
}

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

/// A record that retrieval proposes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The store's row number.
    pub row: i64,
    /// Higher is better; comparable only within one answer.
    pub score: f64,
    /// Where it stands by its words; none where they do not propose it.
    pub by_words: Option<Ranked>,
    /// Where it stands by its vector.
    pub by_vector: Option<Ranked>,
}

/// A place in the order of one way of looking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// From 1.
    pub rank: usize,
    /// BM25 (its sign turned), or the cosine.
    pub score: f64,
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

/// How entries are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retrieval {
    /// Words and vectors, fused by reciprocal rank.
    #[default]
    Hybrid,
    /// BM25 over words.
    Lexical,
    /// Cosine of vectors.
    Vector,
    /// Edit distance of the whole text to the query, smallest first.
    Levenshtein,
}

impl Retrieval {
    /// Every way, in the order of its declaration.
    pub const ALL: [Self; 4] = [Self::Hybrid, Self::Lexical, Self::Vector, Self::Levenshtein];

    /// The name used in requests and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Vector => "vector",
            Self::Levenshtein => "levenshtein",
        }
    }
}

/// A query as a vector, and the encoder that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryVector<'a> {
    /// Only vectors of this encoder are compared.
    pub encoder: &'a str,
    /// The vector before it was rounded, of any length.
    pub vector: &'a [f32],
    /// Records below this cosine are not proposed.
    pub at_least: f32,
}

/// A search within one namespace, over active records only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search<'a> {
    /// Where to look.
    pub namespace: NamespaceId,
    /// How to look.
    pub retrieval: Retrieval,
    /// What to look for.
    pub query: &'a str,
    /// The same as a vector; without one, nothing is found by its vector.
    pub vector: Option<QueryVector<'a>>,
    /// Most candidates.
    pub limit: usize,
    /// A term found in more records than this leaves the query when a rarer one remains.
    pub common_above: u64,
    /// Only this kind, if set.
    pub kind: Option<crate::Kind>,
    /// Nothing by these.
    pub without: &'a [PrincipalId],
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
