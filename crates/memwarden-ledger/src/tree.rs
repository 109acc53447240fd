//! The Merkle tree of RFC 6962 as far as appending needs it: the roots of its full subtrees (a compact
//! range), and the tiles that are not full yet.
//!
//! Not here: full tiles and leaves, which the store keeps; proofs, which need them.

use memwarden_core::log::Tile;
use memwarden_core::{Digest, node_hash};

/// Hashes in a full tile (C2SP tlog-tiles).
pub const TILE_WIDTH: usize = 256;

/// Tile levels are this many tree levels apart: 256 is 2 to the 8th.
const TILE_HEIGHT: u32 = 8;

/// A tree that grows at its right edge.
///
/// It holds one hash for each bit set in its size and less than one tile for each tile level, so a clone
/// costs a few kilobytes at any size.
///
/// ```
/// use memwarden_core::{leaf_hash, node_hash};
/// use memwarden_ledger::Tree;
/// let (mut tree, mut full) = (Tree::new(), Vec::new());
/// tree.append(leaf_hash(b"a"), &mut full);
/// tree.append(leaf_hash(b"b"), &mut full);
/// assert_eq!(tree.root(), node_hash(&leaf_hash(b"a"), &leaf_hash(b"b")));
/// assert!(full.is_empty(), "a tile is full after 256 leaves");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// Roots of the full subtrees, largest first: one for each bit set in `size`.
    peaks: Vec<Digest>,
    /// By tile level: the hashes of the tile at the right edge, fewer than 256.
    edge: Vec<Vec<u8>>,
}

impl Tree {
    /// The empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a leaf by its hash, and pushes each tile that it completes, lowest level first.
    pub fn append(&mut self, leaf_hash: Digest, full: &mut Vec<Tile>) {
        let mut hash = leaf_hash;
        self.keep(0, &hash, full);
        // Each trailing one bit of the old size is a subtree as large as the one that now ends here.
        for height in 1..=self.size.trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
            if height % TILE_HEIGHT == 0 {
                self.keep(height / TILE_HEIGHT, &hash, full);
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Leaves.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The root (RFC 6962 §2.1); that of the empty tree is SHA-256 of nothing. Takes one hash for each bit
    /// set in the size.
    #[must_use]
    pub fn root(&self) -> Digest {
        self.peaks
            .iter()
            .copied()
            .rev()
            .reduce(|right, left| node_hash(&left, &right))
            .unwrap_or_else(|| Digest::of(b""))
    }

    /// The tiles at the right edge that are not full, lowest level first; each holds 1 to 255 hashes.
    #[must_use]
    pub fn partial_tiles(&self) -> Vec<Tile> {
        (0u8..)
            .zip(&self.edge)
            .filter(|(_, hashes)| !hashes.is_empty())
            .map(|(level, hashes)| Tile {
                level,
                index: tile_index(self.size, level.into()),
                hashes: hashes.clone(),
            })
            .collect()
    }

    /// Puts a hash into the tile at the right edge of `level`, and hands the tile out when it is full.
    fn keep(&mut self, level: u32, hash: &Digest, full: &mut Vec<Tile>) {
        let index = tile_index(self.size, level);
        // A tree of u64 leaves has no tile level above 8.
        let (Ok(slot), Ok(level)) = (usize::try_from(level), u8::try_from(level)) else {
            return;
        };
        if slot == self.edge.len() {
            self.edge.push(Vec::new());
        }
        let Some(hashes) = self.edge.get_mut(slot) else {
            return;
        };
        if hashes.capacity() == 0 {
            hashes.reserve_exact(TILE_WIDTH * 32);
        }
        hashes.extend_from_slice(hash.as_bytes());
        if hashes.len() == TILE_WIDTH * 32 {
            full.push(Tile {
                level,
                index,
                hashes: std::mem::take(hashes),
            });
        }
    }
}

/// The index of the tile of `level` that holds the leaf at `position`.
fn tile_index(position: u64, level: u32) -> u64 {
    position.checked_shr(TILE_HEIGHT * (level + 1)).unwrap_or(0)
}
