//! Vectors of an endpoint.

use crate::double::{Double, ok};
use crate::fixture::*;
use memwarden_core::encode::{Embedding, Encode as _};
use memwarden_model::By;

fn answer(data: &str) -> String {
    format!(r#"{{"object": "list", "data": [{data}], "usage": {{"prompt_tokens": 8, "total_tokens": 8}}}}"#)
}

#[test]
fn vectors_come_in_the_order_of_the_texts_and_are_metered() {
    let data = r#"{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}"#;
    let double = Double::new(vec![ok(&answer(data))]);
    let meter = meter();
    let encoder = paced(config(&double.url), &meter).0.encoder(purpose("embed"), 2);
    let vectors = encoder.encode(&["a", "b"]).unwrap();
    let expected = [[1.0, 0.0], [0.0, 1.0]].map(|vector| Embedding::quantize(&vector).unwrap());
    assert_eq!(vectors, expected);
    let row = &meter.report(By::Purpose).rows[0];
    assert_eq!(
        (row.name.as_str(), row.sum.prompt_tokens, row.sum.counted),
        ("embed", 8, 0)
    );
    let heard = double.finish();
    assert!(heard[0].head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
}

#[test]
fn vectors_that_do_not_fit_are_none() {
    for data in [
        r#"{"index": 0, "embedding": [1, 0]}"#,
        r#"{"index": 0, "embedding": [1, 0]}, {"index": 0, "embedding": [1, 0]}"#,
        r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1, 0, 0]}"#,
        r#"{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [1e60, 0]}"#,
    ] {
        let double = Double::new(vec![ok(&answer(data))]);
        let encoder = paced(config(&double.url), &meter())
            .0
            .encoder(purpose("embed"), 2);
        assert!(encoder.encode(&["a", "b"]).is_err(), "{data}");
        double.finish();
    }
}
