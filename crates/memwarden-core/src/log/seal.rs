//! What the store hands to a sealer, and what comes back. Not here: how a leaf is hashed and signed (ledger).

use crate::{
    Authority, Channel, ContextId, Digest, Entry, Leaf, LeafKind, LogId, NamespaceId, PrincipalId, RecordId,
    Salt, Status, Timestamp, Verdict,
};

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
    /// Its namespace, made known to the store by [`Records::namespace`](super::Records::namespace).
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
