//! The head that is remembered outside the store, and the one way to go back behind it.

use crate::fixture::{Fixture, copy_directory, keep, recall};
use memwarden::{Authority, Depth, RecordId, Role, Warden, WardenError};
use std::path::PathBuf;

/// A store with one record, a copy of it, and then one record more in the store itself.
fn with_older_copy(fixture: &Fixture) -> PathBuf {
    let warden = fixture.open();
    keep(
        &fixture.handle(&warden, Role::Agent),
        "a",
        "the harbor opens at dawn",
    );
    drop(warden);
    let older = fixture.copy_store("older");
    let warden = fixture.open();
    keep(
        &fixture.handle(&warden, Role::Agent),
        "a",
        "the harbor closes at dusk",
    );
    drop(warden);
    older
}

fn restore(fixture: &Fixture) -> (std::sync::Arc<Warden>, memwarden::Restored) {
    let owner = fixture.made.credential(Role::Owner).unwrap();
    Warden::restore(&fixture.places, &fixture.options(), &owner, "the disk failed").unwrap()
}

#[test]
fn a_missing_witness_is_a_warning_and_is_written_anew() {
    let fixture = Fixture::new("off");
    assert!(fixture.open().warnings().is_empty());
    std::fs::remove_dir_all(&fixture.made.witness).unwrap();
    let warden = fixture.open();
    assert_eq!(warden.warnings().len(), 1);
    assert!(warden.warnings()[0].starts_with("no witness"));
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(agent.status().unwrap().witness, None);
    keep(&agent, "a", "the harbor opens at dawn");
    assert_eq!(agent.status().unwrap().witness, Some((5, 0)));
    drop((agent, warden));
    assert!(fixture.open().warnings().is_empty());
}

#[test]
fn a_witness_behind_the_store_is_normal() {
    let fixture = Fixture::new("off");
    copy_directory(&fixture.made.witness, &fixture.path("old-witness"));
    let warden = fixture.open();
    keep(
        &fixture.handle(&warden, Role::Agent),
        "a",
        "the harbor opens at dawn",
    );
    drop(warden);
    std::fs::remove_dir_all(&fixture.made.witness).unwrap();
    copy_directory(&fixture.path("old-witness"), &fixture.made.witness);
    let warden = fixture.open();
    assert_eq!(
        recall(&fixture.handle(&warden, Role::Agent), "a", "harbor")
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_fork_is_refused_whether_it_is_as_long_as_what_the_witness_saw_or_longer() {
    for extra in [1, 3] {
        let fixture = Fixture::new("off");
        let older = with_older_copy(&fixture);
        // The same keys sign another history from the older copy on, where this witness does not see it.
        let mut elsewhere = fixture.places.clone();
        elsewhere.store = older.clone();
        elsewhere.witness = Some(fixture.path("other-witness"));
        let fork = Warden::open_with(&elsewhere, &fixture.options()).unwrap();
        let agent = fixture.handle(&fork, Role::Agent);
        for i in 0..extra {
            keep(&agent, "a", &format!("the harbor never closes {i}"));
        }
        drop((agent, fork));
        fixture.put_back(&older);
        let error = fixture.try_open().unwrap_err();
        assert!(
            matches!(&error, WardenError::Unverified { reason } if reason.contains("forked")),
            "{extra}: {error}"
        );
    }
}

#[test]
fn a_witness_of_a_later_epoch_refuses_the_store_of_an_earlier_one_though_it_is_longer() {
    let fixture = Fixture::new("off");
    let older = with_older_copy(&fixture);
    let newer = fixture.copy_store("newer");
    fixture.put_back(&older);
    drop(restore(&fixture));
    fixture.put_back(&newer);
    let warden_error = fixture.try_open().unwrap_err();
    assert!(
        matches!(
            warden_error,
            WardenError::BehindWitness {
                store_epoch: 0,
                witness_epoch: 1,
                ..
            }
        ),
        "{warden_error}"
    );
}

#[test]
fn only_the_owner_can_accept_an_older_state() {
    let fixture = Fixture::new("off");
    let older = with_older_copy(&fixture);
    fixture.put_back(&older);
    for role in [Role::Agent, Role::Step] {
        let credential = fixture.made.credential(role).unwrap();
        let refused = Warden::restore(&fixture.places, &fixture.options(), &credential, "please");
        assert!(matches!(refused.unwrap_err(), WardenError::Forbidden { .. }));
    }
    assert!(matches!(
        fixture.try_open().unwrap_err(),
        WardenError::BehindWitness { .. }
    ));
}

#[test]
fn an_accepted_older_state_opens_an_epoch_and_names_what_it_abandoned() {
    let fixture = Fixture::new("off");
    let older = with_older_copy(&fixture);
    fixture.put_back(&older);
    let (warden, restored) = restore(&fixture);
    assert_eq!(
        (restored.size, restored.abandoned_size, restored.epoch),
        (5, 6, 1)
    );
    assert_eq!(restored.purged_again, Vec::<RecordId>::new());
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        recall(&agent, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
    let status = agent.status().unwrap();
    assert_eq!((status.epoch, status.witness), (1, Some((6, 1))));
    let abandoned: Vec<u8> = fixture
        .db()
        .query_row("SELECT bytes FROM payload WHERE kind = 9", [], |row| row.get(0))
        .unwrap();
    let abandoned = memwarden_core::Decoder::tagged(&abandoned, "memwarden-epoch", 1)
        .map(|mut d| d.text("abandoned").unwrap().to_owned());
    let head = memwarden::ledger::Checkpoint::read_unverified(&abandoned.unwrap()).unwrap();
    assert_eq!(head.size, 6);

    drop((agent, warden));
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "the harbor moved");
    assert!(agent.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn after_a_restore_the_abandoned_copy_is_refused() {
    let fixture = Fixture::new("off");
    let older = with_older_copy(&fixture);
    let abandoned = fixture.copy_store("abandoned");
    fixture.put_back(&older);
    drop(restore(&fixture));
    let restored = fixture.copy_store("restored");
    fixture.put_back(&abandoned);
    assert!(matches!(
        fixture.try_open().unwrap_err(),
        WardenError::BehindWitness { .. }
    ));
    fixture.put_back(&restored);
    fixture.open();
}

#[test]
fn a_restored_backup_purges_again_what_was_purged_since() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let secret = keep(&owner, "a", "Mara's number is 555-0199");
    drop((owner, warden));
    let older = fixture.copy_store("older");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    owner.purge(&[secret], "she asked").unwrap();
    drop((owner, warden));
    fixture.put_back(&older);
    let (warden, restored) = restore(&fixture);
    assert_eq!(restored.purged_again, [secret]);
    let owner = fixture.handle(&warden, Role::Owner);
    assert_eq!(recall(&owner, "a", "Mara").unwrap(), Vec::<String>::new());
    assert!(matches!(
        owner.inspect(secret).unwrap_err(),
        WardenError::Purged { .. }
    ));
    assert_eq!(
        crate::purge::files_with(&fixture, "555-0199"),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_tombstone_that_a_crash_left_out_is_written_when_the_store_is_opened() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let secret = keep(&owner, "a", "Mara's number is 555-0199");
    owner.purge(&[secret], "she asked").unwrap();
    drop((owner, warden));
    let tombstones = fixture.witness_files().join("purged");
    std::fs::remove_file(&tombstones).unwrap();
    drop(fixture.open());
    assert_eq!(
        std::fs::read_to_string(&tombstones).unwrap(),
        format!("{secret}\n")
    );
}

#[test]
fn a_restore_that_was_not_needed_keeps_everything_and_starts_an_epoch() {
    let fixture = Fixture::new("off");
    let _older = with_older_copy(&fixture);
    let (warden, restored) = restore(&fixture);
    assert_eq!(
        (restored.size, restored.abandoned_size, restored.epoch),
        (6, 6, 1)
    );
    let agent = fixture.handle(&warden, Role::Agent);
    let hits = agent
        .recall(&"a".parse().unwrap(), &memwarden::Query::new("harbor"))
        .unwrap();
    assert_eq!(hits.hits.len(), 2);
    assert_eq!(hits.label, Authority::Inform);
}

#[test]
fn an_owner_can_accept_one_side_of_a_fork() {
    let fixture = Fixture::new("off");
    let older = with_older_copy(&fixture);
    let mut elsewhere = fixture.places.clone();
    elsewhere.store = older.clone();
    elsewhere.witness = Some(fixture.path("other-witness"));
    let fork = Warden::open_with(&elsewhere, &fixture.options()).unwrap();
    keep(
        &fixture.handle(&fork, Role::Agent),
        "a",
        "the harbor never closes",
    );
    drop(fork);
    fixture.put_back(&older);
    assert!(fixture.try_open().is_err());
    let (warden, _) = restore(&fixture);
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        recall(&agent, "a", "never closes").unwrap()[0],
        "the harbor never closes"
    );
}
