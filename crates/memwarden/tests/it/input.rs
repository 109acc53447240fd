//! Bad input gets an error that names the field, the value and what was expected, and changes nothing.

use crate::fixture::{Fixture, keep, ns};
use memwarden::core::{EntryError, MAX_METADATA_BYTES};
use memwarden::{Entry, FieldValue, Handle, Query, RecordId, Role, WardenError, WriteOptions};

fn scene(fixture: &Fixture) -> Handle {
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "the harbor opens at dawn");
    owner
}

#[test]
fn a_recall_asks_for_one_to_a_hundred_records_with_some_words() {
    let fixture = Fixture::new("off");
    let owner = scene(&fixture);
    let ask = |text: &str, k: usize| {
        owner.recall(
            &ns("a"),
            &Query {
                k,
                ..Query::new(text)
            },
        )
    };
    for (text, k, field) in [
        ("harbor", 0, "k"),
        ("harbor", 101, "k"),
        ("harbor", usize::MAX, "k"),
        ("", 10, "query"),
        (" \n\t", 10, "query"),
        (&"harbor ".repeat(10_000), 10, "query"),
    ] {
        match ask(text, k).unwrap_err() {
            WardenError::BadInput { field: named, .. } => assert_eq!(named, field),
            other => panic!("{other}"),
        }
    }
    for (text, k) in [("harbor", 1), ("harbor", 100), (&"harbor ".repeat(9_000), 10)] {
        assert_eq!(ask(text, k).unwrap().hits.len(), 1);
    }
    // Nothing that a user types is syntax, and nothing of it breaks.
    for odd in [
        "\"",
        "harbor\" OR body:*",
        "(((",
        "NEAR(harbor dawn)",
        "\0",
        "*",
        "harbor\0dawn",
        "🚢",
        "' --",
    ] {
        ask(odd, 10).unwrap();
    }
}

type Change<'a> = &'a dyn Fn(&mut Entry);

#[test]
fn an_entry_over_a_limit_is_refused_by_the_name_of_the_field() {
    let fixture = Fixture::new("off");
    let owner = scene(&fixture);
    let size = owner.status().unwrap().entries;
    let long = "x".repeat(4_097);
    let changes: &[(&str, Change<'_>)] = &[
        ("content", &|entry| entry.content = String::new()),
        ("content", &|entry| entry.content = "x".repeat(1_048_577)),
        ("content", &|entry| entry.content = "a\0b".into()),
        ("subject", &|entry| entry.subject = Some(long.clone())),
        ("source", &|entry| entry.source = Some(long.clone())),
        ("trust", &|entry| entry.trust = Some("a\0".into())),
        ("metadata", &|entry| {
            entry.metadata = Some("x".repeat(MAX_METADATA_BYTES + 1))
        }),
        ("origin_key", &|entry| entry.origin_key = Some(long.clone())),
        ("parents", &|entry| {
            entry.parents = vec![RecordId::from_bytes([1; 16]); 65]
        }),
        ("fields", &|entry| {
            entry.fields = (0..65)
                .map(|i| (format!("f{i}"), FieldValue::Integer(i)))
                .collect();
        }),
        ("fields", &|entry| {
            entry.fields.insert(String::new(), FieldValue::Boolean(true));
        }),
    ];
    for (field, change) in changes {
        let mut entry = Entry::new("text");
        change(&mut entry);
        match owner.remember(&ns("new"), entry).unwrap_err() {
            WardenError::Entry(
                EntryError::Empty { field: named }
                | EntryError::TooLong { field: named, .. }
                | EntryError::TooMany { field: named, .. }
                | EntryError::Nul { field: named, .. },
            ) => assert_eq!(named, *field),
            other => panic!("{field}: {other}"),
        }
    }
    let status = owner.status().unwrap();
    assert_eq!((status.entries, status.namespaces.len()), (size, 1));
    let mut largest = Entry::new("x".repeat(1_048_576));
    largest.parents = vec![keep(&owner, "a", "parent"); 64];
    owner.remember(&ns("a"), largest).unwrap();
}

#[test]
fn an_unknown_record_is_not_found_by_any_verb() {
    let fixture = Fixture::new("off");
    let owner = scene(&fixture);
    let size = owner.status().unwrap().entries;
    let unknown = RecordId::from_bytes([5; 16]);
    let mut child = Entry::new("child");
    child.parents = vec![unknown];
    let replacing = WriteOptions {
        supersedes: Some(unknown),
        ..WriteOptions::default()
    };
    let digest = memwarden::core::Digest::of(b"");
    let outcomes = [
        owner.remember(&ns("a"), child).map(drop),
        owner
            .remember_with(&ns("a"), Entry::new("x"), &replacing)
            .map(drop),
        owner.inspect(unknown).map(drop),
        owner.history(unknown).map(drop),
        owner.retire(unknown, "x").map(drop),
        owner.reject(unknown, "x").map(drop),
        owner.release(unknown, &digest, "x").map(drop),
        owner.purge(&[unknown], "x").map(drop),
        owner.prove(unknown, memwarden::Reveal::Text).map(drop),
    ];
    for (verb, outcome) in outcomes.into_iter().enumerate() {
        match outcome.unwrap_err() {
            WardenError::NotFound { record } => assert_eq!(record, unknown),
            other => panic!("{verb}: {other}"),
        }
    }
    assert_eq!(owner.descendants(unknown).unwrap(), []);
    assert_eq!(owner.status().unwrap().entries, size);
}

#[test]
fn a_reason_has_a_limit() {
    let fixture = Fixture::new("off");
    let owner = scene(&fixture);
    let record = keep(&owner, "a", "text");
    for reason in ["x".repeat(4_097), "a\0b".to_owned()] {
        let error = owner.retire(record, &reason).unwrap_err();
        assert!(
            matches!(error, WardenError::BadInput { field: "reason", .. }),
            "{error}"
        );
        assert!(owner.purge(&[record], &reason).is_err());
    }
}

#[test]
fn a_policy_that_does_not_parse_is_refused_and_the_old_one_stays() {
    let fixture = Fixture::new("warden");
    let owner = scene(&fixture);
    let mut policy = memwarden::guard::preset("keyword").unwrap();
    policy.source = "name = \"x\"\n[write]\nstages = [\"nonsense\"]\n".into();
    assert!(matches!(
        owner.load_policy(&policy).unwrap_err(),
        WardenError::Policy { .. }
    ));
    assert_eq!(owner.status().unwrap().policy.0, "warden");
    let position = owner
        .load_policy(&memwarden::guard::preset("keyword").unwrap())
        .unwrap();
    assert_eq!(position, 5);
    assert_eq!(owner.status().unwrap().policy.0, "keyword");
}

#[test]
fn a_consistency_proof_is_asked_for_a_size_that_the_log_had() {
    let fixture = Fixture::new("off");
    let owner = scene(&fixture);
    assert!(owner.consistency_from(3).is_ok());
    let error = owner.consistency_from(99).unwrap_err();
    assert!(
        matches!(error, WardenError::BadInput { field: "size", .. }),
        "{error}"
    );
}
