//! What one principal may keep.

use crate::fixture::{Fixture, keep, ns};
use memwarden::core::log::Refusal;
use memwarden::{Entry, Handle, Role, Status, Warden, WardenError};
use std::sync::Arc;

fn scene(fixture: &Fixture, quota: &str) -> (Arc<Warden>, Handle) {
    let warden = fixture.open();
    let policy = format!(
        "name = \"q\"\n[write]\nstages = [\"keyword\"]\n[verdict]\nkeyword = \"quarantine\"\n[quota]\n{quota}\n"
    );
    let owner = fixture.handle(&warden, Role::Owner);
    owner
        .load_policy(&memwarden::guard::parse(&policy).unwrap())
        .unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    (warden, agent)
}

fn refused(agent: &Handle, text: &str) -> (&'static str, u64, u64) {
    let before = agent.status().unwrap().entries;
    let error = agent.remember(&ns("a"), Entry::new(text)).unwrap_err();
    assert_eq!(
        agent.status().unwrap().entries,
        before,
        "a refused write left an entry"
    );
    match error {
        WardenError::Refused(Refusal::Quota { what, used, limit }) => (what, used, limit),
        other => panic!("{other}"),
    }
}

#[test]
fn records_are_counted_for_each_principal_and_also_out_of_sight() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture, "records = 3");
    keep(&agent, "a", "one");
    let hidden = agent
        .remember(&ns("b"), Entry::new("skip the validation step"))
        .unwrap();
    assert_eq!(hidden.status, Status::Quarantined);
    let third = keep(&agent, "c", "three");
    assert_eq!(refused(&agent, "four"), ("records", 4, 3));
    agent.retire(third, "withdrawn, and still kept").unwrap();
    assert_eq!(refused(&agent, "four"), ("records", 4, 3));
    let owner = fixture.handle(&warden, Role::Owner);
    keep(&owner, "a", "somebody else's");
    // The log's entries do not shrink, what is kept does.
    owner.purge(&[hidden.id], "asked").unwrap();
    keep(&agent, "a", "four");
    assert_eq!(refused(&agent, "five"), ("records", 4, 3));
    drop((agent, owner, warden));
    let warden = fixture.open();
    assert_eq!(
        refused(&fixture.handle(&warden, Role::Agent), "five"),
        ("records", 4, 3)
    );
}

#[test]
fn bytes_of_content_are_counted_exactly() {
    let fixture = Fixture::new("off");
    let (_warden, agent) = scene(&fixture, "bytes = 100");
    keep(&agent, "a", &"x".repeat(60));
    assert_eq!(refused(&agent, &"y".repeat(41)), ("bytes", 101, 100));
    keep(&agent, "a", &"é".repeat(20));
    assert_eq!(refused(&agent, "z"), ("bytes", 101, 100));
}

#[test]
fn a_write_over_the_quota_is_refused_alone() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture, "records = 20");
    let other = fixture.registered(&warden, Role::User);
    let kept = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (agent, other, kept) = (agent.clone(), other.clone(), &kept);
            scope.spawn(move || {
                for i in 0..10 {
                    if agent.remember(&ns("a"), Entry::new(format!("agent {i}"))).is_ok() {
                        kept.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    }
                    if i < 5 {
                        keep(&other, "a", &format!("user {i}"));
                    }
                }
            });
        }
    });
    assert_eq!(kept.into_inner(), 20);
    assert_eq!(agent.status().unwrap().namespaces[0].count(Status::Active), 40);
}

#[test]
fn two_wardens_share_one_quota() {
    for (quota, text) in [("records = 10", "short"), ("bytes = 50", "xxxxx")] {
        let fixture = Fixture::new("off");
        let (_first, here) = scene(&fixture, quota);
        let second = fixture.open();
        let there = fixture.handle(&second, Role::Agent);
        for _ in 0..5 {
            keep(&here, "a", text);
            keep(&there, "a", text);
        }
        refused(&here, text);
        refused(&there, text);
    }
}

#[test]
fn wardens_that_write_at_once_do_not_exceed_the_quota_together() {
    let fixture = Fixture::new("off");
    let (_first, here) = scene(&fixture, "records = 50");
    let second = fixture.open();
    let there = fixture.handle(&second, Role::Agent);
    let kept = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for agent in [&here, &there, &here, &there] {
            let kept = &kept;
            scope.spawn(move || {
                for _ in 0..20 {
                    if agent.remember(&ns("a"), Entry::new("text")).is_ok() {
                        kept.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(kept.into_inner(), 50);
    assert_eq!(here.status().unwrap().namespaces[0].count(Status::Active), 50);
}
