//! Bad input on the command line: a named error with field, value and expectation, and nothing changed.

use crate::fixture::Store;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn texts_that_cannot_be_kept_are_refused_by_name_and_change_nothing() {
    let store = Store::new();
    store.keep("one");
    let before = store.holdings();
    let long = "x".repeat(10_000_000);
    let texts: [(&[u8], &str); 6] = [
        (b"", "`content` is empty"),
        (b" \n\t", "`content` is empty"),
        (
            long.as_bytes(),
            "`content` has 10000000 bytes: expected at most 1048576",
        ),
        (b"caf\xe9", "`content` is not UTF-8 at byte 3"),
        (b"\xed\xa0\x80", "`content` is not UTF-8 at byte 0"),
        (b"a\0b", "`content` has a NUL character at byte 1"),
    ];
    for (text, wanted) in texts {
        let answer = store.feed(&["--json", "remember", "-"], text);
        answer.ended(2);
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], "bad_input");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{message}");
        assert!(message.len() < 300);
    }
    store.refused(&["remember", ""], 2, "bad_input");
    assert_eq!(store.holdings(), before);
}

#[test]
fn the_longest_text_is_kept_whole() {
    let store = Store::new();
    let text = format!("gate {}", "x".repeat(1_048_576 - 5));
    store.feed(&["--json", "remember", "-"], text.as_bytes()).ended(0);
    assert_eq!(store.recalled("gate"), [text.as_str()]);
    let answer = store.feed(&["--json", "remember", "-"], format!("{text}x").as_bytes());
    answer.ended(2);
}

#[test]
fn arguments_out_of_range_are_named_and_change_nothing() {
    let store = Store::new();
    let record = store.keep("one");
    let before = store.holdings();
    let unknown = "0".repeat(32);
    let long_reason = "r".repeat(100_000);
    let cases: [(&[&str], &str, &str); 27] = [
        (
            &["recall", "x", "-k", "0"],
            "bad_input",
            "`k` is `0`: expected 1 to 100",
        ),
        (
            &["recall", "x", "-k", "101"],
            "bad_input",
            "`k` is `101`: expected 1 to 100",
        ),
        (&["recall", "x", "-k", "-1"], "bad_input", "-1"),
        (&["recall", "x", "-k", "many"], "bad_input", "many"),
        (&["recall", ""], "bad_input", "`query`"),
        (
            &["recall", "x", "--kind", "gossip"],
            "bad_input",
            "general, reasoning",
        ),
        (
            &["recall", "x", "--retrieval", "telepathy"],
            "bad_input",
            "telepathy",
        ),
        (&["-n", "../../x", "remember", "y"], "bad_input", "../../x"),
        (&["-n", "", "remember", "y"], "bad_input", "namespace"),
        (&["-n", "a b", "remember", "y"], "bad_input", "a b"),
        (
            &["-n", "nobody", "recall", "y"],
            "no_namespace",
            "`nobody` holds nothing",
        ),
        (
            &["remember", "y", "--trace-type", "gossip"],
            "bad_input",
            "decision_log",
        ),
        (
            &["remember", "y", "--field", "noequals"],
            "bad_input",
            "expected NAME=VALUE",
        ),
        (
            &["remember", "y", "--field", "=1"],
            "bad_input",
            "`fields` is empty",
        ),
        (
            &["remember", "y", "--metadata", "[1]"],
            "bad_input",
            "`metadata` is not a JSON object",
        ),
        (
            &["remember", "y", "--metadata", "{\"a\":1,\"a\":2}"],
            "bad_input",
            "key `a` stands twice",
        ),
        (
            &["remember", "y", "--metadata", "{\"a\":\"\\ud800\"}"],
            "bad_input",
            "`metadata` is not a JSON object",
        ),
        (
            &["remember", "y", "--valid-until", "tomorrow"],
            "bad_input",
            "tomorrow",
        ),
        (
            &["remember", "y", "--valid-until", "2001-01-01T00:00:00Z"],
            "bad_input",
            "a time after now",
        ),
        (
            &["remember", "y", "--parent", "mine"],
            "bad_input",
            "`mine` is not an id",
        ),
        (&["remember", "y", "--parent", &unknown], "not_found", &unknown),
        (
            &["remember", "y", "--supersedes", &unknown],
            "not_found",
            &unknown,
        ),
        (
            &["retire", "../../etc/passwd"],
            "bad_input",
            "expected 32 hexadecimal digits, lower case",
        ),
        (&["retire", &unknown], "not_found", &unknown),
        (
            &["retire", &record, "--reason", &long_reason],
            "bad_input",
            "`reason`",
        ),
        (&["history", &unknown], "not_found", &unknown),
        (&["frobnicate"], "bad_input", "frobnicate"),
    ];
    for (arguments, code, wanted) in cases {
        let message = store.refused(arguments, 2, code);
        assert!(message.contains(wanted), "{arguments:?}: {message}");
        assert!(message.len() < 1_000, "{arguments:?}");
    }
    assert_eq!(store.holdings(), before);
    assert_eq!(store.recalled("one"), ["one"]);
}

#[test]
fn an_argument_that_is_not_utf_8_is_refused() {
    let store = Store::new();
    let before = store.holdings();
    let mut command = assert_cmd::Command::cargo_bin("memwarden").unwrap();
    for place in ["store", "keys", "witness"] {
        command.arg(format!("--{place}")).arg(store.path(place));
    }
    command
        .arg("remember")
        .arg(OsStr::from_bytes(b"caf\xe9"))
        .assert()
        .code(2);
    assert_eq!(store.holdings(), before);
}

#[test]
fn words_that_could_act_on_a_terminal_are_inert_in_every_output() {
    let store = Store::with_policy("sentinel");
    store.json(&["policy", "load", "off"]);
    // Clears the screen, sets a title, turns text around, is a C1 sequence, hides as a tag.
    let acts = "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}gate\u{e0041}\r\u{8}";
    let kept = store.json(&[
        "remember",
        acts,
        "--subject",
        acts,
        "--source",
        acts,
        "--trust",
        acts,
    ]);
    let record = kept["id"].as_str().unwrap();
    store.json(&["retire", record, "--reason", acts]);
    store.json(&["remember", acts, "--subject", acts]);
    // The fixture looks for control characters in all of these.
    for arguments in [
        &["recall", "gate"][..],
        &["recall", "gate", "--block"],
        &["--json", "recall", "gate"],
        &["quarantine", "list", "--retired"],
        &["quarantine", "show", record, "--body"],
        &["history", record],
        &["status"],
    ] {
        let answer = store.run(arguments);
        let text = answer.ended(0);
        if !arguments.contains(&"--json") {
            assert!(!text.contains(['\u{202e}', '\u{e0041}']), "{answer:?}");
        }
    }
    assert!(store.run(&["recall", "gate"]).out.contains("\\u{1b}[2J"));
    // Nor do they act from an error message.
    for arguments in [
        &["retire", acts][..],
        &["-n", acts, "recall", "x"],
        &["recall", "x", "-k", acts],
        &[acts],
        &["policy", "show", acts],
        &["import", acts],
        &["remember", "x", "--field", acts],
        &["ledger", "verify", "--proof", acts, "--key", acts],
        &["--credential", acts, "recall", "x"],
    ] {
        assert_ne!(store.run(arguments).code, 0, "{arguments:?}");
        assert_ne!(
            store.run(&[&["--json"], arguments].concat()).code,
            0,
            "{arguments:?}"
        );
    }
}

#[test]
fn credentials_that_are_none_are_refused_without_being_quoted() {
    let store = Store::new();
    let other = Store::new();
    let as_file = |path: &str| {
        [
            "--credential".to_owned(),
            path.to_owned(),
            "recall".to_owned(),
            "x".to_owned(),
        ]
    };
    let refused = |path: &str, code: &str| {
        let arguments = as_file(path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        store.refused(&arguments, 2, code)
    };
    let message = refused(&store.at("missing"), "bad_input");
    assert!(
        message.contains("expected a credential file or a role"),
        "{message}"
    );
    refused("emperor", "bad_input");
    let secret = "correct-horse-battery-staple-and-more";
    let file = store.write("loose", secret);
    let message = refused(&file, "credential");
    assert!(message.contains("expected 600"), "{message}");
    private(&file);
    assert!(!refused(&file, "credential").contains(secret));
    let theirs = other.path("keys").join("owner.credential");
    let message = refused(theirs.to_str().unwrap(), "credential");
    assert!(message.contains("this is store"), "{message}");
    // Of this store, with another secret.
    let own = std::fs::read_to_string(store.path("keys").join("owner.credential")).unwrap();
    let (front, _) = own.trim().rsplit_once(' ').unwrap();
    let forged = store.write("forged", format!("{front} {}\n", "ab".repeat(32)));
    private(&forged);
    refused(&forged, "credential");
}

fn private(file: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}
