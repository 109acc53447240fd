//! Handing the log over from one signing key to the next: a leaf of kind `key` whose payload both signed.

use crate::key::{SignerKey, VerifierKey};
use memwarden_core::{RotationPayload, Salt};

/// A rotation as it is handed to a verifier: where it stands, and what its leaf commits to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// Position of the `key` leaf.
    pub position: u64,
    /// Salt of the payload commitment.
    pub salt: Salt,
    /// Canonical bytes of a [`RotationPayload`].
    pub payload: Vec<u8>,
}

/// What both keys sign: four lines, the first of them fixed. No checkpoint has this form (its second line is
/// a number), so a signature over the one is never one over the other.
///
/// ```
/// use memwarden_ledger::{SignerKey, rotation_statement};
/// let old = SignerKey::from_seed("example.com/log", &[1; 32])?;
/// let new = SignerKey::from_seed("example.com/log", &[2; 32])?;
/// let statement = rotation_statement("example.com/log", old.verifier(), new.verifier());
/// assert!(statement.starts_with(b"memwarden key rotation v1\nexample.com/log\n"));
/// # Ok::<(), memwarden_ledger::KeyError>(())
/// ```
#[must_use]
pub fn rotation_statement(origin: &str, old: &VerifierKey, new: &VerifierKey) -> Vec<u8> {
    format!("memwarden key rotation v1\n{origin}\n{old}\n{new}\n").into_bytes()
}

/// The payload of the leaf that hands the log `origin` over from `old` to `new`.
#[must_use]
pub fn rotate(origin: &str, old: &SignerKey, new: &SignerKey) -> RotationPayload {
    let statement = rotation_statement(origin, old.verifier(), new.verifier());
    RotationPayload {
        old: old.verifier().to_string(),
        new: new.verifier().to_string(),
        signed_by_old: old.sign(&statement),
        signed_by_new: new.sign(&statement),
    }
}

/// The key after the rotation in `payload`, if `current` is the key before it and both signed; else what is
/// wrong.
pub(crate) fn check_rotation(
    origin: &str,
    current: &VerifierKey,
    payload: &[u8],
) -> Result<VerifierKey, &'static str> {
    let payload = RotationPayload::decode(payload).map_err(|_| "its payload is not a rotation")?;
    if payload.old != current.to_string() {
        return Err("it does not start from the key in force");
    }
    let new: VerifierKey = payload
        .new
        .parse()
        .map_err(|_| "its new key is not a verifier key")?;
    if new.name() != origin {
        return Err("its new key has another name than the log");
    }
    let statement = rotation_statement(origin, current, &new);
    if !current.verify(&statement, &payload.signed_by_old) {
        return Err("the old key did not sign it");
    }
    if !new.verify(&statement, &payload.signed_by_new) {
        return Err("the new key did not sign it");
    }
    Ok(new)
}
