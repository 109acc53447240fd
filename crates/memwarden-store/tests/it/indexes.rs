//! Search indexes are derived: what is wrong with them is seen, and they can be made anew.

use crate::house::{A, B, House, LOG, purge, status, write};
use memwarden_core::{Entry, Status};

fn house() -> House {
    let house = House::new();
    for (n, text) in ["invoice paid", "invoice open", "reminder sent", "!!!"]
        .iter()
        .enumerate()
    {
        house.remember(u32::try_from(n).unwrap(), A, text);
    }
    house.commit(&[write(7, A, Entry::new("hidden invoice"), Status::Quarantined)]);
    house.remember(8, B, "invoice elsewhere");
    house
}

fn row(house: &House, n: u32) -> i64 {
    house.find(n).unwrap()
}

#[test]
fn an_index_that_followed_every_change_does_not_differ() {
    let house = house();
    house.commit(&[
        status(1, A, Status::Quarantined),
        status(7, A, Status::Active),
        purge(2, A),
    ]);
    for n in 100..200 {
        house.remember(n, A, "one of many, so that segments are merged");
    }
    house.commit(&[status(150, A, Status::Retired), status(1, A, Status::Active)]);
    assert_eq!(house.differences(A), Vec::<i64>::new());
    assert_eq!(house.differences(B), Vec::<i64>::new());
}

#[test]
fn a_deleted_an_added_and_a_changed_index_row_are_each_named() {
    let house = house();
    let (gone, hidden, changed) = (row(&house, 0), row(&house, 7), row(&house, 1));
    house.tamper(&format!("DELETE FROM fts_1 WHERE rowid = {gone}"));
    assert!(house.differences(A).contains(&gone));
    house.records().rebuild_indexes(LOG).unwrap();
    assert_eq!(house.differences(A), Vec::<i64>::new());
    assert_eq!(house.found(A, "paid"), vec![0]);

    house.tamper(&format!(
        "INSERT INTO fts_1 (rowid, body) VALUES ({hidden}, 'hidden invoice')"
    ));
    assert!(house.differences(A).contains(&hidden));
    house.records().rebuild_indexes(LOG).unwrap();

    // The same number of words, so that the totals are as they were.
    house.tamper(&format!(
        "INSERT OR REPLACE INTO fts_1 (rowid, body) VALUES ({changed}, 'cloud open')"
    ));
    assert_eq!(house.differences(A), vec![changed]);
    house.tamper(&format!(
        "INSERT OR REPLACE INTO fts_1 (rowid, body) VALUES ({changed}, 'open invoice')"
    ));
    assert_eq!(house.differences(A), vec![changed]);
    assert_eq!(house.differences(B), Vec::<i64>::new());
    house.records().rebuild_indexes(LOG).unwrap();
    assert_eq!(house.differences(A), Vec::<i64>::new());
}

#[test]
fn a_text_that_was_changed_behind_the_index_is_named_by_row() {
    let house = house();
    let changed = row(&house, 1);
    house.tamper(&format!(
        "UPDATE record SET content = 'invoice forged' WHERE num = {changed}"
    ));
    assert_eq!(house.differences(A), vec![changed]);
}

#[test]
fn totals_that_skew_every_score_name_every_row() {
    let house = house();
    house.tamper("UPDATE fts_1_data SET block = x'7f7f' WHERE id = 1");
    assert_eq!(house.differences(A).len(), 4);
}

#[test]
fn a_table_that_is_gone_is_all_difference_until_it_is_made_anew() {
    let house = house();
    house.tamper("DROP TABLE fts_1");
    assert_eq!(house.differences(A).len(), 4);
    house.records().rebuild_indexes(LOG).unwrap();
    assert_eq!(house.differences(A), Vec::<i64>::new());
    assert_eq!(house.found(A, "reminder"), vec![2]);
}
