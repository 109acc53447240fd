//! Search indexes are derived: they can hide a record until `verify` looks, and never show one too many.

use crate::fixture::{Fixture, keep, recall};
use memwarden::{Depth, Handle, Role, Warden};
use std::sync::Arc;

fn scene() -> (Fixture, Arc<Warden>, Handle) {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "the harbor opens at dawn");
    keep(&owner, "a", "the crane needs oil");
    keep(&owner, "b", "the vault code is in the harbor office");
    (fixture, warden, owner)
}

#[test]
fn a_deleted_index_row_is_reported_by_a_deep_verification_and_mended_by_reindex() {
    let (fixture, _warden, owner) = scene();
    fixture.tamper("DELETE FROM fts_1 WHERE rowid = (SELECT min(num) FROM record)");
    assert_eq!(recall(&owner, "a", "harbor").unwrap(), Vec::<String>::new());
    assert!(owner.verify(Depth::Log, None).unwrap().is_intact());
    let report = owner.verify(Depth::Deep, None).unwrap();
    assert!(report.damage.is_empty());
    assert!(!report.index_differences.is_empty());
    assert!(
        report
            .index_differences
            .iter()
            .all(|difference| difference.starts_with("a: "))
    );
    owner.reindex().unwrap();
    assert!(owner.verify(Depth::Deep, None).unwrap().is_intact());
    assert_eq!(
        recall(&owner, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
}

#[test]
fn an_index_row_without_a_record_is_skipped_reported_and_mended() {
    let (fixture, _warden, owner) = scene();
    fixture.tamper("INSERT INTO fts_1 (rowid, body) VALUES (12345, 'harbor harbor harbor')");
    assert_eq!(
        recall(&owner, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
    let report = owner.verify(Depth::Deep, None).unwrap();
    assert!(
        report.index_differences.contains(&"a: row 12345".to_owned()),
        "{report:?}"
    );
    owner.reindex().unwrap();
    assert!(owner.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn an_index_row_that_points_into_another_namespace_never_leaks_its_record() {
    let (fixture, _warden, owner) = scene();
    fixture.tamper(
        "INSERT INTO fts_1 (rowid, body)
           SELECT num, 'harbor vault' FROM record WHERE content LIKE '%vault%'",
    );
    for words in ["vault", "harbor"] {
        let error = recall(&owner, "a", words).unwrap_err();
        assert!(error.is_integrity(), "{error}");
        assert!(!error.to_string().contains("office"));
    }
    assert_eq!(recall(&owner, "a", "crane").unwrap(), ["the crane needs oil"]);
    assert_eq!(recall(&owner, "b", "vault").unwrap().len(), 1);
    assert!(!owner.verify(Depth::Deep, None).unwrap().is_intact());
    owner.reindex().unwrap();
    assert_eq!(
        recall(&owner, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
}

#[test]
fn an_index_row_that_points_at_a_purged_record_shows_nothing() {
    let (fixture, _warden, owner) = scene();
    let purged = keep(&owner, "a", "the pilot is called Mara");
    owner.purge(&[purged], "asked for").unwrap();
    fixture.tamper("INSERT INTO fts_1 (rowid, body) SELECT num, 'harbor' FROM record WHERE status = 3");
    assert_eq!(
        recall(&owner, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
    assert!(!owner.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn other_words_in_an_index_cannot_change_what_is_served_only_that_it_is() {
    let (fixture, _warden, owner) = scene();
    fixture.tamper(
        "DELETE FROM fts_1 WHERE rowid = (SELECT min(num) FROM record);
         INSERT INTO fts_1 (rowid, body) SELECT min(num), 'payment details' FROM record;",
    );
    assert_eq!(
        recall(&owner, "a", "payment").unwrap(),
        ["the harbor opens at dawn"]
    );
    assert!(!owner.verify(Depth::Deep, None).unwrap().is_intact());
}
