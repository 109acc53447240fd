//! A file of dialogues on the disk: one JSON file, or the older layout, a zip archive with a JSON file for each dialogue
//! (or one for all of them) in whatever folders.

use super::{Conversation, LocomoError, parse};
use std::io::{Cursor, Read as _};
use std::path::Path;
use zip::ZipArchive;

/// Most bytes of one file in an archive: a small archive may unpack to more than a machine holds.
const MAX_MEMBER_BYTES: u64 = 64 << 20;

/// Reads dialogues from JSON or from a zip archive; which of the two is told by the first bytes.
///
/// Members of an archive are read in the order of the dialogues' names, numbers in them compared as numbers. Those that
/// end in other than `.json` and those of macOS are passed over.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn read_file(path: &Path) -> Result<Vec<Conversation>, LocomoError> {
    let failed = |reason: String| LocomoError::File {
        path: path.to_owned(),
        reason,
    };
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    if !bytes.starts_with(b"PK\x03\x04") {
        let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))?;
        return parse(&text);
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| failed(error.to_string()))?;
    let mut dialogues = Vec::new();
    for index in 0..archive.len() {
        let member = archive
            .by_index(index)
            .map_err(|error| failed(error.to_string()))?;
        let name = member
            .name()
            .map_err(|error| failed(error.to_string()))?
            .into_owned();
        let is_json = Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "json");
        if !is_json || name.starts_with("__MACOSX/") {
            continue;
        }
        let mut text = String::new();
        let read = member.take(MAX_MEMBER_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| failed(format!("`{name}`: {error}")))?;
        if text.len() as u64 > MAX_MEMBER_BYTES {
            return Err(failed(format!("`{name}` has more than {MAX_MEMBER_BYTES} bytes")));
        }
        dialogues.extend(parse(&text).map_err(|error| failed(format!("`{name}`: {error}")))?);
    }
    if dialogues.is_empty() {
        return Err(failed("the archive holds no `.json` file".to_owned()));
    }
    dialogues.sort_by_key(|dialogue| natural(&dialogue.name));
    Ok(dialogues)
}

/// A name in pieces: text before the number at its end, and the number.
fn natural(name: &str) -> (String, u64) {
    let text = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.strip_prefix(text).and_then(|digits| digits.parse().ok());
    (text.to_owned(), number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locomo::LIGHTHOUSE;
    use serde_json::{Value, json};
    use std::io::Write as _;

    #[test]
    fn the_older_layout_gives_the_same_dialogues() {
        let list: Value = serde_json::from_str(LIGHTHOUSE).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dialogues.zip");
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        let mut ten = list[0].clone();
        ten["sample_id"] = json!("conv-10");
        let mut two = list[0].clone();
        two["sample_id"] = json!("conv-2");
        for (name, text) in [
            ("data/conv-10.json", ten.to_string()),
            ("data/README.md", "no dialogue".to_owned()),
            ("__MACOSX/data/._conv-10.json", "\0".to_owned()),
            ("data/conv-2.json", two.to_string()),
        ] {
            archive.start_file(name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        let read = read_file(&path).unwrap();
        let names: Vec<&str> = read.iter().map(|dialogue| dialogue.name.as_str()).collect();
        assert_eq!(names, ["conv-2", "conv-10"]);
        let plain = directory.path().join("dialogues.json");
        std::fs::write(&plain, LIGHTHOUSE).unwrap();
        assert_eq!(read_file(&plain).unwrap()[0].turns, read[0].turns);
    }

    #[test]
    fn an_archive_of_something_else_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.zip");
        std::fs::write(&path, b"PK\x03\x04rest").unwrap();
        let error = read_file(&path).unwrap_err().to_string();
        assert!(error.contains("a.zip"), "{error}");
    }
}
