//! Replies that are none: entered, asked for again a bounded number of times, never handed over.

use crate::double::{Double, ok};
use crate::fixture::*;
use memwarden_core::model::{ModelError, ReplyShape};
use std::sync::Arc;

const SHAPE: ReplyShape<'static> = ReplyShape::Json {
    name: "verdict",
    schema: r#"{"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}"#,
};

#[test]
fn a_truncated_reply_is_an_error_each_time_and_each_time_is_paid_for() {
    let double = Double::new(vec![ok(&reply("Memories: one, two, th", "length")); 2]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    assert_eq!(
        ask(&model),
        Err(ModelError::Truncated {
            model: "gpt-4o-mini".to_owned(),
            max_tokens: 64
        })
    );
    assert_eq!(failures(&meter), [("truncated".to_owned(), 2)]);
    let total = total(&meter);
    assert_eq!((total.calls, total.completion_tokens), (2, 200));
    assert_eq!(total.whole_cost().unwrap().to_string(), "0.00042");
}

#[test]
fn a_reply_that_is_whole_the_second_time_is_one() {
    let double = Double::new(vec![
        ok(&reply("{\"ok\": tr", "length")),
        ok(&reply("{\"ok\": true}", "stop")),
    ]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    assert_eq!(
        ask_with(&model, |call| call.shape = SHAPE).unwrap().text,
        "{\"ok\": true}"
    );
    assert_eq!(failures(&meter), [("truncated".to_owned(), 1)]);
    assert_eq!(total(&meter).calls, 2);
}

#[test]
fn empty_replies_and_wrong_shapes_are_named() {
    for (text, finish, name, calls) in [
        (" \n", "stop", "empty", 3),
        ("{\"ok\": 1}", "stop", "schema", 3),
        ("Sure! {\"ok\": true}", "stop", "schema", 3),
        ("{\"ok\": true}", "content_filter", "withheld", 1),
    ] {
        let double = Double::new(vec![ok(&reply(text, finish)); calls]);
        let meter = meter();
        let model = paced(config(&double.url), &meter).0.with_reply_retries(2);
        let error = ask_with(&model, |call| call.shape = SHAPE).unwrap_err();
        assert_eq!(error.name(), name, "{text}");
        assert_eq!(failures(&meter), [(name.to_owned(), calls as u64)]);
        double.finish();
    }
}

#[test]
fn a_schema_that_could_not_be_checked_is_refused_before_anything_is_sent() {
    let meter = meter();
    let (model, _) = paced(config("http://127.0.0.1:1/v1"), &meter);
    let shape = ReplyShape::Json {
        name: "x",
        schema: r#"{"pattern": "^a"}"#,
    };
    assert!(matches!(
        ask_with(&model, |call| call.shape = shape),
        Err(ModelError::Call { .. })
    ));
    assert_eq!(total(&meter).calls, 0);
}

#[test]
fn calls_are_reported_by_purpose_model_and_cell() {
    use memwarden_core::model::{Chat as _, ChatCall, Message};
    use memwarden_model::By;
    let double = Double::new(vec![ok(&reply("x", "stop")); 3]);
    let meter = meter();
    let (model, _) = paced(config(&double.url), &meter);
    let cell = model.for_cell("none/conv-26/1".parse().unwrap());
    let messages = [Message::user("x")];
    for (model, name) in [(&model, "answer"), (&cell, "answer"), (&cell, "defense:rerank")] {
        let purpose = purpose(name);
        let call = ChatCall::new(&purpose, &messages, 8.try_into().unwrap());
        model.chat(&[call]).pop().unwrap().unwrap();
    }
    let rows = |by| {
        let rows = Arc::clone(&meter).report(by).rows;
        rows.into_iter()
            .map(|row| (row.name, row.sum.calls))
            .collect::<Vec<_>>()
    };
    let named = |rows: &[(&str, u64)]| {
        rows.iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(By::Purpose), named(&[("answer", 2), ("defense:rerank", 1)]));
    assert_eq!(rows(By::Model), named(&[("gpt-4o-mini", 3)]));
    assert_eq!(rows(By::Cell), named(&[("", 1), ("none/conv-26/1", 2)]));
}
