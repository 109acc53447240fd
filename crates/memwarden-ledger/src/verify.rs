//! Checks a whole log, leaf by leaf: encoding, order, sense, tree, tiles, rotations, signature.
//!
//! What success means depends on what the caller knew before. With the public key: these are leaves that its
//! holder signed. With a checkpoint held before ([`LogVerifier::expect_prefix`]): also that nothing under it
//! was changed, dropped or reordered since. Not here: rows and payloads of a store, which are compared with
//! the [`Replay`] that comes out.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::key::VerifierKey;
use crate::proof::root_of;
use crate::rotation::check_rotation;
use crate::tree::Tree;
use memwarden_core::log::Tile;
use memwarden_core::{
    DecodeError, Digest, Leaf, LeafKind, LogId, Replay, ReplayError, Salt, commitment, leaf_hash,
};
use std::collections::BTreeMap;

/// A log did not verify. Positions count from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// Bytes that are not a leaf.
    #[error("log entry {position} is not a leaf: {source}")]
    Leaf {
        /// Where.
        position: u64,
        /// What is wrong.
        source: DecodeError,
    },
    /// A leaf that does not follow from those in front of it.
    #[error(transparent)]
    Order(#[from] ReplayError),
    /// The log is not a continuation of the one that was seen before.
    #[error("entries 0 to {size} (exclusive) are not those of the checkpoint held before")]
    Prefix {
        /// Leaves under the checkpoint held before.
        size: u64,
    },
    /// The log lost leaves.
    #[error("the log has {size} entries: the checkpoint held before has {held}")]
    Shorter {
        /// Leaves.
        size: u64,
        /// Leaves under the checkpoint held before.
        held: u64,
    },
    /// A checkpoint held before was named after its last leaf had passed.
    #[error("the checkpoint of {held} entries must be given before entry {held} is read")]
    TooLate {
        /// Leaves under the checkpoint held before.
        held: u64,
    },
    /// A rotation that does not hold.
    #[error("the key rotation in log entry {position} does not hold: {problem}")]
    Rotation {
        /// Where.
        position: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A tile with other hashes than the leaves give, or one that the leaves do not fill.
    #[error("tile {index} of level {level} (entries from {position}) {problem}")]
    Tile {
        /// Its level.
        level: u8,
        /// Its index in the level.
        index: u64,
        /// The first leaf under it.
        position: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The checkpoint is for another number of leaves.
    #[error("the checkpoint is over {signed} entries: the log has {size}")]
    Size {
        /// Leaves under the checkpoint.
        signed: u64,
        /// Leaves.
        size: u64,
    },
    /// The checkpoint is for other leaves.
    #[error("the checkpoint is not over these {size} entries: its root is another")]
    Root {
        /// Leaves.
        size: u64,
    },
    /// The checkpoint was not accepted.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The key that the caller trusts never signed for this log.
    #[error("the trusted key `{given}` is not among the keys of this log")]
    UntrustedKey {
        /// The trusted key.
        given: String,
    },
    /// A file of an export is not there.
    #[error("`{path}` is missing")]
    MissingFile {
        /// Its path in the export.
        path: String,
    },
    /// A file of an export is not what it should be.
    #[error("`{path}` {problem}")]
    File {
        /// Its path in the export.
        path: String,
        /// What is wrong.
        problem: &'static str,
    },
}

/// A log that verified.
#[derive(Debug, Clone)]
pub struct VerifiedLog {
    /// What was signed.
    pub checkpoint: Checkpoint,
    /// What the leaves say now.
    pub replay: Replay,
    /// The tree over them.
    pub tree: Tree,
    /// The key in force.
    pub key: VerifierKey,
    /// The keys before it, oldest first.
    pub former_keys: Vec<VerifierKey>,
}

/// Takes in a log from its first leaf. After an error, only [`LogVerifier::finish`] is of use, and it fails.
///
/// ```
/// use memwarden_core::LogId;
/// use memwarden_ledger::{Checkpoint, LogVerifier, SignerKey, Tree};
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// let note = Checkpoint { origin: "example.com/log".into(), size: 0, root: Tree::new().root() }.sign(&signer);
/// let verifier = LogVerifier::new(LogId::from_bytes([2; 16]), "example.com/log".into(), signer.verifier().clone());
/// assert_eq!(verifier.finish(&note)?.replay.size(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogVerifier {
    origin: String,
    key: VerifierKey,
    former_keys: Vec<VerifierKey>,
    replay: Replay,
    tree: Tree,
    /// Commitments of `key` leaves that no rotation claimed yet, in order.
    key_leaves: Vec<(u64, Digest)>,
    /// Checkpoints held before that were not met yet, largest first.
    expected: Vec<Checkpoint>,
    /// SHA-256 of full tiles that were not compared yet.
    tiles: BTreeMap<(u8, u64), Digest>,
    /// Emptied after each leaf; kept for its memory.
    full: Vec<Tile>,
    failed: Option<VerifyError>,
}

impl LogVerifier {
    /// For the log `log` with this `origin`, whose first key is `genesis_key`.
    #[must_use]
    pub fn new(log: LogId, origin: String, genesis_key: VerifierKey) -> Self {
        Self {
            origin,
            key: genesis_key,
            former_keys: Vec::new(),
            replay: Replay::new(log),
            tree: Tree::new(),
            key_leaves: Vec::new(),
            expected: Vec::new(),
            tiles: BTreeMap::new(),
            full: Vec::new(),
            failed: None,
        }
    }

    /// Demands that the first `held.size` leaves are those that `held` was signed over. May be called for
    /// several checkpoints, before the last leaf under each is pushed.
    ///
    /// # Errors
    /// A checkpoint of another log, or one whose leaves have passed.
    pub fn expect_prefix(&mut self, held: Checkpoint) -> Result<(), VerifyError> {
        if held.origin != self.origin {
            return self.fail(VerifyError::Checkpoint(CheckpointError::Origin {
                given: held.origin,
                expected: self.origin.clone(),
            }));
        }
        if held.size < self.tree.size() {
            return self.fail(VerifyError::TooLate { held: held.size });
        }
        self.expected.push(held);
        self.expected
            .sort_unstable_by_key(|held| std::cmp::Reverse(held.size));
        self.check_prefix()
    }

    /// Takes in the next leaf.
    ///
    /// # Errors
    /// A leaf that does not decode or follow, or a prefix that is not the expected one.
    pub fn push(&mut self, leaf_bytes: &[u8]) -> Result<(), VerifyError> {
        let position = self.tree.size();
        let leaf = match Leaf::decode(leaf_bytes) {
            Ok(leaf) => leaf,
            Err(source) => return self.fail(VerifyError::Leaf { position, source }),
        };
        let hash = leaf_hash(leaf_bytes);
        if let Err(error) = self.replay.apply(&leaf, hash) {
            return self.fail(VerifyError::Order(error));
        }
        self.tree.append(hash, &mut self.full);
        for tile in self.full.drain(..) {
            self.tiles
                .insert((tile.level, tile.index), Digest::of(&tile.hashes));
        }
        if leaf.kind == LeafKind::Key {
            self.key_leaves.push((position, leaf.payload));
        }
        self.check_prefix()
    }

    /// Hands over what the `key` leaf at `position` commits to, when that is a rotation of the signing key;
    /// in the order of positions, after the leaf itself was pushed.
    ///
    /// # Errors
    /// [`VerifyError::Rotation`].
    pub fn rotation(&mut self, position: u64, salt: &Salt, payload: &[u8]) -> Result<(), VerifyError> {
        let checked = match self.key_leaves.binary_search_by_key(&position, |(at, _)| *at) {
            Err(_) => Err("there is no `key` entry that comes after the rotations given so far"),
            Ok(found) => match self.key_leaves.get(found) {
                Some((_, leaf)) if *leaf == commitment(salt, payload) => {
                    check_rotation(&self.origin, &self.key, payload).map(|new| (found, new))
                }
                _ => Err("the entry commits to another payload"),
            },
        };
        match checked {
            Ok((found, new)) => {
                self.key_leaves.drain(..=found);
                self.former_keys.push(std::mem::replace(&mut self.key, new));
                Ok(())
            }
            Err(problem) => self.fail(VerifyError::Rotation { position, problem }),
        }
    }

    /// Compares a stored full tile with the leaves, all of which were pushed before. Each tile is compared
    /// once.
    ///
    /// # Errors
    /// [`VerifyError::Tile`].
    pub fn tile(&mut self, tile: &Tile) -> Result<(), VerifyError> {
        let problem = match self.tiles.remove(&(tile.level, tile.index)) {
            Some(digest) if digest == Digest::of(&tile.hashes) => return Ok(()),
            Some(_) => "does not hold the hashes that the entries give",
            None => "is not a full tile of this log, or was given before",
        };
        let error = tile_error(tile.level, tile.index, problem);
        self.fail(error)
    }

    /// The full tiles, as level and index, that the leaves give and [`LogVerifier::tile`] did not see.
    pub fn missing_tiles(&self) -> impl Iterator<Item = (u8, u64)> {
        self.tiles.keys().copied()
    }

    /// The tree over the leaves so far.
    #[must_use]
    pub const fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The key in force after the rotations so far.
    #[must_use]
    pub const fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// Checks that the key in force signed exactly these leaves.
    ///
    /// # Errors
    /// The first error of an earlier call, a checkpoint that is not over these leaves or not by the key in
    /// force, or a log that is shorter than a checkpoint held before.
    pub fn finish(self, checkpoint_note: &str) -> Result<VerifiedLog, VerifyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let size = self.tree.size();
        if let Some(held) = self.expected.first() {
            return Err(VerifyError::Shorter {
                size,
                held: held.size,
            });
        }
        let checkpoint = Checkpoint::open(checkpoint_note, &self.origin, std::slice::from_ref(&self.key))?;
        if checkpoint.size != size {
            return Err(VerifyError::Size {
                signed: checkpoint.size,
                size,
            });
        }
        if checkpoint.root != self.tree.root() {
            return Err(VerifyError::Root { size });
        }
        Ok(VerifiedLog {
            checkpoint,
            replay: self.replay,
            tree: self.tree,
            key: self.key,
            former_keys: self.former_keys,
        })
    }

    fn check_prefix(&mut self) -> Result<(), VerifyError> {
        while let Some(held) = self.expected.pop_if(|held| held.size == self.tree.size()) {
            if held.root != self.tree.root() {
                return self.fail(VerifyError::Prefix { size: held.size });
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: VerifyError) -> Result<(), VerifyError> {
        self.failed.get_or_insert_with(|| error.clone());
        Err(error)
    }
}

/// Confirms that `held` was signed over the first leaves of a log, given the hashes of all its leaves.
///
/// # Errors
/// [`VerifyError::Shorter`] or [`VerifyError::Prefix`].
///
/// ```
/// use memwarden_core::leaf_hash;
/// use memwarden_ledger::{Checkpoint, check_against, root_of};
/// let hashes = [leaf_hash(b"a"), leaf_hash(b"b"), leaf_hash(b"c")];
/// let held = Checkpoint { origin: "log".into(), size: 2, root: root_of(&hashes[..2]) };
/// assert!(check_against(&held, &hashes).is_ok());
/// assert!(check_against(&held, &hashes[1..]).is_err());
/// ```
pub fn check_against(held: &Checkpoint, leaf_hashes: &[Digest]) -> Result<(), VerifyError> {
    let prefix = usize::try_from(held.size)
        .ok()
        .and_then(|size| leaf_hashes.get(..size))
        .ok_or(VerifyError::Shorter {
            size: leaf_hashes.len() as u64,
            held: held.size,
        })?;
    if root_of(prefix) == held.root {
        Ok(())
    } else {
        Err(VerifyError::Prefix { size: held.size })
    }
}

pub(crate) fn tile_error(level: u8, index: u64, problem: &'static str) -> VerifyError {
    VerifyError::Tile {
        level,
        index,
        position: index.checked_shl(8 * (u32::from(level) + 1)).unwrap_or(u64::MAX),
        problem,
    }
}
