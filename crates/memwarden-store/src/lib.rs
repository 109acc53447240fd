//! Durable records, leaves and search indexes in one SQLite file.
//!
//! [`SqliteStore`] implements [`memwarden_core::log::Records`]: the log and what it speaks of change in one
//! transaction, so that no record is visible without its leaf and no leaf is durable without its record.
//! What is read back is checked elsewhere ([`memwarden_core::Verified`]); nothing here is the reference.
//!
//! Not here: hashing and signing (the ledger), verdicts (the guard), rules about who may do what (the
//! façade's sealer). No clock is read except to give up waiting for another process.

mod apply;
#[cfg(feature = "approximate")]
mod approximate;
mod commit;
mod connection;
mod fault;
mod fusion;
mod ids;
mod index;
mod nearest;
mod replace;
mod row;
mod schema;
mod search;
mod snapshot;
mod sqlite;
mod stop_words;
mod terms;
mod transaction;
mod upkeep;
mod vectors;
mod watch;

pub use connection::{BUSY_LIMIT, Durability};
pub use replace::{backup_id, replace};
pub use schema::{APPLICATION_ID, DATABASE_FILE, SCHEMA_VERSION};
pub use sqlite::SqliteStore;
pub use terms::MAX_TERMS;
pub use transaction::CommitPhase;
