//! `docs/ledger-format.md` says what the code does: its tables and samples are read and compared.

use crate::sample::{Sample, entry, findings};
use memwarden_core::{
    Authority, Channel, DecodeError, EpochPayload, KeyPayload, Kind, Leaf, LeafKind, PolicyPayload,
    PurgePayload, RecallPayload, RecordPayload, Role, RotationPayload, Salt, Severity, Status, StatusChange,
    StatusPayload, TraceType, Verdict, commitment, decode_findings, leaf_hash,
};
use std::fmt::Write as _;

const PAGE: &str = include_str!("../../../../docs/ledger-format.md");

/// The part of the page under a heading, up to the next heading.
fn section(heading: &str) -> &'static str {
    let start = format!("# {heading}\n");
    let (_, rest) = PAGE
        .split_once(&start)
        .unwrap_or_else(|| panic!("no section `{heading}`"));
    rest.split_once("\n#").map_or(rest, |(section, _)| section)
}

/// The cells of the table under a heading, without its head, backticks removed.
fn table(heading: &str) -> Vec<Vec<String>> {
    section(heading)
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().replace('`', ""))
                .collect()
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The fields that a decoder asks for, in order, with the offset of each: learned by cutting `bytes` short.
fn fields(bytes: &[u8], decode: impl Fn(&[u8]) -> Result<(), DecodeError>) -> Vec<(String, usize)> {
    decode(bytes).unwrap();
    let mut fields: Vec<(String, usize)> = vec![("tag".into(), 0)];
    for cut in 0..bytes.len() {
        let field = match decode(&bytes[..cut]) {
            Err(DecodeError::Tag { .. }) => "tag",
            Err(DecodeError::Short { field }) => field,
            other => panic!("{cut} of {} bytes: {other:?}", bytes.len()),
        };
        if fields.last().is_none_or(|(last, _)| last != field) {
            fields.push((field.to_owned(), cut));
        }
    }
    fields
}

fn names(fields: &[(String, usize)]) -> Vec<String> {
    fields.iter().map(|(name, _)| name.clone()).collect()
}

fn column(heading: &str, at: usize) -> Vec<String> {
    table(heading).into_iter().map(|row| row[at].clone()).collect()
}

/// Evaluates a width such as `4 + 16n` with two items.
fn width(text: &str) -> usize {
    text.split(" + ")
        .map(|term| match term.strip_suffix('n') {
            Some(each) => 2 * each.parse::<usize>().unwrap(),
            None => term.parse().unwrap(),
        })
        .sum()
}

/// A leaf with every optional field present and two parents.
fn full_leaf() -> Leaf {
    let leaf = Leaf::decode(&Sample::of(14).leaves[13]).unwrap();
    assert!(leaf.context.is_some() && leaf.findings.is_some() && leaf.vector.is_some());
    assert_eq!(leaf.parents.len(), 2);
    leaf
}

#[test]
fn the_leaf_table_has_the_fields_in_order_with_their_widths() {
    let bytes = full_leaf().encode();
    let known = fields(&bytes, |bytes| Leaf::decode(bytes).map(|_| ()));
    let rows = table("Leaf v1");
    assert_eq!(column("Leaf v1", 2), names(&known));
    let ends = known
        .iter()
        .skip(1)
        .map(|(_, offset)| *offset)
        .chain([bytes.len()]);
    for ((row, (name, start)), end) in rows.iter().zip(&known).zip(ends) {
        assert_eq!(width(&row[1]), end - start, "width of `{name}`");
        // Offsets are given as far as they are fixed.
        if row[0] != "–" {
            assert_eq!(row[0], start.to_string(), "offset of `{name}`");
        }
    }
    let fixed = rows.iter().take_while(|row| row[0] != "–").count();
    assert_eq!(
        rows[fixed - 1][2],
        "namespace",
        "the first field that may be absent ends the fixed offsets"
    );
}

fn check_codes<T>(heading: &str, from_code: impl Fn(u8) -> Option<T>, name: impl Fn(&T) -> String) {
    let known: Vec<_> = (0..=u8::MAX)
        .filter_map(|code| from_code(code).map(|value| (code.to_string(), name(&value))))
        .collect();
    let page: Vec<_> = table(heading)
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(page, known, "{heading}");
}

#[test]
fn every_code_of_every_enumeration_is_on_the_page() {
    check_codes("Leaf kinds", LeafKind::from_code, |value| {
        value.as_str().to_owned()
    });
    check_codes("Channels", Channel::from_code, ToString::to_string);
    check_codes("Authorities", Authority::from_code, ToString::to_string);
    check_codes("Statuses", Status::from_code, ToString::to_string);
    check_codes("Verdicts", Verdict::from_code, ToString::to_string);
    check_codes("Kinds of entry", Kind::from_code, ToString::to_string);
    check_codes("Trace types", TraceType::from_code, ToString::to_string);
    check_codes("Roles", Role::from_code, ToString::to_string);
    check_codes("Severities", Severity::from_code, ToString::to_string);
    let change = |code: u8| {
        let mut bytes = b"memwarden-status\x01".to_vec();
        bytes.extend([code, 0, 0, 0, 0, 0, 0]);
        StatusPayload::decode(&bytes).ok().map(|payload| payload.change)
    };
    check_codes("Status changes", change, |value: &StatusChange| {
        value.as_str().to_owned()
    });
}

#[test]
fn every_payload_table_has_the_fields_in_order() {
    let sample = Sample::of(301);
    let payload = |at: usize| sample.payloads[at].bytes.as_slice();
    let check = |tag: &str, bytes: &[u8], decode: &dyn Fn(&[u8]) -> Result<(), DecodeError>| {
        assert!(bytes.starts_with(tag.as_bytes()), "{tag}");
        let page: Vec<_> = column(&format!("`{tag}`"), 1);
        assert_eq!(page, names(&fields(bytes, decode))[2..], "{tag}");
    };
    check("memwarden-status", payload(15), &|b| {
        StatusPayload::decode(b).map(|_| ())
    });
    check("memwarden-recall", payload(16), &|b| {
        RecallPayload::decode(b).map(|_| ())
    });
    check("memwarden-policy", payload(0), &|b| {
        PolicyPayload::decode(b).map(|_| ())
    });
    check("memwarden-key", payload(1), &|b| {
        KeyPayload::decode(b).map(|_| ())
    });
    check("memwarden-rotation", payload(150), &|b| {
        RotationPayload::decode(b).map(|_| ())
    });
    check("memwarden-epoch", payload(200), &|b| {
        EpochPayload::decode(b).map(|_| ())
    });
    check("memwarden-purge", payload(49), &|b| {
        PurgePayload::decode(b).map(|_| ())
    });
    check("memwarden-findings", &findings(), &|b| {
        decode_findings(b).map(|_| ())
    });
}

#[test]
fn the_samples_on_the_page_are_what_the_code_writes() {
    let leaf = full_leaf();
    let bytes = leaf.encode();
    let mut sample = String::from("```text\n");
    writeln!(sample, "leaf: {}", hex(&bytes)).unwrap();
    writeln!(sample, "leaf hash: {}", leaf_hash(&bytes)).unwrap();
    writeln!(sample, "log: {}", leaf.log).unwrap();
    writeln!(sample, "epoch: {}", leaf.epoch).unwrap();
    writeln!(sample, "position: {}", leaf.position).unwrap();
    writeln!(sample, "time_us: {}", leaf.time.as_micros()).unwrap();
    writeln!(sample, "kind: {}", leaf.kind.as_str()).unwrap();
    writeln!(sample, "namespace: {}", leaf.namespace.unwrap()).unwrap();
    writeln!(sample, "record: {}", leaf.record.unwrap()).unwrap();
    writeln!(sample, "principal: {}", leaf.principal).unwrap();
    writeln!(sample, "context: {}", leaf.context.unwrap()).unwrap();
    writeln!(sample, "channel: {}", leaf.channel).unwrap();
    writeln!(sample, "authority: {}", leaf.authority).unwrap();
    writeln!(sample, "status: {}", leaf.status).unwrap();
    for parent in &leaf.parents {
        writeln!(sample, "parents: {parent}").unwrap();
    }
    writeln!(sample, "payload: {}", leaf.payload).unwrap();
    writeln!(sample, "findings: {}", leaf.findings.unwrap()).unwrap();
    writeln!(sample, "vector: {}", leaf.vector.unwrap()).unwrap();
    writeln!(sample, "policy: {}", leaf.policy).unwrap();
    sample.push_str("```");
    assert!(
        section("Sample leaf").contains(&sample),
        "the sample leaf is now:\n{sample}"
    );

    let built = Sample::of(14);
    let payload = &built.payloads[13];
    assert_eq!(
        payload.bytes,
        RecordPayload::encode("agent:billing", &entry(13), Verdict::Admit)
    );
    let sample = format!(
        "```text\nsalt: {}\npayload: {}\ncommitment: {}\n```",
        payload.salt,
        hex(&payload.bytes),
        commitment(&Salt::from_bytes(*payload.salt.as_bytes()), &payload.bytes)
    );
    assert!(
        section("Sample payload").contains(&sample),
        "the sample payload is now:\n{sample}"
    );
}

#[test]
fn the_record_table_describes_the_sample_payload() {
    // `RecordPayload` has no decoder: walk the sample as the page's table says.
    let bytes = RecordPayload::encode("agent:billing", &entry(13), Verdict::Admit);
    let mut d = memwarden_core::Decoder::tagged(&bytes, "memwarden-record", 1).unwrap();
    for row in table("`memwarden-record`") {
        let read: Result<(), DecodeError> = match row[0].as_str() {
            "text" => d.text("text").map(|_| ()),
            "optional text" => d.option("text", |d| d.text("text").map(|_| ())).map(|_| ()),
            "optional u64" => d.option("u64", |d| d.u64("u64").map(|_| ())).map(|_| ()),
            "u8" => d.u8("u8").map(|_| ()),
            "fields" => d
                .list("fields", |d| {
                    d.text("name")?;
                    match d.u8("type")? {
                        0 => d.text("value").map(|_| ()),
                        1 => d.u64("value").map(|_| ()),
                        _ => d.u8("value").map(|_| ()),
                    }
                })
                .map(|_| ()),
            other => panic!("type `{other}` of `{}`", row[1]),
        };
        read.unwrap_or_else(|error| panic!("`{}`: {error}", row[1]));
    }
    d.finish().unwrap();
}
