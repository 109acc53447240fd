//! Recording and replaying.

use crate::double::{Double, ok};
use crate::fixture::*;
use memwarden_core::encode::Encode as _;
use memwarden_core::model::{ModelError, TokenLogprobs};
use memwarden_model::{CassetteError, Metered, Served};
use proptest::prelude::*;

#[test]
fn a_replay_gives_the_same_replies_in_the_same_order_and_then_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("tape.jsonl");
    let vector = r#"{"data": [{"index": 0, "embedding": [0.1, -0.7]}]}"#;
    let double = Double::new(vec![
        ok(&reply("first", "stop")),
        ok(&reply("second", "stop")),
        ok(&reply("cut", "length")),
        ok(vector),
    ]);
    let recording = meter();
    let live = paced(config(&double.url), &recording)
        .0
        .with_reply_retries(0)
        .recording_to(&tape)
        .unwrap();
    let replaying = meter();
    let replay = |model: &Metered| (0..3).map(|_| ask(model)).collect::<Vec<_>>();
    let said = replay(&live);
    let vectors = live.encoder(purpose("embed"), 2).encode(&["a"]).unwrap();

    let model = Metered::cassette(&tape, "gpt-4o-mini", replaying.clone())
        .unwrap()
        .with_reply_retries(0);
    assert_eq!(replay(&model), said);
    assert_eq!(
        model.encoder(purpose("embed"), 2).encode(&["a"]).unwrap(),
        vectors
    );
    let (before, now) = (total(&recording), total(&replaying));
    assert_eq!(
        (now.prompt_tokens, now.completion_tokens, now.cost),
        (before.prompt_tokens, before.completion_tokens, before.cost)
    );
    assert_eq!((now.replayed, model.served()), (4, Served::Replayed));

    let error = ask(&model).unwrap_err();
    assert!(
        matches!(&error, ModelError::CassetteMiss { purpose, .. } if purpose == "answer"),
        "{error}"
    );
    assert_eq!(total(&replaying).failed["cassette-miss"], 1);
}

#[test]
fn a_call_that_differs_in_anything_that_is_sent_is_a_miss() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("tape.jsonl");
    let double = Double::new(vec![ok(&reply("x", "stop"))]);
    let live = paced(config(&double.url), &meter())
        .0
        .recording_to(&tape)
        .unwrap();
    ask(&live).unwrap();
    let open = |model| Metered::cassette(&tape, model, meter()).unwrap();
    let is_miss = |result| matches!(result, Err(ModelError::CassetteMiss { .. }));
    assert!(is_miss(ask(&open("gpt-4o"))));
    let model = open("gpt-4o-mini");
    assert!(is_miss(ask_with(&model, |call| call.temperature = 0.5)));
    assert!(is_miss(ask_with(&model, |call| call.seed = Some(0))));
    assert!(is_miss(
        ask_with(&model, |call| call.max_tokens = 65.try_into().unwrap())
    ));
    assert!(is_miss(
        ask_with(&model, |call| call.logprobs = TokenLogprobs::Need)
    ));
    assert_eq!(ask(&model).unwrap().text, "x");
}

#[test]
fn a_file_that_is_no_cassette_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("tape.jsonl");
    let double = Double::new(vec![ok(&reply("x", "stop"))]);
    ask(&paced(config(&double.url), &meter())
        .0
        .recording_to(&tape)
        .unwrap())
    .unwrap();
    let line = std::fs::read_to_string(&tape).unwrap();
    for bad in [
        "{}",
        "x",
        line.split_at(line.len() / 2).0,
        &line.replace("\"v\":1", "\"v\":2"),
    ] {
        std::fs::write(&tape, format!("{line}{bad}")).unwrap();
        let error = Metered::cassette(&tape, "gpt-4o-mini", meter()).unwrap_err();
        assert!(
            matches!(error, CassetteError::Line { line: 2, .. }),
            "{bad}: {error}"
        );
    }
    std::fs::remove_file(&tape).unwrap();
    assert!(matches!(
        Metered::cassette(&tape, "gpt-4o-mini", meter()),
        Err(CassetteError::File { .. })
    ));
}

#[test]
fn half_a_line_that_a_crash_has_left_is_taken_away_before_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("tape.jsonl");
    let half = format!("{{\"v\":1,\"key\":\"{}", "x".repeat(200_000));
    for left in ["{", half.as_str()] {
        let double = Double::new(vec![ok(&reply("first", "stop")), ok(&reply("second", "stop"))]);
        let live = paced(config(&double.url), &meter())
            .0
            .recording_to(&tape)
            .unwrap();
        ask(&live).unwrap();
        let whole = std::fs::read_to_string(&tape).unwrap();
        // While it is open, and before it is opened again.
        std::fs::write(&tape, format!("{whole}{left}")).unwrap();
        ask(&live).unwrap();
        let whole = std::fs::read_to_string(&tape).unwrap();
        std::fs::write(&tape, format!("{whole}{left}")).unwrap();
        drop(
            paced(config("http://127.0.0.1:1/v1"), &meter())
                .0
                .recording_to(&tape)
                .unwrap(),
        );
        assert_eq!(std::fs::read_to_string(&tape).unwrap(), whole);
        let model = Metered::cassette(&tape, "gpt-4o-mini", meter()).unwrap();
        assert_eq!(ask(&model).unwrap().text, "first");
        assert_eq!(ask(&model).unwrap().text, "second");
        std::fs::remove_file(&tape).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reply_that_cannot_be_recorded_is_withheld_and_its_tokens_are_entered() {
    let double = Double::new(vec![ok(&reply("x", "stop"))]);
    let meter = meter();
    let full = std::path::Path::new("/dev/full");
    let live = paced(config(&double.url), &meter).0.recording_to(full).unwrap();
    assert!(matches!(ask(&live), Err(ModelError::Unrecorded { .. })));
    let total = total(&meter);
    assert_eq!(total.failed["unrecorded"], 1);
    assert_eq!((total.prompt_tokens, total.completion_tokens), (1000, 100));
    assert_eq!(total.whole_cost().unwrap().to_string(), "0.00021");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_bit_of_a_reply_comes_back(text in "[^\\s].{0,60}", log_probability in -1e3_f64..=0.0) {
        let dir = tempfile::tempdir().unwrap();
        let tape = dir.path().join("tape.jsonl");
        let body = reply(&text, "stop").replace(
            "\"finish_reason\"",
            &format!(r#""logprobs": {{"content": [{{"token": "a", "logprob": {log_probability}}}]}}, "finish_reason""#),
        );
        let double = Double::new(vec![ok(&body)]);
        let live = paced(config(&double.url), &meter()).0.recording_to(&tape).unwrap();
        let need = |model| ask_with(model, |call| call.logprobs = TokenLogprobs::Need);
        let said = need(&live).unwrap();
        let played = need(&Metered::cassette(&tape, "gpt-4o-mini", meter()).unwrap()).unwrap();
        prop_assert_eq!(&said, &played);
        let bits = |reply: &memwarden_core::model::Reply| reply.tokens[0].log_probability.to_bits();
        prop_assert_eq!(bits(&said), bits(&played));
    }
}
