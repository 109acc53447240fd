//! Files that are not a store, or no longer one, have errors with names.

use crate::house::{A, House, LOG, any};
use memwarden_core::StoreId;
use memwarden_core::log::{Records, StoreError};
use memwarden_store::{DATABASE_FILE, SqliteStore};
use std::fs;

fn open_file(bytes: &[u8]) -> StoreError {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(DATABASE_FILE), bytes).unwrap();
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert_eq!(
        fs::read(dir.path().join(DATABASE_FILE)).unwrap(),
        bytes,
        "opening changed the file"
    );
    error
}

fn open_changed(sql: &str) -> StoreError {
    let house = House::new();
    house.tamper(sql);
    SqliteStore::open(house.dir.path()).unwrap_err()
}

#[test]
fn a_store_is_made_once_and_opened_as_often_as_one_likes() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    let missing = SqliteStore::open(&inner).unwrap_err();
    assert!(
        matches!(missing, StoreError::Missing { ref path } if path.ends_with("a/b")),
        "{missing}"
    );
    let first = SqliteStore::create(&inner, StoreId::from_bytes([1; 16])).unwrap();
    let again = SqliteStore::create(&inner, StoreId::from_bytes([2; 16])).unwrap_err();
    assert!(matches!(again, StoreError::Exists { .. }), "{again}");
    assert_eq!(SqliteStore::open(&inner).unwrap().store_id(), first.store_id());
    assert_eq!(first.path(), inner.join(DATABASE_FILE));
    let files: Vec<_> = fs::read_dir(&inner)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with(DATABASE_FILE) || name.contains("new"))
        .collect();
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn a_new_store_is_one_complete_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(SqliteStore::create(dir.path(), StoreId::from_bytes([1; 16])).unwrap());
    let file = dir.path().join(DATABASE_FILE);
    let copy = tempfile::tempdir().unwrap();
    fs::copy(file, copy.path().join(DATABASE_FILE)).unwrap();
    SqliteStore::open(copy.path()).unwrap();
}

#[test]
fn a_file_of_another_program_is_foreign_and_left_alone() {
    for (bytes, reason) in [
        (&b""[..], "the file is empty"),
        (b"hello", "it is not an SQLite database"),
        (
            b"SQLite format 2\0 but not quite: this is some other file",
            "it is not an SQLite database",
        ),
    ] {
        match open_file(bytes) {
            StoreError::Foreign { reason: given, .. } => assert_eq!(given, reason),
            error => panic!("{error}"),
        }
    }
    let foreign = open_changed("PRAGMA application_id = 7");
    assert!(matches!(foreign, StoreError::Foreign { .. }), "{foreign}");
    let newer = open_changed("PRAGMA user_version = 99");
    assert!(newer.to_string().contains("version 99: expected 2"), "{newer}");
}

#[test]
fn a_damaged_file_is_damaged() {
    let mut header = b"SQLite format 3\0".to_vec();
    header.extend([0x5a; 4_096]);
    let error = open_file(&header);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");

    let house = House::new();
    for n in 0..200 {
        house.remember(n, A, &format!("note {n} {}", "text ".repeat(40)));
    }
    let path = house.store.path().to_path_buf();
    let House { dir, store } = house;
    drop(store);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");

    let mut holed = whole;
    holed[4_096..].fill(0x5a);
    fs::write(&path, &holed).unwrap();
    let error = match SqliteStore::open(dir.path()) {
        Err(error) => error,
        Ok(store) => store.snapshot().unwrap().head(LOG).unwrap_err(),
    };
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");

    for sql in ["DELETE FROM store", "DROP TABLE store"] {
        let error = open_changed(sql);
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_read_only() {
    let house = House::new();
    house.remember(1, A, "text");
    let (dir, path) = (house.dir.path().to_path_buf(), house.store.path().to_path_buf());
    let House { dir: _keep, store } = house;
    drop(store);
    // A user without permissions, or, for root, whom permissions do not stop: a file that no one can write.
    let denied = "SQLITE_READONLY as the engine reports it";
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    match SqliteStore::open(&dir) {
        Err(error) => assert!(matches!(error, StoreError::ReadOnly), "{denied}: {error}"),
        // Root may write it: the mapping of the engine's code is tested beside `fault`.
        Ok(store) => assert!(store.snapshot().is_ok()),
    }
}

#[test]
fn a_row_that_does_not_read_back_names_itself_and_the_others_go_on() {
    let house = House::new();
    house.remember(1, A, "invoice one");
    house.remember(2, A, "invoice two");
    let (bad, good) = (house.find(1).unwrap(), house.find(2).unwrap());
    house.tamper(&format!("UPDATE record SET kind = 9 WHERE num = {bad}"));
    let mut snapshot = house.records().snapshot().unwrap();
    match snapshot.row(bad).unwrap_err() {
        StoreError::Row { table, row, reason } => {
            assert_eq!((table, row, reason.as_str()), ("record", bad, "its kind is 9"));
        }
        error => panic!("{error}"),
    }
    assert!(snapshot.row(good).unwrap().is_some());
    drop(snapshot);
    house.tamper(&format!(
        "PRAGMA ignore_check_constraints = 1; UPDATE record SET status = 7 WHERE num = {bad}"
    ));
    let mut rows = Vec::new();
    let mut snapshot = house.records().snapshot().unwrap();
    snapshot.rows(LOG, 0, &mut |row| rows.push(row.row)).unwrap();
    assert_eq!(rows, [good]);
    drop(snapshot);
    house.tamper(&format!(
        "DELETE FROM leaf WHERE num = {good}; DELETE FROM namespace"
    ));
    let mut snapshot = house.records().snapshot().unwrap();
    let error = snapshot.row(good).unwrap_err();
    assert!(
        error.to_string().contains("its namespace does not exist"),
        "{error}"
    );
}

#[test]
fn a_row_whose_leaf_is_gone_reads_with_no_leaf() {
    let house = House::new();
    let record = house.remember(1, A, "invoice");
    house.tamper("DELETE FROM leaf");
    assert!(house.row(record).leaf.is_empty());
}

#[test]
fn code_that_was_planted_in_the_file_does_not_run() {
    let house = House::new();
    house.tamper(
        "CREATE TRIGGER planted AFTER INSERT ON record BEGIN UPDATE record SET content = 'forged'; END",
    );
    let record = house.remember(1, A, "invoice");
    assert_eq!(house.row(record).entry.content, "invoice");
    let planted = house.look(&any(A));
    assert!(planted.is_empty());
}
