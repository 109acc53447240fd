//! The verbs of every day.

use crate::fixture::{Store, id};
use serde_json::json;

#[test]
fn what_was_remembered_is_recalled_by_another_process_with_its_provenance() {
    let store = Store::new();
    let kept = store.json(&[
        "remember",
        "ACME pays its invoices on the 25th.",
        "--trace-type",
        "fact",
        "--subject",
        "ACME",
        "--source",
        "user",
        "--trust",
        "high",
        "--field",
        "day=25",
        "--field",
        "late=false",
        "--field",
        "by=wire",
        "--metadata",
        r#"{"page":3}"#,
        "--valid-until",
        "2999-01-01T00:00:00Z",
    ]);
    assert_eq!(kept["status"], "active");

    let served = store.json(&["recall", "when does ACME pay", "-k", "1"]);
    let hit = &served["hits"][0];
    assert_eq!(hit["id"], kept["id"]);
    assert_eq!(hit["content"], "ACME pays its invoices on the 25th.");
    assert_eq!(hit["subject"], "ACME");
    assert_eq!(hit["writer"], "agent");
    assert_eq!(hit["written"], "inform");
    assert_eq!(hit["fields"], json!({"by": "wire", "day": 25, "late": false}));
    assert_eq!(hit["metadata"], json!({"page": 3}));
    assert_eq!(hit["valid_until"], "2999-01-01T00:00:00Z");
    assert_eq!(served["label"], "inform");

    let block = store.run(&["recall", "ACME", "--block"]);
    assert!(block.ended(0).contains("authority inform"), "{block:?}");
    let table = store.run(&["recall", "ACME"]);
    assert!(
        table.ended(0).contains("ACME pays its invoices on the 25th."),
        "{table:?}"
    );
}

#[test]
fn a_text_may_come_from_stdin_and_have_any_script() {
    let store = Store::new();
    let text = "Мария предпочитает отчёты по утрам\n朝の報告を好む\n👩\u{200d}🚀 שלום";
    let kept = store.feed(&["--json", "remember", "-"], text.as_bytes());
    kept.ended(0);
    assert_eq!(store.recalled("отчёты"), [text]);
    assert_eq!(store.recalled("報告"), [text]);
}

#[test]
fn recall_takes_kind_namespace_and_retrieval() {
    let store = Store::new();
    store.keep("The harbor ferry runs every twenty minutes.");
    store.json(&["-n", "other", "remember", "The harbor crane is painted red."]);
    store.json(&[
        "remember",
        "--trace-type",
        "decision_log",
        "Took the harbor ferry because the bus was late.",
    ]);

    let served = store.json(&["recall", "harbor", "--kind", "reasoning"]);
    assert_eq!(served["hits"].as_array().unwrap().len(), 1);
    assert_eq!(served["hits"][0]["trace_type"], "decision_log");
    assert_eq!(
        store.json(&["-n", "other", "recall", "harbor"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let near = store.json(&[
        "recall",
        "The harbour ferry runs every 20 minutes.",
        "--retrieval",
        "levenshtein",
        "-k",
        "1",
    ]);
    assert_eq!(
        near["hits"][0]["content"],
        "The harbor ferry runs every twenty minutes."
    );
}

#[test]
fn a_record_that_supersedes_another_is_served_in_its_place() {
    let store = Store::new();
    let old = store.keep("The warehouse closes at six.");
    store.json(&["remember", "The warehouse closes at seven.", "--supersedes", &old]);
    assert_eq!(store.recalled("warehouse"), ["The warehouse closes at seven."]);
}

#[test]
fn what_is_retired_is_not_recalled_and_its_history_says_who_and_why() {
    let store = Store::new();
    let record = store.keep("Window seats are preferred.");
    let changed = store.json(&["retire", &record, "--reason", "asked for the aisle"]);
    assert_eq!(changed["status"], "retired");
    assert!(store.recalled("window").is_empty());
    let history = store.json(&["history", &record]);
    let last = history.as_array().unwrap().last().unwrap();
    assert_eq!(last["by"], "agent");
    assert_eq!(last["reason"], "asked for the aisle");
    let table = store.run(&["history", &record]);
    assert!(table.ended(0).contains("asked for the aisle"), "{table:?}");
}

#[test]
fn status_counts_records_and_promises_no_more_than_this_version_keeps() {
    let store = Store::new();
    store.keep("one");
    store.json(&["-n", "team:a", "remember", "two"]);
    let status = store.json(&["status"]);
    assert_eq!(
        status["namespaces"][0]["records"],
        json!({"active": 1, "quarantined": 0, "retired": 0, "purged": 0})
    );
    assert_eq!(status["namespaces"][1]["name"], "team:a");
    assert_eq!(status["policy"]["name"], store.json(&["policy", "show"])["name"]);
    assert_eq!(status["receipts"], 0);
    let text = store.run(&["status"]);
    assert!(
        text.ended(0)
            .contains("screen mode: 3 principals, 0 receipts, 0 authorize calls; not protected")
    );
}

#[test]
fn the_verbs_answer_people_as_well() {
    let store = Store::unmade();
    assert!(store.run(&["init"]).ended(0).contains("verifier key memwarden/"));
    let said = store.run(&["remember", "The kettle cost 35 euros."]);
    assert!(
        said.ended(0).contains(" as active (authority inform, log entry "),
        "{said:?}"
    );
    assert!(
        store
            .run(&["recall", "zeppelin"])
            .ended(0)
            .contains("nothing fits")
    );
    assert!(store.run(&["ledger", "verify"]).ended(0).contains("intact"));
    assert!(
        store
            .run(&["ledger", "verify", "--deep"])
            .ended(0)
            .contains("hashed whole")
    );
    assert!(
        store
            .run(&["policy", "show"])
            .ended(0)
            .contains("reasoning-guard")
    );
    assert!(store.run(&["principal", "list"]).ended(0).contains("owner"));
    assert!(
        store
            .run(&["quarantine", "list"])
            .ended(0)
            .contains("nothing in namespace default is quarantined")
    );
}

#[test]
fn every_shell_gets_a_completion_script() {
    let store = Store::unmade();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            store.run(&["completions", shell]).ended(0).contains("memwarden"),
            "{shell}"
        );
    }
    assert_eq!(store.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn help_and_version_are_no_errors() {
    let store = Store::unmade();
    assert!(
        store
            .run(&["--help"])
            .ended(0)
            .contains("Exit codes: 0 clean, 1 findings")
    );
    assert!(store.run(&["--version"]).ended(0).starts_with("memwarden "));
    assert_eq!(store.run(&[]).code, 2);
}

#[test]
fn rpc_does_everyday_work_in_one_process_and_answers_in_order() {
    let store = Store::new();
    let answers = store.lines(concat!(
        r#"{"id":"a","op":"remember","params":{"entry":{"content":"The gate opens at nine.","fields":{"hour":9}}}}"#,
        "\n\n",
        r#"{"id":2,"op":"recall","params":{"query":"gate"}}"#,
        "\n",
        r#"{"id":null,"op":"status"}"#,
        "\n",
        r#"{"op":"flush"}"#,
    ));
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[1]["result"]["hits"][0]["id"], answers[0]["result"]["id"]);
    assert_eq!(answers[2]["result"]["namespaces"][0]["records"]["active"], 1);
    assert_eq!(answers[3], json!({"id": null, "result": {}}));
    let record = id(&answers[0]["result"]);
    assert_eq!(
        store.ask_as("agent", "inspect", &json!({"id": record}))["fields"]["hour"],
        9
    );
}
