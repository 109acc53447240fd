//! Ed25519 keys with a name, in the textual forms of C2SP signed-note and of Go's `sumdb/note`.
//!
//! A key's name is the origin of the log that it signs for. Not here: where keys are kept, and how a seed
//! is made.

use crate::encoding::{from_base64, push_base64, to_base64};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use memwarden_core::Digest;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// The signature type of plain Ed25519 (C2SP signed-note, "Signature types").
pub const ALGORITHM_ED25519: u8 = 0x01;

const PRIVATE_PREFIX: &str = "PRIVATE+KEY+";

/// A key was not accepted. Messages never repeat a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A name that signed notes cannot carry.
    #[error("key name `{given}` is not valid: expected text without spaces, `+` and control characters")]
    Name {
        /// The name, cut to 80 characters.
        given: String,
    },
    /// Text of another form.
    #[error("not a key: expected `{expected}`")]
    Form {
        /// The form.
        expected: &'static str,
    },
    /// A signature type that this version does not use.
    #[error("key has signature type {given}: expected 1 (Ed25519)")]
    Algorithm {
        /// The type.
        given: u8,
    },
    /// The id in the text is not the id of the key.
    #[error("key id `{given}` does not belong to this name and key")]
    Id {
        /// The id in the text, cut to 80 characters.
        given: String,
    },
    /// Bytes that are not a safe Ed25519 public key.
    #[error("not an Ed25519 public key, or one that anybody can sign for")]
    Point,
}

/// A public key and its name: `<name>+<id, 8 hexadecimal digits>+<base64 of type and key>`.
///
/// ```
/// use memwarden_ledger::{SignerKey, VerifierKey};
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// let printed = signer.verifier().to_string();
/// assert_eq!(printed.parse::<VerifierKey>()?, *signer.verifier());
/// # Ok::<(), memwarden_ledger::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl VerifierKey {
    /// The name that signatures by this key carry.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of `SHA-256(name ‖ "\n" ‖ type ‖ key)` (C2SP signed-note).
    #[must_use]
    pub const fn id(&self) -> [u8; 4] {
        self.id
    }

    /// Whether `signature` is this key's Ed25519 signature over `message` (RFC 8032, strict: no small-order
    /// keys, no malleable signatures).
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.key
            .verify_strict(message, &Signature::from_bytes(signature))
            .is_ok()
    }

    fn new(name: &str, key: VerifyingKey) -> Result<Self, KeyError> {
        if key.is_weak() {
            return Err(KeyError::Point);
        }
        Ok(Self {
            name: checked_name(name)?.to_owned(),
            id: key_id(name, &key),
            key,
        })
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = to_base64(&typed(self.key.as_bytes())[..]);
        write!(f, "{}+{:08x}+{key}", self.name, u32::from_be_bytes(self.id))
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}

impl FromStr for VerifierKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, bytes) = split_key(text).ok_or(KeyError::Form {
            expected: "<name>+<id>+<base64 key>",
        })?;
        let key = VerifyingKey::from_bytes(&bytes?).map_err(|_| KeyError::Point)?;
        let verifier = Self::new(name, key)?;
        check_id(id, &verifier)?;
        Ok(verifier)
    }
}

/// A private key and its name. Printing it shows only the public half; it is wiped when dropped.
///
/// ```
/// use memwarden_ledger::SignerKey;
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// assert!(!format!("{signer:?}").contains("PRIVATE"));
/// let kept = signer.to_private_string();
/// let again: SignerKey = kept.parse()?;
/// assert!(again.verifier().verify(b"text", &signer.sign(b"text")));
/// # Ok::<(), memwarden_ledger::KeyError>(())
/// ```
#[derive(Clone)]
pub struct SignerKey {
    key: SigningKey,
    verifier: VerifierKey,
}

impl SignerKey {
    /// The key that belongs to `seed`: 32 bytes from a random source that the caller trusts (RFC 8032 §5.1.5).
    ///
    /// # Errors
    /// A name that signed notes cannot carry.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, KeyError> {
        let key = SigningKey::from_bytes(seed);
        let verifier = VerifierKey::new(name, key.verifying_key())?;
        Ok(Self { key, verifier })
    }

    /// The public half.
    #[must_use]
    pub const fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    /// The name that signatures by this key carry.
    #[must_use]
    pub fn name(&self) -> &str {
        self.verifier.name()
    }

    /// The Ed25519 signature over `message`, which the caller MUST keep apart from note texts by its form.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }

    /// The secret, for a key file: `PRIVATE+KEY+<name>+<id>+<base64 of type and seed>`.
    #[must_use]
    pub fn to_private_string(&self) -> Zeroizing<String> {
        let name = self.name();
        // 8 digits, 2 signs, 44 characters of base64; with room to spare, so that nothing is moved.
        let mut text = Zeroizing::new(String::with_capacity(PRIVATE_PREFIX.len() + name.len() + 80));
        text.push_str(PRIVATE_PREFIX);
        text.push_str(name);
        text.push_str(&format!("+{:08x}+", u32::from_be_bytes(self.verifier.id)));
        push_base64(&typed(self.key.as_bytes())[..], &mut text);
        text
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignerKey({})", self.verifier)
    }
}

impl FromStr for SignerKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, seed) =
            text.strip_prefix(PRIVATE_PREFIX)
                .and_then(split_key)
                .ok_or(KeyError::Form {
                    expected: "PRIVATE+KEY+<name>+<id>+<base64 seed>",
                })?;
        let signer = Self::from_seed(name, &Zeroizing::new(seed?))?;
        check_id(id, &signer.verifier)?;
        Ok(signer)
    }
}

/// A name as signed notes allow it: not empty, no Unicode spaces, no `+`, no control characters.
pub(crate) fn checked_name(name: &str) -> Result<&str, KeyError> {
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+') {
        return Err(KeyError::Name { given: cut(name) });
    }
    Ok(name)
}

fn key_id(name: &str, key: &VerifyingKey) -> [u8; 4] {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes.extend_from_slice(&typed(key.as_bytes())[..]);
    let digest = Digest::of(&bytes);
    let [a, b, c, d, ..] = *digest.as_bytes();
    [a, b, c, d]
}

fn typed(key: &[u8; 32]) -> Zeroizing<[u8; 33]> {
    let mut bytes = Zeroizing::new([ALGORITHM_ED25519; 33]);
    for (slot, byte) in bytes.iter_mut().skip(1).zip(key) {
        *slot = *byte;
    }
    bytes
}

type KeyParts<'a> = (&'a str, &'a str, Result<[u8; 32], KeyError>);

fn split_key(text: &str) -> Option<KeyParts<'_>> {
    let mut parts = text.splitn(3, '+');
    let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = Zeroizing::new(from_base64(key)?);
    let (algorithm, key) = bytes.split_first()?;
    let key = key.try_into().ok()?;
    Some((
        name,
        id,
        match *algorithm {
            ALGORITHM_ED25519 => Ok(key),
            given => Err(KeyError::Algorithm { given }),
        },
    ))
}

fn check_id(given: &str, key: &VerifierKey) -> Result<(), KeyError> {
    if given == format!("{:08x}", u32::from_be_bytes(key.id)) {
        Ok(())
    } else {
        Err(KeyError::Id { given: cut(given) })
    }
}

fn cut(text: &str) -> String {
    text.chars()
        .take(80)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
