//! The golden log: bytes that an earlier build of this code wrote, and that every later one must write.
//!
//! A change here means that logs in the field no longer verify. To write the files anew, after a deliberate
//! change of the format and its version: `UPDATE_GOLDEN=1 cargo test --release -p memwarden-ledger golden`.

use crate::sample::{Sample, first_key, log, log_origin, public};
use memwarden_core::Digest;
use memwarden_ledger::{LogVerifier, ProofFile, inclusion_proof};
use std::fmt::Write as _;
use std::path::Path;

const SIZE: u64 = 300;
/// One leaf of each sort: policy, registration, writes, status, recall, isolate, purge, rotation, epoch, last.
const LEAVES: [usize; 11] = [0, 1, 2, 13, 15, 16, 48, 49, 150, 200, 299];

fn check(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        now, golden,
        "the bytes of {name} changed: logs in the field no longer verify"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn the_golden_log_is_written_byte_for_byte() {
    let sample = Sample::of(SIZE);
    let leaves = LEAVES.iter().fold(String::new(), |mut text, at| {
        writeln!(text, "{at} {}", hex(&sample.leaves[*at])).unwrap();
        text
    });
    check("leaves", &leaves);
    check("root", &format!("{}\n", sample.tree.root()));
    check("checkpoint", &sample.checkpoint);
    check(
        "tile-0-000.sha256",
        &format!("{}\n", Digest::of(&sample.tiles[0].hashes)),
    );
    let proof = ProofFile {
        leaf: sample.leaves[13].clone(),
        revealed: Some(sample.payloads[13].clone()),
        index: 13,
        proof: inclusion_proof(&sample.hashes(), 13, SIZE).unwrap(),
        checkpoint: sample.checkpoint,
    };
    check("entry-13.tlog-proof", &proof.to_string());
}

#[test]
fn the_golden_checkpoint_verifies_the_golden_log() {
    let sample = Sample::of(SIZE);
    let mut verifier = LogVerifier::new(log(), log_origin(), public(&first_key()));
    sample.leaves.iter().for_each(|leaf| verifier.push(leaf).unwrap());
    for rotation in sample.rotations() {
        verifier
            .rotation(rotation.position, &rotation.salt, &rotation.payload)
            .unwrap();
    }
    let verified = verifier.finish(include_str!("../golden/checkpoint")).unwrap();
    let shown = include_str!("../golden/entry-13.tlog-proof")
        .parse::<ProofFile>()
        .unwrap()
        .verify(Some(&log_origin()), &[verified.key])
        .unwrap();
    assert_eq!(shown.leaf.position, 13);
}
