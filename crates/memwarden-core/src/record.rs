//! What the store keeps of an entry, and the one way to trust a row that was read back.

use crate::replay::Expectation;
use crate::{
    Authority, Channel, ContextId, Digest, Entry, Finding, Leaf, LeafKind, NamespaceId, PrincipalId,
    RecordId, RecordPayload, Salt, Timestamp, Verdict, commitment, decode_findings, leaf_hash,
};
use std::fmt;

/// Where a record is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Served by recall.
    Active,
    /// Kept out of recall until a reviewer releases it.
    Quarantined,
    /// Superseded, expired, or refused at write; kept, never served.
    Retired,
    /// Its text and salt are destroyed.
    Purged,
}

impl Status {
    /// Every status, in the order of its code.
    pub const ALL: [Self; 4] = [Self::Active, Self::Quarantined, Self::Retired, Self::Purged];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Retired => "retired",
            Self::Purged => "purged",
        }
    }

    /// The byte that stands for it in a leaf.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Active => 0,
            Self::Quarantined => 1,
            Self::Retired => 2,
            Self::Purged => 3,
        }
    }

    /// The status that `code` stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a record came from: the window and log position it was written at, and its declared parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The window it was written in.
    pub context: Option<ContextId>,
    /// Its place in the log.
    pub position: u64,
    /// Records it declares to be derived from.
    pub parents: Vec<RecordId>,
}

/// A record as it may be served: every part has been checked against the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: RecordId,
    /// The name of its namespace.
    pub namespace: String,
    /// What was remembered.
    pub entry: Entry,
    /// Who wrote it.
    pub principal: PrincipalId,
    /// The way in.
    pub channel: Channel,
    /// Where it came from.
    pub lineage: Lineage,
    /// When it was written.
    pub time: Timestamp,
    /// Authority at write.
    pub written: Authority,
    /// Authority now.
    pub effective: Authority,
    /// Where it is in its life.
    pub status: Status,
    /// The log position of the leaf that set the status.
    pub status_position: u64,
    /// The write verdict.
    pub verdict: Verdict,
    /// What the write stages saw.
    pub findings: Vec<Finding>,
}

/// A row as the store returned it, with the leaf bytes at its position: nothing here is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The row's id column.
    pub id: RecordId,
    /// The id of the namespace that the row points at.
    pub namespace_id: NamespaceId,
    /// The name of that namespace.
    pub namespace: String,
    /// The entry columns (parents are in the leaf).
    pub entry: Entry,
    /// The salt of the payload commitment; gone after a purge.
    pub salt: Option<Salt>,
    /// The write verdict.
    pub verdict: Verdict,
    /// Salt and encoded findings.
    pub findings: Option<(Salt, Vec<u8>)>,
    /// The encoded [`crate::VectorPayload`].
    pub vector: Option<Vec<u8>>,
    /// The status column.
    pub status: Status,
    /// The position column.
    pub position: u64,
    /// The log's bytes at that position.
    pub leaf: Vec<u8>,
}

/// A row is not what the log says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The leaf at the row's position is not the one that was verified.
    #[error("the log entry at its position was changed")]
    Leaf,
    /// Text, metadata or namespace differ from what was committed to.
    #[error("its stored text or metadata was changed")]
    Payload,
    /// The findings differ from what was committed to.
    #[error("its stored findings were changed")]
    Findings,
    /// The vector differs from what was committed to.
    #[error("its stored vector was changed")]
    Vector,
    /// The status column differs from the log.
    #[error("its status reads {row} where the log says {log}")]
    Status {
        /// The column.
        row: Status,
        /// The log.
        log: Status,
    },
    /// The row's salt is gone though the record was not purged.
    #[error("its salt is missing")]
    Salt,
}

/// A value that was checked against the verified log. [`Verified::check`] is the only way to make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// The value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }

    /// The value.
    #[must_use]
    pub const fn get(&self) -> &T {
        &self.0
    }
}

impl Verified<Record> {
    /// Hashes `row` against the leaf that the verified log holds for it.
    ///
    /// `snapshot_size` is the log size at the moment the row was read; a status column older than the newest
    /// status in memory is not a mismatch.
    ///
    /// # Errors
    /// The first part that differs.
    pub fn check(row: StoredRecord, expected: &Expectation, snapshot_size: u64) -> Result<Self, Mismatch> {
        if row.position != expected.position || leaf_hash(&row.leaf) != expected.leaf_hash {
            return Err(Mismatch::Leaf);
        }
        let leaf = Leaf::decode(&row.leaf).map_err(|_| Mismatch::Leaf)?;
        if leaf.kind != LeafKind::Write || leaf.record != Some(row.id) {
            return Err(Mismatch::Leaf);
        }
        if leaf.namespace != Some(row.namespace_id) {
            return Err(Mismatch::Payload);
        }
        if expected.status_position < snapshot_size && row.status != expected.status {
            return Err(Mismatch::Status {
                row: row.status,
                log: expected.status,
            });
        }
        let salt = row.salt.ok_or(Mismatch::Salt)?;
        let payload = RecordPayload::encode(&row.namespace, &row.entry, row.verdict);
        if commitment(&salt, &payload) != leaf.payload {
            return Err(Mismatch::Payload);
        }
        let findings = match (&row.findings, leaf.findings) {
            (None, None) => Vec::new(),
            (Some((salt, bytes)), Some(digest)) if commitment(salt, bytes) == digest => {
                decode_findings(bytes).map_err(|_| Mismatch::Findings)?
            }
            _ => return Err(Mismatch::Findings),
        };
        match (&row.vector, leaf.vector) {
            (None, None) => {}
            (Some(bytes), Some(digest)) if commitment(&salt, bytes) == digest => {}
            _ => return Err(Mismatch::Vector),
        }
        let mut entry = row.entry;
        entry.parents.clone_from(&leaf.parents);
        Ok(Self(Record {
            id: row.id,
            namespace: row.namespace,
            entry,
            principal: leaf.principal,
            channel: leaf.channel,
            lineage: Lineage {
                context: leaf.context,
                position: leaf.position,
                parents: leaf.parents,
            },
            time: leaf.time,
            written: leaf.authority,
            effective: expected.effective(),
            status: expected.status,
            status_position: expected.status_position,
            verdict: row.verdict,
            findings,
        }))
    }

    /// Takes `row` as it is, without hashing anything: the control run of the conformance suite, which shows
    /// what the check is worth. Compiled only with the feature `unverified-reads`.
    #[cfg(feature = "unverified-reads")]
    #[must_use]
    pub fn unchecked(row: StoredRecord) -> Self {
        Self(Record {
            id: row.id,
            namespace: row.namespace,
            principal: PrincipalId::WARDEN,
            channel: Channel::Direct,
            lineage: Lineage {
                context: None,
                position: row.position,
                parents: Vec::new(),
            },
            time: Timestamp::default(),
            written: Authority::None,
            effective: Authority::None,
            status: row.status,
            status_position: row.position,
            verdict: row.verdict,
            findings: Vec::new(),
            entry: row.entry,
        })
    }
}

/// The digest under which an endorsement or a release names a record's text.
impl Record {
    /// SHA-256 of the content.
    #[must_use]
    pub fn content_digest(&self) -> Digest {
        Digest::of(self.entry.content.as_bytes())
    }
}
