//! What goes wrong on either side: a named error, a line in the meter, and never a part of a reply taken for the whole.

use super::endpoint::{Endpoint, STREAM_HEAD, Step, chunk, once, response};
use super::fixture::{CHAT, NO_GRACE, Proxied, TIGHT};
use super::wire::{Connection, End};
use std::net::TcpListener;
use std::sync::mpsc::channel;

const CALL: &str = "/purpose/answer/v1/chat/completions";
const PIECE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half an ans\"}}]}\n\n";

#[test]
fn an_endpoint_that_is_down_is_a_502_with_a_name() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxied = Proxied::before(nobody);
    let answer = proxied.post(CALL, &[], CHAT);
    assert_eq!(
        (answer.status(), answer.code().as_str()),
        (502, "upstream_unreachable")
    );
    assert!(answer.text().contains(&nobody.to_string()), "{}", answer.text());
    assert!(proxied.only_call().ends_with(" unreachable"));
}

#[test]
fn an_endpoint_that_hangs_up_is_a_502_with_a_name() {
    for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-le", "good morning\r\n\r\n"] {
        let endpoint = Endpoint::answering(bytes);
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], CHAT);
        assert_eq!(
            (answer.status(), answer.code().as_str()),
            (502, "upstream_closed"),
            "{bytes}"
        );
        assert!(proxied.only_call().ends_with(" unreachable"));
    }
}

#[test]
fn an_endpoint_that_says_nothing_is_a_504_with_a_name() {
    let (_keep, wait) = channel();
    let endpoint = Endpoint::doing(once(vec![Step::Wait(wait)]));
    let proxied = Proxied::within(endpoint.address, TIGHT);
    let answer = proxied.post(CALL, &[], CHAT);
    assert_eq!(
        (answer.status(), answer.code().as_str()),
        (504, "upstream_timeout")
    );
    assert!(proxied.only_call().ends_with(" timeout"));
}

#[test]
fn refusals_pass_in_the_endpoints_own_words() {
    for (status, header) in [
        ("401 Unauthorized", "www-authenticate: Bearer"),
        ("429 Too Many Requests", "retry-after: 7"),
        ("429 Too Many Requests", "x-other: 1"),
        ("500 Internal Server Error", "x-request-id: r-9"),
    ] {
        let body = r#"{"error":{"message":"no","type":"of_theirs","code":"their_code"}}"#;
        let endpoint = Endpoint::answering(response(status, &[header], body));
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], CHAT);
        assert!(answer.line.contains(status), "{}", answer.line);
        assert_eq!(answer.text(), body);
        let (name, value) = header.split_once(": ").unwrap();
        assert_eq!(answer.header(name), Some(value));
        endpoint.heard();
        assert!(
            !endpoint.heard_more(),
            "the proxy does not try again: that is the client's to decide"
        );
        assert!(
            proxied.only_call().ends_with(" upstream"),
            "{}",
            proxied.only_call()
        );
    }
}

#[test]
fn a_stream_that_is_cut_is_cut_for_the_client_and_counted_as_cut() {
    let streams: [(&str, Vec<Step>); 4] = [
        (
            "between two chunks",
            vec![Step::Send(STREAM_HEAD.into()), Step::Send(chunk(PIECE))],
        ),
        (
            "within a chunk",
            vec![
                Step::Send(STREAM_HEAD.into()),
                Step::Send(chunk(PIECE)),
                Step::Send(b"ff\r\nda".to_vec()),
            ],
        ),
        (
            "with a clean end that says nothing",
            vec![
                Step::Send(STREAM_HEAD.into()),
                Step::Send(chunk(PIECE)),
                Step::Send(chunk("")),
            ],
        ),
        (
            "by closing a connection that has no other end",
            vec![
                Step::Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec()),
                Step::Send(PIECE.into()),
            ],
        ),
    ];
    for (how, steps) in streams {
        let endpoint = Endpoint::doing(once(steps));
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], CHAT);
        // Every byte that came is passed on, also of the piece that did not come whole.
        assert!(answer.text().starts_with(PIECE), "{how}: {}", answer.text());
        assert_eq!((answer.status(), answer.end), (200, End::Cut), "{how}");
        let call = proxied.only_call();
        assert!(call.ends_with(" cut"), "{how}: {call}");
    }
}

#[test]
fn a_reply_shorter_than_announced_is_cut_too() {
    let endpoint = Endpoint::answering(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":[]}",
    );
    let proxied = Proxied::before(endpoint.address);
    let answer = proxied.post(CALL, &[], CHAT);
    assert_eq!(answer.end, End::Cut);
    assert!(proxied.only_call().ends_with(" cut"));
}

#[test]
fn a_stream_that_falls_silent_is_cut_and_does_not_hang() {
    let (_keep, wait) = channel();
    let endpoint = Endpoint::doing(once(vec![
        Step::Send(STREAM_HEAD.into()),
        Step::Send(chunk(PIECE)),
        Step::Wait(wait),
    ]));
    let proxied = Proxied::within(endpoint.address, TIGHT);
    let answer = proxied.post(CALL, &[], CHAT);
    assert_eq!((answer.text(), answer.end), (PIECE, End::Cut));
    assert!(
        proxied.only_call().ends_with(" timeout"),
        "{}",
        proxied.only_call()
    );
}

#[test]
fn an_error_within_a_stream_passes_and_is_counted() {
    let error = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let endpoint = Endpoint::doing(once(vec![
        Step::Send(STREAM_HEAD.into()),
        Step::Send(chunk(error)),
        Step::Send(chunk("data: [DONE]\n\n")),
        Step::Send(chunk("")),
    ]));
    let proxied = Proxied::before(endpoint.address);
    let answer = proxied.post(CALL, &[], CHAT);
    assert!(answer.text().starts_with(error));
    assert!(proxied.only_call().ends_with(" failed"));
}

#[test]
fn a_reply_that_is_none_passes_and_is_counted_by_name() {
    for body in [
        "<html>busy</html>",
        "",
        "{\"choices\":",
        "[]",
        "{\"object\":\"list\"}",
    ] {
        let endpoint = Endpoint::answering(response("200 OK", &[], body));
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], CHAT);
        assert_eq!((answer.status(), answer.text()), (200, body));
        assert!(
            proxied.only_call().ends_with(" malformed"),
            "{body}: {}",
            proxied.only_call()
        );
    }
}

#[test]
fn a_reply_that_ran_into_its_limit_is_counted_as_truncated() {
    let body = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let endpoint = Endpoint::answering(response("200 OK", &[], body));
    let proxied = Proxied::before(endpoint.address);
    assert_eq!(proxied.post(CALL, &[], CHAT).text(), body);
    assert_eq!(proxied.only_call(), "answer - toy 1+1 provider length truncated");
}

#[test]
fn fifty_megabytes_are_refused_by_name_and_go_nowhere() {
    let endpoint = Endpoint::answering(response("200 OK", &[], "{}"));
    let proxied = Proxied::before(endpoint.address);
    let body = format!(r#"{{"model":"toy","messages":["{}"]}}"#, "x".repeat(50 << 20));
    let answer = proxied.post(CALL, &[], &body);
    assert_eq!((answer.status(), answer.code().as_str()), (413, "body_too_large"));
    assert!(answer.text().contains("33554432"), "{}", answer.text());
    assert!(!endpoint.heard_more());
    assert!(proxied.calls().is_empty());
}

#[test]
fn a_reply_of_fifty_megabytes_passes_whole_and_is_counted_as_unread() {
    let body = format!(r#"{{"choices":[],"x":"{}"}}"#, "x".repeat(50 << 20));
    let endpoint = Endpoint::answering(response("200 OK", &[], &body));
    let proxied = Proxied::before(endpoint.address);
    let answer = proxied.post(CALL, &[], CHAT);
    assert_eq!((answer.body.len(), answer.end), (body.len(), End::Whole));
    assert!(proxied.only_call().ends_with(" too-large"));
}

/// Method, path, headers and body; status and code of the answer.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, u16, &'a str);

#[test]
fn a_request_that_cannot_be_accounted_for_is_refused_and_goes_nowhere() {
    let endpoint = Endpoint::answering(response("200 OK", &[], "{}"));
    let proxied = Proxied::before(endpoint.address);
    let plain = "/v1/chat/completions";
    let cases: [Case<'_>; 10] = [
        ("POST", plain, &[], CHAT, 400, "missing_purpose"),
        ("POST", plain, &["x-memwarden-purpose:"], CHAT, 400, "bad_label"),
        (
            "POST",
            plain,
            &["x-memwarden-purpose: two words"],
            CHAT,
            400,
            "bad_label",
        ),
        (
            "POST",
            CALL,
            &["x-memwarden-purpose: judge"],
            CHAT,
            400,
            "two_labels",
        ),
        ("POST", CALL, &[], "{", 400, "bad_body"),
        ("POST", CALL, &[], "{\"messages\":[]}", 400, "bad_body"),
        ("POST", CALL, &[], "", 400, "bad_body"),
        ("POST", "/v1/responses", &[], CHAT, 404, "unknown_route"),
        ("GET", CALL, &[], "", 405, "wrong_method"),
        ("POST", "/v1/models", &[], "", 405, "wrong_method"),
    ];
    for (method, path, headers, body, status, code) in cases {
        let answer = proxied.send(method, path, headers, body);
        assert_eq!(
            (answer.status(), answer.code().as_str()),
            (status, code),
            "{method} {path} {headers:?}"
        );
    }
    assert!(!endpoint.heard_more());
    assert!(proxied.calls().is_empty());
}

#[test]
fn a_client_that_leaves_is_counted() {
    let (go, wait) = channel();
    let endpoint = Endpoint::doing(once(vec![
        Step::Send(STREAM_HEAD.into()),
        Step::Send(chunk(PIECE)),
        Step::Wait(wait),
    ]));
    let mut proxied = Proxied::before(endpoint.address);
    let mut client = Connection::to(proxied.address);
    proxied.write(&mut client, "POST", CALL, &[], CHAT);
    client.head().unwrap();
    assert_eq!(client.chunk(), Ok(Some(PIECE.into())));
    drop(client);
    proxied.stop();
    proxied.join();
    assert!(proxied.only_call().ends_with(" left"), "{}", proxied.only_call());
    drop(go);
}

#[test]
fn what_is_still_open_after_the_grace_is_in_the_meter() {
    let (_keep, wait) = channel();
    let endpoint = Endpoint::doing(once(vec![Step::Wait(wait)]));
    let mut proxied = Proxied::within(endpoint.address, NO_GRACE);
    let mut client = Connection::to(proxied.address);
    proxied.write(&mut client, "POST", CALL, &[], CHAT);
    endpoint.heard();
    proxied.stop();
    proxied.join();
    assert!(client.message().is_none());
    assert!(proxied.only_call().ends_with(" left"), "{}", proxied.only_call());
}
