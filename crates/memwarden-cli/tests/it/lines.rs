//! Bad input on lines of `rpc`: each line is answered, in order, and a line that is no request changes nothing.

use crate::fixture::{Store, id};
use serde_json::{Value, json};

const LONGEST_LINE: usize = 16 * 1_048_576;

/// Sends each line to one process, with good ones before, between and behind: the errors that answer them.
#[track_caller]
fn all_refused(store: &Store, lines: &[&[u8]]) -> Vec<Value> {
    const GOOD: &[u8] = b"\n{\"id\":\"good\",\"op\":\"status\"}\n";
    let mut input = GOOD.to_vec();
    for line in lines {
        input.extend_from_slice(line);
        input.extend_from_slice(GOOD);
    }
    let answers = store.lines(input);
    assert_eq!(answers.len(), 2 * lines.len() + 1, "{answers:#?}");
    let before = &answers[0]["result"];
    assert!(before.is_object(), "{answers:#?}");
    let pairs = answers[1..].chunks_exact(2).zip(lines);
    pairs
        .map(|(pair, line)| {
            let line = String::from_utf8_lossy(&line[..line.len().min(200)]);
            assert_eq!(&pair[1]["result"], before, "`{line}` changed the store");
            assert!(pair[0].get("result").is_none(), "`{line}`: {:#}", pair[0]);
            pair[0].clone()
        })
        .collect()
}

#[track_caller]
fn refused(store: &Store, line: &[u8]) -> Value {
    all_refused(store, &[line]).remove(0)
}

#[test]
fn lines_that_are_no_requests_are_answered_without_an_id() {
    let store = Store::new();
    store.keep("one");
    let deep = format!(
        "{{\"op\":\"status\",\"id\":{}{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let long_name = format!("{{\"op\":\"status\",\"{}\":1}}", "n".repeat(100_000));
    let cases: [(&[u8], &str); 16] = [
        (b"hello", "the line is not a request"),
        (b"[]", "expected an object"),
        (b"[1,\"status\",null,{}]", "expected an object"),
        (b"7", "expected an object"),
        (b"null", "expected an object"),
        (b"{}", "missing field `op`"),
        (b"{\"id\":2}", "missing field `op`"),
        (b"{\"op\":7}", "expected a string"),
        (b"{\"op\":\"status\",\"op\":\"flush\"}", "duplicate field `op`"),
        (b"{\"op\":\"status\",\"id\":1,\"id\":2}", "duplicate field `id`"),
        (b"{\"op\":\"status\",\"extra\":1}", "unknown field `extra`"),
        (
            b"{\"id\":1,\"op\":\"status\"} {\"id\":2,\"op\":\"status\"}",
            "trailing characters",
        ),
        (
            b"{\"id\":1,\"op\":\"remember\",\"params\":{\"entry\":{\"content\":\"cut o",
            "EOF while parsing a string",
        ),
        (b"{\"op\":\"caf\xe9\"}", "not UTF-8 at byte 10"),
        (deep.as_bytes(), "recursion limit"),
        (long_name.as_bytes(), "unknown field"),
    ];
    let answers = all_refused(&store, &cases.map(|(line, _)| line));
    for ((_, wanted), answer) in cases.iter().zip(answers) {
        assert_eq!(answer["id"], Value::Null, "{answer:#}");
        assert_eq!(answer["error"]["code"], "bad_input");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{message}");
        assert!(
            message.len() < 1_000,
            "{} bytes: {}",
            message.len(),
            message.chars().take(200).collect::<String>()
        );
    }
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    let store = Store::new();
    store.keep("one");
    let unknown = "0".repeat(32);
    let nested = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let remember = |entry: &str| ("remember", format!("{{\"entry\":{entry}}}"));
    let cases: Vec<((&str, String), &str)> = vec![
        (
            ("frobnicate", "{}".into()),
            "`op` is `frobnicate`: expected one of status, flush",
        ),
        (("status", "{\"x\":1}".into()), "unknown field `x`"),
        (("status", "[]".into()), "expected an object"),
        (("status", "7".into()), "expected an object"),
        (("remember", "{}".into()), "missing field `entry`"),
        (remember("\"text\""), "`entry`: invalid type"),
        (remember("[\"text\"]"), "`entry`: invalid type"),
        (remember("{}"), "`entry`: missing field `content`"),
        (remember("{\"content\":null}"), "`entry.content`"),
        (remember("{\"content\":7}"), "`entry.content`"),
        (remember("{\"content\":[\"a\"]}"), "`entry.content`"),
        (
            remember("{\"content\":\"a\",\"content\":\"b\"}"),
            "duplicate field `content`",
        ),
        (remember("{\"content\":\"a\",\"mood\":1}"), "unknown field `mood`"),
        (remember("{\"content\":\"\"}"), "`content` is empty"),
        (
            remember("{\"content\":\"a\\u0000b\"}"),
            "`content` has a NUL character at byte 1",
        ),
        (remember("{\"content\":\"\\ud800\"}"), "`entry.content`"),
        (remember("{\"content\":\"\\udc00\\ud800\"}"), "`entry.content`"),
        (
            remember("{\"content\":\"a\",\"kind\":\"gossip\"}"),
            "`kind` is `gossip`: expected one of general, reasoning",
        ),
        (
            remember("{\"content\":\"a\",\"trace_type\":\"gossip\"}"),
            "`trace_type` is `gossip`",
        ),
        (remember("{\"content\":\"a\",\"subject\":{}}"), "`entry.subject`"),
        (
            remember("{\"content\":\"a\",\"fields\":{\"n\":1.5}}"),
            "a string, a whole number of 64 bits, true or false",
        ),
        (
            remember("{\"content\":\"a\",\"fields\":{\"n\":null}}"),
            "a string, a whole number of 64 bits, true or false",
        ),
        (
            remember("{\"content\":\"a\",\"fields\":{\"n\":9223372036854775808}}"),
            "a whole number of 64 bits",
        ),
        (
            remember("{\"content\":\"a\",\"fields\":{\"n\":1,\"n\":2}}"),
            "key `n` stands twice",
        ),
        (
            remember("{\"content\":\"a\",\"fields\":[1]}"),
            "`entry.fields`: invalid type",
        ),
        (
            remember("{\"content\":\"a\",\"metadata\":[1]}"),
            "`entry.metadata`: invalid type",
        ),
        (
            remember("{\"content\":\"a\",\"metadata\":{\"b\":{\"c\":1,\"c\":2}}}"),
            "key `c` stands twice",
        ),
        (
            remember(&format!("{{\"content\":\"a\",\"metadata\":{nested}}}")),
            "recursion limit",
        ),
        (
            remember("{\"content\":\"a\",\"valid_until\":\"soon\"}"),
            "`valid_until` is `soon`: expected RFC 3339",
        ),
        (
            remember("{\"content\":\"a\",\"valid_until\":-1}"),
            "RFC 3339 or microseconds since 1970",
        ),
        (remember("{\"content\":\"a\",\"valid_until\":1}"), "`valid_until`"),
        (
            remember("{\"content\":\"a\",\"parents\":[\"mine\"]}"),
            "`parents`: `mine` is not an id",
        ),
        (
            remember("{\"content\":\"a\",\"parents\":\"mine\"}"),
            "`entry.parents`: invalid type",
        ),
        (
            (
                "remember",
                "{\"namespace\":\"../../x\",\"entry\":{\"content\":\"a\"}}".into(),
            ),
            "`namespace`",
        ),
        (
            (
                "remember",
                "{\"channel\":\"telepathy\",\"entry\":{\"content\":\"a\"}}".into(),
            ),
            "`channel`",
        ),
        (
            ("recall", "{\"query\":\"x\",\"k\":0}".into()),
            "`k` is `0`: expected 1 to 100",
        ),
        (
            ("recall", "{\"query\":\"x\",\"k\":101}".into()),
            "`k` is `101`: expected 1 to 100",
        ),
        (
            ("recall", "{\"query\":\"x\",\"k\":-1}".into()),
            "`k`: invalid value",
        ),
        (
            ("recall", "{\"query\":\"x\",\"k\":1e2}".into()),
            "`k`: invalid type",
        ),
        (("recall", "{\"query\":null}".into()), "`query`: invalid type"),
        (
            ("recall", "{\"query\":\" \"}".into()),
            "`query` is ``: expected some words",
        ),
        (
            ("recall", "{\"query\":\"x\",\"retrieval\":\"telepathy\"}".into()),
            "`retrieval` is `telepathy`",
        ),
        (("list", "{\"status\":\"lost\"}".into()), "`status` is `lost`"),
        (
            ("inspect", "{\"id\":\"../../x\"}".into()),
            "`id`: `../../x` is not an id",
        ),
        (("inspect", "{\"id\":7}".into()), "`id`: invalid type"),
        (
            (
                "inspect",
                format!("{{\"id\":\"{}\"}}", unknown.to_uppercase() + "AB"),
            ),
            "is not an id",
        ),
        (
            (
                "release",
                format!("{{\"id\":\"{unknown}\",\"content_sha256\":\"x\"}}"),
            ),
            "`content_sha256`",
        ),
        (("check_proof", "{\"proof\":\"\",\"key\":\"\"}".into()), "`key`"),
        (("purge", "{\"ids\":\"all\"}".into()), "`ids`: invalid type"),
        (("load_policy", "{}".into()), "expected either `preset` or `toml`"),
        (
            ("load_policy", "{\"preset\":\"../x\"}".into()),
            "expected either `preset` or `toml`",
        ),
        (("load_policy", "{\"toml\":\"name = 3\"}".into()), "`toml`"),
        (
            (
                "register",
                format!(
                    "{{\"name\":\"x\",\"role\":\"emperor\",\"path\":\"{}\"}}",
                    store.at("x")
                ),
            ),
            "`role`",
        ),
    ];
    let lines: Vec<String> = cases
        .iter()
        .map(|((op, params), _)| format!("{{\"id\":2,\"op\":\"{op}\",\"params\":{params}}}"))
        .collect();
    let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
    for (((op, _), wanted), answer) in cases.iter().zip(all_refused(&store, &lines)) {
        assert_eq!(answer["id"], 2, "{answer:#}");
        assert_eq!(answer["error"]["code"], "bad_input", "{op}: {answer:#}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{op}: wanted `{wanted}`: {message}");
        for word in ["struct ", "enum ", "variant of", "FieldIn", "EntryIn"] {
            assert!(
                !message.contains(word),
                "{op}: a name of the program's own: {message}"
            );
        }
    }
}

#[test]
fn what_is_not_there_is_named_too() {
    let store = Store::new();
    store.keep("one");
    let unknown = "0".repeat(32);
    let cases = [
        (
            "recall",
            json!({"query": "x", "namespace": "nobody"}),
            "no_namespace",
        ),
        ("inspect", json!({"id": unknown}), "not_found"),
        ("history", json!({"id": unknown}), "not_found"),
        ("prove", json!({"id": unknown}), "not_found"),
        ("retire", json!({"id": unknown}), "not_found"),
        (
            "remember",
            json!({"entry": {"content": "a", "parents": [unknown]}}),
            "not_found",
        ),
        (
            "remember",
            json!({"entry": {"content": "a", "supersedes": unknown}}),
            "not_found",
        ),
        ("verify", json!({"held": "no checkpoint"}), "bad_input"),
    ];
    let lines = cases
        .each_ref()
        .map(|(op, params, _)| json!({"id": 2, "op": op, "params": params}).to_string());
    let lines = lines.each_ref().map(|line| line.as_bytes());
    for ((op, _, code), answer) in cases.iter().zip(all_refused(&store, &lines)) {
        assert_eq!(answer["error"]["code"], *code, "{op}: {answer:#}");
    }
}

#[test]
fn a_context_that_was_not_opened_is_refused() {
    let store = Store::new();
    let answer = refused(
        &store,
        br#"{"id":2,"op":"recall","context":"abc","params":{"query":"x"}}"#,
    );
    let code = answer["error"]["code"].as_str().unwrap();
    assert!(["bad_input", "context"].contains(&code), "{answer:#}");
}

#[test]
fn the_longest_line_is_read_and_a_longer_one_costs_only_itself() {
    let store = Store::new();
    let padded = |bytes: usize| {
        let mut line = br#"{"id":2,"op":"flush"}"#.to_vec();
        line.resize(bytes, b' ');
        line
    };
    let answers = store.lines([padded(LONGEST_LINE), b"\n{\"id\":3,\"op\":\"flush\"}\n".to_vec()].concat());
    assert_eq!(
        answers,
        [json!({"id": 2, "result": {}}), json!({"id": 3, "result": {}})]
    );
    for bytes in [LONGEST_LINE + 1, LONGEST_LINE + 2, 2 * LONGEST_LINE + 7] {
        for line in [padded(bytes), vec![b' '; bytes], vec![b'['; bytes]] {
            let answer = refused(&store, &line);
            assert_eq!(answer["id"], Value::Null);
            assert_eq!(answer["error"]["code"], "bad_input");
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("more than 16777216 bytes"),
                "{answer:#}"
            );
        }
    }
}

#[test]
fn a_text_of_ten_million_bytes_is_refused_by_its_limit() {
    let store = Store::new();
    store.keep("one");
    let entry = json!({"content": "x".repeat(10_000_000)});
    let answer = refused(
        &store,
        json!({"id": 2, "op": "remember", "params": {"entry": entry}})
            .to_string()
            .as_bytes(),
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(
        message,
        "field `content` has 10000000 bytes: expected at most 1048576"
    );
}

#[test]
fn the_last_line_needs_no_line_break_and_a_cut_one_changes_nothing() {
    let store = Store::new();
    store.keep("one");
    let before = store.holdings();
    let whole = r#"{"id":1,"op":"remember","params":{"entry":{"content":"The gate is green."}}}"#;
    for cut in (1..whole.len()).step_by(7) {
        let answers = store.lines(&whole.as_bytes()[..cut]);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["error"]["code"], "bad_input", "{cut}: {answers:?}");
    }
    assert_eq!(store.holdings(), before);
    let kept = store.lines(whole);
    assert_eq!(
        store.json(&["recall", "gate"])["hits"][0]["id"],
        json!(id(&kept[0]["result"]))
    );
}

#[test]
fn escapes_of_the_terminal_stay_escapes_in_an_answer() {
    // The default policy takes them out before they are stored.
    let store = Store::with_policy("off");
    let entry = json!({"content": "\u{1b}[2J gate", "subject": "\u{1b}]0;x\u{7}"});
    let kept = store.feed(
        &["rpc"],
        json!({"op": "remember", "params": {"entry": entry}})
            .to_string()
            .as_bytes(),
    );
    assert!(!kept.out.contains('\u{1b}'));
    let served = store.feed(&["rpc"], br#"{"op":"recall","params":{"query":"gate"}}"#);
    assert!(!served.out.contains('\u{1b}'));
    assert_eq!(served.json()["result"]["hits"][0]["content"], "\u{1b}[2J gate");
    let rendered = served.json()["result"]["hits"][0]["rendered"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(rendered.contains("\\u{1b}[2J gate"), "{rendered}");
}
