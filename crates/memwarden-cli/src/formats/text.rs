//! Bytes into text: UTF-8, or UTF-16 that says so. What is no character becomes U+FFFD and is named.

use super::Problem;
use super::place::Place;
use std::borrow::Cow;

/// How many bytes are looked at to tell text from other files.
const LOOKED_AT_BYTES: usize = 8_192;

/// Text, and what of the bytes was none.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// The text, without byte order mark.
    pub(crate) text: Cow<'a, str>,
    /// The first byte that begins no character, if there is one.
    pub(crate) problem: Option<Problem>,
}

/// The text that a file holds.
pub(crate) fn decoded(bytes: &[u8]) -> Decoded<'_> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
    }
}

/// Whether the beginning of a file is no text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return false;
    }
    let looked_at = bytes.get(..LOOKED_AT_BYTES).unwrap_or(bytes);
    let broken = match std::str::from_utf8(looked_at) {
        Ok(_) => false,
        // A character may be cut by the window, or be the one that a hand-edited file has wrong.
        Err(error) => error.error_len().is_some() && has_many_strays(looked_at),
    };
    broken || looked_at.contains(&0)
}

/// Whether more than one byte in 32 begins no character: a damaged text has a few, an image has many.
fn has_many_strays(bytes: &[u8]) -> bool {
    let strays = bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count();
    strays * 32 > bytes.len()
}

fn utf8(bytes: &[u8]) -> Decoded<'_> {
    let problem = std::str::from_utf8(bytes).err().map(|error| Problem {
        place: Place::Cell(format!("byte {}", error.valid_up_to())),
        message: "begins no character of UTF-8: read as U+FFFD".to_owned(),
    });
    Decoded {
        text: String::from_utf8_lossy(bytes),
        problem,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded<'static> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut broken = !rest.is_empty();
    let text: String = char::decode_utf16(units)
        .map(|c| {
            c.unwrap_or_else(|_| {
                broken = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    Decoded {
        text: Cow::Owned(text),
        problem: broken.then(|| Problem {
            place: Place::document(),
            message: "is UTF-16 with lone surrogates or half a character: these are read as U+FFFD"
                .to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_whatever_its_mark_and_stray_bytes_are_named() {
        let utf16: Vec<u8> = "\u{feff}é朝".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in ["é朝".as_bytes(), b"\xef\xbb\xbf\xc3\xa9\xe6\x9c\x9d", &utf16] {
            let decoded = decoded(bytes);
            assert_eq!((&*decoded.text, decoded.problem), ("é朝", None));
        }
        let stray = decoded(b"caf\xe9 late");
        assert_eq!(stray.text, "caf\u{fffd} late");
        assert_eq!(
            stray.problem.unwrap().to_string(),
            "byte 3: begins no character of UTF-8: read as U+FFFD"
        );
        assert!(decoded(b"\xff\xfea").problem.is_some());
    }

    #[test]
    fn images_are_binary_and_notes_are_not() {
        assert!(is_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"));
        assert!(is_binary(&[0xd8; 64]));
        let mut cut = "x".repeat(LOOKED_AT_BYTES - 1);
        cut.push('é');
        assert!(!is_binary(cut.as_bytes()));
        let note = format!("{}caf\u{e9}", "a long note ".repeat(9));
        let latin: Vec<u8> = note.chars().map(|c| c as u8).collect();
        assert!(!is_binary(&latin));
    }
}
