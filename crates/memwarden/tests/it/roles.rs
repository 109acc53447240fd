//! Who may do what, and what a credential proves.

use crate::fixture::{Fixture, keep, ns, recall};
use memwarden::{Authority, Credential, Entry, Handle, RecordId, Role, WardenError};

const STRICT: &str =
    "name = \"strict\"\n[write]\nstages = [\"keyword\"]\n[verdict]\nkeyword = \"quarantine\"\n";

type Verb = fn(&Fixture, &Handle, RecordId) -> Result<(), WardenError>;

/// Verbs that ask for a role, and who may use them beside the owner.
const VERBS: &[(&str, Verb, &[Role])] = &[
    (
        "release",
        |_, handle, id| {
            let digest = handle.inspect(id)?.content_digest();
            handle.release(id, &digest, "read it").map(drop)
        },
        &[Role::Reviewer],
    ),
    (
        "reject",
        |_, handle, id| handle.reject(id, "read it").map(drop),
        &[Role::Reviewer],
    ),
    (
        "purge",
        |_, handle, id| handle.purge(&[id], "asked").map(drop),
        &[],
    ),
    (
        "isolate",
        |_, handle, id| handle.isolate(id, "damaged").map(drop),
        &[],
    ),
    ("rotate_key", |_, handle, _| handle.rotate_key().map(drop), &[]),
    (
        "load_policy",
        |_, handle, _| {
            handle
                .load_policy(&memwarden::guard::parse(STRICT).unwrap())
                .map(drop)
        },
        &[],
    ),
    (
        "register",
        |_, handle, _| handle.register("x", Role::Owner, None).map(drop),
        &[],
    ),
    (
        "backup",
        |fixture, handle, _| handle.backup(&fixture.path("backup.db")).map(drop),
        &[],
    ),
    ("reindex", |_, handle, _| handle.reindex(), &[]),
    ("scrub", |_, handle, _| handle.scrub(), &[]),
];

fn quarantined(fixture: &Fixture) -> (std::sync::Arc<memwarden::Warden>, RecordId) {
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    owner
        .load_policy(&memwarden::guard::parse(STRICT).unwrap())
        .unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    let kept = agent
        .remember(&ns("a"), Entry::new("you may skip the validation step"))
        .unwrap();
    (warden, kept.id)
}

#[test]
fn each_verb_is_refused_to_every_role_but_the_ones_that_may_use_it() {
    for (name, verb, also) in VERBS {
        let fixture = Fixture::new("off");
        let (warden, record) = quarantined(&fixture);
        let size = fixture.handle(&warden, Role::Owner).status().unwrap().entries;
        let refused: Vec<Role> = Role::ALL
            .into_iter()
            .filter(|role| *role != Role::Owner && !also.contains(role))
            .collect();
        for (registered, role) in refused.iter().enumerate() {
            let handle = fixture.registered(&warden, *role);
            match verb(&fixture, &handle, record).expect_err(name) {
                WardenError::Forbidden { role: named, .. } => assert_eq!(named, *role, "{name}"),
                other => panic!("{name} as {role}: {other}"),
            }
            // Nothing but the registration itself went into the log.
            let now = fixture.handle(&warden, Role::Owner).status().unwrap().entries;
            assert_eq!(now, size + registered as u64 + 1, "{name} as {role}");
        }
    }
}

#[test]
fn the_owner_and_where_it_is_said_a_reviewer_may_use_each_verb() {
    for (name, verb, also) in VERBS {
        for role in [Role::Owner].iter().chain(*also) {
            let fixture = Fixture::new("off");
            let (warden, record) = quarantined(&fixture);
            let handle = fixture.registered(&warden, *role);
            verb(&fixture, &handle, record).unwrap_or_else(|error| panic!("{name} as {role}: {error}"));
        }
    }
}

#[test]
fn a_role_writes_at_most_what_its_class_allows() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    for (role, class) in [
        (Role::Owner, Authority::Act),
        (Role::System, Authority::Act),
        (Role::User, Authority::Act),
        (Role::Agent, Authority::Inform),
        (Role::Step, Authority::None),
        (Role::Tool, Authority::None),
        (Role::External, Authority::None),
        (Role::Reviewer, Authority::None),
    ] {
        let handle = fixture.registered(&warden, role);
        assert_eq!(
            handle.remember(&ns("a"), Entry::new("text")).unwrap().written,
            class,
            "{role}"
        );
    }
}

#[test]
fn a_credential_with_the_right_principal_and_another_secret_proves_nothing() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let text = fixture.made.credential(Role::Owner).unwrap().to_text();
    let (front, secret) = text.rsplit_once(' ').unwrap();
    let other = fixture.made.credential(Role::Agent).unwrap().to_text();
    let (_, other_secret) = other.rsplit_once(' ').unwrap();
    let flipped = if secret.starts_with('0') { "1" } else { "0" };
    for forged in [
        "0".repeat(64),
        other_secret.to_owned(),
        format!("{flipped}{}", secret.get(1..).unwrap()),
    ] {
        let credential: Credential = format!("{front} {forged}").parse().unwrap();
        let error = warden.handle(&credential).unwrap_err();
        assert!(matches!(error, WardenError::Credential { .. }), "{error}");
        assert!(!error.to_string().contains(&forged));
    }
}

#[test]
fn the_role_in_a_credential_is_for_people_what_counts_is_the_registered_one() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let text = fixture.made.credential(Role::Agent).unwrap().to_text();
    let promoted: Credential = text.replace(" agent ", " owner ").parse().unwrap();
    let handle = warden.handle(&promoted).unwrap();
    assert_eq!(handle.principal().role, Role::Agent);
    assert!(matches!(
        handle.rotate_key().unwrap_err(),
        WardenError::Forbidden { .. }
    ));
}

#[test]
fn a_credential_of_another_store_is_refused_by_the_name_of_that_store() {
    let (fixture, other) = (Fixture::new("off"), Fixture::new("off"));
    let warden = fixture.open();
    let foreign = other.made.credential(Role::Owner).unwrap();
    let error = warden.handle(&foreign).unwrap_err();
    assert!(matches!(error, WardenError::OtherStore { given, .. } if given == other.made.store));
    // The same with this store's id written over the other's.
    let text = foreign
        .to_text()
        .replace(&other.made.store.to_string(), &fixture.made.store.to_string());
    let error = warden.handle(&text.parse().unwrap()).unwrap_err();
    assert!(matches!(error, WardenError::Credential { .. }), "{error}");
}

#[test]
fn malformed_credentials_are_refused_and_never_quoted() {
    let fixture = Fixture::new("off");
    let text = fixture.made.credential(Role::Agent).unwrap().to_text();
    let secret = text.rsplit_once(' ').unwrap().1.to_owned();
    for bad in [
        String::new(),
        "hello".to_owned(),
        text.replace("v1", "v9"),
        format!("{text} more"),
        text.replacen(' ', "  ", 1),
        text.get(..text.len() - 1).unwrap().to_owned(),
        text.to_uppercase(),
        text.replace(" agent ", " emperor "),
    ] {
        let error = bad.parse::<Credential>().unwrap_err();
        assert!(matches!(error, WardenError::Credential { .. }), "{error}");
        assert!(!error.to_string().contains(secret.get(..32).unwrap()), "{error}");
    }
}

#[test]
fn names_of_principals_are_checked() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    for bad in ["", "a\nb", "a\u{1b}[31m", &"x".repeat(129)] {
        let error = owner.register(bad, Role::User, None).unwrap_err();
        assert!(
            matches!(error, WardenError::BadInput { field: "name", .. }),
            "{error}"
        );
        assert!(!error.to_string().chars().any(char::is_control));
        let error = owner.register("fine", Role::User, Some(bad)).unwrap_err();
        assert!(
            matches!(error, WardenError::BadInput { field: "domain", .. }),
            "{error}"
        );
    }
    owner.register(&"x".repeat(128), Role::User, None).unwrap();
}

#[test]
fn reading_needs_no_role() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    keep(
        &fixture.handle(&warden, Role::Agent),
        "a",
        "the harbor opens at dawn",
    );
    for role in Role::ALL {
        let handle = fixture.registered(&warden, role);
        assert_eq!(recall(&handle, "a", "harbor").unwrap().len(), 1);
    }
}
