//! Keys, signed notes and checkpoints.

use crate::sample::{first_key, log_origin, public, second_key};
use expect_test::expect;
use memwarden_core::Digest;
use memwarden_ledger::{
    Checkpoint, CheckpointError, KeyError, NoteError, SignerKey, VerifierKey, open_note, sign_note,
};
use proptest::prelude::*;

// The example of Go's `golang.org/x/mod/sumdb/note` documentation.
const GO_SIGNER: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const GO_VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const GO_TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                       then you don't know what your problem is.\n";
const GO_SIGNATURE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

#[test]
fn notes_are_those_of_the_go_implementation() {
    let signer: SignerKey = GO_SIGNER.parse().unwrap();
    assert_eq!(signer.verifier().to_string(), GO_VERIFIER);
    assert_eq!(*signer.to_private_string(), GO_SIGNER);
    let note = sign_note(GO_TEXT, &signer).unwrap();
    assert_eq!(note, format!("{GO_TEXT}\n{GO_SIGNATURE}"));
    assert_eq!(open_note(&note, &[GO_VERIFIER.parse().unwrap()]), Ok(GO_TEXT));
}

#[test]
fn unknown_signatures_are_ignored_and_a_wrong_one_by_a_known_key_is_not() {
    let (one, two) = (first_key(), second_key());
    let note = sign_note("text\n", &one).unwrap();
    let other = sign_note("other\n", &two).unwrap();
    let line = |note: &str| note.rsplit_once("\n\n").unwrap().1.to_owned();

    let both = format!("{note}{}", line(&sign_note("text\n", &two).unwrap()));
    assert_eq!(open_note(&both, &[public(&one)]), Ok("text\n"));
    assert_eq!(open_note(&both, &[public(&two)]), Ok("text\n"));

    let wrong = format!("{note}{}", line(&other));
    assert_eq!(open_note(&wrong, &[public(&one)]), Ok("text\n"));
    assert_eq!(
        open_note(&wrong, &[public(&one), public(&two)]),
        Err(NoteError::BadSignature { name: log_origin() })
    );
    assert_eq!(open_note(&note, &[public(&two)]), Err(NoteError::Unsigned));
    assert_eq!(open_note(&note, &[]), Err(NoteError::Unsigned));
}

#[test]
fn the_last_blank_line_ends_the_text() {
    let text = "a\n\n— not a signature\n\nb\n";
    let note = sign_note(text, &first_key()).unwrap();
    assert_eq!(open_note(&note, &[public(&first_key())]), Ok(text));
}

#[test]
fn malformed_notes_are_refused() {
    let keys = [public(&first_key())];
    let note = sign_note("text\n", &first_key()).unwrap();
    for bad in [
        String::new(),
        "text\n".to_owned(),
        "text\n\n".to_owned(),
        note.trim_end().to_owned(),
        note.replace("\n\n", "\n"),
        note.replace('—', "-"),
        note.replace("text", "te\rxt"),
        note.replace("text", "te\0xt"),
        format!("{note}\n"),
        format!("{note}rest\n"),
        note.replace("=\n", "\n"),
        format!("{note}{}", "— a AAAAAAA=\n".repeat(100)),
    ] {
        assert!(
            open_note(&bad, &keys).is_err_and(|e| matches!(e, NoteError::Malformed { .. })),
            "{bad}"
        );
    }
    assert!(sign_note("no line break", &first_key()).is_err());
    assert!(sign_note("tab\t\n", &first_key()).is_err());
}

#[test]
fn keys_that_do_not_fit_together_are_refused_without_repeating_a_secret() {
    let wrong_id = GO_SIGNER.replace("c74f20a3", "c74f20a4");
    let message = wrong_id.parse::<SignerKey>().unwrap_err().to_string();
    expect!["key id `c74f20a4` does not belong to this name and key"].assert_eq(&message);
    assert!(GO_SIGNER.replace("Peter", "P ter").parse::<SignerKey>().is_err());
    let broken = GO_SIGNER
        .replace("AYEKFA", "AYEKF!")
        .parse::<SignerKey>()
        .unwrap_err();
    assert!(!broken.to_string().contains("LVFGyN"));
    assert_eq!(
        GO_VERIFIER.replace("+ARpc", "+BBpc").parse::<VerifierKey>(),
        Err(KeyError::Algorithm { given: 4 })
    );
    // The neutral element of the curve verifies any message: it is nobody's key.
    let mut neutral = vec![1u8, 1];
    neutral.extend([0; 31]);
    let text = format!("x+00000000+{}", base64_of(&neutral));
    assert_eq!(text.parse::<VerifierKey>(), Err(KeyError::Point));
    for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b"] {
        assert!(SignerKey::from_seed(name, &[1; 32]).is_err(), "{name:?}");
    }
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn a_printed_signer_shows_nothing_that_signs() {
    let shown = format!("{:?}", GO_SIGNER.parse::<SignerKey>().unwrap());
    assert_eq!(shown, format!("SignerKey({GO_VERIFIER})"));
}

#[test]
fn a_checkpoint_reads_back_and_only_under_its_own_origin_and_key() {
    let key = first_key();
    let checkpoint = Checkpoint {
        origin: log_origin(),
        size: 12,
        root: Digest::of(b"root"),
    };
    let note = checkpoint.sign(&key);
    let keys = [public(&key)];
    assert_eq!(
        Checkpoint::open(&note, &log_origin(), &keys),
        Ok(checkpoint.clone())
    );
    assert!(Checkpoint::open(&note, "memwarden/other", &keys).is_err());
    assert!(Checkpoint::open(&note.replace("12\n", "13\n"), &log_origin(), &keys).is_err());

    // A witness that the caller trusts for its own name does not speak for the log.
    let witness = SignerKey::from_seed("witness.example", &[9; 32]).unwrap();
    let by_witness = checkpoint.sign(&witness);
    assert_eq!(
        Checkpoint::open(&by_witness, &log_origin(), &[public(&witness), public(&key)]),
        Err(CheckpointError::Note(NoteError::Unsigned))
    );
    // Nor does a log's key for a checkpoint of another log.
    let foreign = Checkpoint {
        origin: "elsewhere".into(),
        ..checkpoint
    }
    .sign(&key);
    assert!(matches!(
        Checkpoint::open(&foreign, &log_origin(), &keys),
        Err(CheckpointError::Origin { .. })
    ));
}

#[test]
fn a_checkpoint_has_one_spelling() {
    let good = "example.com/log\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    assert_eq!(Checkpoint::parse(good).unwrap().to_text(), good);
    for bad in [
        good.trim_end().to_owned(),
        good.replace("\n7\n", "\n07\n"),
        good.replace("\n7\n", "\n+7\n"),
        good.replace("example.com/log", ""),
        good.replace("q2I=", "q2J="),
        good.replace("CsUY", ""),
        format!("{good}extension\n"),
    ] {
        assert!(Checkpoint::parse(&bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\PC\n—+ ]{0,200}") {
        let _ = open_note(&text, &[public(&first_key())]);
        let _ = Checkpoint::parse(&text);
        let _ = text.parse::<VerifierKey>();
        let _ = text.parse::<SignerKey>();
    }

    #[test]
    fn a_changed_note_is_not_accepted(at in any::<prop::sample::Index>(), to in 0x21u8..0x7f) {
        let text = "memwarden\n1\nabc\n";
        let note = sign_note(text, &first_key()).unwrap();
        let mut bytes = note.into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        if let Ok(changed) = String::from_utf8(bytes) {
            prop_assert!(open_note(&changed, &[public(&first_key())]).is_err());
        }
    }
}
