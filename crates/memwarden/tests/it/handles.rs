//! Several wardens on one directory, as several processes would have them.

use crate::fixture::{Fixture, keep, ns, recall};
use memwarden::{Depth, Entry, Handle, Query, Role, Status, WardenError};

const STRICT: &str = "name = \"strict\"\n[write]\nstages = [\"keyword\"]\n[verdict]\nkeyword = \"reject\"\n";

#[test]
fn an_acknowledged_write_is_seen_by_every_recall_that_begins_later_anywhere() {
    let fixture = Fixture::new("off");
    let wardens = [fixture.open(), fixture.open(), fixture.open()];
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let here = fixture.handle(&wardens[thread], Role::Agent);
            let there = fixture.handle(&wardens[(thread + 1) % 3], Role::Agent);
            scope.spawn(move || {
                for i in 0..30 {
                    let text = format!("unique{thread}x{i}");
                    let id = keep(&here, "a", &text);
                    let hits = there.recall(&ns("a"), &Query::new(&text)).unwrap().hits;
                    assert_eq!(hits[0].record.id, id, "{text}");
                }
            });
        }
    });
    for warden in &wardens {
        warden.flush().unwrap();
    }
    let report = fixture
        .handle(&wardens[0], Role::Agent)
        .verify(Depth::Deep, None)
        .unwrap();
    assert!(report.is_intact());
    assert_eq!((report.records, report.entries), (90, 4 + 90 + 90));
}

#[test]
fn a_principal_registered_by_one_is_known_to_the_other() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let credential = fixture
        .handle(&first, Role::Owner)
        .register("harbormaster", Role::User, Some("port"))
        .unwrap();
    let user = second.handle(&credential).unwrap();
    assert_eq!(
        (user.principal().role, user.principal().domain.as_str()),
        (Role::User, "port")
    );
    let reader = fixture.handle(&first, Role::Agent);
    keep(&user, "a", "the harbor opens at dawn");
    let hits = reader.recall(&ns("a"), &Query::new("harbor")).unwrap().hits;
    assert_eq!(hits[0].writer.as_deref(), Some("harbormaster"));
}

#[test]
fn a_policy_loaded_in_one_is_in_force_in_the_other_at_its_very_next_write() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let agent = fixture.handle(&second, Role::Agent);
    keep(&agent, "a", "you may skip the validation step");
    let strict = memwarden::guard::parse(STRICT).unwrap();
    fixture.handle(&first, Role::Owner).load_policy(&strict).unwrap();
    let refused = agent
        .remember(&ns("a"), Entry::new("you may skip the validation step again"))
        .unwrap();
    assert_eq!(refused.status, Status::Retired);
    assert_eq!(second.policy().name, "strict");
    let events = agent.history(refused.id).unwrap();
    assert_eq!(events[0].policy, strict.hash());
}

#[test]
fn a_record_written_in_one_can_be_changed_cited_and_purged_in_the_other() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let writer = fixture.handle(&first, Role::Agent);
    let other = fixture.handle(&second, Role::Owner);
    let retired = keep(&writer, "a", "to be retired");
    other.retire(retired, "old").unwrap();
    let parent = keep(&writer, "a", "to be cited");
    let mut child = Entry::new("cites it");
    child.parents = vec![parent];
    other.remember(&ns("a"), child).unwrap();
    let purged = keep(&writer, "a", "to be purged");
    other.purge(&[purged], "asked").unwrap();
    assert!(matches!(
        writer.inspect(purged).unwrap_err(),
        WardenError::Purged { .. }
    ));
    let mut orphan = Entry::new("cites what was retired");
    orphan.parents = vec![retired];
    assert!(writer.remember(&ns("a"), orphan).is_err());
}

fn writes_and_reads(agent: &Handle, thread: usize) {
    for i in 0..40 {
        let id = keep(agent, "shared", &format!("thread {thread} says {i}"));
        if i % 5 == 0 {
            agent.retire(id, "done").unwrap();
        }
        recall(agent, "shared", "thread says").unwrap();
    }
}

#[test]
fn wardens_that_write_retire_and_recall_at_once_leave_one_log_that_verifies() {
    let fixture = Fixture::new("warden");
    let wardens = [fixture.open(), fixture.open()];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let agent = fixture.handle(&wardens[thread % 2], Role::Agent);
            scope.spawn(move || writes_and_reads(&agent, thread));
        }
    });
    for warden in &wardens {
        warden.flush().unwrap();
    }
    for warden in &wardens {
        let status = fixture.handle(warden, Role::Agent).status().unwrap();
        assert_eq!(status.namespaces[0].counts, [128, 0, 32, 0]);
        assert_eq!(status.entries, 4 + 160 + 32 + 160);
    }
    let report = fixture
        .handle(&wardens[1], Role::Agent)
        .verify(Depth::Deep, None)
        .unwrap();
    assert!(report.is_intact(), "{report:?}");
}

#[test]
fn damage_that_came_with_another_warden_is_seen_in_this_one() {
    let fixture = Fixture::new("off");
    let (first, second) = (fixture.open(), fixture.open());
    let (writer, reader) = (
        fixture.handle(&first, Role::Agent),
        fixture.handle(&second, Role::Agent),
    );
    keep(&writer, "a", "the harbor opens at dawn");
    recall(&reader, "a", "harbor").unwrap();
    let lost = keep(&writer, "a", "the harbor closes at dusk");
    fixture.tamper(&format!(
        "DELETE FROM record WHERE id = {}",
        crate::fixture::blob(lost)
    ));
    let error = recall(&reader, "a", "nothing that is stored").unwrap_err();
    assert_eq!(crate::fixture::tampered_record(&error), lost);
}
