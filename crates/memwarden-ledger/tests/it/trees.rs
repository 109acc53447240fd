//! The tree and its proofs, against the RFC's definition and against the `ct-merkle` crate.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use memwarden_core::{Digest, leaf_hash, node_hash};
use memwarden_ledger::{
    ProofError, Tree, consistency_proof, inclusion_proof, root_of, verify_consistency, verify_inclusion,
};
use proptest::prelude::*;
use sha2::Sha256;

fn hashes(count: u64) -> Vec<Digest> {
    (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
}

fn tree(leaf_hashes: &[Digest]) -> Tree {
    let (mut tree, mut full) = (Tree::new(), Vec::new());
    leaf_hashes.iter().for_each(|hash| tree.append(*hash, &mut full));
    tree
}

fn ct_merkle(count: u64) -> MemoryBackedTree<Sha256, [u8; 8]> {
    let mut tree = MemoryBackedTree::new();
    (0..count).for_each(|n| tree.push(n.to_be_bytes()));
    tree
}

fn bytes(proof: &[Digest]) -> Vec<u8> {
    proof.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

#[test]
fn roots_are_those_of_the_reference_vectors() {
    let leaves: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let all: Vec<_> = leaves.iter().map(|leaf| leaf_hash(leaf)).collect();
    assert_eq!(
        tree(&[]).root().to_string(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(
        tree(&all).root().to_string(),
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    );
}

#[test]
fn every_tile_holds_the_roots_of_the_subtrees_below_it() {
    let size = 256 * 256 + 256 * 3 + 7;
    let all = hashes(size);
    let (mut tree, mut full) = (Tree::new(), Vec::new());
    all.iter().for_each(|hash| tree.append(*hash, &mut full));
    let level_1: Vec<_> = all.chunks_exact(256).map(root_of).collect();
    let level_2: Vec<_> = level_1.chunks_exact(256).map(root_of).collect();
    let mut seen = 0;
    for (level, below) in [&all, &level_1, &level_2].into_iter().enumerate() {
        let full: Vec<_> = full
            .iter()
            .filter(|tile| usize::from(tile.level) == level)
            .collect();
        for (index, (tile, below)) in full.iter().zip(below.chunks_exact(256)).enumerate() {
            assert_eq!(tile.index, index as u64);
            assert_eq!(tile.hashes, bytes(below));
        }
        assert_eq!(full.len(), below.len() / 256);
        seen += full.len();
        let partial: Vec<_> = tree
            .partial_tiles()
            .into_iter()
            .filter(|tile| usize::from(tile.level) == level)
            .collect();
        assert_eq!(partial.len(), 1);
        assert_eq!(partial[0].index, (below.len() / 256) as u64);
        assert_eq!(partial[0].hashes, bytes(below.chunks_exact(256).remainder()));
    }
    assert_eq!(seen, full.len());
    assert_eq!(seen, 256 + 3 + 1);
}

#[test]
fn a_clone_grows_on_its_own() {
    let before = tree(&hashes(300));
    let mut after = before.clone();
    after.append(leaf_hash(b"more"), &mut Vec::new());
    assert_eq!(before, tree(&hashes(300)));
    assert_ne!(before.root(), after.root());
}

#[test]
fn all_small_proofs_verify_and_agree_with_the_other_implementation() {
    for size in 1..=20u64 {
        let all = hashes(size);
        let other = ct_merkle(size);
        assert_eq!(tree(&all).root(), root_of(&all));
        for index in 0..size {
            let proof = inclusion_proof(&all, index, size).unwrap();
            let theirs = other.prove_inclusion(usize::try_from(index).unwrap());
            assert_eq!(bytes(&proof), theirs.as_bytes());
            let hash = all[usize::try_from(index).unwrap()];
            verify_inclusion(hash, index, size, &proof, root_of(&all)).unwrap();
        }
        for old in 1..=size {
            let proof = consistency_proof(&all, old, size).unwrap();
            if old < size {
                let theirs = other.prove_consistency(usize::try_from(size - old).unwrap());
                assert_eq!(bytes(&proof), theirs.as_bytes(), "{old} {size}");
            }
            let old_root = root_of(&all[..usize::try_from(old).unwrap()]);
            verify_consistency(old, size, old_root, root_of(&all), &proof).unwrap();
        }
    }
}

#[test]
fn proofs_that_cannot_exist_are_errors() {
    let all = hashes(5);
    assert!(inclusion_proof(&all, 5, 5).is_err());
    assert!(inclusion_proof(&all, 0, 6).is_err());
    assert!(consistency_proof(&all, 4, 3).is_err());
    assert!(verify_inclusion(all[0], 5, 5, &[], root_of(&all)).is_err());
    assert!(verify_consistency(4, 3, root_of(&all[..4]), root_of(&all[..3]), &[]).is_err());
}

#[test]
fn a_proof_that_stops_short_of_the_root_is_refused_even_if_its_hashes_lead_there() {
    let all = hashes(4);
    let (left, right) = (root_of(&all[..2]), root_of(&all[2..]));
    let length = Err(ProofError::Length { given: 1 });
    // An inner node passed off as a leaf.
    assert_eq!(verify_inclusion(left, 0, 4, &[right], root_of(&all)), length);
    // The tree of two leaves passed off as that of one.
    assert_eq!(verify_consistency(1, 4, left, root_of(&all), &[right]), length);
}

#[test]
fn only_the_empty_tree_continues_into_every_tree() {
    let all = hashes(5);
    let (empty, root) = (root_of(&[]), root_of(&all));
    assert_eq!(consistency_proof(&all, 0, 5).unwrap(), []);
    assert_eq!(verify_consistency(0, 5, empty, root, &[]), Ok(()));
    assert_eq!(verify_consistency(0, 5, root, root, &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(0, 0, empty, empty, &[]), Ok(()));
    assert_eq!(verify_consistency(0, 0, empty, root, &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(5, 5, root, root, &[]), Ok(()));
    assert_eq!(verify_consistency(5, 5, empty, root, &[]), Err(ProofError::Root));
    assert!(verify_consistency(5, 5, root, root, &all).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn roots_and_proofs_agree_at_any_size(size in 1u64..1500, at in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let all = hashes(size);
        let other = ct_merkle(size);
        let root = tree(&all).root();
        let theirs = other.root();
        prop_assert_eq!(root.as_bytes().as_slice(), theirs.as_bytes().as_slice());
        let index = at.index(all.len());
        let proof = inclusion_proof(&all, index as u64, size).unwrap();
        let theirs = other.prove_inclusion(index);
        prop_assert_eq!(bytes(&proof), theirs.as_bytes());
        prop_assert!(verify_inclusion(all[index], index as u64, size, &proof, root).is_ok());
        let old = cut.index(all.len()) + 1;
        let old_root = tree(&all[..old]).root();
        let proof = consistency_proof(&all, old as u64, size).unwrap();
        prop_assert!(verify_consistency(old as u64, size, old_root, root, &proof).is_ok());
    }

    #[test]
    fn no_changed_proof_verifies(size in 2u64..200, at in any::<prop::sample::Index>(), pick in any::<prop::sample::Index>(), how in 0..5u8) {
        let all = hashes(size);
        let root = root_of(&all);
        let index = at.index(all.len());
        let mut inclusion = inclusion_proof(&all, index as u64, size).unwrap();
        let old = at.index(all.len() - 1) + 1;
        let old_root = root_of(&all[..old]);
        let mut consistency = consistency_proof(&all, old as u64, size).unwrap();
        for proof in [&mut inclusion, &mut consistency] {
            let len = proof.len();
            match how {
                0 => proof[pick.index(len)] = leaf_hash(b"other"),
                1 => { proof.remove(pick.index(len)); }
                2 => proof.push(leaf_hash(b"other")),
                3 => proof.insert(0, leaf_hash(b"other")),
                _ => { let n = pick.index(len); proof[n] = node_hash(&proof[n], &proof[n]); }
            }
        }
        prop_assert!(verify_inclusion(all[index], index as u64, size, &inclusion, root).is_err());
        prop_assert!(verify_consistency(old as u64, size, old_root, root, &consistency).is_err());
    }

    #[test]
    fn a_proof_holds_for_one_place_only(size in 2u64..200, at in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let all = hashes(size);
        let (index, other) = (at.index(all.len()), to.index(all.len()));
        prop_assume!(index != other);
        let proof = inclusion_proof(&all, index as u64, size).unwrap();
        prop_assert!(verify_inclusion(all[index], other as u64, size, &proof, root_of(&all)).is_err());
        prop_assert!(verify_inclusion(all[other], index as u64, size, &proof, root_of(&all)).is_err());
    }
}
