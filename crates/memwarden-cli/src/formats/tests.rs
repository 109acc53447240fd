//! What the importer reads from small files of our own making, and what it says about damaged ones.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Write as _;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/fixtures/", $name))
    };
}

/// The result as a person would read it: entries, then problems.
fn shown(bytes: &[u8]) -> String {
    let parsed = match parse("test.file", bytes, Limits::default()) {
        Ok(parsed) => parsed,
        Err(error) => return format!("{error}\n"),
    };
    let mut out = format!("{}\n", parsed.format);
    for Imported { entry, place, .. } in &parsed.entries {
        out += &format!("{place}: [{}/{}]", entry.kind, entry.trace_type);
        out += &entry
            .subject
            .as_ref()
            .map_or_else(String::new, |subject| format!(" {subject} |"));
        out += &format!(" {}", entry.content);
        for (name, value) in [
            ("source", &entry.source),
            ("trust", &entry.trust),
            ("metadata", &entry.metadata),
        ] {
            out += &value
                .as_ref()
                .map_or_else(String::new, |value| format!("\n    {name} {value}"));
        }
        out.push('\n');
    }
    for problem in &parsed.problems {
        out += &format!("! {problem}\n");
    }
    out
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "reads as `check(input, expect![...])`"
)]
fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&shown(bytes));
}

#[test]
fn each_observation_of_the_mcp_server_is_one_entry() {
    check(
        fixture!("mcp.jsonl"),
        expect![[r#"
        mcp-memory
        line 1, observations[0]: [reasoning/decision_log] INT-LAB-0193 | Imported batch 4 after all five checks passed.
            metadata {"createdAt":"2026-03-02T08:00:00Z","entityType":"decision_log","version":1}
        line 1, observations[1]: [reasoning/decision_log] INT-LAB-0193 | Returned batch 5: two identifiers had a letter where a digit belongs.
            metadata {"createdAt":"2026-03-02T08:00:00Z","entityType":"decision_log","version":1}
        line 2, observations[0]: [general/fact] Мария | Предпочитает отчёты по утрам
            metadata {"entityType":"person"}
        line 2, observations[1]: [general/fact] Мария | 朝の報告を好む
            metadata {"entityType":"person"}
        line 3, observations[0]: [reasoning/decision_log] INT-LAB-0193 | Imported batch 4 after all five checks passed.
            metadata {"createdAt":"2026-03-02T08:00:00Z","entityType":"decision_log","version":1}
        line 6: [general/fact] Мария | Мария maintains INT-LAB-0193
            source agent
            metadata {"relationType":"maintains","to":"INT-LAB-0193"}
    "#]],
    );
}

#[test]
fn forks_of_the_mcp_server_may_write_observations_as_objects_and_leave_out_the_type() {
    check(
        fixture!("mcp-fork.jsonl"),
        expect![[r#"
        mcp-memory
        line 1, observations[0]: [general/fact] Harbor ferry | Runs every 20 minutes.
            metadata {"_savedAt":"2026-01-05T09:00:01Z","_type":"entity","entityType":"fact","observation":{"timestamp":"2026-01-05T09:00:00Z","version":"1.0"}}
        line 1, observations[1]: [general/fact] Harbor ferry | The bypass road floods in spring.
            source web
            trust unverified
            metadata {"_savedAt":"2026-01-05T09:00:01Z","_type":"entity","entityType":"fact"}
        line 1, observations[2]: [general/fact] Harbor ferry | Tickets are sold on board.
            metadata {"_savedAt":"2026-01-05T09:00:01Z","_type":"entity","entityType":"fact"}
    "#]],
    );
}

#[test]
fn one_graph_document_is_read_and_each_bad_part_of_it_is_named() {
    check(
        fixture!("mcp-graph.json"),
        expect![[r#"
        mcp-memory
        /entities/0/observations/0: [general/fact] 發佈流程 | 每週四發佈
            metadata {"entityType":"project"}
        /entities/0/observations/1: [general/fact] 發佈流程 | 先在測試環境執行
            metadata {"entityType":"project"}
        /entities/1/observations/0: [general/fact] nameless type | has no entityType
        /entities/3/observations/2: [general/fact] mixed | kept
            metadata {"entityType":"project"}
        /relations/0: [general/fact] 發佈流程 | 發佈流程 uses mixed
            metadata {"relationType":"uses","to":"mixed"}
        ! /entities/2: field `name` is the text ``: expected text that is not empty
        ! /entities/3/observations/0: observation is null: expected text, or an object with `text` or `content`
        ! /entities/3/observations/1: observation is the number `7`: expected text, or an object with `text` or `content`
        ! /entities/3/observations/3: observation is an object with `note`: expected text, or an object with `text` or `content`
        ! /entities/3/observations/4: field `content` is empty: expected text
        ! /entities/4: the text `not an entity`: expected an entity with `name` and `observations`, or a relation with `from`, `to` and `relationType`
        ! /relations/1: field `to` is missing: expected text that is not empty
    "#]],
    );
}

#[test]
fn rows_keep_their_declarations_and_everything_else_they_carry() {
    check(
        fixture!("rows.jsonl"),
        expect![[r#"
        jsonl
        line 1: [reasoning/decision_log] kettle under 40 EUR | Compared three kettles and bought the second.
            source agent
            trust verified
            metadata {"id":"r1"}
        line 2: [general/other] The warehouse closes at six.
            metadata {"id":2,"lang":"en","page":3}
        line 3: [general/preference] I like window seats.
            metadata {"lang":"en","metadata":{"lang":"nl"}}
        ! line 4: field `trace_type` is `gossip`: expected one of decision_log, thought_chain, reflection, rationale, fact, experience, preference, other
        ! line 5: field `id` is a list of 1 items: expected text or a whole number
        ! line 6: field `content` is the number `42`: expected text that is not empty
        ! line 7: field `metadata` is the text `page 3`: expected an object
        ! line 8: an object with `id`, `memory`: expected an object with `content`
    "#]],
    );
}

#[test]
fn what_mem0_lists_is_read_with_the_rest_of_each_row_as_metadata() {
    check(
        fixture!("mem0.json"),
        expect![[r#"
        mem0
        /results/0: [general/other] Decision log: picked the cheaper fare after comparing three listings.
            source agent
            metadata {"agent_id":"travel-agent","created_at":"2026-11-30T19:32:42.532687+00:00","hash":"c57cebbf165e72e869556379a2f19aa8","id":"4ff1ece9-cc5b-4f28-8f58-86ce1a139e9c","metadata":{"source":"agent","step":4,"tags":["fare","compare"]},"role":"user","run_id":"run-7","updated_at":"2026-11-30T19:32:42.532687+00:00","user_id":"alice"}
        /results/1: [general/other] I am vegetarian and allergic to walnuts.
            metadata {"created_at":"2026-11-30T19:32:42.446656+00:00","hash":"85308a748271b9cbca2e7644b0788ff7","id":"9ccfed19-2776-4a66-96ae-0f6b024aa1e9","metadata":{"category":"diet"},"role":"user","updated_at":"2026-11-30T19:32:42.446656+00:00","user_id":"alice"}
        /results/2: [general/other] Book aisle seats; the override for exit rows needs a manager.
            metadata {"created_at":"2026-11-30T19:32:42.491176+00:00","hash":"584d7022ae62d0fb9e77745d5b13fa89","id":"b5d8dcee-9a03-456d-bd82-22134582010e","metadata":null,"role":"user","updated_at":"2026-11-30T19:32:42.491176+00:00","user_id":"alice"}
        /results/3: [general/other] Quarterly report goes to finance on the 5th — “no exceptions”, 必ず。
            metadata {"created_at":"2026-11-30T19:32:42.573032+00:00","hash":"c6cc29a5e7f9ccbef13f544c4648909e","id":"ee2d4d61-cb36-4bec-adf3-5f17d54db66d","metadata":null,"role":"user","updated_at":"2026-11-30T19:32:42.573032+00:00","user_id":"alice"}
    "#]],
    );
}

#[test]
fn blocks_and_passages_of_an_agent_file_are_read_and_its_messages_are_not() {
    check(
        fixture!("agent.af"),
        expect![[r#"
        letta-agent-file
        /blocks/0: [general/other] human | Guest in room 12, arrives late.
            metadata {"description":"What is known of the guest","id":"block-0","limit":20000,"read_only":false}
        /agents/0/memory_blocks/0: [general/other] house rules | Quiet after ten.
            metadata {"limit":5000}
        /agents/0/passages/0: [general/other] The boiler was replaced in 2024.
            metadata {"id":"passage-0","tags":["boiler"]}
        ! /blocks/2: field `value` is null: expected text that is not empty
        ! /blocks/3: field `label` is missing: expected text that is not empty
    "#]],
    );
}

#[test]
fn an_agent_file_inside_a_json_string_reads_the_same() {
    assert_eq!(
        shown(fixture!("agent-in-a-string.af")),
        shown(fixture!("agent.af"))
    );
}

#[test]
fn a_damaged_line_is_a_problem_and_the_other_lines_are_read() {
    check(
        fixture!("damaged.jsonl"),
        expect![[r#"
        mcp-memory
        line 1, observations[0]: [general/fact] a | first line is whole
            metadata {"entityType":"fact"}
        ! line 2: trailing characters at column 73: expected one JSON object and nothing else on the line
        ! line 3: unexpected end of hex escape at column 77: expected one JSON object and nothing else on the line
        ! line 4, observations[0]: field `content` has a NUL character at byte 4: expected text without NUL
        ! line 5: field `entityType` is the number `7`: expected text
        ! line 6: field `observations` is the text `not a list`: expected a list
        ! line 7: an object with `at`, `type` whose `type` is the text `checkpoint`: expected an entity with `name` and `observations`, or a relation with `from`, `to` and `relationType`
        ! line 8: a list of 2 items: expected an entity with `name` and `observations`, or a relation with `from`, `to` and `relationType`
        ! line 9, observations[0]: observation is `false`: expected text, or an object with `text` or `content`
        ! line 10: expected value at column 1: expected one JSON object and nothing else on the line
        ! line 11: the line ends inside a JSON value: expected a complete JSON object
    "#]],
    );
}

#[test]
fn a_file_in_which_nothing_is_recognized_says_what_it_is_instead() {
    let deep = "[".repeat(100_000);
    let wrapped = serde_json::to_string("\"twice\"").unwrap();
    let rejected: [&[u8]; 11] = [
        b"",
        b"\xef\xbb\xbf \r\n",
        b"{\"content\":\"caf\xe9\"}",
        b"# Memory\n\nThe user likes tea.\n",
        b"[]",
        b"{}",
        b"null",
        br#"[{"title":"no memory"}]"#,
        br#"{"results":{"id":1}}"#,
        deep.as_bytes(),
        wrapped.as_bytes(),
    ];
    let said: String = rejected.iter().map(|bytes| shown(bytes)).collect();
    expect![[r#"
        file `test.file` is empty: expected a memory file
        file `test.file` is empty: expected a memory file
        file `test.file` is not UTF-8: byte 15 (counted from 0) begins no character
        file `test.file` is not a memory file that can be read: as one JSON document: expected value at line 1 column 1; as JSON lines: none of 2 values is an entity, a relation, or a row with `content` or `memory`; the first: expected value at column 1: expected one JSON object and nothing else on the line
        file `test.file` is not a memory file that can be read: an empty list
        file `test.file` is not a memory file that can be read: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: an object without fields
        file `test.file` is not a memory file that can be read: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: null
        file `test.file` is not a memory file that can be read: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: an object with `title`
        file `test.file` is not a memory file that can be read: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: an object with `results`
        file `test.file` is not a memory file that can be read: as one JSON document: recursion limit exceeded at line 1 column 128; as JSON lines: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: recursion limit exceeded at column 128: expected one JSON object and nothing else on the line
        file `test.file` is not a memory file that can be read: inside one JSON string: none of 1 values is an entity, a relation, or a row with `content` or `memory`; the first: the text `twice`
    "#]].assert_eq(&said);
}

#[test]
fn the_honest_memory_of_the_lab_is_read_without_a_problem() {
    let file = include_bytes!("../../../memwarden-lab/data/honest-memory.jsonl");
    let parsed = parse("honest-memory.jsonl", file, Limits::default()).unwrap();
    assert_eq!(
        (parsed.format, parsed.problems.as_slice()),
        (Format::McpMemory, [].as_slice())
    );
    let reasoning = |imported: &&Imported| imported.entry.kind == memwarden_core::Kind::Reasoning;
    assert!(parsed.entries.len() >= 75);
    assert!(parsed.entries.iter().filter(reasoning).count() >= 30);
}

#[test]
fn line_ends_byte_order_mark_and_file_name_do_not_matter() {
    let plain = include_str!("../../tests/fixtures/mcp.jsonl");
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    assert_eq!(shown(windows.as_bytes()), shown(plain.as_bytes()));
    let named = |name| parse(name, plain.as_bytes(), Limits::default()).unwrap();
    assert_eq!(named("memory.json"), named("notes.md"));
}

#[test]
fn rows_in_a_list_and_rows_on_lines_give_the_same_entries() {
    let lines = include_str!("../../tests/fixtures/rows.jsonl");
    let list = format!("[{}]", lines.trim_end().replace('\n', ","));
    let entries = |text: &str| -> Vec<_> {
        let parsed = parse("rows", text.as_bytes(), Limits::default()).unwrap();
        parsed
            .entries
            .into_iter()
            .map(|imported| imported.entry)
            .collect()
    };
    assert_eq!(entries(lines), entries(&list));
    assert_eq!(entries(lines).len(), 3);
}

#[test]
fn mem0_rows_are_read_under_each_of_their_wrappings() {
    let row = r#"{"id":"m1","memory":"Tea, not coffee.","user_id":"alice"}"#;
    let keys: BTreeSet<_> = [
        format!(r#"{{"results":[{row}]}}"#),
        format!(r#"{{"memories":[{row}],"relations":[]}}"#),
        format!("[{row}]"),
        format!("{row}\n{row}"),
        row.to_owned(),
    ]
    .iter()
    .flat_map(|text| {
        let parsed = parse("mem0", text.as_bytes(), Limits::default()).unwrap();
        assert_eq!(
            (parsed.format, parsed.problems.len()),
            (Format::Mem0, 0),
            "{text}"
        );
        parsed
            .entries
            .into_iter()
            .map(|imported| imported.entry.origin_key)
    })
    .collect();
    assert_eq!(keys.len(), 1);
}

#[test]
fn the_origin_key_changes_with_format_subject_content_and_id_and_with_nothing_else() {
    let key = |text: &str| {
        let parsed = parse("key", text.as_bytes(), Limits::default()).unwrap();
        parsed.entries[0].entry.origin_key.clone().unwrap()
    };
    let same = [
        r#"{"id":"1","content":"a","subject":"s"}"#,
        r#"{"subject":"s","id":1,"content":"a","metadata":{"x":1},"source":"web","trust":"low"}"#,
    ];
    assert_eq!(key(same[0]), key(same[1]));
    assert_eq!(key(same[0]).len(), 64);
    let different = [
        same[0],
        r#"{"id":"2","content":"a","subject":"s"}"#,
        r#"{"content":"a","subject":"s"}"#,
        r#"{"id":"1","content":"b","subject":"s"}"#,
        r#"{"id":"1","content":"a","subject":"t"}"#,
        r#"{"id":"1","content":"a"}"#,
        r#"{"id":"1","memory":"a","subject":"s"}"#,
        r#"{"name":"s","entityType":"fact","observations":["a"]}"#,
        r#"{"name":"sa","entityType":"fact","observations":["a"]}"#,
        r#"{"name":"s","entityType":"fact","observations":["aa"]}"#,
        r#"{"content":"y","subject":"s\u0001x"}"#,
        r#"{"content":"x\u0001y","subject":"s"}"#,
    ];
    let keys: BTreeSet<_> = different.iter().map(|text| key(text)).collect();
    assert_eq!(keys.len(), different.len());
}

#[test]
fn the_limit_on_content_is_a_problem_that_says_so() {
    let limits = Limits { max_entry_bytes: 8 };
    let parsed = parse(
        "rows",
        b"{\"content\":\"12345678\"}\n{\"content\":\"123456789\"}",
        limits,
    )
    .unwrap();
    assert_eq!(parsed.entries.len(), 1);
    assert_eq!(
        parsed.problems[0].to_string(),
        "line 2: field `content` has 9 bytes: expected at most 8"
    );
}

#[test]
fn a_line_of_ten_megabytes_is_read_or_refused_as_any_other() {
    let long = format!(
        "{{\"content\":\"{}\"}}\n{{\"content\":\"short\"}}",
        "x".repeat(10_000_000)
    );
    let parsed = parse("long", long.as_bytes(), Limits::default()).unwrap();
    assert_eq!(parsed.entries.len(), 1);
    assert_eq!(
        parsed.problems[0].message,
        "field `content` has 10000000 bytes: expected at most 1048576"
    );
    let many = format!(
        r#"{{"name":"n","entityType":"fact","observations":[{}"x"]}}"#,
        r#""0123456789","#.repeat(700_000)
    );
    assert_eq!(
        parse("many", many.as_bytes(), Limits::default())
            .unwrap()
            .entries
            .len(),
        700_001
    );
}

#[test]
fn a_small_file_cannot_become_large_by_repeating_its_shared_fields() {
    let bomb = format!(
        r#"{{"name":"n","entityType":"fact","note":"{}","observations":[{}"x"]}}"#,
        "y".repeat(60_000),
        r#""x","#.repeat(100_000)
    );
    let parsed = parse("bomb", bomb.as_bytes(), Limits::default()).unwrap();
    assert_eq!(parsed.entries.len(), 0);
    assert!(
        parsed.problems[0].message.starts_with("100001 observations"),
        "{:?}",
        parsed.problems
    );
}

#[test]
fn deep_nesting_is_a_problem_of_its_line_only() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let text = format!("{{\"content\":\"kept\"}}\n{{\"content\":{deep}}}");
    let parsed = parse("deep", text.as_bytes(), Limits::default()).unwrap();
    assert_eq!(parsed.entries.len(), 1);
    assert!(
        parsed.problems[0].message.starts_with("recursion limit exceeded"),
        "{:?}",
        parsed.problems
    );
}

#[test]
fn problems_beyond_the_listed_ones_are_counted() {
    let text = format!(
        "{{\"content\":\"kept\"}}\n{}",
        "?\n".repeat(MAX_LISTED_PROBLEMS + 5)
    );
    let parsed = parse("bad", text.as_bytes(), Limits::default()).unwrap();
    assert_eq!(parsed.problems.len(), MAX_LISTED_PROBLEMS + 1);
    assert_eq!(
        parsed.problems.last().unwrap().message,
        "5 further problems are not listed"
    );
}

#[test]
fn messages_carry_no_control_characters_of_the_file() {
    let hostile = "\u{1b}[2J\u{202e}\u{7}";
    let text = serde_json::json!([{"content": "kept"}, {"content": 1, hostile: 1}, hostile, {hostile: 1}]);
    let parsed = parse(hostile, text.to_string().as_bytes(), Limits::default()).unwrap();
    let unnamed = parse(hostile, b"", Limits::default()).unwrap_err().to_string();
    assert_eq!(parsed.problems.len(), 3);
    for said in parsed.problems.iter().map(ToString::to_string).chain([unnamed]) {
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{said:?}");
    }
}

/// JSON that is near enough to the known formats to reach their readers.
fn nearly_a_memory_file() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "type",
        "entity",
        "relation",
        "name",
        "entityType",
        "observations",
        "text",
        "content",
        "from",
        "to",
        "relationType",
        "memory",
        "results",
        "memories",
        "id",
        "metadata",
        "source",
        "trust",
        "trace_type",
        "kind",
        "agents",
        "blocks",
        "label",
        "value",
        "passages",
        "entities",
        "relations",
        "fact",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    });
    prop::collection::vec(value, 1..4).prop_map(|lines| {
        lines
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse("any", &bytes, Limits::default());
    }

    #[test]
    fn what_is_returned_has_passed_every_check(text in nearly_a_memory_file(), cut in any::<prop::sample::Index>()) {
        for bytes in [text.as_bytes(), &text.as_bytes()[..cut.index(text.len() + 1)]] {
            if let Ok(parsed) = parse("near", bytes, Limits::default()) {
                for imported in parsed.entries {
                    prop_assert_eq!(imported.entry.check(Limits::default()), Ok(()));
                    prop_assert!(imported.entry.origin_key.is_some());
                    prop_assert!(!imported.place.to_string().is_empty());
                }
            }
        }
    }
}

/// Exports of real installations, which may not be redistributed: read only where `MEMWARDEN_SHARED` names
/// the directory that holds them.
#[test]
fn exports_of_real_installations_are_read_without_a_problem() {
    let Some(shared) = std::env::var_os("MEMWARDEN_SHARED") else {
        let note = "DID NOT RUN: exports_of_real_installations (set MEMWARDEN_SHARED to run it)\n";
        std::io::stderr().write_all(note.as_bytes()).unwrap();
        return;
    };
    let mut read = 0;
    for (directory, format) in [
        ("mcp-memory", Format::McpMemory),
        ("letta-af", Format::LettaAgentFile),
    ] {
        let directory = std::path::Path::new(&shared).join("data/exports").join(directory);
        for file in std::fs::read_dir(&directory).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let parsed = parse(&name, &std::fs::read(&path).unwrap(), Limits::default());
            if name == "SOURCE.md" {
                assert!(matches!(parsed, Err(FormatError::Unrecognized { .. })), "{name}");
                continue;
            }
            let parsed = parsed.unwrap();
            let line = format!(
                "{name}: {} entries, {} problems\n",
                parsed.entries.len(),
                parsed.problems.len()
            );
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            assert_eq!((parsed.format, &parsed.problems), (format, &Vec::new()), "{name}");
            read += 1;
        }
    }
    assert!(read > 0, "no export was found");
}
