//! The textual forms that notes, proofs and exports share: strict base64, lower-case hexadecimal, decimals
//! without leading zeros. Each reader accepts exactly what its writer produces, so a text has one form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memwarden_core::Digest;
use std::fmt::Write as _;

/// RFC 4648 §4 with padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Appends to `out`, whose capacity the caller chose: a secret is not left behind by a reallocation.
pub(crate) fn push_base64(bytes: &[u8], out: &mut String) {
    STANDARD.encode_string(bytes, out);
}

/// Only canonical base64: padding is required and unused bits are zero.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A line that holds one SHA-256 hash.
pub(crate) fn digest_from_base64(text: &str) -> Option<Digest> {
    Digest::try_from(from_base64(text)?.as_slice()).ok()
}

/// A decimal without sign and leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let canonical = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    canonical.then(|| text.parse().ok()).flatten()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Lower-case digits only, an even number of them.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_spelling() {
        assert_eq!(decimal("0"), Some(0));
        assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
        for text in [
            "",
            "00",
            "01",
            "+1",
            "-1",
            " 1",
            "1 ",
            "18446744073709551616",
            "٣",
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(from_hex("00ff"), Some(vec![0, 255]));
        for text in ["0", "0F", "zz", "é0"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
        assert_eq!(from_base64("AA=="), Some(vec![0]));
        for text in ["AA", "AB==", "AA==\n", "A A="] {
            assert_eq!(from_base64(text), None, "{text}");
        }
    }
}
