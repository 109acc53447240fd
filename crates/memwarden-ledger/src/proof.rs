//! Inclusion and consistency proofs: made from all leaf hashes, checked from a few.
//!
//! Proofs follow RFC 6962 §2.1.1 and §2.1.2; the checks follow RFC 9162 §2.1.3.2 and §2.1.4.2.

use memwarden_core::{Digest, node_hash};

/// A proof could not be made, or does not show what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// No such leaf, or no such tree.
    #[error("no proof from {from} to a tree of {size} leaves: {known} leaves are known")]
    Range {
        /// The leaf's index or the older size.
        from: u64,
        /// The size of the tree.
        size: u64,
        /// How many leaf hashes were given.
        known: u64,
    },
    /// More or fewer hashes than the sizes ask for.
    #[error("the proof holds {given} hashes, which is not the number for these sizes")]
    Length {
        /// How many.
        given: usize,
    },
    /// The hashes lead to another root.
    #[error("the proof leads to another root")]
    Root,
}

/// The RFC 6962 root over all of `leaf_hashes`.
#[must_use]
pub fn root_of(leaf_hashes: &[Digest]) -> Digest {
    match leaf_hashes {
        [] => Digest::of(b""),
        [only] => *only,
        _ => {
            let (left, right) = split(leaf_hashes);
            node_hash(&root_of(left), &root_of(right))
        }
    }
}

/// The proof that the leaf at `index` is in the tree of the first `size` leaves: sibling of the leaf first.
///
/// # Errors
/// [`ProofError::Range`].
///
/// ```
/// use memwarden_core::leaf_hash;
/// use memwarden_ledger::{inclusion_proof, root_of, verify_inclusion};
/// let hashes: Vec<_> = (0..5u8).map(|n| leaf_hash(&[n])).collect();
/// let proof = inclusion_proof(&hashes, 2, 5)?;
/// verify_inclusion(hashes[2], 2, 5, &proof, root_of(&hashes))?;
/// assert!(verify_inclusion(hashes[1], 2, 5, &proof, root_of(&hashes)).is_err());
/// # Ok::<(), memwarden_ledger::ProofError>(())
/// ```
pub fn inclusion_proof(leaf_hashes: &[Digest], index: u64, size: u64) -> Result<Vec<Digest>, ProofError> {
    let tree = first(leaf_hashes, index, size)?;
    let mut at = small(index, index, size, leaf_hashes)?;
    if at >= tree.len() {
        return Err(out_of_range(index, size, leaf_hashes));
    }
    let mut proof = Vec::new();
    let mut within = tree;
    while within.len() > 1 {
        let (left, right) = split(within);
        if at < left.len() {
            proof.push(root_of(right));
            within = left;
        } else {
            at -= left.len();
            proof.push(root_of(left));
            within = right;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// The proof that the tree of the first `new` leaves continues that of the first `old`. Empty for equal
/// sizes and for `old` = 0.
///
/// # Errors
/// [`ProofError::Range`].
pub fn consistency_proof(leaf_hashes: &[Digest], old: u64, new: u64) -> Result<Vec<Digest>, ProofError> {
    let tree = first(leaf_hashes, old, new)?;
    let mut old_size = small(old, old, new, leaf_hashes)?;
    if old_size > tree.len() {
        return Err(out_of_range(old, new, leaf_hashes));
    }
    if old_size == 0 || old_size == tree.len() {
        return Ok(Vec::new());
    }
    let mut proof = Vec::new();
    let mut within = tree;
    // Whether `within` starts where the old tree starts: its old root is then known to the verifier.
    let mut whole = true;
    while old_size < within.len() {
        let (left, right) = split(within);
        if old_size <= left.len() {
            proof.push(root_of(right));
            within = left;
        } else {
            old_size -= left.len();
            proof.push(root_of(left));
            within = right;
            whole = false;
        }
    }
    if !whole {
        proof.push(root_of(within));
    }
    proof.reverse();
    Ok(proof)
}

/// Checks that the leaf at `index` of a tree of `size` leaves with this `root` has `leaf_hash`.
///
/// # Errors
/// [`ProofError`].
pub fn verify_inclusion(
    leaf_hash: Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: Digest,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::Range {
            from: index,
            size,
            known: size,
        });
    }
    let length = ProofError::Length { given: proof.len() };
    let mut path = Path {
        node: index,
        last: size - 1,
    };
    let mut hash = leaf_hash;
    for sibling in proof {
        match path.climb() {
            None => return Err(length),
            Some(Side::Left) => hash = node_hash(sibling, &hash),
            Some(Side::Right) => hash = node_hash(&hash, sibling),
        }
    }
    if path.last != 0 {
        return Err(length);
    }
    if hash == root {
        Ok(())
    } else {
        Err(ProofError::Root)
    }
}

/// Checks that a tree of `new_size` leaves with `new_root` continues one of `old_size` with `old_root`.
/// Every tree continues the empty one.
///
/// # Errors
/// [`ProofError`].
pub fn verify_consistency(
    old_size: u64,
    new_size: u64,
    old_root: Digest,
    new_root: Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    if old_size > new_size {
        return Err(ProofError::Range {
            from: old_size,
            size: new_size,
            known: new_size,
        });
    }
    let length = ProofError::Length { given: proof.len() };
    if old_size == new_size || old_size == 0 {
        let expected = if old_size == 0 { Digest::of(b"") } else { new_root };
        let new_fits = new_size != 0 || new_root == expected;
        return match proof {
            [] if old_root == expected && new_fits => Ok(()),
            [] => Err(ProofError::Root),
            _ => Err(length),
        };
    }
    let mut path = Path {
        node: old_size - 1,
        last: new_size - 1,
    };
    path.skip(path.node.trailing_ones());
    // The old tree is a full subtree: its root is where the proof starts, and is not repeated in it.
    let (start, rest) = if old_size.is_power_of_two() {
        (&old_root, proof)
    } else {
        proof.split_first().ok_or(length.clone())?
    };
    let (mut old_hash, mut new_hash) = (*start, *start);
    for sibling in rest {
        match path.climb() {
            None => return Err(length),
            Some(Side::Left) => {
                old_hash = node_hash(sibling, &old_hash);
                new_hash = node_hash(sibling, &new_hash);
            }
            Some(Side::Right) => new_hash = node_hash(&new_hash, sibling),
        }
    }
    if path.last != 0 {
        return Err(length);
    }
    if old_hash == old_root && new_hash == new_root {
        Ok(())
    } else {
        Err(ProofError::Root)
    }
}

/// On which side of a node its sibling is.
enum Side {
    Left,
    Right,
}

/// A node and the last node of its level (`fn` and `sn` of RFC 9162).
struct Path {
    node: u64,
    last: u64,
}

impl Path {
    /// Moves up to the level of the next sibling; `None` above the root.
    fn climb(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        if self.node & 1 == 1 || self.node == self.last {
            // A last node without a sibling moves up unchanged until it has one on its left.
            self.skip(self.node.trailing_zeros());
            self.skip(1);
            Some(Side::Left)
        } else {
            self.skip(1);
            Some(Side::Right)
        }
    }

    const fn skip(&mut self, levels: u32) {
        self.node = shift(self.node, levels);
        self.last = shift(self.last, levels);
    }
}

const fn shift(value: u64, by: u32) -> u64 {
    match value.checked_shr(by) {
        Some(value) => value,
        None => 0,
    }
}

/// At the largest power of two below the length.
fn split(leaf_hashes: &[Digest]) -> (&[Digest], &[Digest]) {
    let half = leaf_hashes.len().div_ceil(2).next_power_of_two();
    leaf_hashes.split_at_checked(half).unwrap_or((leaf_hashes, &[]))
}

fn first(leaf_hashes: &[Digest], from: u64, size: u64) -> Result<&[Digest], ProofError> {
    leaf_hashes
        .get(..small(size, from, size, leaf_hashes)?)
        .ok_or_else(|| out_of_range(from, size, leaf_hashes))
}

fn small(value: u64, from: u64, size: u64, leaf_hashes: &[Digest]) -> Result<usize, ProofError> {
    usize::try_from(value).map_err(|_| out_of_range(from, size, leaf_hashes))
}

const fn out_of_range(from: u64, size: u64, leaf_hashes: &[Digest]) -> ProofError {
    ProofError::Range {
        from,
        size,
        known: leaf_hashes.len() as u64,
    }
}
