//! Many threads on one warden.

use crate::fixture::{Fixture, keep, ns, recall};
use memwarden::{Depth, Entry, Query, Role};
use std::collections::HashSet;

#[test]
fn every_write_of_sixteen_threads_is_acknowledged_at_a_place_of_its_own() {
    let fixture = Fixture::new("warden");
    let warden = fixture.open();
    let mut positions = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|thread| {
                let agent = fixture.handle(&warden, Role::Agent);
                scope.spawn(move || {
                    let write = |i| {
                        let entry = Entry::new(format!("thread {thread} writes {i}"));
                        let kept = agent.remember(&ns("a"), entry).unwrap();
                        (kept.position, kept.id)
                    };
                    (0..200).map(write).collect::<Vec<_>>()
                })
            })
            .collect();
        for thread in threads {
            positions.push(thread.join().unwrap());
        }
    });
    for own in &positions {
        assert!(own.is_sorted(), "a thread's writes are in its order");
    }
    let all: Vec<_> = positions.into_iter().flatten().collect();
    assert_eq!(
        all.iter()
            .map(|(position, _)| *position)
            .collect::<HashSet<_>>()
            .len(),
        3_200
    );
    assert_eq!(all.iter().map(|(_, id)| *id).collect::<HashSet<_>>().len(), 3_200);

    drop(warden);
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    for (position, id) in all.iter().step_by(97) {
        assert_eq!(agent.inspect(*id).unwrap().lineage.position, *position);
    }
    let report = agent.verify(Depth::Deep, None).unwrap();
    assert!(report.is_intact());
    assert_eq!((report.records, report.entries, report.tiles), (3_200, 3_204, 12));
}

#[test]
fn recall_entries_are_in_the_log_after_a_flush_and_after_the_warden_is_dropped() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "the harbor opens at dawn");
    let logged = || -> i64 {
        let db = fixture.db();
        db.query_row("SELECT count(*) FROM payload WHERE kind = 2", [], |row| {
            row.get(0)
        })
        .unwrap()
    };
    recall(&agent, "a", "harbor").unwrap();
    recall(&agent, "a", "dawn").unwrap();
    warden.flush().unwrap();
    assert_eq!(logged(), 2);
    recall(&agent, "a", "harbor").unwrap();
    drop((agent, warden));
    assert_eq!(logged(), 3);
}

#[test]
fn a_recall_entry_is_not_lost_when_its_commit_fails() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "the harbor opens at dawn");
    recall(&agent, "a", "harbor").unwrap();
    // A leaf that stands where the next one belongs makes the commit fail.
    fixture.tamper("INSERT INTO leaf (num, bytes) SELECT max(num) + 1, X'00' FROM leaf");
    assert!(warden.flush().is_err());
    fixture.tamper("DELETE FROM leaf WHERE bytes = X'00'");
    warden.flush().unwrap();
    let report = agent.verify(Depth::Deep, None).unwrap();
    assert_eq!(report.entries, 4 + 1 + 1);
}

#[test]
fn readers_and_writers_at_once_see_only_what_was_committed() {
    let fixture = Fixture::new("warden");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "harbor zero");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let agent = agent.clone();
            scope.spawn(move || {
                for i in 0..50 {
                    let id = keep(&agent, "a", &format!("harbor {i}"));
                    agent.retire(id, "done").unwrap();
                }
            });
        }
        for _ in 0..3 {
            let agent = agent.clone();
            scope.spawn(move || {
                for _ in 0..50 {
                    let recalled = agent.recall(&ns("a"), &Query::new("harbor zero")).unwrap();
                    assert_eq!(recalled.hits[0].record.entry.content, "harbor zero");
                    agent.status().unwrap();
                }
            });
        }
    });
    assert!(agent.verify(Depth::Deep, None).unwrap().is_intact());
}
