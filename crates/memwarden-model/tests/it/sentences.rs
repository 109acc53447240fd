//! A sentence encoder from files, held against what the reference implementation gave for a tiny random one.

use memwarden_core::encode::Encode;
use memwarden_model::{By, Meter, Metered, MeteredEncoder, Prices};
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bert")
}

fn encoder() -> (MeteredEncoder, Arc<Meter>) {
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let purpose = "recall".parse().unwrap();
    let encoder = Metered::sentence_encoder(&directory(), purpose, Arc::clone(&meter)).unwrap();
    (encoder, meter)
}

static ENCODER: LazyLock<MeteredEncoder> = LazyLock::new(|| encoder().0);

fn expected() -> Vec<Value> {
    let text = std::fs::read_to_string(directory().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().map(Vec::as_slice).unwrap_or_default();
    numbers.iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn a_vector_is_the_one_of_the_reference() {
    let (encoder, _) = encoder();
    for row in expected() {
        let text = row["text"].as_str().unwrap();
        let vector = encoder.encode_query(text).unwrap();
        let reference = numbers(&row["vector"]);
        if reference.is_empty() {
            assert!(vector.iter().all(|value| *value == 0.0), "{text}");
            assert!(encoder.encode(&[text]).unwrap()[0].is_zero());
            continue;
        }
        assert_eq!(vector.len(), reference.len());
        for (value, reference) in vector.iter().zip(&reference) {
            assert!(
                (f64::from(*value) - reference).abs() < 1e-4,
                "{text}: {value} {reference}"
            );
        }
        let cosine: f64 = vector
            .iter()
            .zip(&reference)
            .map(|(l, r)| f64::from(*l) * r)
            .sum();
        assert!(cosine > 0.999_999, "{text}: {cosine}");
    }
}

#[test]
fn every_call_is_metered_with_the_models_own_count() {
    let (encoder, meter) = encoder();
    let rows = expected();
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    encoder.encode(&texts).unwrap();
    // Each window of 38 pieces has two markers.
    let windows = |pieces: u64| pieces + 2 * pieces.div_ceil(38);
    let pieces: u64 = rows
        .iter()
        .map(|row| windows(row["pieces"].as_u64().unwrap()))
        .sum();
    let report = meter.report(By::Purpose);
    assert_eq!(report.rows.len(), 1);
    assert_eq!(report.rows[0].name, "recall");
    assert_eq!(
        (report.rows[0].sum.calls, report.rows[0].sum.prompt_tokens),
        (1, pieces)
    );
    assert!(encoder.name().starts_with("bert-32-"), "{}", encoder.name());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Not one bit depends on what else is encoded at once, nor on how many threads do it.
    #[test]
    fn a_text_has_the_same_vector_alone_and_in_any_batch(texts in prop::collection::vec("[a-z .]{0,120}", 1..30)) {
        let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        let batch: Vec<&str> = texts.iter().map(String::as_str).collect();
        let together = ENCODER.encode(&batch).unwrap();
        for (text, together) in batch.iter().zip(&together) {
            prop_assert_eq!(&ENCODER.encode(&[text]).unwrap()[0], together);
            let once = ENCODER.encode_query(text).unwrap();
            let again = ENCODER.encode_query(text).unwrap();
            prop_assert_eq!(bits(&once), bits(&again));
        }
    }
}
