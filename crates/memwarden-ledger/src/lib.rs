//! What makes the log provable: an RFC 6962 Merkle tree over the leaves, signed checkpoints, proofs, and
//! the verifier that needs nothing but bytes and a public key.
//!
//! Everything here is pure: no I/O, no clock, no randomness. Callers bring seeds for keys, bytes of leaves,
//! and a way to read or write a file. Formats are public ones (C2SP signed-note, tlog-checkpoint,
//! tlog-tiles, tlog-proof, tlog-witness), so that other tools can check a log of this project; the page
//! `docs/ledger-format.md` describes what is ours.
//!
//! Not here: storage, re-checks of drafts against the newest state, the place where keys are kept.
//!
//! Reading order: [`key`] and [`note`] sign texts; [`checkpoint`] is the text that is signed; [`tree`]
//! gives its root; [`verify`] checks a whole log against it; [`proof`] and [`proof_file`] do so for one
//! entry; [`mod@export`] is a log as files.

pub mod checkpoint;
mod encoding;
pub mod export;
pub mod key;
pub mod note;
pub mod proof;
pub mod proof_file;
pub mod rotation;
pub mod tile_path;
pub mod tree;
pub mod verify;
pub mod witness;

pub use checkpoint::{Checkpoint, CheckpointError, origin, parse_origin};
pub use export::{ExportError, ExportReport, Exporter, Trust, export, verify_export};
pub use key::{KeyError, SignerKey, VerifierKey};
pub use note::{NoteError, open_note, sign_note};
pub use proof::{
    ProofError, consistency_proof, inclusion_proof, root_of, verify_consistency, verify_inclusion,
};
pub use proof_file::{ProofFile, ProofFileError, VerifiedProof};
pub use rotation::{Rotation, rotate, rotation_statement};
pub use tile_path::{TileContent, TilePath, TilePathError, tile_path};
pub use tree::Tree;
pub use verify::{LogVerifier, VerifiedLog, VerifyError, check_against};
