//! Databases that are none, or not whole: a named error, and the files stay as they are.

use crate::fixture::Store;
use serde_json::json;

/// Verbs that read, that write, and that only the owner may use.
const VERBS: [&[&str]; 5] = [
    &["recall", "gate"],
    &["remember", "x"],
    &["status"],
    &["ledger", "verify"],
    &["backup", "copy.db"],
];

/// Each verb must fail with one of these codes and leave the database as it is.
#[track_caller]
fn each_verb_fails(store: &Store, what: &str, codes: &[&str]) {
    let before = std::fs::read(store.database()).ok();
    for verb in VERBS {
        let answer = store.run(&[&["--json"], verb].concat());
        let error = answer.json()["error"].clone();
        let code = error["code"]
            .as_str()
            .unwrap_or_else(|| panic!("{what}: {verb:?}: {answer:?}"));
        assert!(codes.contains(&code), "{what}: {verb:?}: {error:#}");
        let wanted = if matches!(code, "damaged" | "unverified" | "tampered" | "behind_witness") {
            1
        } else {
            2
        };
        assert_eq!(answer.code, wanted, "{what}: {verb:?}: {error:#}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let answer = store.feed(&["--json", "rpc"], b"{\"id\":1,\"op\":\"status\"}\n");
    assert!(
        codes.contains(&answer.json()["error"]["code"].as_str().unwrap()),
        "{what}: {answer:?}"
    );
    assert_eq!(
        std::fs::read(store.database()).ok(),
        before,
        "{what}: the database was changed"
    );
}

fn filled() -> Store {
    let store = Store::new();
    let line = |number: u64| {
        let content = format!(
            "The gate of house {number} opens at nine. {}",
            "pallet ".repeat(100)
        );
        format!(
            "{}\n",
            json!({"op": "remember", "params": {"entry": {"content": content}}})
        )
    };
    assert_eq!(store.lines((0..40).map(line).collect::<String>()).len(), 40);
    store
}

#[test]
fn a_store_that_is_missing_is_not_made() {
    let store = Store::unmade();
    each_verb_fails(&store, "missing", &["no_store"]);
    assert!(!store.path("store").exists());
    std::fs::create_dir(store.path("store")).unwrap();
    each_verb_fails(&store, "an empty directory", &["no_store"]);
    assert_eq!(std::fs::read_dir(store.path("store")).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    std::fs::write(store.database(), b"").unwrap();
    each_verb_fails(&store, "an empty file", &["foreign_file", "damaged", "no_store"]);
    std::fs::write(store.database(), "no database at all. ".repeat(1_000)).unwrap();
    each_verb_fails(&store, "text", &["foreign_file", "damaged"]);
    std::fs::write(store.database(), [0; 65_536]).unwrap();
    each_verb_fails(&store, "zeros", &["foreign_file", "damaged"]);
    std::fs::remove_file(store.database()).unwrap();
    std::fs::create_dir(store.database()).unwrap();
    for verb in VERBS {
        assert_ne!(store.run(&[&["--json"], verb].concat()).code, 0, "{verb:?}");
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let store = Store::new();
    std::fs::remove_file(store.database()).unwrap();
    let db = rusqlite::Connection::open(store.database()).unwrap();
    db.execute_batch("CREATE TABLE diary (page TEXT); INSERT INTO diary VALUES ('today')")
        .unwrap();
    db.close().unwrap();
    each_verb_fails(&store, "another program's", &["foreign_file"]);
    store.refused(&["init"], 2, "exists");
}

#[test]
fn a_database_that_was_cut_off_is_refused_whatever_is_left() {
    let store = filled();
    let whole = std::fs::read(store.database()).unwrap();
    for part in [2, 3, 10] {
        std::fs::write(store.database(), &whole[..whole.len() / part]).unwrap();
        each_verb_fails(&store, "cut", &["damaged", "unverified", "foreign_file"]);
    }
    for bytes in [1, 15, 99, 100, 4_096] {
        std::fs::write(store.database(), &whole[..bytes]).unwrap();
        each_verb_fails(&store, "cut short", &["damaged", "unverified", "foreign_file"]);
    }
    std::fs::write(store.database(), &whole).unwrap();
    assert!(!store.recalled("house 7").is_empty());
    assert_eq!(store.json(&["ledger", "verify", "--deep"])["intact"], true);
}

#[test]
fn keys_that_are_missing_or_another_stores_are_refused() {
    let store = Store::new();
    let other = Store::new();
    let key = store.path("keys").join("log.key");
    let own = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    store.refused(&["remember", "x"], 2, "keys");
    std::fs::copy(other.path("keys").join("log.key"), &key).unwrap();
    let message = store.refused(&["remember", "x"], 2, "keys");
    assert!(message.contains("belongs to log"), "{message}");
    std::fs::write(&key, "no key").unwrap();
    store.refused(&["remember", "x"], 2, "keys");
    std::fs::write(&key, own).unwrap();
    store.keep("x");
}

#[test]
fn a_witness_that_was_lost_is_a_warning() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    std::fs::remove_dir_all(store.path("witness")).unwrap();
    let answer = store.run(&["recall", "gate"]);
    assert!(answer.ended(0).contains("The gate opens at nine."));
    assert!(answer.err.contains("warning"), "{answer:?}");
    assert!(
        store.run(&["recall", "gate"]).err.is_empty(),
        "the witness is there again"
    );
}
