//! Replacing the signing key, and every place where a crash may cut it off.

use crate::fixture::{Fixture, keep, ns, recall};
use memwarden::{Depth, Entry, Role, WardenError};

#[test]
fn a_rotated_key_signs_from_then_on_and_older_checkpoints_still_verify_as_prefix() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "the harbor opens at dawn");
    let held = owner.checkpoint().unwrap();
    let first = owner.verifier_key();
    for rotations in 1..=2 {
        let key = owner.rotate_key().unwrap();
        assert_ne!(key, first);
        assert_eq!(owner.verifier_key(), key);
        keep(&owner, "a", "the harbor closes at dusk");
        let report = owner.verify(Depth::Deep, Some(&held)).unwrap();
        assert_eq!(
            (report.rotations, report.verifier_key.as_str()),
            (rotations, key.as_str())
        );
        assert!(report.is_intact());
    }
    drop((owner, warden));
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    assert!(owner.verify(Depth::Deep, Some(&held)).unwrap().is_intact());
    assert!(!fixture.made.keys.join("log.key.next").exists());
}

#[test]
fn the_key_before_a_rotation_opens_and_writes_nothing() {
    let fixture = Fixture::new("off");
    let key = fixture.made.keys.join("log.key");
    let old = std::fs::read(&key).unwrap();
    let warden = fixture.open();
    let bystander = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "the harbor opens at dawn");
    owner.rotate_key().unwrap();
    let new = std::fs::read(&key).unwrap();
    std::fs::write(&key, &old).unwrap();
    // A process that was open before, and finds only the old key.
    let agent = fixture.handle(&bystander, Role::Agent);
    let refused = agent.remember(&ns("a"), Entry::new("signed with the old key"));
    assert!(matches!(refused.unwrap_err(), WardenError::Unverified { .. }));
    drop((owner, warden, agent, bystander));
    assert!(matches!(
        fixture.try_open().unwrap_err(),
        WardenError::Unverified { .. }
    ));
    std::fs::write(&key, &new).unwrap();
    fixture.open();
}

#[test]
fn a_rotation_cut_off_before_its_commit_leaves_the_old_key_in_force() {
    let fixture = Fixture::new("off");
    let other = Fixture::new("off");
    // What staging leaves: a key that never signed anything.
    std::fs::copy(
        other.made.keys.join("log.key"),
        fixture.made.keys.join("log.key.next"),
    )
    .unwrap();
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "the harbor opens at dawn");
    owner.rotate_key().unwrap();
    drop((owner, warden));
    fixture.open();
}

#[test]
fn a_rotation_cut_off_between_its_commit_and_the_renaming_is_finished_when_opened() {
    let fixture = Fixture::new("off");
    let (key, staged) = (
        fixture.made.keys.join("log.key"),
        fixture.made.keys.join("log.key.next"),
    );
    std::fs::copy(&key, fixture.path("old.key")).unwrap();
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    owner.rotate_key().unwrap();
    drop((owner, warden));
    let new = std::fs::read(&key).unwrap();
    std::fs::rename(&key, &staged).unwrap();
    std::fs::copy(fixture.path("old.key"), &key).unwrap();

    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "the harbor opens at dawn");
    assert_eq!(std::fs::read(&key).unwrap(), new);
    assert!(!staged.exists());
    assert!(agent.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn a_warden_that_was_open_before_goes_on_in_the_window_of_a_rotation() {
    let fixture = Fixture::new("off");
    let (key, staged) = (
        fixture.made.keys.join("log.key"),
        fixture.made.keys.join("log.key.next"),
    );
    std::fs::copy(&key, fixture.path("old.key")).unwrap();
    let (first, second) = (fixture.open(), fixture.open());
    let agent = fixture.handle(&second, Role::Agent);
    fixture.handle(&first, Role::Owner).rotate_key().unwrap();
    std::fs::rename(&key, &staged).unwrap();
    std::fs::copy(fixture.path("old.key"), &key).unwrap();
    keep(&agent, "a", "the harbor opens at dawn");
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
}

#[test]
fn another_open_warden_reads_and_writes_after_a_rotation() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let owner = fixture.handle(&first, Role::Owner);
    let agent = fixture.handle(&second, Role::Agent);
    keep(&agent, "a", "the harbor opens at dawn");
    owner.rotate_key().unwrap();
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
    owner.rotate_key().unwrap();
    keep(&agent, "a", "the harbor closes at dusk");
    // Both may rotate; neither starts from a key that the other has replaced.
    let owner_of_second = fixture.handle(&second, Role::Owner);
    owner_of_second.rotate_key().unwrap();
    owner.rotate_key().unwrap();
    keep(&owner, "a", "the harbor is dredged");
    let report = agent.verify(Depth::Deep, None).unwrap();
    assert_eq!(report.rotations, 4);
    assert!(report.is_intact());
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 3);
}

#[test]
fn rotations_at_the_same_time_follow_one_another() {
    let fixture = Fixture::new("off");
    let wardens = [fixture.open(), fixture.open(), fixture.open()];
    std::thread::scope(|scope| {
        for warden in &wardens {
            let owner = fixture.handle(warden, Role::Owner);
            scope.spawn(move || {
                for i in 0..4 {
                    owner.rotate_key().unwrap();
                    keep(&owner, "a", &format!("record {i}"));
                }
            });
        }
    });
    drop(wardens);
    let warden = fixture.open();
    let report = fixture
        .handle(&warden, Role::Owner)
        .verify(Depth::Deep, None)
        .unwrap();
    assert_eq!((report.rotations, report.records), (12, 12));
    assert!(report.is_intact());
}

#[test]
fn a_warden_whose_reader_learned_of_a_rotation_signs_with_the_new_key() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let agent = fixture.handle(&second, Role::Agent);
    keep(&agent, "a", "the harbor opens at dawn");
    fixture.handle(&first, Role::Owner).rotate_key().unwrap();
    // The read takes the new key in before the writer of the same warden has seen anything.
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
    keep(&agent, "a", "the harbor closes at dusk");
    drop((first, second, agent));
    let warden = fixture.open();
    assert_eq!(
        recall(&fixture.handle(&warden, Role::Agent), "a", "harbor")
            .unwrap()
            .len(),
        2
    );
}
