//! Writes a log as files.

use super::{CHECKPOINT_PATH, LOG_PATH, ROTATIONS_PATH};
use crate::checkpoint::{Checkpoint, CheckpointError, parse_origin};
use crate::encoding::to_hex;
use crate::key::VerifierKey;
use crate::rotation::Rotation;
use crate::tile_path::{entries_path, tile_path};
use crate::tree::{TILE_WIDTH, Tree};
use memwarden_core::leaf_hash;
use memwarden_core::log::Tile;
use std::fmt::Write as _;

/// An export was not written in full.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError<E> {
    /// The caller could not write a file.
    #[error("the export could not be written")]
    Write(#[source] E),
    /// A leaf longer than an entry bundle can carry.
    #[error("log entry {position} has {given} bytes: an entry bundle carries at most 65535")]
    Leaf {
        /// Where.
        position: u64,
        /// Its length.
        given: usize,
    },
    /// A key whose name is not the origin of a log of this project.
    #[error("the name of key `{given}` is not the origin of a log")]
    Key {
        /// The key.
        given: String,
    },
    /// The checkpoint was not accepted.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint is over other leaves than those that were written.
    #[error("the checkpoint of {signed} entries is not over the {size} entries of the export")]
    Mismatch {
        /// Leaves under the checkpoint.
        signed: u64,
        /// Leaves that were written.
        size: u64,
    },
}

/// Takes the path and the bytes of one file.
pub type WriteFile<'a, E> = dyn FnMut(&str, &[u8]) -> Result<(), E> + 'a;

/// Writes all of a log. `checkpoint` is the signed note, `genesis_key` the log's first key.
///
/// # Errors
/// [`ExportError`]; files may then have been written, without a `checkpoint`.
pub fn export<'a, E>(
    leaves: impl IntoIterator<Item = impl AsRef<[u8]>>,
    checkpoint: &str,
    genesis_key: &VerifierKey,
    rotations: &[Rotation],
    write: &'a mut WriteFile<'a, E>,
) -> Result<(), ExportError<E>> {
    let mut exporter = Exporter::new(write);
    for leaf in leaves {
        exporter.push(leaf.as_ref())?;
    }
    exporter.finish(checkpoint, genesis_key, rotations)
}

/// Writes a log whose leaves come one by one. Holds one bundle and one tile for each level in memory.
pub struct Exporter<'a, E> {
    write: &'a mut WriteFile<'a, E>,
    tree: Tree,
    bundle: Vec<u8>,
    full: Vec<Tile>,
}

impl<E> std::fmt::Debug for Exporter<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exporter")
            .field("size", &self.tree.size())
            .finish_non_exhaustive()
    }
}

impl<'a, E> Exporter<'a, E> {
    /// Hands each file to `write`, once, as path and bytes.
    pub fn new(write: &'a mut WriteFile<'a, E>) -> Self {
        Self {
            write,
            tree: Tree::new(),
            bundle: Vec::new(),
            full: Vec::new(),
        }
    }

    /// Takes in the next leaf.
    ///
    /// # Errors
    /// A leaf that is too long, or a file that could not be written.
    pub fn push(&mut self, leaf: &[u8]) -> Result<(), ExportError<E>> {
        let position = self.tree.size();
        let length = u16::try_from(leaf.len()).map_err(|_| ExportError::Leaf {
            position,
            given: leaf.len(),
        })?;
        self.bundle.extend_from_slice(&length.to_be_bytes());
        self.bundle.extend_from_slice(leaf);
        self.tree.append(leaf_hash(leaf), &mut self.full);
        for tile in self.full.drain(..) {
            if tile.level == 0 {
                put(self.write, &entries_path(tile.index, 256), &self.bundle)?;
                self.bundle.clear();
            }
            put(self.write, &tile_path(tile.level, tile.index, 256), &tile.hashes)?;
        }
        Ok(())
    }

    /// Writes what is partial and what is about the whole log; the checkpoint last, so that an export that
    /// was cut off has none.
    ///
    /// # Errors
    /// A checkpoint that is not over these leaves, or a file that could not be written.
    pub fn finish(
        self,
        checkpoint: &str,
        genesis_key: &VerifierKey,
        rotations: &[Rotation],
    ) -> Result<(), ExportError<E>> {
        let size = self.tree.size();
        let origin = genesis_key.name();
        let (_, log) = parse_origin(origin).ok_or_else(|| ExportError::Key {
            given: genesis_key.to_string(),
        })?;
        let signed = Checkpoint::read_unverified(checkpoint)?;
        if signed.origin != origin {
            return Err(ExportError::Checkpoint(CheckpointError::Origin {
                given: signed.origin,
                expected: origin.to_owned(),
            }));
        }
        if signed.size != size || signed.root != self.tree.root() {
            return Err(ExportError::Mismatch {
                signed: signed.size,
                size,
            });
        }
        for tile in self.tree.partial_tiles() {
            let width = u16::try_from(tile.hashes.len() / 32).unwrap_or(0);
            put(
                self.write,
                &tile_path(tile.level, tile.index, width),
                &tile.hashes,
            )?;
            if tile.level == 0 {
                put(self.write, &entries_path(tile.index, width), &self.bundle)?;
            }
        }
        let mut lines = String::new();
        for Rotation {
            position,
            salt,
            payload,
        } in rotations
        {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{position} {salt} {}", to_hex(payload));
        }
        put(self.write, ROTATIONS_PATH, lines.as_bytes())?;
        put(
            self.write,
            LOG_PATH,
            format!("log {log}\nkey {genesis_key}\n").as_bytes(),
        )?;
        put(self.write, CHECKPOINT_PATH, checkpoint.as_bytes())
    }
}

fn put<E>(write: &mut WriteFile<'_, E>, path: &str, bytes: &[u8]) -> Result<(), ExportError<E>> {
    write(path, bytes).map_err(ExportError::Write)
}

const _: () = assert!(TILE_WIDTH == 256, "paths of full tiles say 256");
