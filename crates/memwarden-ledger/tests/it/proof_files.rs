//! Proof files: what they show, and that nothing in them can be swapped.

use crate::sample::{Sample, first_key, log_origin, public, record, second_key};
use memwarden_ledger::{ProofFile, ProofFileError, inclusion_proof};

fn proof(size: u64, index: u64, revealed: bool) -> ProofFile {
    let sample = Sample::of(size);
    let at = usize::try_from(index).unwrap();
    ProofFile {
        leaf: sample.leaves[at].clone(),
        revealed: revealed.then(|| sample.payloads[at].clone()),
        index,
        proof: inclusion_proof(&sample.hashes(), index, size).unwrap(),
        checkpoint: sample.checkpoint,
    }
}

#[test]
fn a_proof_file_reads_back_and_shows_its_leaf() {
    let keys = [public(&first_key())];
    for (size, index) in [(1, 0), (14, 13), (100, 3)] {
        for revealed in [false, true] {
            let original = proof(size, index, revealed);
            let text = original.to_string();
            assert!(text.starts_with("c2sp.org/tlog-proof@v1\nextra "));
            assert!(text.contains(&format!("\nindex {index}\n")));
            let read: ProofFile = text.parse().unwrap();
            assert_eq!(read, original);
            assert_eq!(read.to_string(), text);
            let shown = read.verify(Some(&log_origin()), &keys).unwrap();
            assert_eq!(shown.checkpoint.size, size);
            assert_eq!(shown.leaf.position, index);
            assert_eq!(shown.payload.is_some(), revealed);
            assert_eq!(read.verify(None, &keys).unwrap(), shown);
        }
    }
    let shown = proof(14, 13, true).verify(None, &keys).unwrap();
    assert_eq!(shown.leaf.record, Some(record(13)));
    let words = shown.payload.unwrap();
    assert!(words.windows(11).any(|window| window == b"Invoice 13 "));
}

#[test]
fn nothing_in_a_proof_file_can_be_swapped() {
    let keys = [public(&first_key())];
    let good = proof(100, 13, true);
    let refused = |change: &dyn Fn(&mut ProofFile)| {
        let mut file = good.clone();
        change(&mut file);
        file.verify(None, &keys).unwrap_err()
    };
    let other = proof(100, 14, true);
    assert!(matches!(
        refused(&|file| file.leaf = other.leaf.clone()),
        ProofFileError::Inclusion(_)
    ));
    assert!(matches!(
        refused(&|file| file.index = 14),
        ProofFileError::Inclusion(_)
    ));
    assert!(matches!(
        refused(&|file| file.proof = other.proof[1..].to_vec()),
        ProofFileError::Inclusion(_)
    ));
    assert!(matches!(
        refused(&|file| file.revealed = other.revealed.clone()),
        ProofFileError::Payload { index: 13 }
    ));
    let rest = Sample::of(101).checkpoint;
    assert!(matches!(
        refused(&|file| file.checkpoint = rest.clone()),
        ProofFileError::Inclusion(_)
    ));
    assert!(good.verify(None, &[public(&second_key())]).is_err());
    assert!(good.verify(Some("elsewhere"), &keys).is_err());
}

#[test]
fn a_leaf_of_another_place_is_refused_even_under_a_signed_root() {
    // A log whose signer put a leaf where it does not belong.
    let sample = Sample::of(2);
    let mut tree = memwarden_ledger::Tree::new();
    tree.append(memwarden_core::leaf_hash(&sample.leaves[1]), &mut Vec::new());
    let file = ProofFile {
        leaf: sample.leaves[1].clone(),
        revealed: None,
        index: 0,
        proof: Vec::new(),
        checkpoint: crate::sample::checkpoint_of(&tree).sign(&first_key()),
    };
    assert!(matches!(
        file.verify(None, &[public(&first_key())]),
        Err(ProofFileError::Place {
            given: 1,
            index: 0,
            ..
        })
    ));
}

#[test]
fn a_proof_file_has_one_spelling() {
    let good = proof(14, 13, true).to_string();
    for bad in [
        good.replace("@v1", "@v2"),
        good.replace("extra ", "extra  "),
        good.replace("extra ", "extra A"),
        good.replace("index 13", "index 013"),
        good.replace("\n\n", "\n"),
        good.replacen("index 13\n", "index 13\nAAAA\n", 1),
        good.lines().skip(1).collect::<Vec<_>>().join("\n"),
        good.trim_end().to_owned(),
    ] {
        assert!(bad.parse::<ProofFile>().is_err(), "{bad}");
    }
}
