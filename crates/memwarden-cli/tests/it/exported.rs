//! Proofs, exports and checkpoints: what somebody without the store can check.

use crate::fixture::{Store, found_in_files};
use serde_json::json;
use std::path::PathBuf;

#[test]
fn a_proof_is_checked_with_the_key_alone_and_shows_text_only_when_revealed() {
    let store = Store::new();
    let record = store.keep("The gate opens at nine.");
    for reveal in [false, true] {
        let arguments: &[&str] = if reveal {
            &["ledger", "prove", &record, "--reveal"]
        } else {
            &["ledger", "prove", &record]
        };
        let proof = store.run(arguments);
        let file = store.write("entry.proof", proof.ended(0));
        let key = store.json(arguments)["verifier_key"].as_str().unwrap().to_owned();

        let elsewhere = Store::unmade();
        let checked = elsewhere.json(&["ledger", "verify", "--proof", &file, "--key", &key]);
        assert_eq!(checked["record"], json!(record));
        assert_eq!(checked["text_revealed"], reveal);
        let text = elsewhere.run(&["ledger", "verify", "--proof", &file, "--key", &key]);
        assert_eq!(text.ended(0).contains("The gate opens at nine."), reveal);

        let answers = store.ask_as("agent", "check_proof", &json!({"proof": proof.out, "key": key}));
        assert_eq!(answers["record"], json!(record));
    }
}

#[test]
fn a_proof_that_was_changed_or_is_for_another_key_is_a_finding() {
    let store = Store::new();
    let record = store.keep("The gate opens at nine.");
    let answer = store.json(&["ledger", "prove", &record]);
    let (proof, key) = (
        answer["proof"].as_str().unwrap(),
        answer["verifier_key"].as_str().unwrap(),
    );
    let other = Store::new().json(&["ledger", "checkpoint"])["verifier_key"]
        .as_str()
        .unwrap()
        .to_owned();
    let whole = store.write("whole.proof", proof);
    store.refused(
        &["ledger", "verify", "--proof", &whole, "--key", &other],
        1,
        "unverified",
    );

    let index = proof.lines().find(|line| line.starts_with("index ")).unwrap();
    let moved = store.write("moved.proof", proof.replace(index, "index 1"));
    store.refused(
        &["ledger", "verify", "--proof", &moved, "--key", key],
        1,
        "unverified",
    );
    for (name, text) in [
        ("empty.proof", ""),
        ("garbage.proof", "no proof"),
        ("cut.proof", proof.get(..proof.len() / 2).unwrap()),
    ] {
        let file = store.write(name, text);
        let answer = store.run(&["--json", "ledger", "verify", "--proof", &file, "--key", key]);
        assert_ne!(answer.code, 0, "{name}");
        assert!(answer.json()["error"]["message"].is_string(), "{name}");
    }
    store.refused(
        &["ledger", "verify", "--proof", &whole, "--key", "nonsense"],
        2,
        "bad_input",
    );
    store.refused(&["ledger", "verify", "--proof", &whole], 2, "bad_input");
    store.refused(
        &[
            "ledger",
            "verify",
            "--proof",
            &store.at("missing.proof"),
            "--key",
            key,
        ],
        2,
        "file",
    );
    store.refused(&["ledger", "prove", &"0".repeat(32)], 2, "not_found");
}

#[test]
fn an_export_is_verified_as_far_as_the_verifiers_own_key_and_checkpoint_go() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    let held = store.at("held");
    store.json(&["ledger", "checkpoint", "--publish", &held]);
    store.keep("The gate is green.");
    let export = store.at("export");
    let made = store.json(&["ledger", "export", &export]);
    let key = made["verifier_key"].as_str().unwrap();
    assert!(!found_in_files(&store.path("export"), "gate"));
    store.refused(&["ledger", "export", &export], 3, "file");

    let elsewhere = Store::unmade();
    let verify = ["ledger", "verify", "--export", &export];
    let alone = elsewhere.run(&verify);
    assert!(alone.ended(0).contains("internally consistent only"), "{alone:?}");
    let keyed = elsewhere.run(&[&verify[..], &["--key", key]].concat());
    assert!(
        !keyed.ended(0).contains("internally consistent only"),
        "{keyed:?}"
    );
    let holding = elsewhere.run(&[&verify[..], &["--key", key, "--held", &held]].concat());
    assert!(
        !holding.ended(0).contains("internally consistent only"),
        "{holding:?}"
    );
    assert_ne!(keyed.out, holding.out);

    let stranger = Store::new();
    let other_key = stranger.json(&["ledger", "checkpoint"])["verifier_key"]
        .as_str()
        .unwrap()
        .to_owned();
    elsewhere.refused(&[&verify[..], &["--key", &other_key]].concat(), 1, "unverified");
    let foreign = stranger.at("foreign");
    stranger.json(&["ledger", "checkpoint", "--publish", &foreign]);
    elsewhere.refused(&[&verify[..], &["--held", &foreign]].concat(), 1, "unverified");
    let garbage = elsewhere.write("garbage", "no checkpoint");
    elsewhere.refused(&[&verify[..], &["--held", &garbage]].concat(), 2, "bad_input");
}

#[test]
fn an_export_with_one_byte_changed_or_one_file_gone_does_not_verify() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    store.keep("The gate is green.");
    let export = store.at("export");
    let key = store.json(&["ledger", "export", &export])["verifier_key"]
        .as_str()
        .unwrap()
        .to_owned();
    let files = files_of(&store.path("export"));
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        match changed.get_mut(middle) {
            Some(byte) => *byte ^= 1,
            None => changed.push(b'x'),
        }
        std::fs::write(&file, &changed).unwrap();
        let answer = store.run(&["--json", "ledger", "verify", "--export", &export, "--key", &key]);
        assert_eq!(answer.code, 1, "{}: {answer:?}", file.display());
        std::fs::remove_file(&file).unwrap();
        store.refused(
            &["ledger", "verify", "--export", &export, "--key", &key],
            1,
            "unverified",
        );
        std::fs::write(&file, &whole).unwrap();
    }
    assert_eq!(
        store.json(&["ledger", "verify", "--export", &export, "--key", &key])["verified"],
        true
    );
}

fn files_of(directory: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_of(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_checkpoint_from_before_makes_the_report_relative_to_its_holder() {
    let store = Store::new();
    store.keep("one");
    let held = store.at("held");
    store.run(&["ledger", "checkpoint", "--publish", &held]).ended(0);
    store.keep("two");
    let report = store.json(&["ledger", "verify", "--held", &held]);
    assert_eq!(report["intact"], true);
    assert!(report["relative_to"]["size"].as_u64() > Some(0), "{report:#}");
    let foreign = store.at("foreign");
    Store::new()
        .run(&["ledger", "checkpoint", "--publish", &foreign])
        .ended(0);
    assert_eq!(
        store
            .run(&["--json", "ledger", "verify", "--held", &foreign])
            .code,
        1
    );
    let garbage = store.write("garbage", "no checkpoint");
    store.refused(&["ledger", "verify", "--held", &garbage], 2, "bad_input");
}
