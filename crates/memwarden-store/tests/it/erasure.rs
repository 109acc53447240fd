//! After a purge and a scrub the words are in no file of the directory.

use crate::house::{A, B, House, LOG, id, leaf, purge, recall, status, write};
use memwarden_core::log::{Body, Draft, StoreError};
use memwarden_core::{Entry, FieldValue, LeafKind, RecallPayload, Salt, Status};
use memwarden_store::SqliteStore;

/// Unlike each other, and each long enough to be no accident.
const SECRETS: [&str; 9] = [
    "Quetzalcoatlus",
    "Xylophonist",
    "Zugzwang",
    "Bumfuzzle",
    "Kerfuffle",
    "Widdershins",
    "Flibbertigibbet",
    "Gobbledygook",
    "Snollygoster",
];

fn entry() -> Entry {
    let [content, again, subject, source, trust, field, metadata, origin, _] = SECRETS;
    let mut entry = Entry::new(format!("{content} met the {again}. {}", content.to_uppercase()));
    entry.subject = Some(subject.into());
    entry.source = Some(source.into());
    entry.trust = Some(trust.into());
    entry
        .fields
        .insert("name".into(), FieldValue::String(field.into()));
    entry.metadata = Some(format!("{{\"k\":\"{metadata}\"}}"));
    entry.origin_key = Some(origin.into());
    entry
}

fn write_secret(n: u32, status: Status) -> Draft {
    let mut draft = write(n, A, entry(), status);
    if let Body::Record(record) = &mut draft.body {
        record.findings = Some((Salt::from_bytes([0x5a; 32]), b"Snollygoster finding".to_vec()));
    }
    draft
}

/// The stem as the index holds it, without its first letter: a term that shares a prefix with the one in
/// front of it is stored without that prefix.
fn needles() -> Vec<Vec<u8>> {
    let salt = vec![0x5a; 32];
    SECRETS
        .iter()
        .map(|word| {
            let word = word.to_lowercase();
            word.as_bytes()[1..word.len() - 3].to_vec()
        })
        .chain([salt])
        .collect()
}

/// Which needles are in which file of the directory.
fn grep(house: &House) -> Vec<String> {
    let mut hits = Vec::new();
    for file in std::fs::read_dir(house.dir.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
        for needle in needles() {
            if bytes.windows(needle.len()).any(|window| window == needle) {
                hits.push(format!(
                    "{} in {}",
                    String::from_utf8_lossy(&needle),
                    path.display()
                ));
            }
        }
    }
    hits
}

fn surrounded() -> House {
    let house = House::new();
    for n in 100..160 {
        house.remember(
            n,
            A,
            &format!("an honest note number {n} about invoices and quetzals"),
        );
    }
    house.remember(200, B, "quota zebra xylem");
    house
}

#[test]
fn purged_words_are_in_no_file_after_a_scrub() {
    let house = surrounded();
    house.commit(&[write_secret(1, Status::Active)]);
    house.commit(&[recall(5, "who met the Gobbledygook Snollygoster", &[1])]);
    for n in 160..260 {
        house.remember(n, A, &format!("another honest note {n}"));
    }
    assert!(
        !grep(&house).is_empty(),
        "the search for leftovers finds nothing even before"
    );
    house.commit(&[purge(1, A)]);
    house.records().scrub().unwrap();
    assert_eq!(grep(&house), Vec::<String>::new());
    assert_eq!(house.differences(A), Vec::<i64>::new());
    assert_eq!(house.found(A, "quetzal").len(), 10);
    assert_eq!(house.leaves().len(), 60 + 1 + 2 + 100 + 1);
    assert_eq!(house.row(id(1)).status, Status::Purged);
}

#[test]
fn purged_words_are_gone_too_when_the_record_had_been_quarantined_and_released() {
    let house = surrounded();
    house.commit(&[write_secret(1, Status::Quarantined)]);
    for to in [
        Status::Active,
        Status::Quarantined,
        Status::Active,
        Status::Quarantined,
    ] {
        house.commit(&[status(1, A, to)]);
        house.remember(300 + u32::from(to.code()), B, "in between");
    }
    house.commit(&[purge(1, A)]);
    house.records().scrub().unwrap();
    assert_eq!(grep(&house), Vec::<String>::new());
}

#[test]
fn purged_words_are_gone_when_the_indexes_are_made_anew_instead_of_merged() {
    let house = surrounded();
    house.commit(&[write_secret(1, Status::Active), write_secret(2, Status::Active)]);
    house.commit(&[purge(1, A), purge(2, A)]);
    house.records().rebuild_indexes(LOG).unwrap();
    house.records().scrub().unwrap();
    assert_eq!(grep(&house), Vec::<String>::new());
}

#[test]
fn a_scrub_keeps_what_is_alive() {
    let house = surrounded();
    house.commit(&[write_secret(1, Status::Active)]);
    let before = house.leaves();
    house.records().scrub().unwrap();
    house.records().scrub().unwrap();
    assert_eq!(house.row(id(1)).entry, entry());
    assert_eq!(house.leaves(), before);
    assert_eq!(house.found(A, SECRETS[0]), vec![1]);
    house.commit(&[status(1, A, Status::Retired)]);
    assert_eq!(house.differences(A), Vec::<i64>::new());
}

#[test]
fn dropped_payloads_are_in_no_file_after_a_scrub() {
    let house = surrounded();
    let at = house
        .commit(&[recall(5, "who met the Gobbledygook", &[100])])
        .size
        - 1;
    house.records().drop_payloads(LOG, &[at]).unwrap();
    house.records().scrub().unwrap();
    assert_eq!(grep(&house), Vec::<String>::new());
}

#[test]
fn a_payload_that_is_not_a_recall_is_kept_though_it_names_the_record() {
    let house = surrounded();
    let payload = RecallPayload {
        query: "q".into(),
        served: vec![id(100)],
    };
    let mut note = recall(1, "q", &[100]);
    note.leaf = leaf(LeafKind::Permit, None, A, Status::Active);
    let at = house.commit(&[note]).size - 1;
    house.commit(&[purge(100, A)]);
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(
        snapshot.payload(LOG, at).unwrap().unwrap().bytes,
        payload.encode()
    );
}

#[test]
fn a_backup_is_a_complete_store_and_never_overwrites() {
    let house = surrounded();
    let target = tempfile::tempdir().unwrap();
    let file = target.path().join("memwarden.db");
    house.records().backup(&file).unwrap();
    let copy = SqliteStore::open(target.path()).unwrap();
    let mut snapshot = memwarden_core::log::Records::snapshot(&copy).unwrap();
    assert_eq!(snapshot.head(LOG).unwrap().size, 61);
    assert_eq!(snapshot.index_differences(A).unwrap(), Vec::<i64>::new());
    assert!(snapshot.find(&id(100)).unwrap().is_some());
    let before = std::fs::read(&file).unwrap();
    let refused = house.records().backup(&file).unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let nowhere = target.path().join("no/such/directory/x.db");
    let refused = house.records().backup(&nowhere).unwrap_err();
    assert!(refused.to_string().contains("no/such/directory"), "{refused}");
}
