//! Several processes on one directory: no write is lost, no name is made twice, one log in one order.

use crate::house::{A, Chain, House, LOG, id, status, write};
use memwarden_core::log::{Records, StoreError};
use memwarden_core::{Entry, Leaf, NamespaceId, Status};
use memwarden_store::{CommitPhase, SqliteStore};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

const DIRECTORY: &str = "MEMWARDEN_STORE_TEST_DIRECTORY";
const FIRST: &str = "MEMWARDEN_STORE_TEST_FIRST";
const WRITES: u32 = 100;

fn write_many(directory: &Path, first: u32) {
    let store = SqliteStore::open(directory).unwrap();
    let mut sealer = Chain::default();
    for n in first..first + WRITES {
        let fresh = NamespaceId::from_bytes([u8::try_from(n % 250).unwrap(); 16]);
        store
            .namespace(LOG, &format!("shared-{}", n % 10), fresh)
            .unwrap();
        let drafts = [
            write(n, A, Entry::new(format!("entry {n}")), Status::Active),
            status(
                n,
                A,
                if n % 2 == 0 {
                    Status::Quarantined
                } else {
                    Status::Active
                },
            ),
        ];
        let committed = store.commit(LOG, &drafts, &mut sealer).unwrap();
        assert!(committed.outcomes.iter().all(Result::is_ok));
    }
}

/// Runs this very test again in a process of its own, which writes and leaves.
fn spawn(directory: &Path, first: u32) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::processes_that_write_at_once_lose_no_write_and_make_no_name_twice",
        ])
        .env(DIRECTORY, directory)
        .env(FIRST, first.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_write_at_once_lose_no_write_and_make_no_name_twice() {
    if let (Ok(directory), Ok(first)) = (std::env::var(DIRECTORY), std::env::var(FIRST)) {
        write_many(Path::new(&directory), first.parse().unwrap());
        return;
    }
    let house = House::new();
    let mut children = [spawn(house.dir.path(), 10_000), spawn(house.dir.path(), 20_000)];
    write_many(house.dir.path(), 30_000);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let leaves = house.leaves();
    assert_eq!(leaves.len(), 3 * 2 * WRITES as usize);
    let written: HashSet<_> = leaves
        .iter()
        .map(|leaf| Leaf::decode(leaf).unwrap().record.unwrap())
        .collect();
    let expected: HashSet<_> = [10_000, 20_000, 30_000]
        .iter()
        .flat_map(|first| (*first..*first + WRITES).map(id))
        .collect();
    assert_eq!(written, expected);
    // The chain over all leaves is the one that the last checkpoint names.
    house.commit(&[write(1, A, Entry::new("after"), Status::Active)]);
    let mut snapshot = house.records().snapshot().unwrap();
    let namespaces = snapshot.namespaces(LOG).unwrap();
    let names: HashSet<_> = namespaces.iter().map(|row| &row.name).collect();
    assert_eq!((namespaces.len(), names.len()), (12, 12));
    assert_eq!(snapshot.with_status(A, Status::Quarantined).unwrap().len(), 150);
    assert_eq!(snapshot.index_differences(A).unwrap(), Vec::<i64>::new());
}

#[test]
fn threads_and_handles_that_want_the_same_name_get_the_same_namespace() {
    let house = House::new();
    let other = SqliteStore::open(house.dir.path()).unwrap();
    let start = Barrier::new(4);
    let rows: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u8)
            .map(|n| {
                let store = if n % 2 == 0 { &house.store } else { &other };
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (0..20)
                        .map(|k| {
                            store
                                .namespace(
                                    LOG,
                                    &format!("n{k}"),
                                    NamespaceId::from_bytes([100 + n * 20 + k; 16]),
                                )
                                .unwrap()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(rows.iter().all(|row| *row == rows[0]));
}

#[test]
fn readers_go_on_while_the_write_lock_is_held() {
    let house = House::new();
    house.remember(1, A, "entry");
    let path = house.dir.path().to_path_buf();
    house.store.set_commit_probe(Box::new(move |phase| {
        if phase == CommitPhase::Begun {
            let other = SqliteStore::open(&path).unwrap();
            let mut snapshot = other.snapshot().unwrap();
            assert_eq!(snapshot.head(LOG).unwrap().size, 1);
            assert!(snapshot.find(&id(1)).unwrap().is_some());
        }
    }));
    house.remember(2, A, "entry");
}

#[test]
fn a_writer_that_waits_in_vain_says_how_long_and_changes_nothing() {
    let house = House::new();
    house.remember(1, A, "entry");
    let other = SqliteStore::open(house.dir.path()).unwrap();
    other.set_busy_limit(Duration::from_millis(30));
    let waiting = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&waiting);
    house.store.set_commit_probe(Box::new(move |phase| {
        if phase == CommitPhase::Begun {
            let draft = write(3, A, Entry::new("late"), Status::Active);
            let outcome = other.commit(LOG, &[draft], &mut Chain::default());
            told.lock().unwrap().push(outcome);
        }
    }));
    house.remember(2, A, "entry");
    match waiting.lock().unwrap().as_slice() {
        [Err(StoreError::Busy { waited_ms })] => assert!((30..10_000).contains(waited_ms)),
        outcomes => panic!("{outcomes:?}"),
    }
    assert_eq!(house.leaves().len(), 2);
}

#[test]
fn a_scrub_says_that_it_is_kept_from_its_work_by_an_old_view() {
    let house = House::new();
    house.remember(1, A, "entry");
    let held = house.records().snapshot().unwrap();
    house.remember(2, A, "entry");
    house.store.set_busy_limit(Duration::from_millis(30));
    let error = house.records().scrub().unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    drop(held);
    house.records().scrub().unwrap();
    assert_eq!(house.found(A, "entry"), vec![1, 2]);
}
