//! Memwarden keeps an LLM agent's long-term memory honest.
//!
//! [`Warden`] opens a store; [`Warden::handle`] turns a [`Credential`] into a [`Handle`] bound to one
//! principal; the handle has the verbs. What is remembered is sealed into a log that anyone can verify, in
//! the same transaction that makes it visible; what is recalled is checked against that log.
//!
//! ```
//! # fn main() -> Result<(), memwarden::WardenError> {
//! # let dir = tempfile::tempdir().unwrap();
//! use memwarden::{Entry, Places, Query, Role, Warden};
//!
//! let places = Places::within(dir.path().join("store"), dir.path().join("keys"), dir.path().join("witness"));
//! let made = Warden::init(&places, &memwarden::guard::preset("warden").unwrap())?;
//! let warden = Warden::open(&places)?;
//! let agent = warden.handle(&made.credential(Role::Agent)?)?;
//!
//! let namespace = "default".parse().unwrap();
//! let kept = agent.remember(&namespace, Entry::new("Invoices of ACME are due on the 25th."))?;
//! let recalled = agent.recall(&namespace, &Query::new("when are ACME invoices due"))?;
//! assert_eq!(recalled.hits[0].record.id, kept.id);
//! # Ok(())
//! # }
//! ```

mod actions;
mod anchor;
mod chain;
mod clock;
mod contexts;
mod credential;
mod draft;
mod encoder;
mod error;
mod evidence;
mod facts;
mod init;
mod integrity;
mod keys;
mod mechanisms;
mod overlay;
mod owner;
mod places;
mod proofs;
mod random;
mod recall;
mod receipts;
mod registry;
mod remember;
mod render;
mod restore;
mod review;
mod rewrite;
mod scribe;
mod shelf;
mod standing;
mod status;
mod sweep;
mod view;
mod warden;
mod witness;
mod writer;

pub use actions::{Approved, Authorized};
pub use clock::{CLOCK_JUMP, CLOCK_JUMP_RULE, Clock, SystemClock};
pub use contexts::Opened;
pub use credential::Credential;
pub use encoder::{built_in_encoder, encoder_from};
pub use error::{Damage, WardenError};
pub use init::Made;
pub use integrity::{Depth, IntegrityReport, Trust};
pub use keys::credential_path;
pub use mechanisms::Mechanisms;
pub use memwarden_core as core;
pub use memwarden_core::log::Retrieval;
pub use memwarden_core::{
    Authority, Channel, Entry, FieldValue, Finding, Kind, Namespace, Policy, Principal, Record, RecordId,
    Role, Status, TraceType, Verdict,
};
pub use memwarden_guard as guard;
pub use memwarden_ledger as ledger;
pub use memwarden_model as model;
pub use memwarden_store::{CommitPhase, Durability};
pub use owner::{PurgeReport, Purged};
pub use places::Places;
pub use proofs::Reveal;
pub use recall::{CommonTerms, Hit, MAX_K, Query, Recall, Why};
pub use receipts::{Executed, Receipted};
pub use remember::{Remembered, WriteOptions};
pub use render::visible;
pub use restore::Restored;
pub use review::{Change, Changed, Event};
pub use standing::Endorsed;
pub use status::{NamespaceStatus, StoreStatus};
pub use warden::{Handle, Options, Probe, Warden};
