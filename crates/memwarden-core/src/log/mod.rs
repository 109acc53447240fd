//! The seams between rooms: what the façade asks of a store and of a sealer.
//!
//! The store owns the transaction and calls [`Sealer::seal`] inside it, so a position exists only where it
//! is committed. The sealer owns the log's cryptographic state and the re-checks that need the log's newest
//! state; it does no I/O.

mod records;
mod seal;
mod search;

pub use records::{
    Committed, EachLeaf, Head, LogRow, NamespaceRow, Placed, Records, RowRef, Snapshot, StoreError, field_key,
};
pub use seal::{
    Body, Draft, LeafDraft, LogTail, NewRecord, Refusal, SaltedPayload, SealError, Sealed, SealedLeaf,
    Sealer, Tile,
};
pub use search::{Candidate, QueryVector, Ranked, Retrieval, Search};
