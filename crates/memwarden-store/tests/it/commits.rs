//! Commits: all or nothing, one log in one order, and what the sealer is told.

use crate::house::{A, Chain, House, LOG, id, log_row, recall, status, write};
use memwarden_core::log::{
    Committed, Draft, LogTail, Records, Refusal, SealError, Sealed, Sealer, StoreError, Tile,
};
use memwarden_core::{Entry, LogId, NamespaceId, Status, StoreId};
use memwarden_store::{CommitPhase, SqliteStore};
use std::sync::{Arc, Mutex};

fn draft(n: u32) -> Draft {
    write(n, A, Entry::new(format!("entry {n}")), Status::Active)
}

fn head(store: &SqliteStore) -> (u64, Option<String>) {
    let head = store.snapshot().unwrap().head(LOG).unwrap();
    (head.size, head.checkpoint)
}

/// Tables that a commit may write to, with the rows of each.
fn contents(house: &House) -> Vec<i64> {
    [
        "leaf",
        "record",
        "payload",
        "tile",
        "fts_1_docsize",
        "fts_2_docsize",
    ]
    .iter()
    .map(|table| house.peek(&format!("SELECT count(*) FROM {table}")))
    .collect()
}

#[test]
fn a_commit_advances_head_and_checkpoint_and_answers_with_them() {
    let house = House::new();
    let committed = house.commit(&[draft(1), draft(2)]);
    let positions: Vec<u64> = committed
        .outcomes
        .iter()
        .map(|o| o.as_ref().unwrap().position)
        .collect();
    assert_eq!((committed.size, positions), (2, vec![0, 1]));
    assert_eq!(head(&house.store), (2, Some(committed.checkpoint)));
    assert_eq!(house.leaves().len(), 2);
}

#[test]
fn a_refused_draft_fails_alone() {
    let house = House::new();
    let mut sealer = Chain::default();
    sealer.refuse.insert(id(2));
    let committed = house
        .records()
        .commit(
            LOG,
            &[draft(1), draft(2), status(2, A, Status::Retired), draft(3)],
            &mut sealer,
        )
        .unwrap();
    assert_eq!(
        committed.outcomes[1],
        Err(Refusal::NoSuchRecord { record: id(2) })
    );
    assert_eq!(committed.outcomes[3].as_ref().unwrap().position, 1);
    assert_eq!(house.found(A, "entry"), vec![1, 3]);
    assert_eq!(house.records().snapshot().unwrap().find(&id(2)).unwrap(), None);
    assert_eq!(contents(&house), [2, 2, 0, 0, 2, 0]);
}

#[test]
fn a_commit_of_which_all_is_refused_writes_nothing() {
    let house = House::new();
    let before = house.commit(&[draft(1)]);
    let changes = house.peek("SELECT sum(size) FROM log");
    let mut sealer = Chain::default();
    sealer.refuse.insert(id(2));
    let committed: Committed = house.records().commit(LOG, &[draft(2)], &mut sealer).unwrap();
    assert_eq!((committed.size, committed.checkpoint), (1, before.checkpoint));
    assert_eq!(house.peek("SELECT sum(size) FROM log"), changes);
    let before = std::fs::read(house.store.path().with_extension("db-wal")).unwrap();
    house.records().commit(LOG, &[draft(2)], &mut sealer).unwrap();
    assert_eq!(
        std::fs::read(house.store.path().with_extension("db-wal")).unwrap(),
        before
    );
}

#[test]
fn a_commit_that_fails_half_way_leaves_nothing_and_the_next_one_succeeds() {
    let house = House::new();
    house.commit(&[draft(1)]);
    let before = (contents(&house), head(&house.store));
    let unknown = NamespaceId::from_bytes([0xee; 16]);
    let bad = write(3, unknown, Entry::new("nowhere"), Status::Active);
    let error = house
        .try_commit(&[draft(2), status(1, A, Status::Quarantined), bad])
        .unwrap_err();
    assert!(error.to_string().contains(&unknown.to_string()), "{error}");
    let mut failing = Chain::failing();
    let error = house
        .records()
        .commit(LOG, &[draft(2)], &mut failing)
        .unwrap_err();
    assert!(matches!(error, StoreError::Seal(SealError::Unverified { .. })));
    assert_eq!((contents(&house), head(&house.store)), before);
    assert_eq!(house.found(A, "entry"), vec![1]);
    // What was rolled back is not remembered as a row either.
    house.commit(&[draft(2), status(2, A, Status::Quarantined), draft(3)]);
    assert_eq!(house.found(A, "entry"), vec![1, 3]);
    assert_eq!(house.row(id(3)).entry.content, "entry 3");
}

#[test]
fn a_panic_inside_the_sealer_rolls_back_and_the_store_goes_on() {
    struct Panics;
    impl Sealer for Panics {
        fn seen(&self) -> u64 {
            0
        }
        fn seal(&mut self, _: &LogTail, _: &[Draft]) -> Result<Sealed, SealError> {
            panic!("on purpose")
        }
    }
    let house = House::new();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = house.records().commit(LOG, &[draft(1)], &mut Panics);
    }));
    assert!(outcome.is_err());
    assert_eq!(house.commit(&[draft(1)]).size, 1);
}

#[test]
fn a_sealer_that_answers_for_fewer_drafts_than_there_are_commits_nothing() {
    struct Short;
    impl Sealer for Short {
        fn seen(&self) -> u64 {
            0
        }
        fn seal(&mut self, _: &LogTail, _: &[Draft]) -> Result<Sealed, SealError> {
            Ok(Sealed {
                outcomes: Vec::new(),
                tiles: Vec::new(),
                size: 1,
                checkpoint: "c".into(),
            })
        }
    }
    let house = House::new();
    assert!(house.records().commit(LOG, &[draft(1)], &mut Short).is_err());
    assert_eq!(head(&house.store), (0, None));
}

#[test]
fn what_another_handle_wrote_is_handed_over_exactly_once() {
    let house = House::new();
    let other = SqliteStore::open(house.dir.path()).unwrap();
    let (mut ours, mut theirs) = (Chain::default(), Chain::default());
    house.store.commit(LOG, &[draft(1), draft(2)], &mut ours).unwrap();
    assert_eq!(ours.handed_over, 0);
    other
        .commit(
            LOG,
            &[
                write(3, A, Entry::new("äöü"), Status::Active),
                recall(0, "q", &[1]),
            ],
            &mut theirs,
        )
        .unwrap();
    assert_eq!(theirs.handed_over, 2);
    house.store.commit(LOG, &[draft(4)], &mut ours).unwrap();
    assert_eq!(ours.handed_over, 2);
    assert_eq!(ours.unseen_bytes, [6, 0]);
    house.store.commit(LOG, &[draft(5)], &mut ours).unwrap();
    assert_eq!(ours.handed_over, 0);
    other
        .commit(LOG, &[status(4, A, Status::Retired)], &mut theirs)
        .unwrap();
    assert_eq!(house.found(A, "entry"), vec![1, 2, 5]);
    assert_eq!(other.snapshot().unwrap().find(&id(5)).unwrap(), house.find(5));
}

#[test]
fn a_sealer_that_saw_more_than_there_is_gets_the_tail_as_it_is_and_decides() {
    let house = House::new();
    house.commit(&[draft(1)]);
    let mut ahead = Chain::default();
    house.store.commit(LOG, &[draft(2)], &mut ahead).unwrap();
    house.tamper(
        "DELETE FROM leaf WHERE position = 1; UPDATE log SET size = 1; DELETE FROM record WHERE position = 1",
    );
    let error = house.store.commit(LOG, &[draft(3)], &mut ahead).unwrap_err();
    assert!(
        error.to_string().contains("1 leaves where 2 were seen"),
        "{error}"
    );
}

#[test]
fn full_tiles_are_kept_and_listed_in_order() {
    let house = House::new();
    let drafts: Vec<Draft> = (0..520).map(draft).collect();
    house.commit(&drafts);
    let mut tiles: Vec<Tile> = Vec::new();
    house
        .records()
        .snapshot()
        .unwrap()
        .tiles(LOG, &mut |tile| tiles.push(tile.clone()))
        .unwrap();
    assert_eq!(
        tiles.iter().map(|t| (t.level, t.index)).collect::<Vec<_>>(),
        [(0, 0), (0, 1)]
    );
    let leaves = house.leaves();
    assert_eq!(leaves.len(), 520);
    let expected: Vec<u8> = leaves[256..512]
        .iter()
        .flat_map(|leaf| *memwarden_core::leaf_hash(leaf).as_bytes())
        .collect();
    assert_eq!(tiles[1].hashes, expected);
}

#[test]
fn a_gap_in_the_leaves_ends_the_reading_before_it() {
    let house = House::new();
    house.commit(&[draft(1), draft(2), draft(3), draft(4)]);
    house.tamper("DELETE FROM leaf WHERE position = 2");
    assert_eq!(house.leaves().len(), 2);
    let mut snapshot = house.records().snapshot().unwrap();
    let mut seen = Vec::new();
    snapshot
        .leaves(LOG, 1..2, &mut |position, _| {
            seen.push(position);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [1]);
    let stop = snapshot.leaves(LOG, 0..9, &mut |_, _| Err(StoreError::DiskFull));
    assert_eq!(stop, Err(StoreError::DiskFull));
}

#[test]
fn a_snapshot_does_not_see_what_is_committed_after_it_was_taken() {
    let house = House::new();
    house.commit(&[draft(1)]);
    let mut before = house.records().snapshot().unwrap();
    house.commit(&[draft(2), status(1, A, Status::Quarantined)]);
    assert_eq!(before.head(LOG).unwrap().size, 1);
    assert_eq!(before.find(&id(2)).unwrap(), None);
    assert_eq!(before.with_status(A, Status::Active).unwrap().len(), 1);
    let mut after = house.records().snapshot().unwrap();
    assert_eq!(after.head(LOG).unwrap().size, 3);
    assert!(after.find(&id(2)).unwrap().is_some());
    assert_eq!(before.find(&id(2)).unwrap(), None);
    assert!(before.find(&id(1)).unwrap().is_some());
    assert!(after.find(&id(2)).unwrap().is_some());
}

#[test]
fn a_change_without_the_log_advancing_is_told_apart_from_a_commit() {
    let house = House::new();
    let store = SqliteStore::open(house.dir.path()).unwrap();
    let mut sealer = Chain::default();
    let looks = || store.snapshot().unwrap().changed_outside_the_log();
    assert!(!looks(), "the first look has nothing to compare with");
    house.commit(&[draft(1)]);
    assert!(!looks());
    store.commit(LOG, &[draft(2)], &mut sealer).unwrap();
    assert!(!looks());
    house.tamper("UPDATE record SET content = 'forged'");
    // A connection that looks for the first time says so too.
    let held = store.snapshot().unwrap();
    assert!(held.changed_outside_the_log());
    assert!(looks());
    assert!(!looks());
    drop(held);
    // A commit of this store does not cover up a change in front of it.
    house.tamper("UPDATE record SET content = 'forged again'");
    store.commit(LOG, &[draft(3)], &mut sealer).unwrap();
    assert!(looks());
    assert!(!looks());
}

#[test]
fn the_probe_is_told_when_the_lock_is_held_and_when_it_is_let_go() {
    let house = House::new();
    let phases = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&phases);
    house
        .store
        .set_commit_probe(Box::new(move |phase| told.lock().unwrap().push(phase)));
    house.commit(&[draft(1)]);
    let mut failing = Chain::failing();
    house.store.commit(LOG, &[draft(2)], &mut failing).unwrap_err();
    let expected = [
        CommitPhase::Begun,
        CommitPhase::Done,
        CommitPhase::Begun,
        CommitPhase::Done,
    ];
    assert_eq!(*phases.lock().unwrap(), expected);
}

#[test]
fn a_tenant_has_one_log_and_a_name_one_namespace() {
    let house = House::new();
    let store = house.records();
    assert_eq!(store.store_id(), StoreId::from_bytes([5; 16]));
    let again = store
        .add_log(&log_row(LogId::from_bytes([7; 16]), "default"))
        .unwrap();
    assert_eq!(again, log_row(LOG, "default"));
    assert_eq!(store.logs().unwrap(), vec![log_row(LOG, "default")]);
    let first = store
        .namespace(LOG, "a", NamespaceId::from_bytes([7; 16]))
        .unwrap();
    assert_eq!((first.id, first.number), (A, 1));
    let names: Vec<String> = store
        .snapshot()
        .unwrap()
        .namespaces(LOG)
        .unwrap()
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert!(store.namespace(LogId::from_bytes([7; 16]), "a", A).is_err());
}

#[test]
fn a_restored_file_does_not_leave_old_ids_behind() {
    let house = House::new();
    house.commit(&[draft(1)]);
    let copy = house.dir.path().join("copy.db");
    house.store.backup(&copy).unwrap();
    house.commit(&[draft(2), draft(3)]);
    assert!(house.find(3).is_some());
    memwarden_store::replace(house.dir.path(), &copy).unwrap();
    assert_eq!(house.find(3), None);
    let other = SqliteStore::open(house.dir.path()).unwrap();
    other
        .commit(LOG, &[draft(4), draft(5), draft(6)], &mut Chain::default())
        .unwrap();
    assert_eq!(house.row(id(5)).entry.content, "entry 5");
    assert_eq!(house.find(2), None);
    house.commit(&[status(4, A, Status::Quarantined)]);
    assert_eq!(house.found(A, "entry"), vec![1, 5, 6]);
}
