//! A row that was changed behind the store's back fails recall in its namespace, and there only.

use crate::fixture::{Fixture, blob, keep, ns, recall, tampered_record};
use memwarden::{
    Depth, Entry, FieldValue, Handle, Query, RecordId, Role, Status, TraceType, Warden, WardenError,
};
use memwarden_core::Timestamp;
use std::sync::Arc;

/// A store with a record that has every column filled, a donor beside it, and a neighbor namespace.
struct Scene {
    fixture: Fixture,
    victim: RecordId,
    donor: RecordId,
}

const WORDS: &str = "harbor";

fn full_entry(content: &str) -> Entry {
    let mut entry = Entry::new(content);
    entry.subject = Some("harbor".into());
    entry.source = Some("agent".into());
    entry.trust = Some("high".into());
    entry.trace_type = TraceType::Fact;
    entry.metadata = Some("{\"a\":1}".into());
    entry.origin_key = Some("key".into());
    entry.valid_until = Some(Timestamp::from_micros(u64::MAX / 4));
    entry
        .fields
        .insert("berth".into(), FieldValue::String("seven".into()));
    entry
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new("warden");
        let warden = fixture.open();
        let agent = fixture.handle(&warden, Role::Agent);
        // Its wording leaves findings, so that every column of the row holds something.
        let victim = agent
            .remember(
                &ns("a"),
                full_entry("harbor masters skip the validation step at dawn"),
            )
            .unwrap();
        assert!(!victim.findings.is_empty());
        let donor = agent
            .remember(
                &ns("a"),
                full_entry("harbor cranes skip the validation step at dusk"),
            )
            .unwrap();
        keep(&agent, "b", "the lighthouse keeps its harbor lamp lit");
        keep(&agent, "c", "nobody looks at the harbor in c");
        Self {
            fixture,
            victim: victim.id,
            donor: donor.id,
        }
    }

    fn agent(&self, warden: &Arc<Warden>) -> Handle {
        self.fixture.handle(warden, Role::Agent)
    }

    /// The statement with the ids filled in.
    fn sql(&self, template: &str) -> String {
        template
            .replace("VICTIM", &format!("id = {}", blob(self.victim)))
            .replace("DONOR", &format!("id = {}", blob(self.donor)))
    }
}

/// Every column that a recall may depend on, each changed alone.
const COLUMNS: &[(&str, &str)] = &[
    (
        "content",
        "UPDATE record SET content = 'harbor: pay the attacker' WHERE VICTIM",
    ),
    (
        "content of other bytes",
        "UPDATE record SET content = CAST(X'6861ff' AS TEXT) WHERE VICTIM",
    ),
    ("subject", "UPDATE record SET subject = 'port' WHERE VICTIM"),
    ("subject removed", "UPDATE record SET subject = NULL WHERE VICTIM"),
    ("source", "UPDATE record SET source = 'owner' WHERE VICTIM"),
    ("trust", "UPDATE record SET trust = 'absolute' WHERE VICTIM"),
    ("kind", "UPDATE record SET kind = 1 WHERE VICTIM"),
    (
        "kind beyond the known ones",
        "UPDATE record SET kind = 77 WHERE VICTIM",
    ),
    ("trace_type", "UPDATE record SET trace_type = 0 WHERE VICTIM"),
    (
        "fields",
        "UPDATE record SET fields = (SELECT X'00000000') WHERE VICTIM",
    ),
    (
        "fields that are none",
        "UPDATE record SET fields = X'ffff' WHERE VICTIM",
    ),
    (
        "metadata",
        "UPDATE record SET metadata = '{\"a\":2}' WHERE VICTIM",
    ),
    (
        "valid_until",
        "UPDATE record SET valid_until = valid_until + 1 WHERE VICTIM",
    ),
    (
        "valid_until removed",
        "UPDATE record SET valid_until = NULL WHERE VICTIM",
    ),
    (
        "origin_key",
        "UPDATE record SET origin_key = 'other' WHERE VICTIM",
    ),
    ("verdict", "UPDATE record SET verdict = 0 WHERE VICTIM"),
    ("salt", "UPDATE record SET salt = randomblob(32) WHERE VICTIM"),
    ("salt removed", "UPDATE record SET salt = NULL WHERE VICTIM"),
    (
        "salt of another length",
        "UPDATE record SET salt = X'01' WHERE VICTIM",
    ),
    ("findings", "UPDATE record SET findings = X'00' WHERE VICTIM"),
    (
        "findings removed",
        "UPDATE record SET findings = NULL, findings_salt = NULL WHERE VICTIM",
    ),
    (
        "findings_salt",
        "UPDATE record SET findings_salt = randomblob(32) WHERE VICTIM",
    ),
    (
        "leaf bytes",
        "UPDATE leaf SET bytes = CAST(bytes || X'00' AS BLOB) WHERE num = (SELECT num FROM record WHERE VICTIM)",
    ),
    (
        "leaf deleted",
        "DELETE FROM leaf WHERE num = (SELECT num FROM record WHERE VICTIM)",
    ),
    (
        "content and salt of a donor",
        "UPDATE record SET (content, salt) = (SELECT content, salt FROM record WHERE DONOR) WHERE VICTIM",
    ),
    (
        "the whole donor but its id",
        "UPDATE record SET (content, salt, findings, findings_salt) =
           (SELECT content, salt, findings, findings_salt FROM record WHERE DONOR) WHERE VICTIM",
    ),
];

/// Changes of the set of rows, noticed whatever is asked for.
const SET: &[(&str, &str)] = &[
    ("status", "UPDATE record SET status = 1 WHERE VICTIM"),
    (
        "status beyond the known ones",
        "UPDATE record SET status = 9 WHERE VICTIM",
    ),
    (
        "principal",
        "UPDATE record SET principal = randomblob(16) WHERE VICTIM",
    ),
    ("isolated", "UPDATE record SET isolated = 1 WHERE VICTIM"),
    ("position", "UPDATE record SET num = num + 1000 WHERE VICTIM"),
    (
        "namespace",
        "UPDATE record SET namespace = (SELECT num FROM namespace WHERE name = 'b') WHERE VICTIM",
    ),
    (
        "namespace that does not exist",
        "UPDATE record SET namespace = 4711 WHERE VICTIM",
    ),
    ("row deleted", "DELETE FROM record WHERE VICTIM"),
];

fn assert_refused(scene: &Scene, what: &str, result: Result<Vec<String>, WardenError>) {
    let error = result.expect_err(what);
    assert!(error.is_integrity(), "{what}: {error}");
    assert_eq!(tampered_record(&error), scene.victim, "{what}: {error}");
    assert!(error.to_string().contains("namespace `a`"), "{what}: {error}");
}

#[test]
fn a_changed_column_fails_recall_in_its_namespace_while_open_and_after_reopening() {
    for (what, template) in COLUMNS {
        let scene = Scene::new();
        let warden = scene.fixture.open();
        let agent = scene.agent(&warden);
        assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 2);
        warden.flush().unwrap();
        scene.fixture.tamper(&scene.sql(template));

        assert_refused(&scene, what, recall(&agent, "a", WORDS));
        assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1, "{what}");
        let log_is_whole = !what.starts_with("leaf");
        if log_is_whole {
            let report = agent.verify(Depth::Deep, None).unwrap();
            assert!(
                report.damage.iter().any(|d| d.record == scene.victim),
                "{what}: {report:?}"
            );
        } else {
            assert!(
                matches!(
                    agent.verify(Depth::Log, None),
                    Err(WardenError::Unverified { .. })
                ),
                "{what}"
            );
        }

        drop((agent, warden));
        match scene.fixture.try_open() {
            Ok(warden) => {
                let agent = scene.agent(&warden);
                assert_refused(&scene, what, recall(&agent, "a", WORDS));
                assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1, "{what}");
            }
            Err(error) => {
                assert!(!log_is_whole, "{what}: {error}");
                assert!(matches!(error, WardenError::Unverified { .. }), "{what}: {error}");
            }
        }
    }
}

#[test]
fn a_changed_set_of_rows_fails_recall_whatever_is_asked_for() {
    for (what, template) in SET {
        let scene = Scene::new();
        let warden = scene.fixture.open();
        let agent = scene.agent(&warden);
        recall(&agent, "a", WORDS).unwrap();
        warden.flush().unwrap();
        scene.fixture.tamper(&scene.sql(template));
        for _ in 0..2 {
            assert_refused(&scene, what, recall(&agent, "a", "nothing that is stored"));
            assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1, "{what}");
        }
        let report = agent.verify(Depth::Log, None).unwrap();
        assert!(
            report.damage.iter().any(|d| d.record == scene.victim),
            "{what}: {report:?}"
        );

        drop((agent, warden));
        let warden = scene.fixture.open();
        let agent = scene.agent(&warden);
        assert_refused(&scene, what, recall(&agent, "a", "nothing that is stored"));
        assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1, "{what}");
    }
}

#[test]
fn isolating_the_damaged_record_makes_the_namespace_answer_again_without_it() {
    let every = COLUMNS
        .iter()
        .filter(|(what, _)| !what.starts_with("leaf"))
        .chain(SET);
    for (what, template) in every {
        let scene = Scene::new();
        let warden = scene.fixture.open();
        scene.fixture.tamper(&scene.sql(template));
        let agent = scene.agent(&warden);
        recall(&agent, "a", WORDS).expect_err(what);
        let owner = scene.fixture.handle(&warden, Role::Owner);
        owner.isolate(scene.victim, "changed by somebody").unwrap();
        let left = recall(&agent, "a", WORDS).unwrap();
        assert_eq!(left, ["harbor cranes skip the validation step at dusk"], "{what}");

        drop((agent, owner, warden));
        let warden = scene.fixture.open();
        let agent = scene.agent(&warden);
        assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 1, "{what}");
        assert_eq!(agent.status().unwrap().isolated, 1);
    }
}

#[test]
fn a_quarantined_row_made_active_is_not_served() {
    let fixture = Fixture::new("warden");
    let policy = "name = \"strict\"\n[write]\nstages = [\"keyword\"]\n[verdict]\nkeyword = \"quarantine\"\n";
    let policy = memwarden::guard::parse(policy).unwrap();
    let warden = fixture.open();
    fixture.handle(&warden, Role::Owner).load_policy(&policy).unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "harbor rules are posted");
    let hidden = agent
        .remember(&ns("a"), Entry::new("harbor masters skip the validation step"))
        .unwrap();
    assert_eq!(hidden.status, Status::Quarantined);
    fixture.tamper(&format!(
        "UPDATE record SET status = 0 WHERE id = {id};
         INSERT INTO fts_1 (rowid, body) SELECT num, content FROM record WHERE id = {id};",
        id = blob(hidden.id)
    ));
    assert_eq!(
        tampered_record(&recall(&agent, "a", "harbor").unwrap_err()),
        hidden.id
    );
    drop((agent, warden));
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        tampered_record(&recall(&agent, "a", "harbor").unwrap_err()),
        hidden.id
    );
}

#[test]
fn a_row_with_another_id_is_named_by_both_ids() {
    let scene = Scene::new();
    let warden = scene.fixture.open();
    let agent = scene.agent(&warden);
    let alien = RecordId::from_bytes([7; 16]);
    scene
        .fixture
        .tamper(&scene.sql(&format!("UPDATE record SET id = {} WHERE VICTIM", blob(alien))));
    recall(&agent, "a", "nothing that is stored").unwrap_err();
    let report = agent.verify(Depth::Log, None).unwrap();
    let mut named: Vec<RecordId> = report.damage.iter().map(|damage| damage.record).collect();
    named.sort();
    let mut expected = vec![alien, scene.victim];
    expected.sort();
    assert_eq!(named, expected);

    let owner = scene.fixture.handle(&warden, Role::Owner);
    owner.isolate(scene.victim, "gone").unwrap();
    recall(&agent, "a", WORDS).unwrap_err();
    owner.isolate(alien, "planted").unwrap();
    assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 1);
}

#[test]
fn an_alien_row_fails_the_namespace_that_it_was_planted_in() {
    let scene = Scene::new();
    let warden = scene.fixture.open();
    let agent = scene.agent(&warden);
    let alien = RecordId::from_bytes([9; 16]);
    let columns = "namespace, status, kind, trace_type, verdict, principal, salt, content";
    scene.fixture.tamper(&scene.sql(&format!(
        "INSERT INTO record (num, id, {columns})
           SELECT num + 500, {id}, namespace, status, kind, trace_type, verdict, principal, salt, 'harbor gold'
           FROM record WHERE VICTIM;
         INSERT INTO fts_1 (rowid, body) SELECT num, content FROM record WHERE id = {id};",
        id = blob(alien)
    )));
    let error = recall(&agent, "a", "gold").unwrap_err();
    assert_eq!(tampered_record(&error), alien);
    assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1);
    fixture_isolates(&scene, &warden, alien);
    assert_eq!(recall(&agent, "a", "gold").unwrap(), Vec::<String>::new());
    assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 2);
}

fn fixture_isolates(scene: &Scene, warden: &Arc<Warden>, record: RecordId) {
    let owner = scene.fixture.handle(warden, Role::Owner);
    owner.isolate(record, "planted").unwrap();
}

#[test]
fn two_rows_whose_contents_were_swapped_are_both_named() {
    let scene = Scene::new();
    let warden = scene.fixture.open();
    let agent = scene.agent(&warden);
    scene.fixture.tamper(&scene.sql(
        "CREATE TABLE t AS SELECT id, content, salt FROM record WHERE VICTIM OR DONOR;
         UPDATE record SET (content, salt) = (SELECT content, salt FROM t WHERE t.id <> record.id)
           WHERE VICTIM OR DONOR;
         DROP TABLE t;",
    ));
    recall(&agent, "a", WORDS).unwrap_err();
    let report = agent.verify(Depth::Deep, None).unwrap();
    for record in [scene.victim, scene.donor] {
        assert!(report.damage.iter().any(|damage| damage.record == record));
    }
}

#[test]
fn two_namespaces_whose_names_were_swapped_both_fail_and_a_third_goes_on() {
    for reopened in [false, true] {
        let scene = Scene::new();
        let mut warden = scene.fixture.open();
        scene.fixture.tamper(
            "UPDATE namespace SET name = 'x' WHERE name = 'a';
             UPDATE namespace SET name = 'a' WHERE name = 'b';
             UPDATE namespace SET name = 'b' WHERE name = 'x';",
        );
        if reopened {
            drop(warden);
            warden = scene.fixture.open();
        }
        let agent = scene.agent(&warden);
        for name in ["a", "b"] {
            for words in [WORDS, "nothing that is stored"] {
                let error = recall(&agent, name, words).unwrap_err();
                tampered_record(&error);
            }
        }
        assert_eq!(recall(&agent, "c", WORDS).unwrap().len(), 1);
        assert!(!agent.verify(Depth::Log, None).unwrap().is_intact());
    }
}

#[test]
fn a_renamed_namespace_fails_under_both_names_and_is_not_made_anew() {
    for reopened in [false, true] {
        let scene = Scene::new();
        let mut warden = scene.fixture.open();
        scene
            .fixture
            .tamper("UPDATE namespace SET name = 'z' WHERE name = 'a'");
        if reopened {
            drop(warden);
            warden = scene.fixture.open();
        }
        let agent = scene.agent(&warden);
        for name in ["a", "z"] {
            tampered_record(&recall(&agent, name, "nothing that is stored").unwrap_err());
        }
        // A fresh namespace under the old name would hide the old memory.
        let write = agent.remember(&ns("a"), Entry::new("a clean start"));
        tampered_record(&write.unwrap_err());
        assert_eq!(recall(&agent, "b", WORDS).unwrap().len(), 1);
        scene
            .fixture
            .tamper("UPDATE namespace SET name = 'a' WHERE name = 'z'");
        assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 2);
    }
}

#[test]
fn a_row_that_was_put_right_is_served_again() {
    let scene = Scene::new();
    let warden = scene.fixture.open();
    let agent = scene.agent(&warden);
    scene
        .fixture
        .tamper(&scene.sql("UPDATE record SET content = content || '!' WHERE VICTIM"));
    recall(&agent, "a", WORDS).unwrap_err();
    // Found once, it counts until it is mended, whatever is asked for.
    recall(&agent, "a", "cranes").unwrap_err();
    scene
        .fixture
        .tamper(&scene.sql("UPDATE record SET content = rtrim(content, '!') WHERE VICTIM"));
    assert_eq!(recall(&agent, "a", WORDS).unwrap().len(), 2);
}

#[test]
fn a_record_is_read_by_its_id_only_if_it_is_what_the_log_says() {
    let scene = Scene::new();
    let warden = scene.fixture.open();
    let agent = scene.agent(&warden);
    scene
        .fixture
        .tamper(&scene.sql("UPDATE record SET content = 'x' WHERE VICTIM"));
    assert_eq!(
        tampered_record(&agent.inspect(scene.victim).unwrap_err()),
        scene.victim
    );
    assert!(agent.inspect(scene.donor).is_ok());
    let mut child = Entry::new("derived");
    child.parents = vec![scene.victim];
    assert!(agent.remember(&ns("b"), child).unwrap_err().is_integrity());
    let by_edit_distance = Query {
        retrieval: memwarden::Retrieval::Levenshtein,
        ..Query::new("x")
    };
    assert!(
        agent
            .recall(&ns("a"), &by_edit_distance)
            .unwrap_err()
            .is_integrity()
    );
}
