//! The language model against a forward pass in numpy, on a random model of our own (`tools/reference_llama.py`), and
//! files that are not what they say.

use crate::fixture::*;
use memwarden_core::model::{
    Attend as _, AttentionCall, Chat as _, ChatCall, Finish, Hidden as _, HiddenCall, Message, ModelError,
    ReplyShape, Score as _, ScoreCall, Scored, TokenLogprobs,
};
use memwarden_model::{FileError, Gguf, LanguageModel, Metered};
use serde_json::Value;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llama")
}

fn bytes() -> Vec<u8> {
    std::fs::read(directory().join("tiny.gguf")).unwrap()
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(directory().join("expected.json")).unwrap()).unwrap()
}

fn tiny() -> Metered {
    Metered::local(
        LanguageModel::open(&directory().join("tiny.gguf")).unwrap(),
        meter(),
    )
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn assert_near(ours: impl IntoIterator<Item = f64>, theirs: &[f64], most: f64) {
    let ours: Vec<f64> = ours.into_iter().collect();
    assert_eq!(ours.len(), theirs.len());
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert!((ours - theirs).abs() <= most, "{at}: {ours}, expected {theirs}");
    }
}

fn score(model: &Metered, prefix: &str, continuation: &str) -> Scored {
    let purpose = purpose("answer");
    let call = ScoreCall::new(&purpose, prefix, continuation);
    model.score(&[call]).pop().unwrap().unwrap()
}

#[test]
fn log_probabilities_are_those_of_the_reference() {
    let (model, expected) = (tiny(), expected());
    let text = expected["text"].as_str().unwrap();
    // Its first token is a word of its own.
    let (first, rest) = text.split_at("the".len());
    let scored = score(&model, first, rest);
    let theirs = numbers(&expected["text_log_probabilities"]);
    assert_near(
        scored.tokens.iter().map(|token| token.log_probability),
        &theirs,
        1e-4,
    );
    let spelled: String = scored.tokens.iter().map(|token| token.text.as_str()).collect();
    assert_eq!(spelled, rest);
    let usage = scored.usage.clone().unwrap();
    assert_eq!(usage.prompt, expected["tokens"].as_u64().unwrap());
    let perplexity = (-theirs.iter().sum::<f64>() / theirs.len() as f64).exp();
    assert!((scored.perplexity().unwrap() / perplexity - 1.0).abs() < 1e-4);
}

#[test]
fn states_of_every_layer_are_those_of_the_reference_on_both_sides_of_a_pass() {
    let (model, expected) = (tiny(), expected());
    let purpose = purpose("defense:probe");
    for state in expected["states"].as_array().unwrap() {
        let call = HiddenCall {
            purpose: &purpose,
            text: expected["text"].as_str().unwrap(),
            layer: state["layer"].as_u64().unwrap() as usize,
        };
        let states = model.hidden(&[call]).pop().unwrap().unwrap();
        assert_eq!(states.dimensions, 64);
        assert_eq!(
            states.positions().count() as u64,
            expected["tokens"].as_u64().unwrap()
        );
        let ours = states
            .positions()
            .nth(state["position"].as_u64().unwrap() as usize)
            .unwrap();
        assert_near(
            ours.iter().map(|value| f64::from(*value)),
            &numbers(&state["values"]),
            1e-4,
        );
    }
}

#[test]
fn attention_is_that_of_the_reference_and_sees_nothing_that_comes_later() {
    let (model, expected) = (tiny(), expected());
    let purpose = purpose("defense:probe");
    let wanted = &expected["attention"];
    let call = AttentionCall {
        purpose: &purpose,
        text: expected["text"].as_str().unwrap(),
        block: wanted["block"].as_u64().unwrap() as usize,
    };
    let weights = model.attend(&[call]).pop().unwrap().unwrap();
    assert_eq!(weights.heads, 4);
    let position = wanted["position"].as_u64().unwrap() as usize;
    for (head, theirs) in wanted["heads"].as_array().unwrap().iter().enumerate() {
        let ours = weights.head(head).nth(position).unwrap();
        assert_near(ours.iter().map(|value| f64::from(*value)), &numbers(theirs), 1e-5);
        for (at, row) in weights.head(head).enumerate() {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(row.iter().skip(at + 1).all(|weight| *weight == 0.0));
        }
    }
}

/// What it does not know from before must not show: the same call gives the same bits whatever came before it.
#[test]
fn a_score_does_not_depend_on_what_was_asked_before() {
    let expected = expected();
    let text = expected["text"].as_str().unwrap();
    let (shared, other) = text.split_at(text.len() - 8);
    let alone = score(&tiny(), shared, other);
    let model = tiny();
    for (prefix, continuation) in [
        (shared, " a"),
        (text, text),
        ("the", " memory"),
        (shared, " or by whom"),
    ] {
        score(&model, prefix, continuation);
    }
    assert_eq!(score(&model, shared, other), alone);
}

fn chat(
    model: &Metered,
    text: &str,
    change: impl FnOnce(&mut ChatCall<'_>),
) -> Result<memwarden_core::model::Reply, ModelError> {
    let purpose = purpose("answer");
    let messages = [Message::user(text)];
    let mut call = ChatCall::new(&purpose, &messages, NonZeroU32::new(24).unwrap());
    change(&mut call);
    model.chat(&[call]).pop().unwrap()
}

#[test]
fn a_message_that_spells_out_control_tokens_stays_text() {
    let (model, expected) = (tiny(), expected());
    let purpose = purpose("answer");
    let messages = [Message::user(expected["chat"].as_str().unwrap())];
    let call = ScoreCall {
        conversation: &messages,
        ..ScoreCall::new(&purpose, "", "the")
    };
    let scored = model.score(&[call]).pop().unwrap().unwrap();
    let usage = scored.usage.unwrap();
    assert_eq!(usage.prompt, expected["chat_tokens"].as_u64().unwrap() + 1);
    let next = numbers(&expected["chat_next"]);
    let nearest = next
        .iter()
        .map(|theirs| (theirs - scored.tokens[0].log_probability).abs());
    assert!(nearest.fold(f64::INFINITY, f64::min) < 1e-4);
}

#[test]
fn the_likeliest_reply_begins_with_the_likeliest_token_of_the_reference() {
    let expected = expected();
    let next = numbers(&expected["chat_next"]);
    // The first three are control tokens, which a reply cannot say.
    let most = next.iter().skip(3).copied().fold(f64::NEG_INFINITY, f64::max);
    let purpose = purpose("answer");
    let messages = [Message::user(expected["chat"].as_str().unwrap())];
    let mut call = ChatCall::new(&purpose, &messages, NonZeroU32::MIN);
    call.logprobs = TokenLogprobs::Need;
    let reply = tiny().passing_on().chat(&[call]).pop().unwrap().unwrap();
    assert_eq!((reply.finish, reply.tokens.len()), (Finish::Length, 1));
    // Eight bits a weight move a log-probability a little.
    assert!(
        (reply.tokens[0].log_probability - most).abs() < 0.25,
        "{:?}, expected {most}",
        reply.tokens
    );
}

#[test]
fn a_reply_that_reaches_its_limit_is_cut_off_and_counted() {
    let meter = meter();
    let file = LanguageModel::open(&directory().join("tiny.gguf")).unwrap();
    let model = Metered::local(file, meter.clone());
    let cut = chat(&model, "the memory", |call| {
        call.max_tokens = NonZeroU32::new(3).unwrap()
    });
    assert!(
        matches!(cut, Err(ModelError::Truncated { max_tokens: 3, .. })),
        "{cut:?}"
    );
    assert_eq!(failures(&meter), [("truncated".to_owned(), 1)]);
    assert_eq!(total(&meter).completion_tokens, 3);
    assert_eq!(total(&meter).approximated, 0);
}

const SCHEMA: &str = r#"{"type": "object", "required": ["decision", "sure"], "properties": {
    "decision": {"enum": ["skip", "check"]}, "n": {"type": "integer"}, "sure": {"type": "boolean"},
    "tags": {"type": "array", "maxItems": 1, "items": {"enum": ["a", "b"]}}}}"#;

#[test]
fn a_reply_in_json_has_its_shape_even_from_a_model_that_knows_nothing() {
    let model = tiny();
    for (temperature, seed) in [(0.0, 0), (1.0, 1), (1.0, 2), (2.5, 3)] {
        let reply = chat(&model, "the memory", |call| {
            call.shape = ReplyShape::Json {
                name: "decision",
                schema: SCHEMA,
            };
            call.max_tokens = NonZeroU32::new(120).unwrap();
            (call.temperature, call.seed) = (temperature, Some(seed));
        });
        let reply = reply.unwrap();
        assert_eq!(reply.finish, Finish::Stop);
        let value: Value = serde_json::from_str(&reply.text).unwrap();
        assert!(
            value["decision"] == "skip" || value["decision"] == "check",
            "{value}"
        );
    }
}

#[test]
fn a_schema_that_cannot_be_written_is_refused_with_its_place() {
    let refused = chat(&tiny(), "the memory", |call| {
        call.shape = ReplyShape::Json {
            name: "any",
            schema: r#"{"type": "array"}"#,
        };
    });
    assert!(
        matches!(&refused, Err(ModelError::Call { reason, .. }) if reason.contains("`items`")),
        "{refused:?}"
    );
}

#[test]
fn a_seed_repeats_a_reply_and_another_gives_another() {
    let model = tiny();
    let say = |seed| {
        let reply = chat(&model, "the memory", |call| {
            call.shape = ReplyShape::Json {
                name: "n",
                schema: r#"{"type": "array", "minItems": 8, "maxItems": 8, "items": {"enum": [0, 1, 2, 3]}}"#,
            };
            call.max_tokens = NonZeroU32::new(60).unwrap();
            (call.temperature, call.seed) = (3.0, Some(seed));
        });
        reply.unwrap().text
    };
    assert_eq!(say(1), say(1));
    assert!((2..10).any(|seed| say(seed) != say(1)));
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_was_expected() {
    let model = tiny();
    let purpose = purpose("answer");
    let long = "a ".repeat(200);
    let layer = HiddenCall {
        purpose: &purpose,
        text: "a",
        layer: 3,
    };
    let block = AttentionCall {
        purpose: &purpose,
        text: "a",
        block: 2,
    };
    for (error, said) in [
        (
            model.hidden(&[layer]).pop().unwrap().unwrap_err(),
            "expected 0 to 2",
        ),
        (
            model.attend(&[block]).pop().unwrap().unwrap_err(),
            "expected 0 to 1",
        ),
        (
            model
                .score(&[ScoreCall::new(&purpose, &long, "b")])
                .pop()
                .unwrap()
                .unwrap_err(),
            "at most 192",
        ),
        (chat(&model, &long, |_| ()).unwrap_err(), "at most 192"),
        (
            chat(&model, "a", |call| call.temperature = f32::NAN).unwrap_err(),
            "expected 0 or more",
        ),
        (
            model
                .chat(&[ChatCall::new(&purpose, &[], NonZeroU32::MIN)])
                .pop()
                .unwrap()
                .unwrap_err(),
            "no message",
        ),
    ] {
        assert!(
            matches!(error, ModelError::Call { .. }) && error.to_string().contains(said),
            "{error}"
        );
    }
    // An empty text has no tokens and no states.
    let empty = HiddenCall {
        purpose: &purpose,
        text: "",
        layer: 0,
    };
    assert!(model.hidden(&[empty]).pop().unwrap().unwrap().values.is_empty());
    assert!(score(&model, "the", "").tokens.is_empty());
}

#[test]
fn what_it_showed_comes_back_from_a_cassette() {
    let directory = tempfile::tempdir().unwrap();
    let tape = directory.path().join("tape");
    let purpose = purpose("answer");
    let attention = AttentionCall {
        purpose: &purpose,
        text: "the memory",
        block: 1,
    };
    let messages = [Message::user("the memory")];
    let call = ScoreCall {
        conversation: &messages,
        ..ScoreCall::new(&purpose, "", "a")
    };
    let live = tiny().recording_to(&tape).unwrap();
    let (seen, scored) = (live.attend(&[attention]), live.score(&[call]));
    let replayed = Metered::cassette(&tape, "tiny", meter()).unwrap();
    assert_eq!(replayed.attend(&[attention]), seen);
    assert_eq!(replayed.score(&[call]), scored);
    let plain = ScoreCall::new(&purpose, "", "a");
    assert!(matches!(
        replayed.score(&[plain]).pop().unwrap(),
        Err(ModelError::CassetteMiss { .. })
    ));
}

fn read(bytes: Vec<u8>) -> Result<LanguageModel, FileError> {
    LanguageModel::from_gguf(Gguf::parse(Path::new("model.gguf"), bytes)?)
}

/// The file with `new` in the place of the first `old`, which is as long.
fn changed(old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes();
    let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
    bytes[at..at + old.len()].copy_from_slice(new);
    bytes
}

/// The bytes of a text, with its length before them.
fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn number(key: &str, value: u32) -> Vec<u8> {
    [
        text(key),
        4_u32.to_le_bytes().to_vec(),
        value.to_le_bytes().to_vec(),
    ]
    .concat()
}

#[test]
fn attention_that_would_not_fit_is_refused_before_it_is_computed() {
    let roomy = changed(
        &number("llama.context_length", 192),
        &number("llama.context_length", 1 << 20),
    );
    let model = Metered::local(read(roomy).unwrap(), meter());
    let purpose = purpose("answer");
    let call = AttentionCall {
        purpose: &purpose,
        text: &"\n1".repeat(4097),
        block: 0,
    };
    let error = model.attend(&[call]).pop().unwrap().unwrap_err();
    assert!(matches!(error, ModelError::Call { .. }), "{error}");
    assert!(
        error.to_string().contains("attention is shown of at most 4096"),
        "{error}"
    );
}

#[test]
fn a_model_is_told_by_what_is_in_its_file() {
    let one = read(bytes()).unwrap();
    let other = changed(
        &number("llama.context_length", 192),
        &number("llama.context_length", 191),
    );
    let other = read(other).unwrap();
    assert_eq!(one.name(), other.name());
    assert_ne!(one.digest(), other.digest());
}

#[test]
fn a_file_that_ends_anywhere_before_its_end_is_an_error() {
    let whole = bytes();
    assert!(read(whole.clone()).is_ok());
    for length in (0..3000)
        .chain((3000..whole.len()).step_by(97))
        .chain([whole.len() - 1])
    {
        let error = read(whole[..length].to_vec()).unwrap_err();
        let named = matches!(error, FileError::Truncated { .. } | FileError::Lies { .. });
        assert!(named, "{length}: {error}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let merge = "mem ory";
    for (name, bytes, said) in [
        (
            "another format",
            b"PK\x03\x04 and so on".to_vec(),
            "does not begin with `GGUF`",
        ),
        (
            "another version",
            changed(b"GGUF\x03\0\0\0", b"GGUF\x01\0\0\0"),
            "version 1: expected 2 or 3",
        ),
        (
            "big-endian",
            changed(b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03"),
            "version 50331648",
        ),
        (
            "another architecture",
            changed(
                &[text("general.architecture"), vec![8, 0, 0, 0], text("llama")].concat(),
                &[text("general.architecture"), vec![8, 0, 0, 0], text("qwen2")].concat(),
            ),
            "architecture `qwen2`: expected `llama`",
        ),
        (
            "more tensors than fit",
            {
                let mut bytes = bytes();
                bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
                bytes
            },
            "the number of tensors",
        ),
        (
            "more values than fit",
            {
                let mut bytes = bytes();
                bytes[16..24].copy_from_slice(&(1_u64 << 40).to_le_bytes());
                bytes
            },
            "the number of values",
        ),
        (
            "a text longer than the file",
            changed(
                &text("tiny, random"),
                &[&u64::MAX.to_le_bytes()[..], b"tiny, random"].concat(),
            ),
            "is cut off: general.name",
        ),
        (
            "a list longer than the file",
            changed(
                &[
                    &text("tokenizer.ggml.token_type")[..],
                    &[9, 0, 0, 0, 5, 0, 0, 0],
                    &273_u64.to_le_bytes(),
                ]
                .concat(),
                &[
                    &text("tokenizer.ggml.token_type")[..],
                    &[9, 0, 0, 0, 5, 0, 0, 0],
                    &(1_u64 << 61).to_le_bytes(),
                ]
                .concat(),
            ),
            "`tokenizer.ggml.token_type` what cannot be: 2305843009213693952",
        ),
        (
            "a width that the tensors lack",
            changed(
                &number("llama.embedding_length", 64),
                &number("llama.embedding_length", 128),
            ),
            "shape [273, 64]: the metadata asks for [273, 128]",
        ),
        (
            "more blocks than there are",
            changed(&number("llama.block_count", 2), &number("llama.block_count", 3)),
            "lacks the tensor `blk.2",
        ),
        (
            "no blocks",
            changed(&number("llama.block_count", 2), &number("llama.block_count", 0)),
            "expected an integer from 1 to 1024",
        ),
        (
            "heads that share unevenly",
            changed(
                &number("llama.attention.head_count_kv", 2),
                &number("llama.attention.head_count_kv", 3),
            ),
            "does not divide the 4 heads",
        ),
        (
            "another tokenizer",
            changed(&text("gpt2"), &text("bert")),
            "it is of kind `bert`",
        ),
        (
            "another way to split",
            changed(&text("smollm"), &text("qwen-2")),
            "splits text as `qwen-2`",
        ),
        (
            "a token twice",
            changed(&text("th"), &text("in")),
            "is there twice",
        ),
        (
            "a merge of what is no token",
            changed(&text(merge), &text("mem orz")),
            "does not match the model",
        ),
        (
            "a letter that is no token",
            changed(
                &[text("G"), text("H")].concat(),
                &[text("G"), text("\u{7f}")].concat(),
            ),
            "no token for the byte 0x48",
        ),
        (
            "an end that is no token",
            changed(
                &number("tokenizer.ggml.eos_token_id", 2),
                &number("tokenizer.ggml.eos_token_id", 273),
            ),
            "eos_token_id",
        ),
        (
            "a template that is none",
            changed(b"{% endfor %}", b"{% endfur %}"),
            "tokenizer.chat_template",
        ),
    ] {
        let error = read(bytes).expect_err(name).to_string();
        assert!(error.contains(said), "{name}: {error}");
        assert!(error.contains("`model.gguf`"), "{name}: {error}");
    }
    let missing = LanguageModel::open(Path::new("no/such.gguf")).unwrap_err();
    assert!(matches!(missing, FileError::Io { .. }));
}

fn small() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read(root.join("fuzz/seeds/gguf/random.gguf")).unwrap()
}

/// Reads it and asks what it can be asked; whatever it is, that ends with an answer or an error.
fn try_out(bytes: Vec<u8>) -> bool {
    let model = match read(bytes) {
        Ok(model) => Metered::local(model, meter()),
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
            return false;
        }
    };
    let purpose = purpose("answer");
    let scored = model
        .score(&[ScoreCall::new(&purpose, "the", " memory")])
        .pop()
        .unwrap();
    if let Ok(scored) = &scored {
        assert!(scored.log_probability() <= 0.0);
    }
    let messages = [Message::user("the memory")];
    let _ = model.chat(&[ChatCall::new(&purpose, &messages, NonZeroU32::MIN)]);
    scored.is_ok()
}

#[test]
fn a_file_with_any_of_its_bytes_changed_is_run_or_refused_with_a_message() {
    let whole = small();
    assert!(try_out(whole.clone()));
    // The header byte by byte; the numbers behind it here and there.
    let header = whole.windows(6).rposition(|window| window == b"weight").unwrap() + 48;
    let (mut ran, mut refused) = (0, 0);
    for at in (0..header).chain((header..whole.len()).step_by(61)) {
        let mut bytes = whole.clone();
        bytes[at] ^= [0x01, 0x80, 0xFF][at % 3];
        if try_out(bytes) {
            ran += 1;
        } else {
            refused += 1;
        }
    }
    assert!(ran > 100 && refused > 100, "{ran} ran, {refused} were refused");
}
