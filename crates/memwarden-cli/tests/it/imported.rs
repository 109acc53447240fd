//! Memory files of other tools.

use crate::fixture::Store;
use serde_json::Value;

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Every fixture, its format, how many entries it gives, and how many problems.
const FIXTURES: [(&str, &str, u64, usize); 8] = [
    ("agent.af", "letta-agent-file", 3, 2),
    ("agent-in-a-string.af", "letta-agent-file", 3, 2),
    ("damaged.jsonl", "mcp-memory", 1, 10),
    ("mcp.jsonl", "mcp-memory", 5, 0),
    ("mcp-graph.json", "mcp-memory", 5, 7),
    ("mcp-fork.jsonl", "mcp-memory", 3, 0),
    ("mem0.json", "mem0", 4, 0),
    ("rows.jsonl", "jsonl", 3, 5),
];

#[test]
fn every_format_is_imported_once_with_authority_none() {
    for (name, format, entries, problems) in FIXTURES {
        let store = Store::new();
        let first = store.run(&["--json", "import", &fixture(name)]);
        let report = &first.json()[0];
        assert_eq!(report["format"], format, "{name}: {report:#}");
        let imported = report["imported"].as_u64().unwrap();
        let named = report["problems"].as_array().unwrap().len();
        assert_eq!((imported, named), (entries, problems), "{name}: {report:#}");
        first.ended(i32::from(problems > 0));
        assert_eq!(
            store.json(&["status"])["namespaces"][0]["records"]["active"],
            imported,
            "{name}"
        );

        let again = store.run(&["--json", "import", &fixture(name)]);
        assert_eq!(again.json()[0]["imported"], 0, "{name}");
        assert!(
            again.json()[0]["already_there"].as_u64() >= Some(imported),
            "{name}"
        );
        assert_eq!(
            store.json(&["status"])["namespaces"][0]["records"]["active"],
            imported,
            "{name}"
        );
    }
}

#[test]
fn what_was_imported_is_found_and_may_support_nothing() {
    let store = Store::new();
    store.run(&["import", &fixture("mem0.json")]).ended(0);
    let served = store.json(&["recall", "vegetarian"]);
    let hit = &served["hits"][0];
    assert_eq!(hit["content"], "I am vegetarian and allergic to walnuts.");
    assert_eq!(
        (&hit["effective"], &hit["channel"]),
        (&Value::from("none"), &Value::from("import"))
    );
    assert_eq!(served["label"], "none");
}

#[test]
fn a_file_that_is_no_memory_is_named_and_the_others_are_imported() {
    let store = Store::new();
    let poem = store.write("poem.txt", "roses are red\n");
    let empty = store.write("empty.json", "");
    let bytes = store.write("bytes.bin", b"\xff\xfe\x00");
    let missing = store.at("missing.json");
    let files = [poem.as_str(), &empty, &bytes, &missing, &fixture("mem0.json")].map(str::to_owned);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let answer = store.run(&[&["--json", "import"], &files[..]].concat());
    answer.ended(1);
    let reports = answer.json();
    for (index, name) in ["poem.txt", "empty.json", "bytes.bin", "missing.json"]
        .into_iter()
        .enumerate()
    {
        let report = &reports[index];
        assert!(report["file"].as_str().unwrap().ends_with(name));
        assert_eq!(
            (&report["format"], &report["imported"]),
            (&Value::Null, &Value::from(0)),
            "{report:#}"
        );
        assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report:#}");
    }
    assert!(reports[4]["imported"].as_u64() > Some(0));

    let text = store.run(&["import", &poem]);
    assert!(text.ended(1).contains("not recognized"), "{text:?}");
}

#[test]
fn damaged_lines_are_named_with_their_place_and_whole_ones_come_in() {
    let store = Store::new();
    let answer = store.run(&["--json", "import", &fixture("damaged.jsonl")]);
    answer.ended(1);
    let report = &answer.json()[0];
    let problems: Vec<&str> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap())
        .collect();
    // Two objects on line 2, a lone surrogate, NUL, a number for a type, no list, and the cut last line.
    for line in [2, 3, 4, 5, 6, 7, 8, 9, 10, 11] {
        let place = format!("line {line}");
        assert!(
            problems.iter().any(|problem| problem.starts_with(&place)),
            "{place}: {problems:#?}"
        );
    }
    assert_eq!(store.recalled("first line is whole"), ["first line is whole"]);
}

#[test]
fn observations_that_are_no_texts_are_named() {
    let store = Store::new();
    let file = store.write(
        "memory.jsonl",
        concat!(
            r#"{"type":"entity","name":"a","entityType":"t","observations":null}"#,
            "\n",
            r#"{"type":"entity","name":"b","entityType":"t","observations":["fine",7,null,[]]}"#,
            "\n",
        ),
    );
    let answer = store.run(&["--json", "import", &file]);
    answer.ended(1);
    let report = &answer.json()[0];
    assert_eq!(report["imported"], 1);
    assert!(report["problems"].as_array().unwrap().len() >= 4, "{report:#}");
    assert_eq!(store.recalled("fine"), ["fine"]);
}

#[test]
fn rpc_imports_a_file_and_says_what_became_of_it() {
    let store = Store::new();
    let report = store.ask_as(
        "agent",
        "import",
        &serde_json::json!({"namespace": "n", "path": fixture("mem0.json")}),
    );
    assert_eq!(report["format"], "mem0");
    assert_eq!(store.json(&["status"])["namespaces"][0]["name"], "n");
}
