//! Whether texts are cut as BERT cuts them, and rows are averaged as the data card says: against the reference
//! tokenizer and a table that is read here, by the format's description.

use memwarden_core::encode::{Embedding, Encode as _};
use memwarden_encode::StaticEncoder;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;
use tokenizers::Tokenizer;

static TABLE: &[u8] = include_bytes!("../../data/table.safetensors");
static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::from_bytes(include_bytes!("../../data/tokenizer.json")).unwrap());
const DIMENSIONS: usize = 256;
const UNKNOWN: u32 = 100;

/// The vector of a text of these pieces.
fn expected(pieces: &[u32]) -> Embedding {
    let header_length = u64::from_le_bytes(TABLE[..8].try_into().unwrap()) as usize;
    let data = &TABLE[8 + header_length..];
    let header: Value = serde_json::from_slice(&TABLE[8..8 + header_length]).unwrap();
    let first = |name: &str| header[name]["data_offsets"][0].as_u64().unwrap() as usize;
    let (rows, weights) = (&data[first("embeddings")..], &data[first("weights")..]);
    let mut sum = [0.0_f64; DIMENSIONS];
    for piece in pieces.iter().filter(|piece| **piece != UNKNOWN) {
        let piece = *piece as usize;
        let weight = f32::from_le_bytes(weights[piece * 4..][..4].try_into().unwrap());
        for (sum, value) in sum.iter_mut().zip(&rows[piece * DIMENSIONS..]) {
            *sum += f64::from(weight) * f64::from(value.cast_signed());
        }
    }
    Embedding::quantize(&sum.map(|value| value as f32)).unwrap()
}

fn alike(text: &str, pieces: &[u32]) -> bool {
    let vector = &StaticEncoder::embedded().unwrap().encode(&[text]).unwrap()[0];
    let expected = expected(pieces);
    vector.is_zero() && expected.is_zero() || vector.dot(&expected) > 0.9999
}

fn pieces(text: &str) -> Vec<u32> {
    TOKENIZER.encode(text, false).unwrap().get_ids().to_vec()
}

#[test]
fn texts_in_many_scripts_are_cut_as_the_reference_cuts_them() {
    for line in include_str!("../fixtures/pieces.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = line["text"].as_str().unwrap();
        let expected: Vec<u32> = serde_json::from_value(line["pieces"].clone()).unwrap();
        assert_eq!(pieces(text), expected, "{text:?}");
        assert!(alike(text, &expected), "{text:?}");
    }
}

#[test]
fn another_cut_is_noticed() {
    let text = "micromanagement of counterproductive meetings";
    let mut cut = pieces(text);
    assert!(alike(text, &cut));
    cut.pop();
    assert!(!alike(text, &cut));
}

proptest! {
    #[test]
    fn any_text_is_the_mean_of_the_rows_of_its_pieces(text in "(\\PC|[a-z ,.\u{301}\u{200b}\u{4e00}-\u{4e20}]){0,80}") {
        prop_assert!(alike(&text, &pieces(&text)), "{:?}", text);
    }

    #[test]
    fn so_is_one_of_words(words in proptest::collection::vec("[a-zA-Z]{1,12}", 1..400)) {
        let text = words.join(" ");
        prop_assert!(alike(&text, &pieces(&text)));
    }
}
