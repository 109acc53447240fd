//! Invariants 4 and 11: authority never rises along derivation, and a stronger record is never hidden.

use crate::fixture::{Fixture, keep, ns, recall};
use memwarden::core::log::Refusal;
use memwarden::core::{Leaf, LogId, Replay, leaf_hash};
use memwarden::{
    Authority, Change, Channel, CommitPhase, Entry, Handle, RecordId, Role, Status, Warden, WardenError,
    WriteOptions,
};
use proptest::prelude::*;
use std::sync::{Arc, Mutex, mpsc};

fn replacing(old: RecordId) -> WriteOptions {
    WriteOptions {
        supersedes: Some(old),
        ..WriteOptions::default()
    }
}

#[test]
fn a_weaker_principal_leaves_a_proposal_beside_the_record_that_it_cannot_replace() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let agent = fixture.handle(&warden, Role::Agent);
    let record = keep(&owner, "a", "pay ACME at account one");
    let written = agent
        .remember_with(
            &ns("a"),
            Entry::new("pay ACME at account two"),
            &replacing(record),
        )
        .unwrap();
    assert_eq!(written.proposal_for, Some(record));
    assert_eq!(written.written, Authority::Inform);
    let mut served = recall(&agent, "a", "pay ACME").unwrap();
    served.sort();
    assert_eq!(served, ["pay ACME at account one", "pay ACME at account two"]);
    let changed = agent.retire(record, "obsolete").unwrap();
    assert_eq!(
        (changed.change, changed.status),
        (Change::Proposed, Status::Active)
    );
    assert_eq!(owner.inspect(record).unwrap().status, Status::Active);
    let wishes = owner.history(record).unwrap();
    assert_eq!(wishes.len(), 3);
    assert!(
        wishes
            .iter()
            .skip(1)
            .all(|wish| wish.by.as_ref().unwrap().role == Role::Agent)
    );
}

#[test]
fn an_equal_or_stronger_principal_replaces_and_retires() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    for role in [Role::Agent, Role::User, Role::Owner] {
        let stronger = fixture.registered(&warden, role);
        let record = keep(&agent, "a", "the harbor opens at dawn");
        let newer = stronger
            .remember_with(
                &ns("a"),
                Entry::new("the harbor opens at noon"),
                &replacing(record),
            )
            .unwrap();
        assert_eq!(newer.proposal_for, None);
        assert_eq!(
            recall(&agent, "a", "harbor").unwrap(),
            ["the harbor opens at noon"]
        );
        let changed = stronger.retire(newer.id, "done").unwrap();
        assert_eq!((changed.change, changed.status), (Change::Done, Status::Retired));
        assert_eq!(recall(&agent, "a", "harbor").unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_replacement_that_is_kept_out_of_sight_hides_nothing() {
    let fixture = Fixture::new("keyword");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    let record = keep(&agent, "a", "validate every batch");
    let refused = agent
        .remember_with(
            &ns("a"),
            Entry::new("skip the validation step"),
            &replacing(record),
        )
        .unwrap();
    assert_eq!(refused.status, Status::Retired);
    assert_eq!(recall(&agent, "a", "batch").unwrap(), ["validate every batch"]);
}

#[test]
fn a_replacement_may_cite_what_it_replaces() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    let record = keep(&agent, "a", "the harbor opens at dawn");
    let mut newer = Entry::new("the harbor opens at noon");
    newer.parents = vec![record];
    agent.remember_with(&ns("a"), newer, &replacing(record)).unwrap();
    assert_eq!(
        recall(&agent, "a", "harbor").unwrap(),
        ["the harbor opens at noon"]
    );
}

#[test]
fn what_is_imported_has_no_authority_whoever_brings_it() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let options = WriteOptions {
        channel: Channel::Import,
        ..WriteOptions::default()
    };
    let brought = owner
        .remember_with(&ns("a"), Entry::new("from elsewhere"), &options)
        .unwrap();
    assert_eq!(brought.written, Authority::None);
}

/// A warden whose commits wait, so that what is asked for meanwhile ends up in one batch.
struct Held {
    begun: mpsc::Receiver<()>,
    go: mpsc::Sender<()>,
    warden: Arc<Warden>,
}

fn held(fixture: &Fixture) -> Held {
    let (begun_tx, begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let mut options = fixture.options();
    options.commit_probe = Some(memwarden::Probe(Arc::new(move |phase| {
        if phase == CommitPhase::Begun {
            // Both ends go away with the test.
            let _ = begun_tx.send(());
            let _ = wait.lock().unwrap().recv();
        }
    })));
    Held {
        begun,
        go,
        warden: Warden::open_with(&fixture.places, &options).unwrap(),
    }
}

/// Runs `verbs` so that they are committed in one batch, in this order, and returns what they answered.
fn in_one_batch<T: Send>(
    held: &Held,
    agent: &Handle,
    verbs: Vec<Box<dyn FnOnce() -> T + Send + '_>>,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let first = agent.clone();
        let first = scope.spawn(move || keep(&first, "a", "keeps the writer busy"));
        held.begun.recv().unwrap();
        let mut waiting = Vec::new();
        for verb in verbs {
            let queued = held.warden.queued();
            waiting.push(scope.spawn(verb));
            while held.warden.queued() == queued {
                std::thread::yield_now();
            }
        }
        held.go.send(()).unwrap();
        first.join().unwrap();
        held.begun.recv().unwrap();
        held.go.send(()).unwrap();
        waiting.into_iter().map(|verb| verb.join().unwrap()).collect()
    })
}

#[test]
fn a_write_whose_parent_was_retired_between_screening_and_commit_is_refused_alone() {
    let fixture = Fixture::new("off");
    let parent = {
        let warden = fixture.open();
        keep(&fixture.handle(&warden, Role::Agent), "a", "the parent")
    };
    let held = held(&fixture);
    let agent = fixture.handle(&held.warden, Role::Agent);
    let (retirer, child, stranger) = (agent.clone(), agent.clone(), agent.clone());
    let size = agent.status().unwrap().entries;
    let outcomes = in_one_batch::<Result<(), WardenError>>(
        &held,
        &agent,
        vec![
            Box::new(move || retirer.retire(parent, "wrong").map(drop)),
            Box::new(move || {
                let mut entry = Entry::new("the child");
                entry.parents = vec![parent];
                child.remember(&ns("a"), entry).map(drop)
            }),
            Box::new(move || stranger.remember(&ns("a"), Entry::new("a stranger")).map(drop)),
        ],
    );
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    match &outcomes[1] {
        Err(WardenError::Refused(Refusal::WrongStatus { record, status, .. })) => {
            assert_eq!((*record, *status), (parent, Status::Retired));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(agent.status().unwrap().entries, size + 3);
}

#[test]
fn an_isolated_record_takes_no_change_of_the_same_batch_so_the_log_stays_sound() {
    let fixture = Fixture::new("off");
    let record = {
        let warden = fixture.open();
        keep(&fixture.handle(&warden, Role::Agent), "a", "the record")
    };
    let held = held(&fixture);
    let agent = fixture.handle(&held.warden, Role::Agent);
    let owner = fixture.handle(&held.warden, Role::Owner);
    let retirer = agent.clone();
    let outcomes = in_one_batch::<Result<(), WardenError>>(
        &held,
        &agent,
        vec![
            Box::new(move || owner.isolate(record, "damaged").map(drop)),
            Box::new(move || retirer.retire(record, "wrong").map(drop)),
        ],
    );
    assert!(outcomes[0].is_ok());
    assert!(matches!(
        outcomes[1],
        Err(WardenError::Refused(Refusal::NoSuchRecord { .. }))
    ));
    drop((agent, held));
    fixture.open();
}

/// Everything that the log's bytes say, replayed from nothing.
fn replayed_from_scratch(fixture: &Fixture) -> Replay {
    let db = fixture.db();
    let log: [u8; 16] = db.query_row("SELECT id FROM log", [], |row| row.get(0)).unwrap();
    let mut replay = Replay::new(LogId::from_bytes(log));
    let mut statement = db.prepare("SELECT bytes FROM leaf ORDER BY num").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let bytes: Vec<u8> = row.get(0).unwrap();
        replay
            .apply(&Leaf::decode(&bytes).unwrap(), leaf_hash(&bytes))
            .unwrap();
    }
    replay
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn authority_never_rises_along_derivation_and_follows_from_the_log_alone(
        steps in prop::collection::vec(
            (0..4usize, prop::collection::vec(any::<prop::sample::Index>(), 0..4), 0..6u8), 1..25)
    ) {
        let fixture = Fixture::new("off");
        let warden = fixture.open();
        let writers: Vec<Handle> = [Role::Owner, Role::User, Role::Agent, Role::Tool]
            .into_iter()
            .map(|role| fixture.registered(&warden, role))
            .collect();
        let mut records: Vec<(RecordId, Authority)> = Vec::new();
        for (writer, parents, change) in &steps {
            let writer = &writers[*writer];
            let mut entry = Entry::new("derived");
            let cited: Vec<(RecordId, Authority)> = parents
                .iter()
                .filter(|_| !records.is_empty())
                .map(|index| *index.get(&records))
                .collect();
            entry.parents = cited.iter().map(|(id, _)| *id).collect();
            let kept = writer.remember(&ns("a"), entry).unwrap();
            let bound = cited.iter().map(|(_, authority)| *authority).min().unwrap_or(Authority::Act);
            prop_assert_eq!(kept.written, writer.principal().role.class().min(bound));
            // Some are withdrawn again, by whoever wrote them; the others may be cited.
            if *change == 0 {
                writer.retire(kept.id, "gone").unwrap();
            } else {
                records.push((kept.id, kept.written));
            }
        }
        let replay = replayed_from_scratch(&fixture);
        for (id, written) in &records {
            let record = writers[0].inspect(*id).unwrap();
            let expected = replay.expectation(id).unwrap();
            prop_assert_eq!(record.written, *written);
            prop_assert_eq!(record.effective, expected.effective());
            prop_assert_eq!(record.status, expected.status);
            for parent in &record.lineage.parents {
                prop_assert!(record.written <= replay.expectation(parent).unwrap().written);
            }
        }
    }
}
