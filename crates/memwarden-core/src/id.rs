//! Identifiers, digests and time: fixed-size values that mean one thing each.

use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// An identifier was not written as this project writes them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an id: expected {digits} hexadecimal digits, lower case")]
pub struct IdError {
    /// What was given, cut to 80 characters.
    pub given: String,
    /// How many digits the id has.
    pub digits: usize,
}

fn parse_hex<const N: usize>(text: &str) -> Result<[u8; N], IdError> {
    let bad = || IdError {
        given: text.chars().take(80).collect(),
        digits: 2 * N,
    };
    if text.len() != 2 * N {
        return Err(bad());
    }
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(bad()),
    };
    let mut out = [0; N];
    for (slot, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        if let [high, low] = pair {
            *slot = nibble(*high)? << 4 | nibble(*low)?;
        }
    }
    Ok(out)
}

macro_rules! fixed_bytes {
    ($(#[$doc:meta])* $name:ident, $n:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $n]);

        impl $name {
            /// Wraps raw bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; $n]) -> Self {
                Self(bytes)
            }

            /// The raw bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $n] {
                &self.0
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = IdError;

            fn try_from(bytes: &[u8]) -> Result<Self, IdError> {
                bytes.try_into().map(Self).map_err(|_| IdError {
                    given: format!("{} bytes", bytes.len()),
                    digits: 2 * $n,
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse_hex(text).map(Self)
            }
        }
    };
}

fixed_bytes!(
    /// Identifies a store (one directory, one database).
    StoreId, 16);
fixed_bytes!(
    /// Identifies a log; each tenant of a store has one. Part of every leaf and of the checkpoint's origin.
    LogId, 16);
fixed_bytes!(
    /// Identifies a namespace inside a log. Its name lives only in salted payloads.
    NamespaceId, 16);
fixed_bytes!(
    /// Identifies a record.
    ///
    /// ```
    /// use memwarden_core::RecordId;
    /// let id: RecordId = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
    /// assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0e0f");
    /// assert!("not-ours".parse::<RecordId>().is_err());
    /// ```
    RecordId, 16);
fixed_bytes!(
    /// Identifies a principal.
    PrincipalId, 16);
fixed_bytes!(
    /// Identifies a context: one model's window.
    ContextId, 16);
fixed_bytes!(
    /// A SHA-256 digest.
    Digest, 32);
fixed_bytes!(
    /// The random salt of one payload; destroying it makes the commitment say nothing about the text.
    Salt, 32);

impl PrincipalId {
    /// The warden itself: it expires entries and accounts for recalls without a caller.
    pub const WARDEN: Self = Self([0; 16]);
}

impl Digest {
    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its first 16 hexadecimal digits: enough to tell apart what nobody makes collide, as files of models.
    #[must_use]
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(16);
        digits
    }
}

/// RFC 6962 §2.1 leaf hash: `SHA-256(0x00 ‖ leaf)`.
#[must_use]
pub fn leaf_hash(leaf: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(leaf);
    Digest(hasher.finalize().into())
}

/// RFC 6962 §2.1 node hash: `SHA-256(0x01 ‖ left ‖ right)`.
#[must_use]
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left.0);
    hasher.update(right.0);
    Digest(hasher.finalize().into())
}

/// Microseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_what_they_would_not_print() {
        for text in [
            "",
            "00",
            "000102030405060708090A0B0C0D0E0F",
            "../../etc/passwd",
            "é00102030405060708090a0b0c0d0e0",
        ] {
            assert!(text.parse::<RecordId>().is_err(), "{text}");
        }
    }

    #[test]
    fn hashes_follow_rfc_6962() {
        // The empty-leaf hash and the two-leaf root of the RFC 6962 reference test vectors.
        assert_eq!(
            leaf_hash(b"").to_string(),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
        assert_eq!(
            node_hash(&leaf_hash(b""), &leaf_hash(b"\0")).to_string(),
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
        );
    }
}
