//! What an endpoint may do, and what becomes of the call.

use crate::double::{Act, Double, ok, refuse, response, stream};
use crate::fixture::*;
use memwarden_core::model::{
    Chat as _, ChatCall, Message, ModelError, ReplyShape, TokenLogprobs, UsageSource,
};
use memwarden_model::{Delivery, JsonMode};
use std::net::TcpListener;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[test]
fn a_reply_is_entered_with_the_tokens_that_the_provider_counted() {
    let double = Double::new(vec![ok(&reply("The invoice of ACME.", "stop"))]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    let reply = ask(&model).unwrap();
    assert_eq!(reply.text, "The invoice of ACME.");
    assert_eq!(reply.usage.unwrap().source, UsageSource::Provider);
    let total = total(&meter);
    assert_eq!(
        (
            total.calls,
            total.prompt_tokens,
            total.completion_tokens,
            total.counted
        ),
        (1, 1000, 100, 0)
    );
    // 1000 · 0.15 + 100 · 0.6 dollars for a million.
    assert_eq!(total.whole_cost().unwrap().to_string(), "0.00021");
    let heard = double.finish();
    assert!(
        heard[0]
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    let sent: serde_json::Value = serde_json::from_str(&heard[0].body).unwrap();
    assert_eq!(sent["max_tokens"], 64);
    assert_eq!(sent["temperature"], 0.0);
    assert_eq!(sent.get("stream"), None);
}

#[test]
fn nobody_at_the_address_is_unreachable_and_free() {
    let url = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let meter = meter();
    let (model, pace) = paced(config(&url), &meter);
    assert!(matches!(ask(&model), Err(ModelError::Unreachable { .. })));
    // Half a second doubled four times, at three quarters.
    assert_eq!(pace.waits(), [375, 750, 1500, 3000].map(Duration::from_millis));
    let total = total(&meter);
    assert_eq!((total.calls, total.retries, total.uncounted), (1, 4, 1));
    assert_eq!(total.whole_cost().unwrap().picodollars(), 0);
    assert_eq!(failures(&meter), [("unreachable".to_owned(), 1)]);
}

#[test]
fn a_refused_key_is_tried_once_and_shown_nowhere() {
    let said = r#"{"error": {"message": "Incorrect API key provided: sk-verysecret123"}}"#;
    let double = Double::new(vec![Act::Say(response("401 Unauthorized", "", said))]);
    let meter = meter();
    let mut config = config(&double.url);
    config.key = Some(key("sk-verysecret123"));
    assert!(!format!("{config:?}").contains("verysecret"));
    let (model, _) = paced(config, &meter);
    let error = ask(&model).unwrap_err();
    assert!(matches!(error, ModelError::Upstream { status: 401, .. }));
    assert_eq!(
        error.to_string(),
        "the endpoint of `gpt-4o-mini` answered 401: Incorrect API key provided: [key]"
    );
    assert!(!format!("{error:?} {model:?}").contains("verysecret"));
    let heard = double.finish();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].head.contains("Bearer sk-verysecret123"));
}

#[test]
fn too_many_requests_wait_as_long_as_the_endpoint_asks() {
    let double = Double::new(vec![
        refuse("429 Too Many Requests", "Retry-After: 7\r\n"),
        refuse(
            "429 Too Many Requests",
            "Retry-After: Mon, 30 Nov 2026 12:00:09 GMT\r\n",
        ),
        ok(&reply("now", "stop")),
    ]);
    let meter = meter();
    let (model, pace) = paced(config(&double.url), &meter);
    assert_eq!(ask(&model).unwrap().text, "now");
    // And a little later, by chance: half of the first pause here.
    assert_eq!(pace.waits(), [7_250, 9_250].map(Duration::from_millis));
    let total = total(&meter);
    assert_eq!((total.calls, total.retries), (1, 2));
    assert_eq!(
        (total.waiting, total.serving),
        (Duration::from_millis(16_500), Duration::ZERO)
    );
    assert!(total.failed.is_empty());
}

#[test]
fn too_many_requests_without_a_time_back_off() {
    let refusals = vec![refuse("429 Too Many Requests", ""); 5];
    let double = Double::new(refusals);
    let meter = meter();
    let (model, pace) = paced(config(&double.url), &meter);
    assert!(matches!(
        ask(&model),
        Err(ModelError::Upstream { status: 429, .. })
    ));
    assert_eq!(pace.waits(), [375, 750, 1500, 3000].map(Duration::from_millis));
    assert_eq!(double.finish().len(), 5);
}

#[test]
fn an_endpoint_that_asks_for_too_long_a_pause_is_not_asked_again() {
    for asked in ["3600", "99999999999", "60.5"] {
        let asked = format!("Retry-After: {asked}\r\n");
        let double = Double::new(vec![refuse("429 Too Many Requests", &asked)]);
        let meter = meter();
        let (model, pace) = paced(config(&double.url), &meter);
        assert!(matches!(
            ask(&model),
            Err(ModelError::Upstream { status: 429, .. })
        ));
        assert!(pace.waits().is_empty(), "{asked}");
    }
}

#[test]
fn an_endpoint_that_reads_and_hangs_up_may_charge_and_is_not_asked_again() {
    // Before it answers, and within the head of its answer.
    for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let double = Double::new(vec![Act::Say(bytes.into())]);
        let meter = meter();
        let (model, pace) = paced(config(&double.url), &meter);
        let error = ask(&model).unwrap_err();
        assert!(matches!(error, ModelError::Closed { .. }), "{error:?}");
        assert!(pace.waits().is_empty());
        assert_eq!(failures(&meter), [("closed".to_owned(), 1)]);
        assert_eq!(total(&meter).whole_cost(), None);
        assert_eq!(double.finish().len(), 1);
    }
}

#[test]
fn a_name_that_is_nobodys_and_a_port_without_tls_are_unreachable_and_free() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = plain.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    for url in [
        "http://nobody.invalid/v1".to_owned(),
        format!("https://127.0.0.1:{port}/v1"),
    ] {
        let meter = meter();
        let mut config = config(&url);
        config.retries = 0;
        let (model, _) = paced(config, &meter);
        let error = ask(&model).unwrap_err();
        assert!(
            matches!(error, ModelError::Unreachable { .. }),
            "{url}: {error:?}"
        );
        assert_eq!(total(&meter).whole_cost().unwrap().picodollars(), 0);
    }
    answering.join().unwrap();
}

#[test]
fn a_gateway_that_gave_up_is_asked_again_and_the_call_of_unknown_cost() {
    for status in ["502 Bad Gateway", "504 Gateway Timeout"] {
        let double = Double::new(vec![refuse(status, ""), ok(&reply("now", "stop"))]);
        let meter = meter();
        let (model, _) = paced(config(&double.url), &meter);
        assert_eq!(ask(&model).unwrap().text, "now");
        let total = total(&meter);
        assert_eq!((total.calls, total.retries, total.whole_cost()), (1, 1, None));
        double.finish();
    }
}

/// While a call waits for its next try, makes another one.
#[derive(Debug, Default)]
struct Meanwhile {
    model: std::sync::OnceLock<memwarden_model::Metered>,
    answer: std::sync::OnceLock<Result<memwarden_core::model::Reply, ModelError>>,
}

impl memwarden_model::Pace for Meanwhile {
    fn now(&self) -> memwarden_core::Timestamp {
        memwarden_core::Timestamp::from_micros(NOON_US)
    }

    fn running(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&self, _: Duration) {
        let _ = self.answer.set(ask(self.model.get().unwrap()));
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

#[test]
fn a_pause_keeps_nobody_elses_turn() {
    let double = Double::new(vec![
        refuse("429 Too Many Requests", "Retry-After: 60\r\n"),
        ok(&reply("meanwhile", "stop")),
        ok(&reply("now", "stop")),
    ]);
    let mut config = config(&double.url);
    config.at_once = NonZeroUsize::MIN;
    let pace = Arc::new(Meanwhile::default());
    let model = paced(config, &meter()).0.with_pace(pace.clone());
    pace.model.set(model.clone()).unwrap();
    assert_eq!(ask(&model).unwrap().text, "now");
    let meanwhile = pace.answer.get().unwrap().as_ref().unwrap();
    assert_eq!(meanwhile.text, "meanwhile");
}

#[test]
fn a_finish_reason_is_shortened_and_holds_no_key() {
    let finish = format!("sk-verysecret123 {}", "x".repeat(10_000));
    for delivery in [Delivery::Whole, Delivery::Streamed] {
        let double = Double::new(vec![match delivery {
            Delivery::Whole => ok(&reply("hi", &finish)),
            Delivery::Streamed => stream(&EVENTS.replace("\"stop\"", &format!("\"{finish}\""))),
        }]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meter.jsonl");
        let prices = memwarden_model::Prices::default();
        let meter = Arc::new(memwarden_model::Meter::append_to(&path, prices).unwrap());
        let mut config = config(&double.url);
        config.delivery = delivery;
        config.key = Some(key("sk-verysecret123"));
        let (model, _) = paced(config, &meter);
        let error = ask(&model).unwrap_err();
        assert!(matches!(error, ModelError::Withheld { .. }));
        let line = std::fs::read_to_string(&path).unwrap();
        assert!(line.contains("[key] xxx") && line.len() < 1_000, "{line}");
        assert!(!format!("{error:?}{line}").contains("verysecret"));
    }
}

#[test]
fn a_usage_that_is_none_is_counted_and_the_reply_is_one() {
    for given in ["\"3\"", "-3", "null", "2.5"] {
        let body = reply("hello world", "stop").replace(
            "\"completion_tokens\": 100",
            &format!("\"completion_tokens\": {given}"),
        );
        let double = Double::new(vec![ok(&body)]);
        let meter = meter();
        let (model, _) = paced(config(&double.url), &meter);
        let usage = ask(&model).unwrap().usage.unwrap();
        assert!(matches!(usage.source, UsageSource::Counted { .. }), "{given}");
        assert_eq!(usage.completion, 2, "{given}");
    }
}

#[test]
fn what_a_model_thinks_is_of_unknown_cost_where_its_provider_does_not_count() {
    let text = reply("hello world", "stop");
    let silent = format!("{}}}", text.split_at(text.find(", \"usage\"").unwrap()).0);
    let double = Double::new(vec![ok(&silent)]);
    let meter = Arc::new(memwarden_model::Meter::in_memory(
        memwarden_model::Prices::parse(&PRICES.replace("gpt-4o-mini", "o3")).unwrap(),
    ));
    let mut config = config(&double.url);
    config.model = "o3".to_owned();
    let (model, _) = paced(config, &meter);
    assert_eq!(ask(&model).unwrap().usage, None);
    let total = total(&meter);
    assert_eq!((total.uncounted, total.whole_cost()), (1, None));
}

#[test]
fn a_prompt_that_overflows_a_tokenizer_is_metered() {
    let text = reply("hello world", "stop");
    let silent = format!("{}}}", text.split_at(text.find(", \"usage\"").unwrap()).0);
    let double = Double::new(vec![ok(&silent)]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    let (purpose, messages) = (purpose("answer"), [Message::user(" ".repeat(1_000_000) + "x")]);
    let call = ChatCall::new(&purpose, &messages, NonZeroU32::MIN);
    let usage = model.chat(&[call]).pop().unwrap().unwrap().usage.unwrap();
    assert!(matches!(usage.source, UsageSource::Approximated { .. }));
    assert_eq!(total(&meter).calls, 1);
}

#[test]
fn an_error_of_the_endpoint_is_tried_again_and_then_named() {
    let double = Double::new(vec![refuse("500 Internal Server Error", ""); 2]);
    let meter = meter();
    let mut config = config(&double.url);
    config.retries = 1;
    let (model, _) = paced(config, &meter);
    let error = ask(&model).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the endpoint of `gpt-4o-mini` answered 500: not now"
    );
    assert_eq!(failures(&meter), [("upstream".to_owned(), 1)]);
    assert_eq!(double.finish().len(), 2);
}

#[test]
fn what_is_no_json_is_no_reply_and_of_unknown_cost() {
    for body in [
        "{\"choices\": [",
        "<html>",
        "{}",
        r#"{"choices": []}"#,
        r#"{"choices": [{"message": {"content": "x"}}]}"#,
    ] {
        let double = Double::new(vec![ok(body)]);
        let meter = meter();
        let (model, _) = paced(config(&double.url), &meter);
        assert!(matches!(ask(&model), Err(ModelError::Malformed { .. })), "{body}");
        assert_eq!(total(&meter).whole_cost(), None, "{body}");
        assert_eq!(double.finish().len(), 1);
    }
}

#[test]
fn an_answer_of_fifty_megabytes_is_not_read_to_its_end() {
    const BYTES: usize = 50 << 20;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {BYTES}\r\nconnection: close\r\n\r\n");
    let double = Double::new(vec![Act::Flood(head.into_bytes(), BYTES)]);
    let meter = meter();
    let mut config = config(&double.url);
    config.max_answer_bytes = 1 << 20;
    let (model, _) = paced(config, &meter);
    assert_eq!(
        ask(&model),
        Err(ModelError::TooLarge {
            model: "gpt-4o-mini".to_owned(),
            limit: 1 << 20
        })
    );
}

#[test]
fn a_body_that_ends_early_is_cut() {
    let mut cut = response("200 OK", "", &reply("The invoice", "stop"));
    cut.truncate(cut.len() - 20);
    let double = Double::new(vec![Act::Say(cut)]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    assert!(matches!(ask(&model), Err(ModelError::Cut { .. })));
    assert_eq!(failures(&meter), [("cut".to_owned(), 1)]);
}

#[test]
fn silence_ends_with_the_time_that_was_given() {
    let double = Double::new(vec![Act::Hang]);
    let meter = meter();
    let mut config = config(&double.url);
    config.timeout = Duration::from_millis(5);
    let (model, _) = paced(config, &meter);
    assert_eq!(
        ask(&model),
        Err(ModelError::Timeout {
            model: "gpt-4o-mini".to_owned(),
            limit_ms: 5
        })
    );
    assert_eq!(total(&meter).whole_cost(), None);
}

const EVENTS: &str = ": hello\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The \"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"invoice\"}}]}\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

#[test]
fn a_stream_is_put_together_with_its_usage() {
    let double = Double::new(vec![stream(EVENTS)]);
    let meter = meter();
    let mut config = config(&double.url);
    config.delivery = Delivery::Streamed;
    let (model, _) = paced(config, &meter);
    assert_eq!(ask(&model).unwrap().text, "The invoice");
    let total = total(&meter);
    assert_eq!(
        (total.prompt_tokens, total.completion_tokens, total.counted),
        (9, 2, 0)
    );
    let sent: serde_json::Value = serde_json::from_str(&double.finish()[0].body).unwrap();
    assert_eq!(sent["stream_options"]["include_usage"], true);
}

#[test]
fn a_stream_that_is_cut_anywhere_is_no_reply() {
    let end = EVENTS.find("[DONE]").unwrap();
    for cut in (0..=end).step_by(7).chain([end]) {
        let double = Double::new(vec![stream(EVENTS.split_at(cut).0)]);
        let meter = meter();
        let mut config = config(&double.url);
        config.delivery = Delivery::Streamed;
        let (model, _) = paced(config, &meter);
        assert!(matches!(ask(&model), Err(ModelError::Cut { .. })), "cut at {cut}");
        assert_eq!(failures(&meter), [("cut".to_owned(), 1)]);
    }
}

#[test]
fn an_error_inside_a_stream_is_no_reply() {
    let events = EVENTS.replace(
        "data: {\"choices\":[],",
        "data: {\"error\":{\"message\":\"overloaded\"},",
    );
    let double = Double::new(vec![stream(&events)]);
    let meter = meter();
    let mut config = config(&double.url);
    config.delivery = Delivery::Streamed;
    let (model, _) = paced(config, &meter);
    let error = ask(&model).unwrap_err();
    assert!(
        matches!(&error, ModelError::Malformed { reason, .. } if reason.contains("overloaded")),
        "{error}"
    );
}

#[test]
fn tokens_that_nobody_counted_are_counted_and_marked() {
    let reply = reply("hello world", "stop");
    let cut = reply.find(", \"usage\"").unwrap();
    let silent = format!("{}}}", reply.split_at(cut).0);
    for (name, is_known) in [("gpt-4o-mini", true), ("llama-of-the-house", false)] {
        let double = Double::new(vec![ok(&silent)]);
        let meter = meter();
        let mut config = config(&double.url);
        config.model = name.to_owned();
        let (model, _) = paced(config, &meter);
        let usage = ask(&model).unwrap().usage.unwrap();
        let tokenizer = "o200k_base".to_owned();
        let source = if is_known {
            UsageSource::Counted { tokenizer }
        } else {
            UsageSource::Approximated { tokenizer }
        };
        assert_eq!((usage.completion, &usage.source), (2, &source));
        let total = total(&meter);
        assert_eq!((total.counted, total.approximated), (1, u64::from(!is_known)));
        assert_eq!((total.prompt_tokens, total.completion_tokens), (usage.prompt, 2));
        // The unknown model has no price: its cost is unknown, not nothing.
        assert_eq!(total.whole_cost().is_some(), is_known);
    }
}

#[test]
fn json_is_asked_for_by_schema_where_that_is_offered() {
    const SCHEMA: &str =
        r#"{"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}"#;
    for mode in [JsonMode::Schema, JsonMode::Prompt] {
        let double = Double::new(vec![ok(&reply(r#"{"ok": true}"#, "stop"))]);
        let mut config = config(&double.url);
        config.json = mode;
        let (model, _) = paced(config, &meter());
        let shape = ReplyShape::Json {
            name: "verdict",
            schema: SCHEMA,
        };
        ask_with(&model, |call| call.shape = shape).unwrap();
        let sent: serde_json::Value = serde_json::from_str(&double.finish()[0].body).unwrap();
        assert_eq!(sent.get("response_format").is_some(), mode == JsonMode::Schema);
    }
}

#[test]
fn log_probabilities_come_where_they_are_offered_and_are_missed_where_not() {
    let plain = reply("a", "stop");
    let with = plain.replace(
        "\"finish_reason\"",
        r#""logprobs": {"content": [{"token": "a", "logprob": -0.25}]}, "finish_reason""#,
    );
    let double = Double::new(vec![ok(&with), ok(&plain)]);
    let (model, _) = paced(config(&double.url), &meter());
    let need = |model| ask_with(model, |call| call.logprobs = TokenLogprobs::Need);
    assert_eq!(
        need(&model).unwrap().tokens[0].log_probability.to_bits(),
        (-0.25_f64).to_bits()
    );
    let error = need(&model).unwrap_err();
    assert_eq!(
        error.to_string(),
        "model `gpt-4o-mini` cannot do what was asked: it lacks `logprobs`"
    );
}

#[test]
fn no_more_requests_run_at_once_than_were_allowed() {
    let pairs = Arc::new(Barrier::new(2));
    let act = Act::Together(pairs, response("200 OK", "", &reply("x", "stop")));
    let double = Double::new(vec![act; 6]);
    let meter = meter();
    let mut config = config(&double.url);
    config.at_once = NonZeroUsize::new(2).unwrap();
    let (model, _) = paced(config, &meter);
    let (purpose, messages) = (purpose("judge"), [Message::user("x")]);
    let call = ChatCall::new(&purpose, &messages, NonZeroU32::MIN);
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| model.chat(&[call; 3]));
        let right = scope.spawn(|| model.chat(&[call; 3]));
        (left.join().unwrap(), right.join().unwrap())
    });
    assert!(left.iter().chain(&right).all(Result::is_ok));
    assert_eq!(double.most_at_once(), 2);
    assert_eq!(total(&meter).calls, 6);
}
