//! What the trait promises of any encoder, and what this one is for.

use memwarden_core::encode::{Embedding, Encode as _};
use memwarden_encode::{EMBEDDED, StaticEncoder};
use sha2::{Digest as _, Sha256};

fn encode(texts: &[&str]) -> Vec<Embedding> {
    StaticEncoder::embedded().unwrap().encode(texts).unwrap()
}

#[test]
fn the_name_tells_the_table() {
    let mut digest = Sha256::new();
    digest.update(include_bytes!("../../data/table.safetensors"));
    digest.update(include_bytes!("../../data/tokenizer.json"));
    let hex: String = digest.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let encoder = StaticEncoder::embedded().unwrap();
    assert_eq!(encoder.name(), EMBEDDED);
    assert_eq!(
        EMBEDDED,
        format!("static-minilm-l6-v2-{}-{hex}", encoder.dimensions())
    );
}

#[test]
fn the_vectors_of_this_name_do_not_change() {
    let mut digest = Sha256::new();
    for vector in encode(&[
        "The meeting moved to Thursday.",
        "Встреча перенесена.",
        "会议改到星期四",
    ]) {
        digest.update(vector.to_bytes());
    }
    let hex: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        hex,
        "c8ec8eb2eb34bef7508bbfaaeae99afaeb886a702d8db8e6e375eb7fd1ce4c32"
    );
}

#[test]
fn a_text_has_one_vector_whatever_stands_beside_it() {
    let long = "The tram to the harbor leaves at nine. ".repeat(100);
    let texts = ["The tram leaves at nine.", &long, "", "Prefers aisle seats."];
    let together = encode(&texts);
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(vector.dimensions(), 256);
        assert_eq!(&encode(&[text])[0], vector);
    }
    assert_eq!(encode(&[]), []);
}

#[test]
fn a_text_is_read_to_its_end() {
    let start = "The tram to the harbor leaves at nine. ".repeat(200);
    let tail = "The surgeon removed an inflamed appendix. ".repeat(200);
    let [plain, longer, medical] =
        <[Embedding; 3]>::try_from(encode(&[&start, &format!("{start}{tail}"), "surgery"])).unwrap();
    assert!(longer.dot(&medical) > plain.dot(&medical) + 0.1);
}

#[test]
fn what_has_no_piece_has_the_zero_vector() {
    for text in ["", " \n\t", "\u{200b}", &"x".repeat(101), "[CLS][SEP]", "[UNK]"] {
        assert!(encode(&[text])[0].is_zero(), "{text:?}");
    }
}

#[test]
fn what_is_about_the_same_is_nearest_without_a_word_in_common() {
    let memories = [
        "She was prescribed antibiotics by her physician.",
        "Rent for the apartment goes up in October.",
        "He adopted a puppy from the shelter.",
        "They flew to Lisbon for their honeymoon.",
        "The server crashed after the database migration.",
    ];
    let questions = [
        "medicine from a doctor",
        "how expensive is housing",
        "which pets does somebody own",
        "where was the wedding trip",
        "failure of a computer system",
    ];
    let memories = encode(&memories);
    for (index, question) in encode(&questions).iter().enumerate() {
        let best = (0..memories.len()).max_by(|a, b| {
            question
                .dot(&memories[*a])
                .total_cmp(&question.dot(&memories[*b]))
        });
        assert_eq!(best, Some(index), "{}", questions[index]);
    }
}
