//! Checks a log that lies in files, and says what the result is worth.

use super::{CHECKPOINT_PATH, LOG_PATH, ROTATIONS_PATH};
use crate::checkpoint::{Checkpoint, parse_origin};
use crate::encoding::{decimal, from_hex};
use crate::key::VerifierKey;
use crate::rotation::Rotation;
use crate::tile_path::{entries_path, tile_path};
use crate::verify::{LogVerifier, VerifiedLog, VerifyError, tile_error};
use memwarden_core::LogId;
use memwarden_core::log::Tile;
use std::fmt;

/// What a verification is relative to, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// Nothing that was known before: the log agrees with itself, and whoever wrote the files may have made
    /// all of it.
    InternalOnly,
    /// A key that was known before signed it; its holder may have signed another log as well.
    KnownKey,
    /// Its beginning is the log of a checkpoint that was held before.
    HeldCheckpoint,
}

/// A log that verified from its files, and relative to what.
#[derive(Debug)]
pub struct ExportReport {
    /// The log.
    pub log: VerifiedLog,
    /// The strongest thing known before.
    pub trust: Trust,
    /// The checkpoint that was held before, if there was one over at least one leaf.
    pub held: Option<Checkpoint>,
    /// The key that was known before, if there was one.
    pub known_key: Option<VerifierKey>,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.log.checkpoint.size;
        let Some(held) = &self.held else {
            return match &self.known_key {
                Some(key) => write!(
                    f,
                    "the {size} entries are signed by the known key `{key}` or a key it was rotated to or from; \
                     no checkpoint was held before, so its holder may have replaced the log"
                ),
                None => write!(
                    f,
                    "internally consistent only: the {size} entries agree with the key and checkpoint that came \
                     with them, and neither was known before"
                ),
            };
        };
        write!(
            f,
            "entries 0 to {} (exclusive) are those of the checkpoint held before; nothing among them was changed, \
             dropped or reordered",
            held.size
        )?;
        match &self.known_key {
            Some(key) => write!(
                f,
                "; all {size} are signed by the known key `{key}` or a key it was rotated to or from"
            ),
            None if held.size < size => write!(
                f,
                "; those after them are signed by the key that came with the log, which was not known before"
            ),
            None => Ok(()),
        }
    }
}

/// Returns the bytes at a path of an export; `None` if there is no such file.
pub type ReadFile<'a> = dyn FnMut(&str) -> Option<Vec<u8>> + 'a;

/// Checks an export file by file. `read` returns the bytes at a path; `held` is a checkpoint and
/// `trusted_key` a key, current or former, that the caller had **before** it got the files.
///
/// # Errors
/// [`VerifyError`]: the log, or one of its files, is not what it should be.
pub fn verify_export(
    read: &mut ReadFile<'_>,
    held: Option<Checkpoint>,
    trusted_key: Option<VerifierKey>,
) -> Result<ExportReport, VerifyError> {
    let (log, genesis_key) = read_log(&need_text(read, LOG_PATH)?)?;
    let note = need_text(read, CHECKPOINT_PATH)?;
    let size = Checkpoint::read_unverified(&note)?.size;
    let mut verifier = LogVerifier::new(log, genesis_key.name().to_owned(), genesis_key);
    // Every log continues the empty one: that says nothing.
    let held = held.filter(|held| held.size > 0);
    if let Some(held) = held.clone() {
        verifier.expect_prefix(held)?;
    }
    for index in 0..size / 256 {
        push_bundle(&mut verifier, read, index, 256)?;
    }
    let rest = u16::try_from(size % 256).unwrap_or(0);
    if rest > 0 {
        push_bundle(&mut verifier, read, size / 256, rest)?;
    }
    check_tiles(&mut verifier, read)?;
    for rotation in read_rotations(&need_text(read, ROTATIONS_PATH)?)? {
        verifier.rotation(rotation.position, &rotation.salt, &rotation.payload)?;
    }
    let log = verifier.finish(&note)?;
    if let Some(key) = &trusted_key
        && *key != log.key
        && !log.former_keys.contains(key)
    {
        return Err(VerifyError::UntrustedKey {
            given: key.to_string(),
        });
    }
    let trust = match (&held, &trusted_key) {
        (Some(_), _) => Trust::HeldCheckpoint,
        (None, Some(_)) => Trust::KnownKey,
        (None, None) => Trust::InternalOnly,
    };
    Ok(ExportReport {
        log,
        trust,
        held,
        known_key: trusted_key,
    })
}

fn need(read: &mut ReadFile<'_>, path: &str) -> Result<Vec<u8>, VerifyError> {
    read(path).ok_or_else(|| VerifyError::MissingFile {
        path: path.to_owned(),
    })
}

fn need_text(read: &mut ReadFile<'_>, path: &str) -> Result<String, VerifyError> {
    String::from_utf8(need(read, path)?).map_err(|_| file(path, "is not UTF-8"))
}

fn file(path: &str, problem: &'static str) -> VerifyError {
    VerifyError::File {
        path: path.to_owned(),
        problem,
    }
}

fn read_log(text: &str) -> Result<(LogId, VerifierKey), VerifyError> {
    let parsed = || {
        let (log, rest) = text.strip_prefix("log ")?.split_once("\nkey ")?;
        let log: LogId = log.parse().ok()?;
        let key: VerifierKey = rest.strip_suffix('\n')?.parse().ok()?;
        Some((log, key))
    };
    let (log, key) = parsed().ok_or_else(|| file(LOG_PATH, "is not `log <id>` and `key <verifier key>`"))?;
    match parse_origin(key.name()) {
        Some((_, named)) if named == log => Ok((log, key)),
        _ => Err(file(LOG_PATH, "has a key that is not named after the log")),
    }
}

fn read_rotations(text: &str) -> Result<Vec<Rotation>, VerifyError> {
    let line = |line: &str| {
        let (position, rest) = line.split_once(' ')?;
        let (salt, payload) = rest.split_once(' ')?;
        Some(Rotation {
            position: decimal(position)?,
            salt: salt.parse().ok()?,
            payload: from_hex(payload)?,
        })
    };
    text.split_terminator('\n')
        .map(|text| {
            line(text).ok_or_else(|| file(ROTATIONS_PATH, "is not `<position> <salt> <payload>` lines"))
        })
        .collect()
}

fn push_bundle(
    verifier: &mut LogVerifier,
    read: &mut ReadFile<'_>,
    index: u64,
    width: u16,
) -> Result<(), VerifyError> {
    let path = entries_path(index, width);
    let bytes = need(read, &path)?;
    let mut rest = bytes.as_slice();
    for _ in 0..width {
        let entry = rest
            .split_first_chunk::<2>()
            .and_then(|(length, tail)| tail.split_at_checked(usize::from(u16::from_be_bytes(*length))));
        let (leaf, tail) = entry.ok_or_else(|| file(&path, "ends inside an entry"))?;
        verifier.push(leaf)?;
        rest = tail;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(file(&path, "holds more entries than its path says"))
    }
}

fn check_tiles(verifier: &mut LogVerifier, read: &mut ReadFile<'_>) -> Result<(), VerifyError> {
    let full: Vec<_> = verifier.missing_tiles().collect();
    for (level, index) in full {
        let hashes = need(read, &tile_path(level, index, 256))?;
        verifier.tile(&Tile { level, index, hashes })?;
    }
    for tile in verifier.tree().partial_tiles() {
        let width = u16::try_from(tile.hashes.len() / 32).unwrap_or(0);
        if need(read, &tile_path(tile.level, tile.index, width))? != tile.hashes {
            return Err(tile_error(
                tile.level,
                tile.index,
                "does not hold the hashes that the entries give",
            ));
        }
    }
    Ok(())
}
