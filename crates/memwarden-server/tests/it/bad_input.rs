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
    assert_eq!(proxied.cost(), Some(0));
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
        // It has read the call, and may charge for it.
        assert!(
            proxied.only_call().ends_with(" closed"),
            "{}",
            proxied.only_call()
        );
        assert_eq!(proxied.cost(), None);
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
        assert_eq!(proxied.cost(), Some(0));
        assert!(
            proxied.only_call().ends_with(" upstream"),
            "{}",
            proxied.only_call()
        );
    }
}

#[test]
fn a_gateway_that_gave_up_does_not_say_what_the_call_cost() {
    for status in ["502 Bad Gateway", "504 Gateway Timeout"] {
        let endpoint = Endpoint::answering(response(status, &[], "{}"));
        let proxied = Proxied::before(endpoint.address);
        assert!(proxied.post(CALL, &[], CHAT).line.contains(status));
        assert!(proxied.only_call().ends_with(" upstream"));
        assert_eq!(proxied.cost(), None, "{status}");
    }
}

#[test]
fn a_call_is_not_sent_elsewhere_past_the_meter() {
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let to = "location: http://127.0.0.1:9/v1/chat/completions";
        let endpoint = Endpoint::answering(response(status, &[to], ""));
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], CHAT);
        assert_eq!(
            (answer.status(), answer.code().as_str()),
            (502, "upstream_redirect")
        );
        assert_eq!(answer.header("location"), None);
        assert!(proxied.only_call().ends_with(" upstream"));
        assert_eq!(proxied.cost(), None);
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
        assert!(call.ends_with(" null+null - - cut"), "{how}: {call}");
        assert_eq!(proxied.cost(), None, "{how}");
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
    assert_eq!(proxied.cost(), None);
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
    assert_eq!(proxied.cost(), None);
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
    let cases: [Case<'_>; 13] = [
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
        ("POST", CALL, &[], "[\"gpt-4o\"]", 400, "bad_body"),
        ("GET", "/v1/models/../../secret", &[], "", 404, "unknown_route"),
        ("GET", "/v1/models/%2e%2e%2Fsecret", &[], "", 404, "unknown_route"),
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
    assert_eq!(proxied.cost(), None);
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

#[test]
fn a_client_that_reads_no_further_is_not_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxied = Proxied::within(listener.local_addr().unwrap(), TIGHT);
    let mut client = Connection::to(proxied.address);
    proxied.write(&mut client, "POST", CALL, &[], CHAT);
    let mut endpoint = Connection::over(listener.accept().unwrap().0);
    endpoint.message().unwrap();
    // More than all buffers on the way hold; if nobody hangs up, this fails to fail.
    let socket = endpoint.reader.get_mut();
    socket
        .set_write_timeout(Some(std::time::Duration::from_secs(30)))
        .unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000000000\r\n\r\n";
    endpoint.send(head.as_bytes()).unwrap();
    while endpoint.send(&[b' '; 65_536]).is_ok() {}
    assert!(
        proxied.only_call().ends_with(" null+null - - left"),
        "{}",
        proxied.only_call()
    );
    assert_eq!(proxied.cost(), None);
    drop(client);
}

#[test]
fn a_choice_that_never_ended_is_not_taken_for_whole() {
    let asked = r#"{"model":"toy","n":2,"messages":[]}"#;
    let ended =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let begun = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n";
    let broken = "data: {bad\n\n";
    for (body, events) in [
        (asked, vec![begun, ended]),
        (asked, vec![ended]),
        (CHAT, vec![PIECE, broken]),
    ] {
        let mut steps = vec![Step::Send(STREAM_HEAD.into())];
        steps.extend(events.iter().map(|event| Step::Send(chunk(event))));
        steps.push(Step::Send(chunk("")));
        let endpoint = Endpoint::doing(once(steps));
        let proxied = Proxied::before(endpoint.address);
        let answer = proxied.post(CALL, &[], body);
        assert_eq!((answer.text(), answer.end), (events.concat().as_str(), End::Cut));
        assert!(proxied.only_call().ends_with(" cut"), "{}", proxied.only_call());
    }
}

#[test]
fn a_reply_that_says_nothing_or_was_filtered_passes_and_is_counted_by_name() {
    for (choices, name) in [
        (
            r#"{"message":{"content":""},"finish_reason":"stop"}"#,
            "stop empty",
        ),
        ("", "- empty"),
        (
            r#"{"message":{"content":"a"},"finish_reason":"content_filter"}"#,
            "content_filter withheld",
        ),
        (
            r#"{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}"#,
            "tool_calls ok",
        ),
    ] {
        let body =
            format!(r#"{{"choices":[{choices}],"usage":{{"prompt_tokens":1,"completion_tokens":1}}}}"#);
        let endpoint = Endpoint::answering(response("200 OK", &[], &body));
        let proxied = Proxied::before(endpoint.address);
        assert_eq!(proxied.post(CALL, &[], CHAT).text(), body);
        assert_eq!(proxied.only_call(), format!("answer - toy 1+1 provider {name}"));
        assert_eq!(proxied.cost(), Some(10_000_000));
    }
}

/// A reply whose endpoint does not count.
const UNCOUNTED: &str = r#"{"choices":[{"message":{"content":"Oslo"},"finish_reason":"stop"}]}"#;

#[test]
fn a_text_that_overflows_a_tokenizer_takes_nobody_down() {
    let endpoint = Endpoint::answering(response("200 OK", &[], UNCOUNTED));
    let proxied = Proxied::before(endpoint.address);
    let blanks = " ".repeat(1_000_000);
    let body = format!(r#"{{"model":"gpt-4o","messages":[{{"role":"user","content":"{blanks}x"}}]}}"#);
    for _ in 0..2 {
        let answer = proxied.post(CALL, &[], &body);
        assert_eq!((answer.text(), answer.end), (UNCOUNTED, End::Whole));
    }
    let calls = proxied.calls();
    assert_eq!(calls.len(), 2);
    assert!(calls[0].ends_with(" approximated stop ok"), "{calls:?}");
}

#[test]
fn what_cannot_be_counted_is_unknown_and_costs_nobody_knows_what() {
    let long = format!(
        r#"{{"model":"gpt-4o","messages":[{{"role":"user","content":"{}"}}]}}"#,
        "a".repeat(30 << 20)
    );
    let deep = format!(
        r#"{{"model":"gpt-4o","messages":[{{"role":"user","content":"a"}}],"tools":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for body in [
        long.as_str(),
        deep.as_str(),
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,A"}}]}]}"#,
        r#"{"model":"o3","messages":[{"role":"user","content":"a"}]}"#,
    ] {
        let endpoint = Endpoint::answering(response("200 OK", &[], UNCOUNTED));
        let proxied = Proxied::before(endpoint.address);
        assert_eq!(proxied.post(CALL, &[], body).text(), UNCOUNTED);
        assert!(
            proxied.only_call().ends_with(" null+null - stop ok"),
            "{}",
            proxied.only_call()
        );
        assert_eq!(proxied.cost(), None);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_call_is_sent_while_none_can_be_metered() {
    let endpoint = Endpoint::answering(response("200 OK", &[], UNCOUNTED));
    // Every write to its meter fails for want of space; the first call finds that out.
    let proxied = Proxied::without_room(endpoint.address);
    assert_eq!(proxied.post(CALL, &[], CHAT).end, End::Cut);
    endpoint.heard();
    for _ in 0..2 {
        let answer = proxied.post(CALL, &[], CHAT);
        assert_eq!(
            (answer.status(), answer.code().as_str()),
            (503, "meter_unwritable")
        );
    }
    assert!(!endpoint.heard_more());
}
