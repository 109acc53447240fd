//! Records: what goes in comes back, and each status change does what it says.

use crate::house::{A, B, House, LOG, WRITER, any, id, isolate, log_row, purge, recall, status, write};
use memwarden_core::log::{Body, Records, Search};
use memwarden_core::{
    Entry, FieldValue, Kind, Leaf, LogId, NamespaceId, PrincipalId, Salt, Status, Timestamp, TraceType,
};

fn full_entry() -> Entry {
    let mut entry = Entry::new("The billing cycle closes on the 25th — 每月25日");
    entry.kind = Kind::Reasoning;
    entry.trace_type = TraceType::Reflection;
    entry.subject = Some("batch:7".into());
    entry
        .fields
        .insert("amount".into(), FieldValue::Integer(i64::MIN));
    entry.source = Some("agent".into());
    entry.trust = Some("verified".into());
    entry.valid_until = Some(Timestamp::from_micros(u64::MAX - 1));
    entry.metadata = Some("{\"k\":1}".into());
    entry.origin_key = Some("mem0:1".into());
    entry
}

#[test]
fn a_record_reads_back_as_it_was_written_with_the_leaf_at_its_place() {
    let house = House::new();
    house.remember(1, A, "first");
    let mut draft = write(2, B, full_entry(), Status::Active);
    let Body::Record(record) = &mut draft.body else {
        panic!("a write carries a record")
    };
    record.findings = Some((Salt::from_bytes([8; 32]), vec![1, 2, 3]));
    let committed = house.commit(&[draft]);
    assert_eq!(committed.outcomes[0].as_ref().unwrap().position, 1);

    let row = house.row(id(2));
    assert_eq!(row.entry, full_entry());
    assert_eq!((row.namespace_id, row.namespace.as_str()), (B, "b"));
    assert_eq!((row.status, row.position), (Status::Active, 1));
    assert_eq!(row.salt, Some(Salt::from_bytes([3; 32])));
    assert_eq!(row.findings, Some((Salt::from_bytes([8; 32]), vec![1, 2, 3])));
    assert_eq!(row.leaf, house.leaves()[1]);
    assert_eq!(Leaf::decode(&row.leaf).unwrap().record, Some(id(2)));
}

#[test]
fn what_is_not_there_is_none_and_not_an_error() {
    let house = House::new();
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.find(&id(1)).unwrap(), None);
    assert_eq!(snapshot.row(7).unwrap(), None);
    assert_eq!(snapshot.payload(LOG, 0).unwrap(), None);
    let nowhere = NamespaceId::from_bytes([0xee; 16]);
    assert!(snapshot.candidates(&any(nowhere)).unwrap().is_empty());
    assert!(snapshot.with_status(nowhere, Status::Active).unwrap().is_empty());
    assert!(snapshot.head(LOG).unwrap().checkpoint.is_none());
    assert!(snapshot.head(LogId::from_bytes([0xee; 16])).is_err());
}

#[test]
fn row_references_name_id_namespace_place_and_status_from_a_position_on() {
    let house = House::new();
    house.remember(1, A, "one");
    house.commit(&[
        recall(0, "one", &[1]),
        write(2, B, Entry::new("two"), Status::Quarantined),
    ]);
    let rows = |from| {
        let mut rows = Vec::new();
        house
            .records()
            .snapshot()
            .unwrap()
            .rows(LOG, from, &mut |row| {
                rows.push((row.id, row.namespace, row.position, row.status))
            })
            .unwrap();
        rows
    };
    let second = (id(2), Some(B), 2, Status::Quarantined);
    assert_eq!(rows(0), vec![(id(1), Some(A), 0, Status::Active), second]);
    assert_eq!(rows(1), vec![second]);
    assert_eq!(rows(3), vec![]);
    house.tamper("DELETE FROM namespace WHERE name = 'b'");
    assert_eq!(rows(1), vec![(id(2), None, 2, Status::Quarantined)]);
}

#[test]
fn a_quarantined_record_is_out_of_sight_until_it_is_released() {
    let house = House::new();
    house.commit(&[write(1, A, Entry::new("billing cycle"), Status::Quarantined)]);
    let with = |wanted| {
        house
            .records()
            .snapshot()
            .unwrap()
            .with_status(A, wanted)
            .unwrap()
            .len()
    };
    assert!(house.found(A, "billing").is_empty());
    assert_eq!((with(Status::Active), with(Status::Quarantined)), (0, 1));
    house.commit(&[status(1, A, Status::Active)]);
    assert_eq!(house.found(A, "billing"), vec![1]);
    assert_eq!((with(Status::Active), with(Status::Quarantined)), (1, 0));
    house.commit(&[status(1, A, Status::Active)]);
    assert_eq!(house.found(A, "billing"), vec![1]);
    house.commit(&[status(1, A, Status::Retired)]);
    assert!(house.found(A, "billing").is_empty());
    assert_eq!((with(Status::Active), with(Status::Retired)), (0, 1));
    assert_eq!(house.row(id(1)).entry.content, "billing cycle");
}

#[test]
fn a_record_may_change_twice_in_the_batch_that_writes_it() {
    let house = House::new();
    house.commit(&[
        write(1, A, Entry::new("billing cycle"), Status::Active),
        status(1, A, Status::Quarantined),
        write(2, A, Entry::new("billing date"), Status::Quarantined),
        status(2, A, Status::Active),
    ]);
    assert_eq!(house.found(A, "billing"), vec![2]);
    assert!(house.differences(A).is_empty());
}

#[test]
fn the_payload_of_a_status_change_is_kept_even_when_nothing_changes() {
    let house = House::new();
    house.remember(1, A, "text");
    house.commit(&[status(1, A, Status::Active)]);
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.payload(LOG, 0).unwrap(), None);
    assert_eq!(snapshot.payload(LOG, 1).unwrap().unwrap().bytes, b"because");
}

#[test]
fn an_isolated_record_is_in_no_search_count_or_index_and_stays_out() {
    let house = House::new();
    house.commit(&[write(1, A, full_entry(), Status::Active)]);
    house.commit(&[isolate(1, A)]);
    assert!(house.found(A, "billing").is_empty());
    house.commit(&[status(1, A, Status::Quarantined)]);
    house.commit(&[status(1, A, Status::Active)]);
    house.records().rebuild_indexes(LOG).unwrap();
    assert!(house.found(A, "billing").is_empty());
    assert!(house.differences(A).is_empty());
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.reasoning_count(A, None).unwrap(), 0);
    assert_eq!(snapshot.find_origin(A, "mem0:1").unwrap(), None);
    assert!(snapshot.with_status(A, Status::Active).unwrap().is_empty());
    assert!(snapshot.find(&id(1)).unwrap().is_some());
}

#[test]
fn a_purged_record_keeps_its_place_and_nothing_it_said() {
    let house = House::new();
    house.commit(&[write(1, A, full_entry(), Status::Active)]);
    house.commit(&[purge(1, A)]);
    let row = house.row(id(1));
    assert_eq!(row.status, Status::Purged);
    let mut empty = Entry::new("");
    (empty.kind, empty.trace_type) = (Kind::Reasoning, TraceType::Reflection);
    assert_eq!((row.entry, row.salt, row.findings), (empty, None, None));
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.find_origin(A, "mem0:1").unwrap(), None);
    assert_eq!(snapshot.payload(LOG, 1).unwrap().unwrap().bytes, b"asked to");
}

#[test]
fn a_purge_destroys_the_logged_queries_that_served_the_record_and_no_others() {
    let house = House::new();
    house.remember(1, A, "one");
    house.remember(2, A, "two");
    house.commit(&[
        recall(1, "who", &[1, 2]),
        recall(2, "what", &[2]),
        status(2, A, Status::Active),
    ]);
    house.commit(&[purge(1, A)]);
    let mut snapshot = house.records().snapshot().unwrap();
    let kept: Vec<bool> = (2..6)
        .map(|position| snapshot.payload(LOG, position).unwrap().is_some())
        .collect();
    assert_eq!(kept, [false, true, true, true]);
}

#[test]
fn a_change_of_a_record_whose_row_somebody_deleted_still_reaches_the_log() {
    let house = House::new();
    house.remember(1, A, "one");
    house.tamper("DELETE FROM record");
    let committed = house.commit(&[status(1, A, Status::Quarantined), purge(1, A), isolate(1, A)]);
    assert_eq!(committed.size, 4);
    assert_eq!(house.leaves().len(), 4);
}

#[test]
fn usage_counts_bytes_and_records_of_each_principal_without_the_purged() {
    let house = House::new();
    house.remember(1, A, "äöü");
    house.commit(&[write(2, B, Entry::new("four"), Status::Quarantined)]);
    house.remember(3, A, "gone");
    house.commit(&[purge(3, A)]);
    let mut other = write(4, A, Entry::new("x"), Status::Active);
    other.leaf.principal = PrincipalId::from_bytes([1; 16]);
    house.commit(&[other]);
    assert_eq!(
        house.records().snapshot().unwrap().usage(LOG).unwrap(),
        vec![(PrincipalId::from_bytes([1; 16]), 1, 1), (WRITER, 10, 2)]
    );
}

#[test]
fn reasoning_is_counted_by_subject_among_the_active() {
    let house = House::new();
    let reasoning = |n, namespace, subject: Option<&str>, status| {
        let mut entry = Entry::new("checked");
        entry.kind = Kind::Reasoning;
        entry.subject = subject.map(str::to_owned);
        write(n, namespace, entry, status)
    };
    house.commit(&[
        reasoning(1, A, Some("x"), Status::Active),
        reasoning(2, A, Some("x"), Status::Quarantined),
        reasoning(3, A, Some("y"), Status::Active),
        reasoning(4, A, None, Status::Active),
        reasoning(5, B, Some("x"), Status::Active),
        write(6, A, Entry::new("general"), Status::Active),
    ]);
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.reasoning_count(A, Some("x")).unwrap(), 1);
    assert_eq!(snapshot.reasoning_count(A, Some("z")).unwrap(), 0);
    assert_eq!(snapshot.reasoning_count(A, None).unwrap(), 3);
}

#[test]
fn a_record_expires_at_its_time_and_not_before() {
    let house = House::new();
    let until = |n, time, status| {
        let mut entry = Entry::new("for a while");
        entry.valid_until = Some(Timestamp::from_micros(time));
        write(n, A, entry, status)
    };
    house.commit(&[
        until(1, 100, Status::Active),
        until(2, 101, Status::Active),
        until(3, 50, Status::Quarantined),
        until(4, u64::MAX, Status::Active),
        write(5, A, Entry::new("for good"), Status::Active),
    ]);
    let expired = |now| {
        house
            .records()
            .snapshot()
            .unwrap()
            .expired(LOG, Timestamp::from_micros(now))
            .unwrap()
    };
    assert_eq!(expired(99), vec![]);
    assert_eq!(expired(100), vec![id(1)]);
    assert_eq!(expired(u64::MAX - 1), vec![id(1), id(2)]);
}

#[test]
fn an_origin_is_found_in_its_namespace_whatever_its_status() {
    let house = House::new();
    house.commit(&[write(1, A, full_entry(), Status::Quarantined)]);
    let mut snapshot = house.records().snapshot().unwrap();
    let row = snapshot.find(&id(1)).unwrap();
    assert_eq!(snapshot.find_origin(A, "mem0:1").unwrap(), row);
    assert_eq!(snapshot.find_origin(B, "mem0:1").unwrap(), None);
    assert_eq!(snapshot.find_origin(A, "mem0:2").unwrap(), None);
}

#[test]
fn old_logged_queries_are_found_by_time_and_dropped_by_place() {
    let house = House::new();
    house.remember(1, A, "one");
    house.commit(&[
        recall(10, "early", &[1]),
        status(1, A, Status::Active),
        recall(20, "late", &[1]),
    ]);
    let old = |before| {
        house
            .records()
            .snapshot()
            .unwrap()
            .recall_payloads_before(LOG, Timestamp::from_micros(before))
            .unwrap()
    };
    assert_eq!(old(10), Vec::<u64>::new());
    assert_eq!(old(20), vec![1]);
    assert_eq!(old(21), vec![1, 3]);
    house.records().drop_payloads(LOG, &[1]).unwrap();
    assert_eq!(old(21), vec![3]);
    assert_eq!(house.leaves().len(), 4);
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.payload(LOG, 1).unwrap(), None);
    assert!(snapshot.payload(LOG, 2).unwrap().is_some());
}

#[test]
fn logs_of_two_tenants_share_nothing() {
    let house = House::new();
    let other = LogId::from_bytes([2; 16]);
    let theirs = NamespaceId::from_bytes([0xc; 16]);
    house.records().add_log(&log_row(other, "acme")).unwrap();
    house.records().namespace(other, "a", theirs).unwrap();
    house.remember(1, A, "billing cycle");
    let mut sealer = crate::house::Chain::default();
    let committed = house
        .store
        .commit(
            other,
            &[write(2, theirs, Entry::new("billing date"), Status::Active)],
            &mut sealer,
        )
        .unwrap();
    assert_eq!(committed.size, 1);
    assert_eq!(house.found(A, "billing"), vec![1]);
    assert_eq!(house.found(theirs, "billing"), vec![2]);
    let mut snapshot = house.records().snapshot().unwrap();
    assert_eq!(snapshot.usage(other).unwrap(), vec![(WRITER, 12, 1)]);
    assert_eq!(snapshot.namespaces(other).unwrap().len(), 1);
    assert_eq!(snapshot.namespaces(LOG).unwrap().len(), 2);
    let nearest = Search {
        retrieval: memwarden_core::log::Retrieval::Levenshtein,
        query: "billing date",
        ..any(A)
    };
    drop(snapshot);
    assert_eq!(house.numbers(&house.look(&nearest)), vec![1]);
    // A record cannot be reached through another tenant's log.
    let mut sealer = crate::house::Chain::default();
    house
        .store
        .commit(other, &[purge(1, theirs)], &mut sealer)
        .unwrap();
    assert_eq!(house.row(id(1)).entry.content, "billing cycle");
    let foreign = write(3, A, Entry::new("into their house"), Status::Active);
    let mut sealer = crate::house::Chain::default();
    assert!(house.store.commit(other, &[foreign], &mut sealer).is_err());
    assert_eq!(house.records().snapshot().unwrap().head(other).unwrap().size, 2);
}
