//! What only the owner does: principals, purge, backup, restore, keys.

use crate::fixture::{Store, found_in_files};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_new_principal_gets_a_credential_that_only_its_owner_can_read() {
    let store = Store::new();
    let added = store.json(&[
        "principal",
        "add",
        "billing",
        "--role",
        "step",
        "--domain",
        "finance",
    ]);
    let file = store.path("keys").join("billing.credential");
    assert_eq!(added["file"], json!(file));
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let listed = store.json(&["principal", "list"]);
    let found = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|principal| principal["name"] == "billing")
        .unwrap();
    assert_eq!(found["id"], added["id"]);
    assert_eq!(found["domain"], "finance");
    store.json(&[
        "--credential",
        file.to_str().unwrap(),
        "remember",
        "Invoice 7 was paid.",
    ]);
    assert_eq!(store.json(&["recall", "invoice"])["hits"][0]["writer"], "billing");
}

#[test]
fn a_principal_without_a_place_for_its_credential_is_not_registered() {
    let store = Store::new();
    let before = store.holdings();
    store.refused(&["principal", "add", "agent", "--role", "agent"], 2, "bad_input");
    let nowhere = store.at("missing/x.credential");
    store.refused(
        &["principal", "add", "x", "--role", "agent", "--out", &nowhere],
        2,
        "file",
    );
    store.refused(&["principal", "add", "../x", "--role", "agent"], 2, "bad_input");
    store.refused(&["principal", "add", "x", "--role", "emperor"], 2, "bad_input");
    assert_eq!(store.holdings(), before);
    // Nor is a credential left for somebody who was refused.
    let out = store.at("refused.credential");
    store.refused(
        &[
            "principal",
            "add",
            "x",
            "--role",
            "agent",
            "--domain",
            "",
            "--out",
            &out,
        ],
        2,
        "bad_input",
    );
    let as_agent = [
        "--credential",
        "agent",
        "principal",
        "add",
        "x",
        "--role",
        "owner",
        "--out",
        &out,
    ];
    store.refused(&as_agent, 2, "forbidden");
    assert!(!store.path("refused.credential").exists());
    assert_eq!(store.holdings(), before);
}

#[test]
fn purged_text_is_nowhere_in_the_directory_and_the_log_still_verifies() {
    let store = Store::new();
    let record = store.keep("The vault's word is xylophone-marzipan.");
    let child = store.json(&["remember", "Somebody asked for the vault.", "--parent", &record]);
    store.recalled("xylophone-marzipan");
    assert!(found_in_files(&store.path("store"), "xylophone-marzipan"));

    let message = store.refused(&["purge", &record], 2, "bad_input");
    assert!(message.contains("expected a terminal or --yes"), "{message}");
    assert!(found_in_files(&store.path("store"), "xylophone-marzipan"));

    let report = store.json(&["purge", &record, "--yes", "--reason", "asked to"]);
    assert_eq!(report["purged"][0]["id"], json!(record));
    assert_eq!(report["descendants_left"], json!([child["id"]]));
    for place in ["store", "keys", "witness"] {
        assert!(!found_in_files(&store.path(place), "xylophone"), "{place}");
        assert!(!found_in_files(&store.path(place), "marzipan"), "{place}");
    }
    assert_eq!(store.json(&["ledger", "verify", "--deep"])["intact"], true);
    store.refused(&["quarantine", "show", &record, "--body"], 2, "purged");
    assert!(store.run(&["history", &record]).ended(0).contains("asked to"));
    store.refused(
        &[
            "--credential",
            "agent",
            "purge",
            "--yes",
            child["id"].as_str().unwrap(),
        ],
        2,
        "forbidden",
    );

    let other = store.json(&[
        "remember",
        "A second parent.",
        "--parent",
        child["id"].as_str().unwrap(),
    ]);
    let report = store.json(&[
        "purge",
        child["id"].as_str().unwrap(),
        "--with-descendants",
        "--yes",
    ]);
    assert_eq!(report["purged"].as_array().unwrap().len(), 2);
    assert_eq!(store.json(&["status"])["namespaces"][0]["records"]["purged"], 3);
    store.refused(
        &["quarantine", "show", other["id"].as_str().unwrap()],
        2,
        "purged",
    );
}

#[test]
fn a_restored_backup_opens_an_epoch_and_what_was_purged_stays_purged() {
    let store = Store::new();
    let purged = store.keep("The vault's word is xylophone.");
    store.keep("The ferry runs at nine.");
    let backup = store.at("backup.db");
    let made = store.json(&["backup", &backup]);
    assert_eq!(made["file"], json!(backup));
    store.refused(&["backup", &backup], 2, "exists");
    let report = store.json(&["purge", &purged, "--yes"]);
    assert_eq!(report["backups_that_still_hold_the_text"], json!([backup]));
    store.keep("The ferry was sold.");

    let as_agent = ["--credential", "agent", "restore", "--from", &backup];
    store.refused(&as_agent, 2, "forbidden");
    assert_eq!(store.recalled("ferry").len(), 2);

    let restored = store.json(&["restore", "--from", &backup, "--reason", "trying it"]);
    assert_eq!(restored["epoch"], 1);
    assert_eq!(restored["purged_again"], json!([purged]));
    assert!(!found_in_files(&store.path("store"), "xylophone"));
    assert_eq!(store.recalled("ferry"), ["The ferry runs at nine."]);
    assert!(store.recalled("xylophone").is_empty());
    assert_eq!(store.json(&["status"])["epoch"], 1);
    assert_eq!(store.json(&["ledger", "verify", "--deep"])["intact"], true);
}

#[test]
fn a_backup_of_another_store_is_refused_and_changes_nothing() {
    let store = Store::new();
    store.keep("Mine.");
    let other = Store::new();
    other.keep("Theirs.");
    let backup = store.at("theirs.db");
    other.json(&["backup", &backup]);
    let before = store.holdings();
    let answer = store.run(&["--json", "restore", "--from", &backup]);
    answer.ended(2);
    assert_eq!(answer.json()["error"]["code"], "credential");
    let garbage = store.write("garbage.db", "no database at all");
    assert_ne!(store.run(&["--json", "restore", "--from", &garbage]).code, 0);
    store.refused(&["restore", "--from", &store.at("missing.db")], 2, "bad_input");
    assert_eq!(store.holdings(), before);
    assert_eq!(store.recalled("mine"), ["Mine."]);
}

#[test]
fn an_older_copy_in_place_is_refused_until_the_owner_accepts_it() {
    let store = Store::new();
    store.keep("The ferry runs at nine.");
    std::fs::copy(store.database(), store.path("older.db")).unwrap();
    store.keep("The ferry was sold.");
    std::fs::copy(store.path("older.db"), store.database()).unwrap();

    for verb in [
        &["recall", "ferry"][..],
        &["remember", "x"],
        &["status"],
        &["ledger", "verify"],
    ] {
        let message = store.refused(verb, 1, "behind_witness");
        assert!(message.contains("restore --accept"), "{message}");
    }
    let answer = store.feed(&["--json", "rpc"], b"{\"id\":1,\"op\":\"status\"}\n");
    answer.ended(1);
    assert_eq!(answer.json()["error"]["code"], "behind_witness");
    store.refused(&["--credential", "agent", "restore", "--accept"], 2, "forbidden");
    store.refused(&["recall", "ferry"], 1, "behind_witness");

    let restored = store.json(&["restore", "--accept", "--reason", "the disk was lost"]);
    assert_eq!(restored["epoch"], 1);
    assert_eq!(store.recalled("ferry"), ["The ferry runs at nine."]);
    assert_eq!(store.json(&["ledger", "verify", "--deep"])["intact"], true);
}

#[test]
fn a_rotated_key_signs_what_follows_and_the_old_one_vouches_for_it() {
    let store = Store::new();
    store.keep("before");
    let old = store.json(&["ledger", "checkpoint"])["verifier_key"].clone();
    let new = store.json(&["ledger", "rotate-key"])["verifier_key"].clone();
    assert_ne!(old, new);
    store.keep("after");
    let report = store.json(&["ledger", "verify", "--deep"]);
    assert_eq!((&report["rotations"], &report["verifier_key"]), (&json!(1), &new));
    store.refused(&["--credential", "agent", "ledger", "rotate-key"], 2, "forbidden");
    // Whoever has the first key follows the rotation.
    let export = store.at("export");
    store.json(&["ledger", "export", &export]);
    let key = old.as_str().unwrap();
    assert_eq!(
        store.json(&["ledger", "verify", "--export", &export, "--key", key])["verified"],
        true
    );
}

#[test]
fn a_damaged_record_stops_its_namespace_until_it_is_isolated() {
    let store = Store::new();
    let record = store.keep("The gate opens at nine.");
    store.keep("The gate is green.");
    store.json(&["-n", "other", "remember", "The gate of another house."]);
    let db = rusqlite::Connection::open(store.database()).unwrap();
    db.execute(
        "UPDATE record SET content = replace(content, 'nine', 'midnight')",
        [],
    )
    .unwrap();
    db.close().unwrap();

    let message = store.refused(&["recall", "gate"], 1, "tampered");
    assert!(
        message.contains(&record) && message.contains("isolate"),
        "{message}"
    );
    assert_eq!(
        store.json(&["-n", "other", "recall", "gate"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let report = store.run(&["--json", "ledger", "verify", "--deep"]);
    report.ended(1);
    assert_eq!(report.json()["damage"][0]["record"], json!(record));
    let answers = store.lines("{\"id\":1,\"op\":\"recall\",\"params\":{\"query\":\"gate\"}}");
    assert_eq!(answers[0]["error"]["code"], "tampered");
    assert_eq!(answers[0]["error"]["record"], json!(record));

    store.refused(
        &["--credential", "agent", "ledger", "isolate", &record],
        2,
        "forbidden",
    );
    store.json(&["ledger", "isolate", &record, "--reason", "changed on disk"]);
    assert_eq!(store.recalled("gate"), ["The gate is green."]);
    assert_eq!(store.json(&["status"])["isolated"], json!(1));
}

#[test]
fn a_search_index_that_was_emptied_is_found_by_the_deep_check_and_made_anew() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    let db = rusqlite::Connection::open(store.database()).unwrap();
    db.execute_batch("DELETE FROM fts_1 WHERE rowid > 0").unwrap();
    db.close().unwrap();
    let report = store.run(&["--json", "ledger", "verify", "--deep"]);
    report.ended(1);
    assert_ne!(report.json()["index_differences"], json!([]));
    assert_eq!(
        store.json(&["ledger", "verify", "--deep", "--reindex"])["intact"],
        true
    );
    assert_eq!(store.recalled("gate"), ["The gate opens at nine."]);
}

#[test]
fn rpc_does_the_owners_work_with_the_owners_credential_only() {
    let store = Store::new();
    let record = store.keep("The vault's word is xylophone.");
    let file = store.at("clerk.credential");
    let requests: Vec<(&str, Value)> = vec![
        (
            "register",
            json!({"name": "clerk", "role": "reviewer", "path": file}),
        ),
        ("load_policy", json!({"preset": "keyword"})),
        ("purge", json!({"ids": [record]})),
        ("backup", json!({"path": store.at("backup.db")})),
        ("reindex", json!({})),
        ("scrub", json!({})),
        ("rotate_key", json!({})),
        ("isolate", json!({"id": record})),
    ];
    let before = store.holdings();
    for (op, params) in &requests {
        let answers = store.lines(json!({"id": 1, "op": op, "params": params}).to_string());
        assert_eq!(answers[0]["error"]["code"], "forbidden", "{op}: {answers:?}");
    }
    assert_eq!(store.holdings(), before);
    assert!(!store.path("clerk.credential").exists());

    let registered = store.ask_as("owner", "register", &requests[0].1);
    assert_eq!(registered["file"], json!(file));
    assert!(!registered.to_string().contains("credential-v1"));
    assert_eq!(
        store.ask_as("owner", "load_policy", &requests[1].1)["name"],
        "keyword"
    );
    assert_eq!(
        store.ask_as("owner", "purge", &requests[2].1)["purged"][0]["id"],
        json!(record)
    );
    for (op, params) in &requests[3..7] {
        store.ask_as("owner", op, params);
    }
    assert_eq!(
        store.ask_as("owner", "verify", &json!({"deep": true}))["intact"],
        true
    );
}

#[test]
fn a_key_that_vouches_for_roles_may_open_requests_and_says_so_when_it_is_made() {
    let store = Store::new();
    let file = store.at("console.credential");
    let made = store.ask_as(
        "owner",
        "register",
        &json!({"name": "console", "role": "agent", "attest_roles": true, "path": file}),
    );
    let added = |arguments: &[&str]| {
        let added = store.json(&[&["principal", "add"], arguments].concat());
        (
            added["attest_roles"].clone(),
            added["file"].as_str().unwrap().to_owned(),
        )
    };
    let plain = added(&["gateway", "--role", "agent"]);
    let vouching = added(&["front", "--role", "agent", "--attest-roles"]);
    assert_eq!(
        [&plain.0, &vouching.0, &made["attest_roles"]],
        [false, true, true]
    );
    let context = store.json(&["begin"])["context_id"].clone();
    let request = ["request", context.as_str().unwrap(), "pay Globex"];
    for (file, may) in [(&plain.1, false), (&vouching.1, true), (&file, true)] {
        let arguments = [&["--credential", file], &request[..]].concat();
        if may {
            store.json(&arguments);
        } else {
            store.refused(&arguments, 2, "forbidden");
        }
    }
}
