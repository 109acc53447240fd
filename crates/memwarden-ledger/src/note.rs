//! C2SP signed-note: a text and the signatures under it.
//!
//! Not here: what the text says; see [`crate::checkpoint`].

use crate::encoding::{from_base64, to_base64};
use crate::key::{SignerKey, VerifierKey, checked_name};
use std::fmt;

/// Most signatures under one note. C2SP asks for a limit of at least 16.
pub const MAX_SIGNATURES: usize = 100;

const SIGNATURE_PREFIX: &str = "— ";

/// A note was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// Text that is not a signed note.
    #[error("not a signed note: {reason}")]
    Malformed {
        /// What is wrong.
        reason: &'static str,
    },
    /// No signature by a key that the caller trusts.
    #[error("the note is not signed by a trusted key")]
    Unsigned,
    /// A signature that names a trusted key and is not by it.
    #[error("the signature by `{name}` does not verify")]
    BadSignature {
        /// The key's name.
        name: String,
    },
}

/// One signature line, `— <name> <base64 of key id and signature>`, without the line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureLine {
    /// The key's name.
    pub name: String,
    /// The key's id.
    pub key_id: [u8; 4],
    /// The signature, in the form of its type: 64 bytes for Ed25519.
    pub signature: Vec<u8>,
}

impl SignatureLine {
    /// Reads one line.
    ///
    /// # Errors
    /// [`NoteError::Malformed`].
    pub fn parse(line: &str) -> Result<Self, NoteError> {
        let parts = line
            .strip_prefix(SIGNATURE_PREFIX)
            .and_then(|rest| rest.split_once(' '))
            .ok_or(malformed("a signature line is not `— name base64`"))?;
        let name = checked_name(parts.0).map_err(|_| malformed("a signature has no valid key name"))?;
        let bytes = from_base64(parts.1).ok_or(malformed("a signature is not base64"))?;
        match bytes.split_first_chunk() {
            Some((key_id, signature)) if !signature.is_empty() => Ok(Self {
                name: name.to_owned(),
                key_id: *key_id,
                signature: signature.to_vec(),
            }),
            _ => Err(malformed("a signature is too short")),
        }
    }
}

impl fmt::Display for SignatureLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.key_id.to_vec();
        bytes.extend_from_slice(&self.signature);
        write!(f, "{SIGNATURE_PREFIX}{} {}", self.name, to_base64(&bytes))
    }
}

/// Signs `text`, which ends with a line break and holds no other control characters.
///
/// # Errors
/// [`NoteError::Malformed`]: a text that no note can carry.
///
/// ```
/// use memwarden_ledger::{SignerKey, open_note, sign_note};
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// let note = sign_note("hello\n", &signer)?;
/// assert_eq!(open_note(&note, &[signer.verifier().clone()])?, "hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sign_note(text: &str, signer: &SignerKey) -> Result<String, NoteError> {
    if !text.ends_with('\n') {
        return Err(malformed("its text does not end with a line break"));
    }
    check_characters(text)?;
    Ok(seal(text, signer))
}

/// The text of `note`, if at least one of `keys` signed it and none of them has a wrong signature under it.
/// Signatures by other keys are ignored.
///
/// # Errors
/// [`NoteError`].
pub fn open_note<'a>(note: &'a str, keys: &[VerifierKey]) -> Result<&'a str, NoteError> {
    let (text, signatures) = split_note(note)?;
    let mut signed = false;
    for line in signatures {
        let Some(key) = keys
            .iter()
            .find(|key| key.name() == line.name && key.id() == line.key_id)
        else {
            continue;
        };
        let valid = <&[u8; 64]>::try_from(line.signature.as_slice())
            .is_ok_and(|signature| key.verify(text.as_bytes(), signature));
        if !valid {
            return Err(NoteError::BadSignature { name: line.name });
        }
        signed = true;
    }
    if signed {
        Ok(text)
    } else {
        Err(NoteError::Unsigned)
    }
}

/// The text of `note` and the lines under it, **with no signature checked**.
///
/// # Errors
/// [`NoteError::Malformed`].
pub fn split_note(note: &str) -> Result<(&str, Vec<SignatureLine>), NoteError> {
    check_characters(note)?;
    let (head, block) = note
        .rsplit_once("\n\n")
        .ok_or(malformed("no blank line before the signatures"))?;
    // The line break before the blank line belongs to the text.
    let text = note
        .get(..=head.len())
        .ok_or(malformed("no blank line before the signatures"))?;
    let lines = block
        .strip_suffix('\n')
        .ok_or(malformed("it does not end with a line break"))?;
    if lines.split('\n').count() > MAX_SIGNATURES {
        return Err(malformed("too many signatures"));
    }
    let signatures = lines
        .split('\n')
        .map(SignatureLine::parse)
        .collect::<Result<_, _>>()?;
    Ok((text, signatures))
}

/// A note over a text that is known to be well formed.
pub(crate) fn seal(text: &str, signer: &SignerKey) -> String {
    let line = SignatureLine {
        name: signer.name().to_owned(),
        key_id: signer.verifier().id(),
        signature: signer.sign(text.as_bytes()).to_vec(),
    };
    format!("{text}\n{line}\n")
}

const fn malformed(reason: &'static str) -> NoteError {
    NoteError::Malformed { reason }
}

fn check_characters(text: &str) -> Result<(), NoteError> {
    if text.bytes().any(|byte| byte < 0x20 && byte != b'\n') {
        return Err(malformed("it holds a control character"));
    }
    Ok(())
}
