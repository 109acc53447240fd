//! Evidence is what the log says, in every process, or the gate does not open; and what ran without a permit is
//! told.

use crate::fixture::{Fixture, ns};
use crate::origin_play::{Play, executed, import, pay};
use memwarden::core::{Decision, LeafKind, Outcome};
use memwarden::{CommitPhase, Executed, Receipted, Role, Warden};
use std::sync::{Arc, Mutex, mpsc};

#[test]
fn what_one_process_wrote_is_evidence_in_another_that_was_open_before() {
    let play = Play::new();
    let other = play.other();
    let there = |role| play.fixture.handle(&other, role);
    // A context that this one opened is known to that one, and the other way round.
    let opened = there(Role::Agent).begin().unwrap();
    play.user
        .request(opened.context, "import batch 0412", None)
        .unwrap();
    let done = executed(opened.context, "validate", "bytes", Outcome::Passed);
    play.step.receipt(&done).unwrap();
    let within = there(Role::Agent).within(&opened.token).unwrap();
    let authorized = within
        .authorize(&ns("a"), "import", &import("bytes"), None)
        .unwrap();
    assert_eq!(authorized.decided.decision, Decision::Allow);
    let permit = authorized.permit.unwrap();
    play.step
        .redeem(permit, &ns("a"), opened.context, "import", &import("bytes"))
        .unwrap();
    let failed = executed(opened.context, "validate", "bytes", Outcome::Failed);
    there(Role::Step).receipt(&failed).unwrap();
    let here = play.agent.within(&opened.token).unwrap();
    let again = here
        .authorize(&ns("a"), "import", &import("bytes"), None)
        .unwrap();
    assert_eq!(again.decided.decision, Decision::Deny);
    let approval = there(Role::Owner)
        .approve(&ns("a"), opened.context, "wipe", &pay("x"))
        .unwrap()
        .approval;
    let approved = here
        .authorize(&ns("a"), "wipe", &pay("x"), Some(approval))
        .unwrap();
    assert!(approved.approved);
}

#[test]
fn approvals_and_requests_reach_a_context_that_another_process_opened_just_now() {
    let play = Play::new();
    let other = play.other();
    let owner = play.fixture.handle(&other, Role::Owner);
    let step = play.fixture.handle(&other, Role::Step);
    let fresh = || play.agent.begin().unwrap().context;
    owner.request(fresh(), "pay ACME", None).unwrap();
    owner.approve(&ns("a"), fresh(), "wipe", &pay("x")).unwrap();
    step.receipt(&executed(fresh(), "validate", "bytes", Outcome::Passed))
        .unwrap();
}

/// Positions of the leaves of a kind, from the database.
fn positions(fixture: &Fixture, kind: LeafKind) -> Vec<i64> {
    let db = fixture.db();
    let mut leaves = db
        .prepare("SELECT position, bytes FROM leaf ORDER BY position")
        .unwrap();
    let rows = leaves
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .unwrap();
    rows.map(Result::unwrap)
        .filter(|(_, bytes)| memwarden::core::Leaf::kind_of(bytes) == Some(kind))
        .map(|(position, _)| position)
        .collect()
}

#[test]
fn evidence_whose_words_were_deleted_or_edited_fails_closed_and_is_never_taken_for_absent() {
    for kind in [
        LeafKind::Receipt,
        LeafKind::Label,
        LeafKind::Permit,
        LeafKind::Approval,
    ] {
        for sql in [
            "DELETE FROM payload WHERE position = ?",
            "UPDATE payload SET bytes = zeroblob(length(bytes)) WHERE position = ?",
        ] {
            let play = Play::new();
            play.asks("import batch 0412");
            play.validated("bytes", Outcome::Passed);
            play.authorize("clock", &pay("x"));
            play.owner
                .approve(&ns("a"), play.context, "wipe", &pay("x"))
                .unwrap();
            // The newest is a failure: without its words, the older pass would stand.
            play.validated("bytes", Outcome::Failed);
            let at = *positions(&play.fixture, kind).last().unwrap();
            let other = play.other();
            play.fixture.tamper(&sql.replace('?', &at.to_string()));
            let there = play.fixture.handle(&other, Role::Agent);
            let error = there.within(&play.token).unwrap_err();
            assert!(error.is_integrity(), "{kind:?} {sql}: {error}");
            let error = there.within(&play.token).unwrap_err();
            assert!(error.is_integrity(), "and again: {error}");
        }
    }
}

#[test]
fn an_authorize_over_evidence_that_cannot_be_read_is_an_integrity_error() {
    let play = Play::new();
    play.asks("import batch 0412");
    play.validated("bytes", Outcome::Passed);
    let other = play.other();
    let within = play
        .fixture
        .handle(&other, Role::Agent)
        .within(&play.token)
        .unwrap();
    play.validated("bytes", Outcome::Failed);
    let at = *positions(&play.fixture, LeafKind::Receipt).last().unwrap();
    play.fixture
        .tamper(&format!("DELETE FROM payload WHERE position = {at}"));
    for _ in 0..2 {
        let refused = within.authorize(&ns("a"), "import", &import("bytes"), None);
        assert!(refused.unwrap_err().is_integrity());
    }
}

#[test]
fn a_binding_row_that_was_edited_is_reported_and_one_planted_in_the_index_binds_nothing() {
    let play = Play::new();
    play.asks("pay our supplier");
    let entry = crate::origin_play::with_field("the supplier", "payee", "Globex");
    let record = play.user.remember(&ns("a"), entry).unwrap().id;
    assert_eq!(play.decides("pay", &pay("Globex")), Decision::Allow);
    play.fixture.tamper(&format!(
        "UPDATE record SET content = 'x' WHERE id = {}",
        crate::fixture::blob(record)
    ));
    let refused = play.within.authorize(&ns("a"), "pay", &pay("Globex"), None);
    assert!(refused.unwrap_err().is_integrity());
}

#[test]
fn evidence_that_is_taken_away_while_an_action_is_decided_makes_it_decided_anew() {
    let play = Play::new();
    play.asks("import batch 0412");
    play.validated("bytes", Outcome::Passed);
    // A process whose commits wait, so that what is asked for meanwhile ends up in one batch.
    let (begun_tx, begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let mut options = play.options();
    options.commit_probe = Some(memwarden::Probe(Arc::new(move |phase| {
        if phase == CommitPhase::Begun {
            // Both ends go away with the test.
            let _ = begun_tx.send(());
            let _ = wait.lock().unwrap().recv();
        }
    })));
    let held = Warden::open_with(&play.fixture.places, &options).unwrap();
    let agent = play.fixture.handle(&held, Role::Agent);
    let step = play.fixture.handle(&held, Role::Step);
    let within = agent.within(&play.token).unwrap();
    let queue = |queued: usize| {
        while held.queued() <= queued {
            std::thread::yield_now();
        }
    };
    let decided = std::thread::scope(|scope| {
        scope.spawn(|| play.remembers(&agent, "keeps the writer busy"));
        begun.recv().unwrap();
        scope.spawn(|| {
            let failed = executed(play.context, "validate", "bytes", Outcome::Failed);
            step.receipt(&failed).unwrap();
        });
        queue(0);
        let decided = scope.spawn(|| within.authorize(&ns("a"), "import", &import("bytes"), None));
        queue(1);
        // The busy one, then the failure with the stale decision; nothing waits any more.
        drop(go);
        decided.join().unwrap().unwrap()
    });
    assert_eq!((decided.decided.decision, decided.permit), (Decision::Deny, None));
}

fn ran(play: &Play, step: &str, tool: Option<&str>) -> Receipted {
    let done = Executed {
        tool: tool.map(str::to_owned),
        ..executed(play.context, step, "bytes", Outcome::Passed)
    };
    play.step.receipt(&done).unwrap()
}

fn alerted(play: &Play, step: &str, tool: Option<&str>) -> bool {
    let findings = ran(play, step, tool).findings;
    findings.iter().any(|finding| finding.rule == "no-permit")
}

#[test]
fn a_listed_action_that_ran_without_a_redeemed_permit_is_an_alert() {
    let play = Play::new();
    play.asks("pay ACME");
    assert!(alerted(&play, "pay", None));
    assert!(alerted(&play, "runner", Some("pay")), "by the tool that ran");
    assert!(!alerted(&play, "validate", None), "no listed action");
    let permit = play.authorize("pay", &pay("ACME")).permit.unwrap();
    assert!(alerted(&play, "pay", None), "given, but not redeemed");
    play.step
        .redeem(permit, &ns("a"), play.context, "pay", &pay("ACME"))
        .unwrap();
    assert!(alerted(&play, "wipe", None), "a permit for another action");
    assert!(!alerted(&play, "pay", None));
    assert!(alerted(&play, "pay", None), "one permit explains one run");
}

#[test]
fn a_permit_redeemed_in_one_context_explains_nothing_in_another() {
    let play = Play::new();
    play.asks("pay ACME");
    let permit = play.authorize("pay", &pay("ACME")).permit.unwrap();
    let other = play.other();
    let step = play.fixture.handle(&other, Role::Step);
    step.redeem(permit, &ns("a"), play.context, "pay", &pay("ACME"))
        .unwrap();
    let elsewhere = play.agent.begin().unwrap().context;
    let done = executed(elsewhere, "pay", "bytes", Outcome::Passed);
    assert_eq!(play.step.receipt(&done).unwrap().findings.len(), 1);
    assert!(!alerted(&play, "pay", None), "redeemed by another process");
}
