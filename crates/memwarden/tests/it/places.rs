//! Directories and key files that are not as they must be are refused by name.

use crate::fixture::{Fixture, keep};
use memwarden::core::Timestamp;
use memwarden::core::log::StoreError;
use memwarden::{Credential, Options, Places, Role, Warden, WardenError, credential_path};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn keys_error(fixture: &Fixture, part: &str) {
    match fixture.try_open().unwrap_err() {
        error @ WardenError::Keys { .. } => assert!(error.to_string().contains(part), "{error}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_missing_key_is_named() {
    let fixture = Fixture::new("off");
    std::fs::remove_file(fixture.made.keys.join("log.key")).unwrap();
    keys_error(&fixture, "no signing key");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let fixture = Fixture::new("off");
    for mode in [0o644, 0o640, 0o604, 0o660] {
        set_mode(&fixture.made.keys.join("log.key"), mode);
        keys_error(&fixture, &format!("mode {mode:03o}"));
    }
    set_mode(&fixture.made.keys.join("log.key"), 0o400);
    fixture.open();
}

#[test]
fn the_key_of_another_store_is_refused() {
    let (fixture, other) = (Fixture::new("off"), Fixture::new("off"));
    std::fs::copy(other.made.keys.join("log.key"), fixture.made.keys.join("log.key")).unwrap();
    keys_error(&fixture, "belongs to log");
    std::fs::write(fixture.made.keys.join("log.key"), "nonsense").unwrap();
    match fixture.try_open().unwrap_err() {
        error @ WardenError::Keys { .. } => assert!(!error.to_string().contains("nonsense")),
        other => panic!("{other}"),
    }
}

#[test]
fn keys_or_witness_inside_the_store_are_refused_when_made_and_when_opened() {
    let fixture = Fixture::new("off");
    let inside = fixture.places.store.join("inside");
    let keys_inside = Places::within(&fixture.places.store, &inside, &fixture.made.witness);
    let witness_inside = Places::within(&fixture.places.store, &fixture.made.keys, &inside);
    for places in [keys_inside, witness_inside] {
        let error = Warden::open_with(&places, &fixture.options()).unwrap_err();
        assert!(error.to_string().contains("lies inside the store"), "{error}");
    }
    let fresh = fixture.path("fresh");
    let policy = memwarden::guard::preset("off").unwrap();
    let places = Places::within(&fresh, fresh.join("keys"), fixture.path("w"));
    let error = Warden::init_at(&places, &policy, Timestamp::from_micros(1)).unwrap_err();
    assert!(error.to_string().contains("lies inside the store"), "{error}");
    assert!(!fresh.exists());
}

#[test]
fn a_directory_without_a_store_says_how_to_make_one() {
    let fixture = Fixture::new("off");
    let mut places = fixture.places.clone();
    places.store = fixture.path("nowhere");
    match Warden::open_with(&places, &fixture.options()).unwrap_err() {
        WardenError::Store(error @ StoreError::Missing { .. }) => {
            assert!(error.to_string().contains("memwarden init"));
        }
        other => panic!("{other}"),
    }
    assert!(!places.store.exists());
}

#[test]
fn a_tenant_that_the_store_does_not_have_is_named() {
    let fixture = Fixture::new("off");
    let options = Options {
        tenant: "acme".into(),
        ..fixture.options()
    };
    let error = Warden::open_with(&fixture.places, &options).unwrap_err();
    assert!(error.to_string().contains("tenant acme"), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let fixture = Fixture::new("off");
    for bytes in [&b""[..], b"# notes", b"SQLite format 3\0 and then nothing"] {
        std::fs::write(fixture.places.store.join("memwarden.db"), bytes).unwrap();
        let error = fixture.try_open().unwrap_err();
        assert!(matches!(error, WardenError::Store(_)), "{error}");
    }
}

#[test]
fn a_store_is_not_made_where_one_is_and_what_a_failed_init_made_is_gone() {
    let fixture = Fixture::new("off");
    let policy = memwarden::guard::preset("off").unwrap();
    let now = Timestamp::from_micros(1);
    let again = Warden::init_at(&fixture.places, &policy, now).unwrap_err();
    assert!(
        matches!(again, WardenError::Store(StoreError::Exists { .. })),
        "{again}"
    );
    fixture.open();

    // Another store's keys are in the way: they stay, and the new store is removed again.
    let elsewhere = Places::within(fixture.path("second"), &fixture.made.keys, fixture.path("w2"));
    let refused = Warden::init_at(&elsewhere, &policy, now).unwrap_err();
    assert!(matches!(refused, WardenError::Keys { .. }), "{refused}");
    assert!(!elsewhere.store.exists());
    fixture.open();
}

#[test]
fn credentials_are_files_of_mode_600_outside_the_store() {
    let fixture = Fixture::new("off");
    for role in [Role::Owner, Role::Agent, Role::Step] {
        let path = credential_path(&fixture.made.keys, role);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        set_mode(&path, 0o640);
        let error = Credential::read(&path).unwrap_err();
        assert!(error.to_string().contains("mode 640"), "{error}");
    }
    assert_eq!(
        std::fs::metadata(&fixture.made.keys)
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
}

#[test]
fn the_store_holds_neither_key_nor_secret() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let credential = owner
        .register("harbormaster", Role::User, None)
        .unwrap()
        .to_text();
    owner.rotate_key().unwrap();
    owner.backup(&fixture.path("backup.db")).unwrap();
    std::fs::copy(fixture.path("backup.db"), fixture.places.store.join("backup.db")).unwrap();
    let mut secrets = vec![credential];
    for entry in std::fs::read_dir(&fixture.made.keys).unwrap() {
        secrets.push(std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    for text in secrets.iter().filter(|text| !text.trim().is_empty()) {
        // The last characters of a key and of a credential are those of its secret.
        let secret = text.trim().get(text.trim().len() - 40..).unwrap();
        assert_eq!(
            crate::purge::files_with(&fixture, secret),
            Vec::<std::path::PathBuf>::new()
        );
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let fixture = Fixture::new("off");
    let locked = fixture.path("locked");
    std::fs::create_dir(&locked).unwrap();
    set_mode(&locked, 0o555);
    // Whoever may write everywhere cannot see this refusal; a file in the way refuses everybody.
    let privileged = std::fs::write(locked.join("probe"), b"").is_ok();
    let blocked = if privileged { locked.join("probe") } else { locked };
    let policy = memwarden::guard::preset("off").unwrap();
    let now = Timestamp::from_micros(1);
    let at = |name: &str| fixture.path(name);
    for places in [
        Places::within(blocked.join("store"), at("k1"), at("w1")),
        Places::within(at("s2"), blocked.join("keys"), at("w2")),
        Places::within(at("s3"), at("k3"), blocked.join("witness")),
    ] {
        let error = Warden::init_at(&places, &policy, now).unwrap_err();
        assert!(
            matches!(error, WardenError::Store(_) | WardenError::File { .. }),
            "{error}"
        );
        assert!(!places.store.join("memwarden.db").exists());
    }
}

#[test]
fn the_database_of_another_version_is_refused() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    keep(&fixture.handle(&warden, Role::Agent), "a", "text");
    drop(warden);
    fixture.tamper("PRAGMA user_version = 77");
    let error = fixture.try_open().unwrap_err();
    assert!(
        matches!(error, WardenError::Store(StoreError::Foreign { .. })),
        "{error}"
    );
}
