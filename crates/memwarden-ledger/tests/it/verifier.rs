//! What the streaming verifier accepts, and what it names when it does not.

use crate::sample::{EPOCH, ROTATION, Sample, checkpoint_of, first_key, log, log_origin, public, second_key};
use memwarden_core::log::Tile;
use memwarden_core::{Leaf, Salt, commitment};
use memwarden_ledger::{
    CheckpointError, LogVerifier, NoteError, SignerKey, Tree, VerifiedLog, VerifyError, check_against, rotate,
};

fn new() -> LogVerifier {
    LogVerifier::new(log(), log_origin(), public(&first_key()))
}

fn pushed(leaves: &[Vec<u8>]) -> LogVerifier {
    let mut verifier = new();
    leaves.iter().for_each(|leaf| verifier.push(leaf).unwrap());
    verifier
}

fn finished(sample: &Sample) -> Result<VerifiedLog, VerifyError> {
    let mut verifier = pushed(&sample.leaves);
    for rotation in sample.rotations() {
        verifier.rotation(rotation.position, &rotation.salt, &rotation.payload)?;
    }
    verifier.finish(&sample.checkpoint)
}

#[test]
fn a_log_verifies_before_and_after_its_rotation() {
    for size in [0, 1, 150, 151, 300] {
        let sample = Sample::of(size);
        let verified = finished(&sample).unwrap();
        assert_eq!(verified.checkpoint, checkpoint_of(&sample.tree));
        assert_eq!(verified.tree, sample.tree);
        assert_eq!(verified.replay.size(), size);
        let after = size > ROTATION;
        assert_eq!(
            verified.key,
            public(&if after { second_key() } else { first_key() })
        );
        assert_eq!(verified.former_keys.len(), usize::from(after));
    }
    assert_eq!(finished(&Sample::of(EPOCH + 1)).unwrap().replay.epoch(), 1);
}

#[test]
fn a_rotation_may_come_right_behind_its_leaf() {
    let sample = Sample::of(300);
    let mut verifier = new();
    for (position, leaf) in (0..).zip(&sample.leaves) {
        verifier.push(leaf).unwrap();
        if position == ROTATION {
            let rotation = &sample.rotations()[0];
            verifier
                .rotation(position, &rotation.salt, &rotation.payload)
                .unwrap();
        }
    }
    verifier.finish(&sample.checkpoint).unwrap();
}

#[test]
fn a_changed_dropped_or_swapped_leaf_is_named_or_breaks_the_root() {
    let sample = Sample::of(120);
    let refused = |leaves: &[Vec<u8>]| {
        let mut verifier = new();
        leaves
            .iter()
            .try_for_each(|leaf| verifier.push(leaf))
            .and_then(|()| verifier.finish(&sample.checkpoint).map(|_| ()))
            .unwrap_err()
    };
    let mut cut = sample.leaves.clone();
    cut[7].pop();
    assert!(matches!(refused(&cut), VerifyError::Leaf { position: 7, .. }));

    let mut dropped = sample.leaves.clone();
    dropped.remove(30);
    assert!(refused(&dropped).to_string().contains("position 30"));

    let mut swapped = sample.leaves.clone();
    swapped.swap(30, 31);
    assert!(refused(&swapped).to_string().contains("position 30"));

    assert_eq!(
        refused(&sample.leaves[..119]),
        VerifyError::Size {
            signed: 120,
            size: 119
        }
    );

    // A leaf that decodes and follows, and is not the one that was signed.
    let mut changed = sample.leaves.clone();
    let last = changed[20].len() - 1;
    changed[20][last] ^= 1;
    assert_eq!(refused(&changed), VerifyError::Root { size: 120 });
}

#[test]
fn an_error_that_the_caller_passes_over_is_still_an_error_at_the_end() {
    let sample = Sample::of(20);
    let mut verifier = new();
    for leaf in &sample.leaves[..10] {
        verifier.push(leaf).unwrap();
    }
    let first = verifier.push(b"not a leaf").unwrap_err();
    for leaf in &sample.leaves[10..] {
        verifier.push(leaf).unwrap();
    }
    assert_eq!(verifier.finish(&sample.checkpoint).unwrap_err(), first);
}

#[test]
fn only_the_key_in_force_signs() {
    let sample = Sample::of(160);
    // The rotation is not told: the new key's signature means nothing.
    assert_eq!(
        pushed(&sample.leaves).finish(&sample.checkpoint).unwrap_err(),
        VerifyError::Checkpoint(CheckpointError::Note(NoteError::Unsigned))
    );
    // The rotation is told: the old key's signature means nothing any more.
    let by_old = checkpoint_of(&sample.tree).sign(&first_key());
    let mut verifier = pushed(&sample.leaves);
    let rotation = &sample.rotations()[0];
    verifier
        .rotation(ROTATION, &rotation.salt, &rotation.payload)
        .unwrap();
    assert!(verifier.finish(&by_old).is_err());
}

#[test]
fn a_rotation_needs_its_leaf_and_both_signatures() {
    let sample = Sample::of(160);
    let rotation = &sample.rotations()[0];
    let problem = |position: u64, salt: &Salt, payload: &[u8]| match pushed(&sample.leaves)
        .rotation(position, salt, payload)
        .unwrap_err()
    {
        VerifyError::Rotation {
            position: named,
            problem,
        } => {
            assert_eq!(named, position);
            problem
        }
        other => panic!("{other}"),
    };
    assert!(problem(2, &rotation.salt, &rotation.payload).contains("no `key` entry"));
    assert!(problem(1, &rotation.salt, &rotation.payload).contains("another payload"));
    assert!(problem(ROTATION, &Salt::from_bytes([0; 32]), &rotation.payload).contains("another payload"));
    let registration = &sample.payloads[1];
    assert!(problem(1, &registration.salt, &registration.bytes).contains("not a rotation"));

    // A log whose key leaf commits to `payload`.
    let with = |payload: Vec<u8>| {
        let mut leaf = Leaf::decode(&sample.leaves[usize::try_from(ROTATION).unwrap()]).unwrap();
        leaf.payload = commitment(&rotation.salt, &payload);
        let mut verifier = pushed(&sample.leaves[..usize::try_from(ROTATION).unwrap()]);
        verifier.push(&leaf.encode()).unwrap();
        match verifier.rotation(ROTATION, &rotation.salt, &payload) {
            Err(VerifyError::Rotation { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    };
    let good = || rotate(&log_origin(), &first_key(), &second_key());
    let mut forged = good();
    forged.signed_by_old[0] ^= 1;
    assert_eq!(with(forged.encode()), "the old key did not sign it");
    let mut forged = good();
    forged.signed_by_new[0] ^= 1;
    assert_eq!(with(forged.encode()), "the new key did not sign it");
    let backwards = rotate(&log_origin(), &second_key(), &first_key());
    assert_eq!(
        with(backwards.encode()),
        "it does not start from the key in force"
    );
    let elsewhere = SignerKey::from_seed("elsewhere", &[3; 32]).unwrap();
    assert!(with(rotate(&log_origin(), &first_key(), &elsewhere).encode()).contains("another name"));
    // Signed for another log: the same keys, another origin.
    assert!(with(rotate("elsewhere", &first_key(), &second_key()).encode()).contains("did not sign"));
}

#[test]
fn a_rotation_counts_once_and_in_order() {
    // From the first key to the second, and back: the first rotation would fit again behind the second.
    let sample = Sample::of(ROTATION + 1);
    let there = &sample.rotations()[0];
    let back = rotate(&log_origin(), &second_key(), &first_key()).encode();
    let mut leaf = Leaf::decode(&sample.leaves[usize::try_from(ROTATION).unwrap()]).unwrap();
    leaf.position += 1;
    leaf.payload = commitment(&there.salt, &back);
    let mut verifier = pushed(&sample.leaves);
    verifier.push(&leaf.encode()).unwrap();
    verifier.rotation(ROTATION, &there.salt, &there.payload).unwrap();
    verifier.rotation(ROTATION + 1, &there.salt, &back).unwrap();
    assert_eq!(*verifier.key(), public(&first_key()));
    assert!(matches!(
        verifier.rotation(ROTATION, &there.salt, &there.payload),
        Err(VerifyError::Rotation {
            position: ROTATION,
            ..
        })
    ));
}

#[test]
fn stored_tiles_are_compared_with_the_leaves() {
    let sample = Sample::of(300);
    let tile = &sample.tiles[0];
    let mut verifier = pushed(&sample.leaves);
    assert_eq!(verifier.missing_tiles().collect::<Vec<_>>(), [(0, 0)]);
    verifier.tile(tile).unwrap();
    assert_eq!(verifier.missing_tiles().count(), 0);

    let refused = |tile: Tile| pushed(&sample.leaves).tile(&tile).unwrap_err();
    let mut changed = tile.clone();
    changed.hashes[40] ^= 1;
    assert!(refused(changed).to_string().contains("tile 0 of level 0"));
    for (level, index) in [(0, 1), (1, 0), (200, u64::MAX)] {
        let moved = Tile {
            level,
            index,
            ..tile.clone()
        };
        assert!(matches!(refused(moved), VerifyError::Tile { .. }));
    }
    // Twice the same tile would be two rows of a store.
    assert!(verifier.tile(tile).is_err());
}

#[test]
fn a_checkpoint_held_before_binds_what_follows() {
    let sample = Sample::of(140);
    for held_size in [0, 1, 100, 140] {
        let mut verifier = new();
        verifier
            .expect_prefix(checkpoint_of(&Sample::of(held_size).tree))
            .unwrap();
        sample.leaves.iter().for_each(|leaf| verifier.push(leaf).unwrap());
        verifier.finish(&sample.checkpoint).unwrap();
    }
    // The owner signs another history: it is consistent, and not what was held.
    let mut rewritten = sample.leaves.clone();
    let last = rewritten[20].len() - 1;
    rewritten[20][last] ^= 1;
    let mut verifier = new();
    verifier
        .expect_prefix(checkpoint_of(&Sample::of(100).tree))
        .unwrap();
    let error = rewritten
        .iter()
        .find_map(|leaf| verifier.push(leaf).err())
        .unwrap();
    assert_eq!(error, VerifyError::Prefix { size: 100 });
    assert_eq!(verifier.tree().size(), 100);
    let hashes: Vec<_> = rewritten
        .iter()
        .map(|leaf| memwarden_core::leaf_hash(leaf))
        .collect();
    assert_eq!(
        check_against(&checkpoint_of(&Sample::of(100).tree), &hashes),
        Err(VerifyError::Prefix { size: 100 })
    );
    check_against(&checkpoint_of(&Sample::of(100).tree), &sample.hashes()).unwrap();
}

#[test]
fn a_log_that_lost_its_end_is_shorter_than_what_was_held() {
    let (short, long) = (Sample::of(100), Sample::of(140));
    let mut verifier = new();
    verifier.expect_prefix(checkpoint_of(&long.tree)).unwrap();
    verifier
        .expect_prefix(checkpoint_of(&Sample::of(50).tree))
        .unwrap();
    short.leaves.iter().for_each(|leaf| verifier.push(leaf).unwrap());
    let shorter = VerifyError::Shorter { size: 100, held: 140 };
    assert_eq!(verifier.finish(&short.checkpoint).unwrap_err(), shorter);
    assert_eq!(
        check_against(&checkpoint_of(&long.tree), &short.hashes()),
        Err(shorter)
    );
}

#[test]
fn a_held_checkpoint_must_be_of_this_log_and_in_time() {
    let sample = Sample::of(10);
    let held = checkpoint_of(&sample.tree);
    assert_eq!(
        pushed(&Sample::of(11).leaves).expect_prefix(held.clone()),
        Err(VerifyError::TooLate { held: 10 })
    );
    pushed(&sample.leaves).expect_prefix(held.clone()).unwrap();
    let mut foreign = held;
    foreign.origin = "elsewhere".into();
    assert!(new().expect_prefix(foreign).is_err());
    let mut wrong = checkpoint_of(&Tree::new());
    wrong.root = sample.tree.root();
    assert_eq!(new().expect_prefix(wrong), Err(VerifyError::Prefix { size: 0 }));
}
