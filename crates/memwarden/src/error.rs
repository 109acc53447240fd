//! Everything that a verb can answer instead of a result.

use memwarden_core::log::{Refusal, SealError, StoreError};
use memwarden_core::{EntryError, NamespaceId, RecordId, Role, StoreId};
use std::path::{Path, PathBuf};

/// Why a verb did not do what was asked. Nothing was changed unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WardenError {
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// An entry that cannot be accepted as it stands.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The change no longer holds against the newest state.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store is not what the log says it is; recall in this namespace fails until it is mended.
    #[error(
        "namespace `{namespace}` fails its check: record {record}: {what}; \
         see `memwarden ledger verify --deep`, then restore a backup or take the record out with `memwarden ledger isolate {record}`"
    )]
    Tampered {
        /// The namespace.
        namespace: String,
        /// The record.
        record: RecordId,
        /// What is wrong with it.
        what: String,
    },
    /// The log itself does not verify.
    #[error("the log does not verify: {reason}")]
    Unverified {
        /// What is wrong.
        reason: String,
    },
    /// The store is older than a state that was seen before.
    #[error(
        "the store is behind its witness: it holds {store_size} log entries of epoch {store_epoch}, the witness \
         has seen {witness_size} of epoch {witness_epoch}; put the newer files back, or accept the older state \
         with `memwarden restore --accept` and the owner's credential"
    )]
    BehindWitness {
        /// Entries in the store.
        store_size: u64,
        /// Epoch of the store.
        store_epoch: u32,
        /// Entries that the witness has seen.
        witness_size: u64,
        /// Epoch that the witness has seen.
        witness_epoch: u32,
    },
    /// A credential that does not open this store.
    #[error("credential refused: {reason}")]
    Credential {
        /// Why.
        reason: String,
    },
    /// The principal may not use this verb.
    #[error("`{verb}` needs the credential of {needs}: this one is `{role}`")]
    Forbidden {
        /// The verb.
        verb: &'static str,
        /// The role of the caller.
        role: Role,
        /// Who may.
        needs: &'static str,
    },
    /// A context that is not open, or a verb that needs one.
    #[error("context: {reason}")]
    Context {
        /// What is wrong.
        reason: String,
    },
    /// No such record.
    #[error("record {record} is not in this store")]
    NotFound {
        /// The record.
        record: RecordId,
    },
    /// Its text is gone.
    #[error("record {record} was purged: only its log entries are left; see `memwarden history {record}`")]
    Purged {
        /// The record.
        record: RecordId,
    },
    /// No such namespace.
    #[error("namespace `{namespace}` holds nothing: names are listed by `memwarden status`")]
    NoNamespace {
        /// The name.
        namespace: String,
    },
    /// A parameter out of range.
    #[error("`{field}` is `{given}`: expected {expected}")]
    BadInput {
        /// The parameter.
        field: &'static str,
        /// What was given.
        given: String,
        /// What is accepted.
        expected: String,
    },
    /// Keys that cannot be used.
    #[error("keys at `{path}`: {reason}")]
    Keys {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file outside the store that cannot be read or written.
    #[error("`{path}`: {reason}")]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The encoder gave no vector.
    #[error(transparent)]
    Encode(#[from] memwarden_core::encode::EncodeError),
    /// A policy that cannot be loaded.
    #[error("policy refused: {reason}")]
    Policy {
        /// Why.
        reason: String,
    },
    /// A key or credential of another store.
    #[error("belongs to store {given}: this is store {store}")]
    OtherStore {
        /// Whose it is.
        given: StoreId,
        /// This one.
        store: StoreId,
    },
    /// The writer of this process has ended after a failure that it cannot recover from.
    #[error("the writer has stopped: {reason}; open the store again")]
    Closed {
        /// Why.
        reason: String,
    },
    /// The machine gave no random bytes.
    #[error("no random bytes from the system: {reason}")]
    Random {
        /// What the system said.
        reason: String,
    },
}

impl From<StoreError> for WardenError {
    /// A log that the sealer refused is the log's failure, not the store's.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Seal(SealError::Unverified { reason }) => Self::Unverified { reason },
            other => Self::Store(other),
        }
    }
}

impl WardenError {
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            std::io::ErrorKind::StorageFull => "the disk is full: free some space and try again".to_owned(),
            _ => error.to_string(),
        };
        Self::File {
            path: path.to_owned(),
            reason,
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is handed to `map_err` by its name"
    )]
    pub(crate) fn unverified(reason: impl ToString) -> Self {
        Self::Unverified {
            reason: reason.to_string(),
        }
    }

    /// Whether it reports that the store was changed behind the warden's back.
    #[must_use]
    pub const fn is_integrity(&self) -> bool {
        matches!(
            self,
            Self::Tampered { .. } | Self::Unverified { .. } | Self::BehindWitness { .. }
        )
    }
}

/// One way in which the rows differ from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The namespace that fails, if the row or the log names one.
    pub namespace: Option<NamespaceId>,
    /// The record.
    pub record: RecordId,
    /// What is wrong with it.
    pub what: String,
}
