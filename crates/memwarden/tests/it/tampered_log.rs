//! A log that was cut, changed, replaced or signed by somebody else is not believed.

use crate::fixture::{Fixture, keep, recall};
use memwarden::ledger::{Checkpoint, SignerKey, Tree};
use memwarden::{Depth, Handle, Role, Warden, WardenError};
use memwarden_core::leaf_hash;
use std::sync::Arc;

fn with_records(fixture: &Fixture, count: usize) -> (Arc<Warden>, Handle) {
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    for i in 0..count {
        keep(&agent, "a", &format!("harbor record {i}"));
    }
    (warden, agent)
}

fn assert_log_refused(error: &WardenError) {
    assert!(
        matches!(
            error,
            WardenError::Unverified { .. } | WardenError::BehindWitness { .. }
        ),
        "{error}"
    );
    assert!(error.is_integrity());
}

/// Nothing is served or written, before or after reopening.
fn assert_all_refused(fixture: &Fixture, warden: Arc<Warden>, agent: Handle) {
    assert_log_refused(&recall(&agent, "a", "harbor").unwrap_err());
    let written = agent.remember(&crate::fixture::ns("a"), memwarden::Entry::new("more"));
    assert_log_refused(&written.unwrap_err());
    assert_log_refused(&agent.verify(Depth::Log, None).unwrap_err());
    drop((agent, warden));
    assert_log_refused(&fixture.try_open().unwrap_err());
}

#[test]
fn tail_leaves_deleted_together_with_the_checkpoint_are_missed() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 3);
    let (size, checkpoint): (i64, String) = fixture
        .db()
        .query_row("SELECT size, checkpoint FROM log", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    keep(&agent, "a", "the harbor is closed on Sundays");
    fixture
        .db()
        .execute("UPDATE log SET size = ?1, checkpoint = ?2", (size, &checkpoint))
        .unwrap();
    fixture.tamper(&format!(
        "DELETE FROM leaf WHERE position >= {size}; DELETE FROM record WHERE position >= {size}"
    ));
    assert_all_refused(&fixture, warden, agent);
}

#[test]
fn an_older_checkpoint_over_the_same_leaves_is_refused() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 3);
    let checkpoint: String = fixture
        .db()
        .query_row("SELECT checkpoint FROM log", [], |row| row.get(0))
        .unwrap();
    keep(&agent, "a", "the harbor is closed on Sundays");
    fixture
        .db()
        .execute("UPDATE log SET checkpoint = ?1", [&checkpoint])
        .unwrap();
    assert_all_refused(&fixture, warden, agent);
}

#[test]
fn a_size_that_claims_more_leaves_is_refused() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 3);
    fixture.tamper("UPDATE log SET size = size + 1");
    assert_all_refused(&fixture, warden, agent);
}

#[test]
fn a_leaf_deleted_from_the_middle_is_found_by_verify_and_when_opening() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 3);
    fixture.tamper("DELETE FROM leaf WHERE position = 5");
    assert_log_refused(&agent.verify(Depth::Log, None).unwrap_err());
    drop((agent, warden));
    assert_log_refused(&fixture.try_open().unwrap_err());
}

#[test]
fn tiles_are_compared_by_verify() {
    for sql in [
        "UPDATE tile SET hashes = zeroblob(8192)",
        "DELETE FROM tile",
        "INSERT INTO tile SELECT log, level, idx + 1, hashes FROM tile",
    ] {
        let fixture = Fixture::new("off");
        let (warden, agent) = with_records(&fixture, 1);
        let owner = fixture.handle(&warden, Role::Owner);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let agent = agent.clone();
                scope.spawn(move || {
                    for i in 0..33 {
                        keep(&agent, "a", &format!("filler {thread} {i}"));
                    }
                });
            }
        });
        assert_eq!(owner.verify(Depth::Log, None).unwrap().tiles, 1);
        fixture.tamper(sql);
        assert_log_refused(&owner.verify(Depth::Log, None).unwrap_err());
        // A tile serves those who fetch proofs; nothing that is recalled depends on it.
        assert_eq!(recall(&agent, "a", "record").unwrap().len(), 1);
    }
}

#[test]
fn the_payload_of_a_key_or_policy_entry_cannot_be_changed_or_removed() {
    for (kind, sql) in [
        (8, "UPDATE payload SET bytes = CAST(bytes || X'00' AS BLOB)"),
        (8, "DELETE FROM payload"),
        (7, "UPDATE payload SET bytes = CAST(bytes || X'00' AS BLOB)"),
        (7, "UPDATE payload SET salt = randomblob(32)"),
        (7, "DELETE FROM payload"),
    ] {
        let fixture = Fixture::new("off");
        let (warden, agent) = with_records(&fixture, 1);
        fixture.tamper(&format!("{sql} WHERE kind = {kind}"));
        assert_log_refused(&agent.verify(Depth::Deep, None).unwrap_err());
        drop((agent, warden));
        assert_log_refused(&fixture.try_open().unwrap_err());
    }
}

#[test]
fn the_reason_of_a_change_of_status_cannot_be_rewritten_unseen() {
    for sql in [
        "UPDATE payload SET bytes = CAST(bytes || X'00' AS BLOB)",
        "DELETE FROM payload",
    ] {
        let fixture = Fixture::new("off");
        let (_warden, agent) = with_records(&fixture, 1);
        let record = keep(&agent, "a", "the ferry is late");
        agent.retire(record, "it came").unwrap();
        fixture.tamper(&format!("{sql} WHERE kind = 1"));
        let report = agent.verify(Depth::Deep, None).unwrap();
        assert_eq!(report.damage.len(), 1);
        assert_eq!(report.damage[0].record, record);
        assert_eq!(agent.history(record).unwrap()[1].reason, None);
    }
}

/// Signs the log as it stands with a key of the attacker's, in every place where the store names a key.
fn sign_anew(fixture: &Fixture) {
    let db = fixture.db();
    let mut tree = Tree::new();
    let mut statement = db.prepare("SELECT bytes FROM leaf ORDER BY num").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        tree.append(leaf_hash(&row.get::<_, Vec<u8>>(0).unwrap()), &mut Vec::new());
    }
    let note: String = db
        .query_row("SELECT checkpoint FROM log", [], |row| row.get(0))
        .unwrap();
    let origin = note.lines().next().unwrap().to_owned();
    let signer = SignerKey::from_seed(&origin, &[66; 32]).unwrap();
    let checkpoint = Checkpoint {
        origin,
        size: tree.size(),
        root: tree.root(),
    };
    db.execute(
        "UPDATE log SET size = ?1, checkpoint = ?2, verifier_key = ?3",
        (
            tree.size().cast_signed(),
            checkpoint.sign(&signer),
            signer.verifier().to_string(),
        ),
    )
    .unwrap();
}

#[test]
fn a_log_signed_anew_with_another_key_is_refused() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 2);
    sign_anew(&fixture);
    assert_all_refused(&fixture, warden, agent);
}

#[test]
fn a_log_signed_anew_is_refused_without_a_witness_too() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 2);
    drop((agent, warden));
    sign_anew(&fixture);
    std::fs::remove_dir_all(&fixture.made.witness).unwrap();
    assert_log_refused(&fixture.try_open().unwrap_err());
}

#[test]
fn an_older_copy_put_in_place_while_open_serves_and_takes_nothing() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 2);
    drop((agent, warden));
    let older = fixture.copy_store("older");
    let (warden, agent) = with_records(&fixture, 2);
    warden.flush().unwrap();
    fixture.put_back(&older);
    assert_all_refused(&fixture, warden, agent);
}

#[test]
fn older_bytes_written_over_the_open_file_are_never_served() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 2);
    drop((agent, warden));
    let older = std::fs::read(fixture.places.store.join("memwarden.db")).unwrap();
    let (warden, agent) = with_records(&fixture, 2);
    warden.flush().unwrap();
    let newest = keep(&agent, "a", "harbor dues are payable in gold");
    // The same file, so that only its content tells; what was in the log's tail goes with it.
    std::fs::write(fixture.places.store.join("memwarden.db"), &older).unwrap();
    std::fs::write(fixture.places.store.join("memwarden.db-wal"), b"").unwrap();
    if let Ok(hits) = agent.recall(&crate::fixture::ns("a"), &memwarden::Query::new("gold")) {
        assert_eq!(hits.hits[0].record.id, newest, "an older state was served");
    }
    drop((agent, warden));
    assert!(fixture.try_open().is_err());
}

#[test]
fn an_older_copy_put_in_place_before_opening_is_behind_its_witness() {
    let fixture = Fixture::new("off");
    let (warden, agent) = with_records(&fixture, 2);
    drop((agent, warden));
    let older = fixture.copy_store("older");
    let (warden, agent) = with_records(&fixture, 1);
    drop((agent, warden));
    fixture.put_back(&older);
    match fixture.try_open().unwrap_err() {
        WardenError::BehindWitness {
            store_size,
            witness_size,
            store_epoch: 0,
            witness_epoch: 0,
        } => assert_eq!((store_size, witness_size), (6, 7)),
        other => panic!("{other}"),
    }
}
