//! The nouns of Memwarden and the rules that need nothing but their arguments.
//!
//! Everything here is data and pure functions: no I/O, no clock, no randomness, no async runtime
//! (invariant 1 of `ARCHITECTURE.md`). Callers bring time as a [`Timestamp`], randomness as a [`Salt`]
//! or an id, storage through the traits of [`log`], vectors through [`encode::Encode`], and
//! language models through the traits of [`model`].
//!
//! Reading order: [`Entry`] is what a caller wants remembered; [`Record`] is what the store keeps of it;
//! [`Leaf`] is what the log says about it; [`Replay`] is what a verified log says now.

mod authority;
mod canonical;
mod codec;
mod context;
pub mod encode;
mod entry;
mod finding;
mod gate;
mod gate_payload;
mod id;
mod leaf;
pub mod log;
pub mod model;
mod name;
mod origin;
mod params;
mod payload;
mod policy;
mod principal;
mod record;
mod replay;
mod standing;
mod vector;

pub use authority::{Authority, Taint, TaintError};
pub use canonical::{CanonicalValue, Token, tokens};
pub use codec::{DecodeError, Decoder, Encoder};
pub use context::{Context, Outcome, Permit, Receipt, Subject};
pub use entry::{
    Channel, DEFAULT_MAX_ENTRY_BYTES, Entry, EntryError, FieldValue, Kind, Limits, MAX_FIELDS,
    MAX_LABEL_BYTES, MAX_METADATA_BYTES, MAX_PARENTS, TraceType,
};
pub use finding::{Finding, Score, ScoreError, Severity, StageName, Verdict};
pub use gate::{
    Action, ActionClass, ActionRule, Check, Decided, Decision, Evidence, EvidenceError, GateChecks, Reason,
    ReceiptFact, RequestFact, Requirement, Witness, authorize, digest_parameter, subject_of,
};
pub use gate_payload::{
    ApprovalPayload, BeginPayload, EndorsePayload, ObservePayload, PermitPayload, ReceiptPayload,
    RedeemPayload, RequestPayload, RevocationPayload,
};
pub use id::{
    ContextId, Digest, IdError, LogId, NamespaceId, PrincipalId, RecordId, Salt, StoreId, Timestamp,
    leaf_hash, node_hash,
};
pub use leaf::{LEAF_TAG, LEAF_VERSION, Leaf, LeafKind};
pub use name::{NameError, Namespace};
pub use origin::{
    APPROVAL_LIFE_US, CONTEXT_LIFE_US, Grant, Origin, PERMIT_LIFE_US, RECEIPT_LIFE_US, REQUEST_LIFE_US,
    TOKENLESS_RENEWAL_US, TOKENLESS_WINDOW_US, Window, takes_evidence_away,
};
pub use params::{
    MAX_PARAMETER_BYTES, MAX_PARAMETER_DEPTH, MAX_PARAMETERS, ParamError, ParamValue, Params, action_hash,
    approval_hash,
};
pub use payload::{
    EpochPayload, KeyPayload, PAYLOAD_VERSION, PolicyPayload, PurgePayload, RecallPayload, RecordPayload,
    RotationPayload, StatusChange, StatusPayload, commitment, decode_findings, encode_findings,
};
pub use policy::{Echoes, FailMode, OriginMode, Policy, Quota, RecallRule, StageSettings, ToolRule};
pub use principal::{Principal, Role};
pub use record::{Lineage, Mismatch, Record, Status, StoredRecord, Verified};
pub use replay::{Expectation, Replay, ReplayError};
pub use standing::{Endorsement, Revocation, Standing, endorsed};
pub use vector::VectorPayload;
