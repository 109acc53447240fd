//! An entailment model from files, held against what the reference implementation gave for a tiny random one.

use memwarden_core::model::{Entail, EntailCall, Entailment, ModelError, Purpose};
use memwarden_model::{By, FileError, Meter, Metered, Prices};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/deberta")
}

fn open(directory: &Path) -> Result<(Metered, Arc<Meter>), FileError> {
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    Ok((Metered::entailment(directory, Arc::clone(&meter))?, meter))
}

fn ask(model: &Metered, pairs: &[(&str, &str)]) -> Vec<Result<Entailment, ModelError>> {
    let purpose: Purpose = "defense:contradiction".parse().unwrap();
    let calls: Vec<EntailCall<'_>> = pairs
        .iter()
        .map(|(premise, hypothesis)| EntailCall {
            purpose: &purpose,
            premise,
            hypothesis,
        })
        .collect();
    model.entail(&calls)
}

/// The fixture with its configuration changed.
fn with_config(change: impl Fn(&mut Value)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(fixture().join(name), directory.path().join(name)).unwrap();
    }
    let path = directory.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut config);
    std::fs::write(&path, config.to_string()).unwrap();
    directory
}

#[test]
fn a_judgment_is_the_one_of_the_reference() {
    let (model, meter) = open(&fixture()).unwrap();
    let text = std::fs::read_to_string(fixture().join("expected.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let pairs: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["premise"].as_str().unwrap(),
                row["hypothesis"].as_str().unwrap(),
            )
        })
        .collect();
    let mut pieces = 0;
    for (row, given) in rows.iter().zip(ask(&model, &pairs)) {
        let given = given.unwrap();
        let found = [given.entailed, given.neutral, given.contradicted];
        for (found, reference) in found.iter().zip(row["probabilities"].as_array().unwrap()) {
            assert!(
                (found - reference.as_f64().unwrap()).abs() < 1e-4,
                "{row}: {found}"
            );
        }
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        pieces += row["pieces"].as_u64().unwrap();
    }
    let sum = &meter.report(By::Purpose).rows[0].sum;
    assert_eq!((sum.calls, sum.prompt_tokens), (rows.len() as u64, pieces));
}

#[test]
fn classes_are_told_by_their_names_whatever_their_order() {
    let pair = ("The invoice was paid late.", "The invoice was not paid.");
    let (model, _) = open(&fixture()).unwrap();
    let before = ask(&model, &[pair]).remove(0).unwrap();
    let turned = with_config(|config| {
        config["id2label"] = serde_json::json!({"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"});
    });
    let (model, _) = open(turned.path()).unwrap();
    let after = ask(&model, &[pair]).remove(0).unwrap();
    assert_eq!(
        [after.contradicted, after.entailed, after.neutral],
        [before.entailed, before.neutral, before.contradicted]
    );
}

#[test]
fn classes_without_the_three_names_are_refused() {
    for labels in [
        serde_json::json!({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}),
        serde_json::json!({"0": "entailment", "1": "not_entailment"}),
        serde_json::json!({"0": "entailment", "1": "neutral", "2": "neutral"}),
        serde_json::json!({"0": "entailment", "1": "neutral", "7": "contradiction"}),
    ] {
        let directory = with_config(|config| config["id2label"] = labels.clone());
        let error = open(directory.path()).unwrap_err().to_string();
        assert!(
            error.contains("`id2label`") && error.contains("expected entailment"),
            "{error}"
        );
    }
}

#[test]
fn what_the_forward_pass_does_not_do_is_refused_by_name() {
    for (field, value) in [
        ("share_att_key", Value::from(false)),
        ("position_biased_input", Value::from(true)),
        ("pos_att_type", Value::from("c2p")),
        ("conv_kernel_size", Value::from(3)),
        ("norm_rel_ebd", Value::from("none")),
        ("hidden_act", Value::from("relu")),
        ("intermediate_size", Value::from(0)),
        ("position_buckets", Value::from(-1)),
        ("position_buckets", Value::from(i64::MAX)),
        ("num_attention_heads", Value::from(5)),
        ("max_position_embeddings", Value::from(0)),
    ] {
        let directory = with_config(|config| config[field] = value.clone());
        let error = open(directory.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`")), "{field}: {error}");
    }
}

#[test]
fn a_pair_that_does_not_fit_is_an_error_and_not_cut() {
    let (model, _) = open(&fixture()).unwrap();
    let long = "tea ".repeat(300);
    let mut given = ask(&model, &[(&long, "tea"), ("tea", "tea")]);
    assert!(given.remove(1).is_ok());
    let error = given.remove(0).unwrap_err();
    assert_eq!(error.name(), "call");
    assert!(error.to_string().contains("at most 128 fit"), "{error}");
}
