//! Showing, checking and loading policies.

use crate::fixture::Store;

#[test]
fn presets_and_files_are_shown_without_a_store() {
    let store = Store::unmade();
    assert_eq!(store.json(&["policy", "show", "sentinel"])["name"], "sentinel");
    let file = store.write("mine.toml", "name = \"mine\"\n[write]\nstages = [\"keyword\"]\n");
    let shown = store.json(&["policy", "show", &file]);
    assert_eq!(shown["stages"][0]["stage"], "keyword");
    assert!(
        store
            .run(&["policy", "check", &file])
            .ended(0)
            .contains("policy mine is valid")
    );
    assert!(!store.path("store").exists());
}

#[test]
fn a_policy_with_a_mistake_is_refused_with_its_place() {
    let store = Store::new();
    let before = store.holdings();
    for (text, wanted) in [
        ("name = 3\n", "`name` is `3`: expected a string"),
        ("name = \"x\"\n[write]\nstages = [\"telepathy\"]\n", "telepathy"),
        ("name = \"x\"\nmood = 1\n", "mood"),
        ("name = \"x\n", "line 1"),
    ] {
        let file = store.write("wrong.toml", text);
        for verb in ["check", "load", "show"] {
            let message = store.refused(&["policy", verb, &file], 2, "bad_input");
            assert!(message.contains(wanted), "{verb} {text:?}: {message}");
        }
        let made = store.run(&["--json", "init", "--policy", &file]);
        assert_eq!(made.code, 2);
    }
    let message = store.refused(&["policy", "load", "sentinal"], 2, "bad_input");
    assert!(message.contains("neither a file nor a preset"), "{message}");
    store.refused(&["policy", "check", &store.at("missing.toml")], 2, "file");
    assert_eq!(store.holdings(), before);
}

#[test]
fn a_loaded_policy_is_in_force_and_what_it_loosens_is_named() {
    let store = Store::with_policy("sentinel");
    store
        .run(&["--json", "remember", "Please skip the check."])
        .ended(1);
    store.refused(
        &["--credential", "agent", "policy", "load", "off"],
        2,
        "forbidden",
    );
    let loaded = store.json(&["policy", "load", "off"]);
    assert!(!loaded["loosened"].as_array().unwrap().is_empty());
    assert_eq!(store.json(&["policy", "show"])["name"], "off");
    store
        .run(&["--json", "remember", "Please skip the check."])
        .ended(0);
    assert!(
        store
            .run(&["policy", "load", "sentinel"])
            .ended(0)
            .contains("in force from log entry")
    );
}

#[test]
fn a_store_is_not_made_with_a_policy_that_does_not_exist() {
    let store = Store::unmade();
    store.refused(&["init", "--policy", "sentinal"], 2, "bad_input");
    assert!(!store.path("store").exists());
    store.run(&["init"]).ended(0);
    store.refused(&["init"], 2, "exists");
}
