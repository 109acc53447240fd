//! Messages to and from a witness.

use crate::sample::{Sample, checkpoint_of, first_key, log_origin, public};
use memwarden_core::Digest;
use memwarden_ledger::note::SignatureLine;
use memwarden_ledger::witness::{
    WitnessError, add_checkpoint_request, append_cosignatures, parse_conflict_size, parse_cosignatures,
};
use memwarden_ledger::{Checkpoint, consistency_proof};

// The answer printed in the C2SP tlog-witness document.
const ANSWER: &str = "\
— witness.example/w1 CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==
— witness.example/w2 AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA7nC3HNJhm/kWl7oJlqU3rXXvpysAdyP3wQ==
";

#[test]
fn a_request_holds_old_size_proof_and_checkpoint() {
    let sample = Sample::of(100);
    let proof = consistency_proof(&sample.hashes(), 37, 100).unwrap();
    let body = add_checkpoint_request(37, &proof, &sample.checkpoint).unwrap();
    let (head, note) = body.split_once("\n\n").unwrap();
    assert_eq!(note, sample.checkpoint);
    let lines: Vec<_> = head.lines().collect();
    assert_eq!(lines[0], "old 37");
    assert_eq!(lines.len(), 1 + proof.len());
    assert!(lines[1..].iter().all(|line| line.len() == 44));
}

#[test]
fn a_request_that_no_witness_accepts_is_not_built() {
    let sample = Sample::of(10);
    let build = |old, proof: &[Digest]| add_checkpoint_request(old, proof, &sample.checkpoint);
    assert_eq!(build(11, &[]), Err(WitnessError::Ahead { old: 11, size: 10 }));
    assert_eq!(
        build(0, &[Digest::of(b"")]),
        Err(WitnessError::Proof { given: 1 })
    );
    assert_eq!(
        build(5, &[Digest::of(b""); 64]),
        Err(WitnessError::Proof { given: 64 })
    );
    assert!(add_checkpoint_request(0, &[], "not a note").is_err());
}

#[test]
fn cosignatures_are_kept_verbatim_and_leave_the_checkpoint_valid() {
    let cosignatures = parse_cosignatures(ANSWER).unwrap();
    assert_eq!(cosignatures.len(), 2);
    assert_eq!(cosignatures[0].name, "witness.example/w1");
    let printed: String = cosignatures
        .iter()
        .map(|line: &SignatureLine| format!("{line}\n"))
        .collect();
    assert_eq!(printed, ANSWER);

    let sample = Sample::of(10);
    let note = append_cosignatures(&sample.checkpoint, &cosignatures).unwrap();
    assert_eq!(note, format!("{}{ANSWER}", sample.checkpoint));
    assert_eq!(append_cosignatures(&note, &cosignatures).unwrap(), note);
    let opened = Checkpoint::open(&note, &log_origin(), &[public(&first_key())]).unwrap();
    assert_eq!(opened, checkpoint_of(&sample.tree));
}

#[test]
fn answers_of_another_form_are_refused() {
    for bad in [
        "",
        "\n",
        ANSWER.trim_end(),
        "ok\n",
        "— w\n",
        "— w AAAA\n",
        &ANSWER.replace('\n', "\n\n"),
    ] {
        assert!(parse_cosignatures(bad).is_err(), "{bad:?}");
    }
    assert_eq!(parse_conflict_size("20852163\n"), Ok(20_852_163));
    for bad in ["", "1", "01\n", "-1\n", "1\n\n", " 1\n"] {
        assert_eq!(parse_conflict_size(bad), Err(WitnessError::Size), "{bad:?}");
    }
}
