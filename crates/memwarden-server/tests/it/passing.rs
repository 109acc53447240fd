//! What passes: bytes and headers as they came, pieces when they come, and a line in the meter for each call.

use super::endpoint::{Endpoint, STREAM_HEAD, Step, chunk, once, response};
use super::fixture::{CHAT, EMBED, Proxied};
use super::wire::{Connection, End};
use std::sync::mpsc::channel;

const REPLY: &str = r#"{"id":"x","model":"toy-2","choices":[{"index":0,"message":{"role":"assistant","content":"Oslo"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":2},"new":{"kept":[1, 2]}}"#;

#[test]
fn a_chat_passes_untouched_and_is_metered_under_its_purpose() {
    let endpoint = Endpoint::answering(response("200 OK", &["x-request-id: r-1", "x-new: a"], REPLY));
    let proxied = Proxied::before(endpoint.address);
    let body = "{ \"model\":\"toy\",\n \"messages\":[], \"unknown\":{\"a\":1.0e2} , \"é\":\"\\u00e9\"}";
    let headers = [
        "x-memwarden-purpose: extract",
        "x-memwarden-cell: rerank/conv-26/2",
        "Authorization: Bearer hush-hush",
        "X-Tomorrow: 1",
        "Connection: x-hop",
        "X-Hop: 1",
    ];
    let answer = proxied.post("/v1/chat/completions?api-version=7", &headers, body);
    assert_eq!((answer.status(), answer.text()), (200, REPLY));
    assert_eq!(answer.header("x-request-id"), Some("r-1"));
    assert_eq!(answer.header("x-new"), Some("a"));
    assert_eq!(
        answer.header("content-length"),
        Some(REPLY.len().to_string().as_str())
    );

    let heard = endpoint.heard();
    assert_eq!(heard.line, "POST /v1/chat/completions?api-version=7 HTTP/1.1");
    assert_eq!(heard.text(), body);
    assert_eq!(heard.header("authorization"), Some("Bearer hush-hush"));
    assert_eq!(heard.header("x-tomorrow"), Some("1"));
    assert_eq!(heard.header("host"), Some(endpoint.address.to_string().as_str()));
    assert!(
        heard
            .headers
            .iter()
            .all(|(name, _)| !name.contains("memwarden") && name != "x-hop")
    );

    let calls = proxied.calls();
    assert_eq!(
        calls,
        ["extract rerank/conv-26/2 toy 11+2 provider stop ok"],
        "one call, one line"
    );
    assert!(
        !proxied.meter_file().contains("hush-hush"),
        "keys are nobody's business"
    );
}

#[test]
fn a_purpose_may_stand_in_the_path() {
    let endpoint = Endpoint::answering(response(
        "200 OK",
        &[],
        r#"{"data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":4,"total_tokens":4}}"#,
    ));
    let proxied = Proxied::before(endpoint.address);
    for path in [
        "/purpose/defense:rerank/v1/embeddings",
        "/purpose/defense%3Arerank/v1/embeddings",
    ] {
        assert_eq!(proxied.post(path, &[], EMBED).status(), 200);
        assert_eq!(endpoint.heard().line, "POST /v1/embeddings HTTP/1.1");
    }
    let line = "defense:rerank - toy-embed 4+0 provider - ok";
    assert_eq!(proxied.calls(), [line, line]);
}

#[test]
fn models_pass_without_a_purpose_and_without_a_line() {
    let endpoint = Endpoint::answering(response("200 OK", &[], r#"{"data":[]}"#));
    let proxied = Proxied::before(endpoint.address);
    for (path, sent) in [
        ("/v1/models", "/v1/models"),
        ("/purpose/extract/v1/models", "/v1/models"),
        ("/v1/models/org%2Ftoy", "/v1/models/org%2Ftoy"),
    ] {
        let answer = proxied.send("GET", path, &[], "");
        assert_eq!((answer.status(), answer.text()), (200, r#"{"data":[]}"#));
        assert_eq!(endpoint.heard().line, format!("GET {sent} HTTP/1.1"));
    }
    assert!(proxied.calls().is_empty());
}

#[test]
fn a_stream_passes_piece_by_piece() {
    let (go, wait) = channel();
    let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Os\"}}]}\n\n";
    let last = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
    let endpoint = Endpoint::doing(once(vec![
        Step::Send(STREAM_HEAD.into()),
        Step::Send(chunk(first)),
        Step::Wait(wait),
        Step::Send(chunk(last)),
        Step::Send(chunk("")),
    ]));
    let proxied = Proxied::before(endpoint.address);
    let mut client = Connection::to(proxied.address);
    proxied.write(
        &mut client,
        "POST",
        "/purpose/answer/v1/chat/completions",
        &[],
        CHAT,
    );
    let head = client.head().unwrap();
    assert_eq!(
        head.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    // The endpoint sends the rest only now that the beginning is here.
    assert_eq!(client.chunk(), Ok(Some(first.into())));
    go.send(()).unwrap();
    assert_eq!(client.chunk(), Ok(Some(last.into())));
    assert_eq!(
        proxied.calls(),
        ["answer - toy 9+3 provider stop ok"],
        "in the meter before its end"
    );
    assert_eq!(client.chunk(), Ok(None));
}

#[test]
fn what_the_endpoint_does_not_count_is_counted_and_marked() {
    let body =
        r#"{"choices":[{"message":{"content":"The capital of Norway is Oslo."},"finish_reason":"stop"}]}"#;
    let endpoint = Endpoint::answering(response("200 OK", &[], body));
    let proxied = Proxied::before(endpoint.address);
    let asked =
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"What is the capital of Norway?"}]}"#;
    proxied.post("/purpose/answer/v1/chat/completions", &[], asked);
    // Seven words and marks either way; and around the question, what a chat puts around one message.
    assert_eq!(proxied.only_call(), "answer - gpt-4o 14+7 counted stop ok");
}

#[test]
fn a_stop_lets_open_calls_end() {
    let (go, wait) = channel();
    let endpoint = Endpoint::doing(once(vec![
        Step::Wait(wait),
        Step::Send(response("200 OK", &[], REPLY)),
    ]));
    let mut proxied = Proxied::before(endpoint.address);
    let mut client = Connection::to(proxied.address);
    proxied.write(
        &mut client,
        "POST",
        "/purpose/answer/v1/chat/completions",
        &[],
        CHAT,
    );
    endpoint.heard();
    proxied.stop();
    go.send(()).unwrap();
    let answer = client.message().unwrap();
    assert_eq!((answer.text(), answer.end), (REPLY, End::Whole));
    proxied.join();
    assert_eq!(proxied.calls(), ["answer - toy 11+2 provider stop ok"]);
}
