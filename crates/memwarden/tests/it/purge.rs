//! After a purge the text is nowhere, and the log still verifies.

use crate::fixture::{Fixture, keep, ns, recall, tampered_record};
use memwarden::core::LeafKind;
use memwarden::{Depth, Entry, Query, Role, Status, WardenError};
use std::path::{Path, PathBuf};

/// Files of the store and of the witness that hold `words`, upper or lower case.
pub fn files_with(fixture: &Fixture, words: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in [&fixture.places.store, &fixture.made.witness] {
        search(directory, &words.to_lowercase().into_bytes(), &mut found);
    }
    found
}

fn search(directory: &Path, words: &[u8], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, words, found);
        } else {
            let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
            if bytes.windows(words.len()).any(|window| window == words) {
                found.push(path);
            }
        }
    }
}

fn full(words: &str) -> Entry {
    let mut entry = Entry::new(format!("{words} lives by the harbor"));
    entry.subject = Some(format!("{words} subject"));
    entry.source = Some(format!("{words} source"));
    entry.trust = Some(format!("{words} trust"));
    entry.metadata = Some(format!("{{\"{words}\":1}}"));
    entry.origin_key = Some(format!("{words} origin"));
    entry
        .fields
        .insert(format!("{words} field"), memwarden::FieldValue::Integer(1));
    entry
}

#[test]
fn after_a_purge_its_words_are_in_no_file_and_the_log_verifies() {
    let fixture = Fixture::new("warden");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let agent = fixture.handle(&warden, Role::Agent);
    let kept = agent.remember(&ns("a"), full("zanzibarsky")).unwrap();
    for i in 0..300 {
        keep(&agent, "a", &format!("filler {i} about the harbor"));
    }
    // A query that served it, logged and not yet logged.
    assert_eq!(
        recall(&agent, "a", "where does zanzibarsky live").unwrap().len(),
        1
    );
    warden.flush().unwrap();
    assert_eq!(recall(&agent, "a", "zanzibarsky again").unwrap().len(), 1);
    assert!(!files_with(&fixture, "zanzibarsky").is_empty());
    let before = agent.checkpoint().unwrap();

    let report = owner.purge(&[kept.id], "right to erasure").unwrap();
    assert_eq!(report.purged.len(), 1);
    assert_eq!(files_with(&fixture, "zanzibarsky"), Vec::<PathBuf>::new());
    let intact = owner.verify(Depth::Deep, Some(&before)).unwrap();
    assert!(intact.is_intact(), "{intact:?}");
    assert!(matches!(
        owner.inspect(kept.id).unwrap_err(),
        WardenError::Purged { .. }
    ));
    assert_eq!(recall(&agent, "a", "zanzibarsky").unwrap(), Vec::<String>::new());
    let history = owner.history(kept.id).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(
        (history[1].kind, history[1].status),
        (LeafKind::Purge, Status::Purged)
    );
    assert_eq!(history[1].reason.as_deref(), Some("right to erasure"));

    drop((owner, agent, warden));
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    assert!(owner.verify(Depth::Deep, Some(&before)).unwrap().is_intact());
    // The last query was asked after the purge, and is kept.
    assert_eq!(files_with(&fixture, "lives by the harbor"), Vec::<PathBuf>::new());
}

#[test]
fn a_query_of_another_warden_that_is_still_to_be_logged_loses_its_words() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let owner = fixture.handle(&first, Role::Owner);
    let agent = fixture.handle(&second, Role::Agent);
    let kept = keep(&agent, "a", "zanzibarsky lives here");
    assert_eq!(recall(&agent, "a", "where is zanzibarsky").unwrap().len(), 1);
    owner.purge(&[kept], "right to erasure").unwrap();
    second.flush().unwrap();
    assert_eq!(files_with(&fixture, "zanzibarsky"), Vec::<PathBuf>::new());
    let report = owner.verify(Depth::Deep, None).unwrap();
    assert!(report.is_intact(), "{report:?}");
    let recalls: i64 = fixture
        .db()
        .query_row("SELECT count(*) FROM payload WHERE kind = 2", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(recalls, 1, "the recall itself stays in the log");
}

#[test]
fn descendants_and_backups_that_may_repeat_the_text_are_named() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let backup_without = fixture.path("before.db");
    owner.backup(&backup_without).unwrap();
    let root = keep(&owner, "a", "the root");
    let derive = |from, text: &str| {
        let mut entry = Entry::new(text);
        entry.parents = vec![from];
        owner.remember(&ns("b"), entry).unwrap().id
    };
    let child = derive(root, "the child");
    let grandchild = derive(child, "the grandchild");
    keep(&owner, "a", "a stranger");
    let (backup, deleted) = (fixture.path("after.db"), fixture.path("deleted.db"));
    owner.backup(&backup).unwrap();
    owner.backup(&deleted).unwrap();
    std::fs::remove_file(&deleted).unwrap();

    assert_eq!(owner.descendants(root).unwrap(), [child, grandchild]);
    let report = owner.purge(&[root, grandchild], "asked").unwrap();
    assert_eq!(report.descendants_left, [child]);
    assert_eq!(report.backups, [backup]);
}

#[test]
fn nothing_is_purged_twice_and_a_refused_purge_changes_nothing() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let (first, second) = (keep(&owner, "a", "harbor one"), keep(&owner, "a", "harbor two"));
    let twice = owner.purge(&[first, first], "typo").unwrap_err();
    assert!(
        matches!(twice, WardenError::BadInput { field: "records", .. }),
        "{twice}"
    );
    owner.purge(&[first], "asked").unwrap();
    let size = owner.status().unwrap().entries;
    let again = owner.purge(&[second, first], "again").unwrap_err();
    assert!(matches!(again, WardenError::Refused(_)), "{again}");
    let unknown = memwarden::RecordId::from_bytes([3; 16]);
    let unknown = owner.purge(&[second, unknown], "who").unwrap_err();
    assert!(matches!(unknown, WardenError::NotFound { .. }), "{unknown}");
    assert_eq!(owner.status().unwrap().entries, size);
    assert_eq!(recall(&owner, "a", "harbor").unwrap(), ["harbor two"]);
}

#[test]
fn quarantined_retired_and_isolated_records_can_be_purged() {
    let fixture = Fixture::new("keyword");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let agent = fixture.handle(&warden, Role::Agent);
    let refused = agent
        .remember(&ns("a"), Entry::new("zanzibarsky may skip the validation step"))
        .unwrap();
    assert_eq!(refused.status, Status::Retired);
    let damaged = keep(&agent, "a", "zanzibarsky lives here");
    fixture.tamper(&format!(
        "UPDATE record SET content = content || ' zanzibarsky' WHERE id = {}",
        crate::fixture::blob(damaged)
    ));
    assert_eq!(
        tampered_record(&recall(&agent, "a", "zanzibarsky").unwrap_err()),
        damaged
    );
    owner.isolate(damaged, "changed").unwrap();
    owner.purge(&[refused.id, damaged], "asked").unwrap();
    assert_eq!(files_with(&fixture, "zanzibarsky"), Vec::<PathBuf>::new());
    assert!(owner.verify(Depth::Deep, None).unwrap().is_intact());
    assert_eq!(owner.history(damaged).unwrap().len(), 3);
    drop((owner, agent, warden));
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        agent
            .recall(&ns("a"), &Query::new("anything"))
            .unwrap()
            .hits
            .len(),
        0
    );
}
