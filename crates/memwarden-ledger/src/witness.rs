//! The messages of C2SP tlog-witness, for a client that asks a witness to cosign a checkpoint.
//!
//! Not here: the HTTP call. Cosignatures are carried, not checked: whoever relies on one has its key.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::encoding::{decimal, to_base64};
use crate::note::{MAX_SIGNATURES, NoteError, SignatureLine, split_note};
use memwarden_core::Digest;

/// Most hashes in a consistency proof (C2SP tlog-witness, add-checkpoint).
pub const MAX_PROOF_LINES: usize = 63;

/// A message was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WitnessError {
    /// A checkpoint that is not one.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A signature line that is not one.
    #[error("the witness did not answer with signature lines: {0}")]
    Cosignature(#[source] NoteError),
    /// The older checkpoint is larger than the newer one.
    #[error("the witness has {old} entries: the checkpoint has {size}")]
    Ahead {
        /// Leaves at the witness.
        old: u64,
        /// Leaves under the checkpoint.
        size: u64,
    },
    /// A proof that the protocol does not carry.
    #[error("a proof of {given} hashes: at most 63 are allowed, and none from size 0")]
    Proof {
        /// How many hashes.
        given: usize,
    },
    /// A conflict answer that is not a size.
    #[error("the witness did not answer with a size in decimal and a line break")]
    Size,
}

/// The body of `POST <prefix>/add-checkpoint`: the size that the witness has, the consistency proof from
/// there, and the signed checkpoint.
///
/// # Errors
/// [`WitnessError`].
///
/// ```
/// use memwarden_core::Digest;
/// use memwarden_ledger::{Checkpoint, SignerKey, witness::add_checkpoint_request};
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// let note = Checkpoint { origin: "example.com/log".into(), size: 1, root: Digest::of(b"x") }.sign(&signer);
/// let body = add_checkpoint_request(0, &[], &note)?;
/// assert!(body.starts_with("old 0\n\nexample.com/log\n1\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_checkpoint_request(
    old_size: u64,
    proof: &[Digest],
    checkpoint_note: &str,
) -> Result<String, WitnessError> {
    let checkpoint = Checkpoint::read_unverified(checkpoint_note)?;
    if old_size > checkpoint.size {
        return Err(WitnessError::Ahead {
            old: old_size,
            size: checkpoint.size,
        });
    }
    if proof.len() > MAX_PROOF_LINES || (old_size == 0 && !proof.is_empty()) {
        return Err(WitnessError::Proof { given: proof.len() });
    }
    let mut body = format!("old {old_size}\n");
    for hash in proof {
        body.push_str(&to_base64(hash.as_bytes()));
        body.push('\n');
    }
    body.push('\n');
    body.push_str(checkpoint_note);
    Ok(body)
}

/// Reads the body of a 200 answer: one or more signature lines.
///
/// # Errors
/// [`WitnessError::Cosignature`].
pub fn parse_cosignatures(body: &str) -> Result<Vec<SignatureLine>, WitnessError> {
    let malformed = |reason| WitnessError::Cosignature(NoteError::Malformed { reason });
    let lines = body
        .strip_suffix('\n')
        .ok_or(malformed("it does not end with a line break"))?;
    if lines.split('\n').count() > MAX_SIGNATURES {
        return Err(malformed("too many signatures"));
    }
    lines
        .split('\n')
        .map(|line| SignatureLine::parse(line).map_err(WitnessError::Cosignature))
        .collect()
}

/// The note with `cosignatures` under it. Lines that it already has are not repeated.
///
/// # Errors
/// A note that is not one, or one that would have too many signatures.
pub fn append_cosignatures(
    checkpoint_note: &str,
    cosignatures: &[SignatureLine],
) -> Result<String, WitnessError> {
    let (text, mut lines) = split_note(checkpoint_note).map_err(CheckpointError::from)?;
    for line in cosignatures {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    if lines.len() > MAX_SIGNATURES {
        return Err(WitnessError::Cosignature(NoteError::Malformed {
            reason: "too many signatures",
        }));
    }
    let block: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!("{text}\n{block}"))
}

/// Reads the body of a 409 answer (`text/x.tlog.size`): the size of the newest checkpoint that the witness
/// cosigned.
///
/// # Errors
/// [`WitnessError::Size`].
pub fn parse_conflict_size(body: &str) -> Result<u64, WitnessError> {
    body.strip_suffix('\n')
        .and_then(decimal)
        .ok_or(WitnessError::Size)
}
