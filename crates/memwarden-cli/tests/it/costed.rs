//! `cost`: what a policy would do to ordinary memories.

use crate::fixture::Store;
use serde_json::Value;

const TRAFFIC: &str = r#"{"content": "The invoice of May is due on Friday.", "source": "agent"}
{"content": "We may skip the second look at batch 12.", "source": "agent"}
{"content": "Anna prefers tea.", "source": "user"}
"#;

fn cost(store: &Store, more: &[&str]) -> (i32, Value) {
    let traffic = store.write("traffic.jsonl", TRAFFIC);
    let mut arguments = vec!["cost", "--json", "--traffic", &traffic];
    arguments.extend(more);
    let answer = store.run(&arguments);
    let said = if answer.code == 2 {
        Value::Null
    } else {
        answer.json()
    };
    (answer.code, said)
}

#[test]
fn the_stage_to_blame_is_named_with_an_example_and_its_place() {
    let store = Store::unmade();
    let (code, said) = cost(&store, &["--policy", "keyword"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        (said["entries"].as_u64(), said["kept_out"].as_u64()),
        (Some(3), Some(1))
    );
    let stage = &said["stages"][0];
    assert_eq!(stage["stage"], "keyword");
    assert_eq!(
        (stage["kept_out"].as_u64(), stage["alone_to_blame"].as_u64()),
        (Some(1), Some(1))
    );
    let example = &stage["examples"][0];
    assert!(
        example["place"]
            .as_str()
            .unwrap()
            .ends_with("traffic.jsonl: line 2"),
        "{example}"
    );
    assert!(example["reason"].as_str().unwrap().contains("skip"));
}

#[test]
fn a_model_that_nobody_gave_is_named_and_not_taken_for_a_cost() {
    let store = Store::unmade();
    let policy = store.write(
        "p.toml",
        "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[read]\nstages = [\"rerank\"]\n[verdict]\nanomaly = \"quarantine\"\n",
    );
    let (code, said) = cost(&store, &["--policy", &policy]);
    assert_eq!(code, 0, "{said}");
    let stages = said["stages"].as_array().unwrap();
    assert_eq!(
        (stages.len(), &stages[0]["undecided"]["failed"]),
        (1, &Value::from(3))
    );
    assert_eq!(said["notes"].as_array().unwrap().len(), 2, "{said}");
    let (code, _) = cost(&store, &["--stage-model", "small=local:x"]);
    assert_eq!(code, 2);
}
