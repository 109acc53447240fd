//! A log as files, and what may be concluded from them.

use crate::sample::{Sample, checkpoint_of, first_key, log_origin, public, second_key};
use memwarden_core::leaf_hash;
use memwarden_ledger::{
    Checkpoint, ExportError, ExportReport, SignerKey, TileContent, TilePath, Tree, Trust, VerifierKey,
    VerifyError, export, tile_path, verify_export,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

type Files = BTreeMap<String, Vec<u8>>;

fn exported(sample: &Sample) -> Files {
    let mut files = Files::new();
    export(
        &sample.leaves,
        &sample.checkpoint,
        &public(&first_key()),
        &sample.rotations(),
        &mut |path, bytes| {
            assert!(
                files.insert(path.to_owned(), bytes.to_vec()).is_none(),
                "{path} written twice"
            );
            Ok::<_, Infallible>(())
        },
    )
    .unwrap();
    files
}

fn verified(
    files: &Files,
    held: Option<Checkpoint>,
    key: Option<VerifierKey>,
) -> Result<ExportReport, VerifyError> {
    verify_export(&mut |path| files.get(path).cloned(), held, key)
}

#[test]
fn an_export_has_the_static_layout() {
    let files = exported(&Sample::of(600));
    let paths: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "checkpoint",
            "memwarden/log",
            "memwarden/rotations",
            "tile/0/000",
            "tile/0/001",
            "tile/0/002.p/88",
            "tile/1/000.p/2",
            "tile/entries/000",
            "tile/entries/001",
            "tile/entries/002.p/88",
        ]
    );
    assert_eq!(files["tile/0/000"].len(), 8192);
    assert_eq!(files["tile/1/000.p/2"].len(), 64);
    let first = &Sample::of(1).leaves[0];
    let length = u16::try_from(first.len()).unwrap().to_be_bytes();
    assert_eq!(&files["tile/entries/000"][..2], length);
    assert_eq!(&files["tile/entries/000"][2..2 + first.len()], first.as_slice());
}

#[test]
fn an_export_of_any_size_verifies_from_its_files_alone() {
    for size in [0, 1, 100, 255, 256, 257, 300, 512] {
        let sample = Sample::of(size);
        let report = verified(&exported(&sample), None, None).unwrap();
        assert_eq!(report.log.checkpoint, checkpoint_of(&sample.tree));
        assert_eq!(report.trust, Trust::InternalOnly);
    }
}

#[test]
fn the_report_says_what_it_is_relative_to() {
    let files = exported(&Sample::of(300));
    let held = checkpoint_of(&Sample::of(120).tree);

    let report = verified(&files, None, None).unwrap();
    assert!(report.to_string().starts_with("internally consistent only"));

    // A checkpoint over nothing is no knowledge.
    let empty = checkpoint_of(&Tree::new());
    let report = verified(&files, Some(empty), None).unwrap();
    assert_eq!(report.trust, Trust::InternalOnly);

    for key in [first_key(), second_key()] {
        let report = verified(&files, None, Some(public(&key))).unwrap();
        assert_eq!(report.trust, Trust::KnownKey);
        assert!(report.to_string().contains("no checkpoint was held before"));
    }

    let report = verified(&files, Some(held.clone()), None).unwrap();
    assert_eq!(report.trust, Trust::HeldCheckpoint);
    assert!(report.to_string().contains("0 to 120"));
    assert!(report.to_string().contains("was not known before"));
    let report = verified(&files, Some(held), Some(public(&first_key()))).unwrap();
    assert!(report.to_string().contains("all 300 are signed by the known key"));
}

#[test]
fn a_forged_log_is_consistent_only_for_those_who_knew_nothing() {
    // Somebody without the key makes a log of the same name out of other leaves.
    let forger = SignerKey::from_seed(&log_origin(), &[0x66; 32]).unwrap();
    let leaves = Sample::of(20).leaves;
    let mut tree = Tree::new();
    leaves
        .iter()
        .for_each(|leaf| tree.append(leaf_hash(leaf), &mut Vec::new()));
    let mut files = Files::new();
    export(
        &leaves,
        &checkpoint_of(&tree).sign(&forger),
        &public(&forger),
        &[],
        &mut |path, bytes| {
            files.insert(path.to_owned(), bytes.to_vec());
            Ok::<_, Infallible>(())
        },
    )
    .unwrap();
    assert_eq!(verified(&files, None, None).unwrap().trust, Trust::InternalOnly);
    assert!(matches!(
        verified(&files, None, Some(public(&first_key()))),
        Err(VerifyError::UntrustedKey { .. })
    ));
    assert_eq!(
        verified(&files, Some(checkpoint_of(&Sample::of(40).tree)), None).unwrap_err(),
        VerifyError::Shorter { size: 20, held: 40 }
    );
}

#[test]
fn every_file_of_an_export_is_needed_and_every_byte_of_it_counts() {
    let files = exported(&Sample::of(300));
    let held = || Some(checkpoint_of(&Sample::of(300).tree));
    for path in files.keys() {
        let mut without = files.clone();
        without.remove(path);
        assert_eq!(
            verified(&without, held(), None).unwrap_err(),
            VerifyError::MissingFile { path: path.clone() }
        );
        let length = files[path].len();
        for at in [0, length / 3, length / 2, length - 1] {
            let mut changed = files.clone();
            changed.get_mut(path).unwrap()[at] ^= 1;
            assert!(verified(&changed, held(), None).is_err(), "{path} byte {at}");
        }
        let mut longer = files.clone();
        longer.get_mut(path).unwrap().push(b'\n');
        assert!(verified(&longer, held(), None).is_err(), "{path}");
    }
}

#[test]
fn an_export_that_was_cut_off_has_no_checkpoint() {
    let sample = Sample::of(300);
    let total = exported(&sample).len();
    for allowed in 0..total {
        let mut files = Files::new();
        let result = export(
            &sample.leaves,
            &sample.checkpoint,
            &public(&first_key()),
            &sample.rotations(),
            &mut |path, bytes| {
                if files.len() == allowed {
                    return Err("disk full");
                }
                files.insert(path.to_owned(), bytes.to_vec());
                Ok(())
            },
        );
        assert!(matches!(result, Err(ExportError::Write("disk full"))));
        assert!(!files.contains_key("checkpoint"));
    }
}

#[test]
fn a_checkpoint_over_other_leaves_is_not_exported() {
    let sample = Sample::of(20);
    let mut write = |_: &str, _: &[u8]| Ok::<_, Infallible>(());
    let key = public(&first_key());
    let result = export(&sample.leaves[..19], &sample.checkpoint, &key, &[], &mut write);
    assert!(matches!(
        result,
        Err(ExportError::Mismatch { signed: 20, size: 19 })
    ));
    let result = export([vec![0; 65_536]], &sample.checkpoint, &key, &[], &mut write);
    assert!(matches!(
        result,
        Err(ExportError::Leaf {
            position: 0,
            given: 65_536
        })
    ));
}

#[test]
fn a_checkpoint_that_claims_too_much_ends_at_the_first_missing_bundle() {
    let mut files = exported(&Sample::of(3));
    let mut claimed = checkpoint_of(&Sample::of(3).tree);
    claimed.size = u64::MAX;
    files.insert("checkpoint".into(), claimed.sign(&first_key()).into_bytes());
    assert_eq!(
        verified(&files, None, None).unwrap_err(),
        VerifyError::MissingFile {
            path: "tile/entries/000".into()
        }
    );
}

#[test]
fn tile_paths_have_one_spelling() {
    assert_eq!(tile_path(0, 0, 256), "tile/0/000");
    assert_eq!(tile_path(63, 1_000, 1), "tile/63/x001/000.p/1");
    for bad in [
        "",
        "tile",
        "tile/0",
        "tile/0/",
        "tile/64/000",
        "tile/00/000",
        "tile/0/0",
        "tile/0/0000",
        "tile/0/x000/001",
        "tile/0/001/000",
        "tile/0/x001",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/-1/000",
        "tile/0/../000",
        "tile/0/xx01/000",
        "tile/0/000/",
        "/tile/0/000",
        "tile/0/x999/x999/x999/x999/x999/x999/999",
    ] {
        assert!(bad.parse::<TilePath>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn every_tile_path_reads_back(level in proptest::option::of(0u8..64), index in any::<u64>(), width in 1u16..=256) {
        let content = level.map_or(TileContent::Entries, TileContent::Hashes);
        let path = TilePath { content, index, width };
        prop_assert_eq!(path.to_string().parse::<TilePath>().unwrap(), path);
    }

    #[test]
    fn every_accepted_path_is_the_printed_one(text in "tile/(0|7|63|64|entries)(/x?[0-9]{3}){1,3}(\\.p/[0-9]{1,3})?") {
        if let Ok(path) = text.parse::<TilePath>() {
            prop_assert_eq!(path.to_string(), text);
        }
    }
}
