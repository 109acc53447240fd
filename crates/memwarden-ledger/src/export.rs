//! A log as a set of files (C2SP tlog-tiles), and the check of such a set by somebody who has nothing else.
//!
//! | file | holds |
//! |---|---|
//! | `checkpoint` | the signed checkpoint |
//! | `tile/<level>/<index>[.p/<width>]` | hashes |
//! | `tile/entries/<index>[.p/<width>]` | leaves, each behind a big-endian `u16` length |
//! | `memwarden/log` | `log <log id>` and `key <first verifier key>` |
//! | `memwarden/rotations` | `<position> <salt> <payload>` for each key rotation, in hexadecimal |
//!
//! Nothing here opens a file: the caller reads and writes. Payloads are not part of an export.

mod read;
mod write;

pub use read::{ExportReport, ReadFile, Trust, verify_export};
pub use write::{ExportError, Exporter, WriteFile, export};

/// Path of the signed checkpoint.
pub const CHECKPOINT_PATH: &str = "checkpoint";
/// Path of the log's id and first key.
pub const LOG_PATH: &str = "memwarden/log";
/// Path of the key rotations.
pub const ROTATIONS_PATH: &str = "memwarden/rotations";
