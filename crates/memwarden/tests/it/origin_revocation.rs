//! Revoking a principal over an interval: one entry that caps what it wrote and what rests on it, shown before,
//! and taken back as a whole.

use crate::fixture::{START, ns};
use crate::origin_play::{MINUTE, Play, import, params, pay, refusal, text, with_field};
use memwarden::Authority::{Act, Inform, None as Nothing};
use memwarden::core::{Decision, Outcome, Timestamp};
use memwarden::{Authority, Change, Entry, Handle, RecordId, Role};

fn time(micros: u64) -> Timestamp {
    Timestamp::from_micros(START + micros)
}

fn child_of(by: &Handle, parents: &[RecordId]) -> RecordId {
    let mut entry = Entry::new("what follows from it");
    entry.parents = parents.to_vec();
    by.remember(&ns("a"), entry).unwrap().id
}

#[test]
fn a_revocation_caps_the_writes_of_its_interval_and_all_that_declares_them() {
    let play = Play::new();
    let by_agent = |at: u64| {
        play.at(at);
        play.remembers(&play.agent, &format!("noted at {at}")).id
    };
    let (before, first, last, after) = (by_agent(1), by_agent(2), by_agent(3), by_agent(4));
    let child = child_of(&play.user, &[last, before]);
    let grandchild = child_of(&play.agent, &[child]);
    let apart = play.remembers(&play.user, "apart").id;
    let agent = play.agent.principal().id;
    let all = [before, first, last, after, child, grandchild, apart];
    let standing = || all.map(|record| play.effective(record));
    let untouched = standing();
    assert_eq!(untouched, [Inform, Inform, Inform, Inform, Inform, Inform, Act]);

    let preview = play
        .owner
        .preview_revocation(agent, time(2), Some(time(3)))
        .unwrap();
    assert_eq!(preview, [first, last, child, grandchild]);
    assert_eq!(standing(), untouched, "a preview changes nothing");
    let size = play.owner.status().unwrap().entries;
    let position = play
        .owner
        .revoke(agent, time(2), Some(time(3)), "key lost")
        .unwrap();
    assert_eq!(position, size);
    assert_eq!(play.owner.status().unwrap().entries, size + 1, "one entry");
    assert_eq!(
        standing(),
        [Inform, Nothing, Nothing, Inform, Nothing, Nothing, Act]
    );
    assert_eq!(
        play.owner.inspect(first).unwrap().written,
        Inform,
        "as written stays"
    );

    play.owner.undo_revocation(position, "key found").unwrap();
    assert_eq!(standing(), untouched);
    let twice = play.owner.undo_revocation(position, "again").unwrap_err();
    assert_eq!(refusal(&twice), "bad input: undo");
}

#[test]
fn a_revocation_without_an_end_reaches_what_is_written_later() {
    let play = Play::new();
    let agent = play.agent.principal().id;
    let position = play.owner.revoke(agent, time(0), None, "key lost").unwrap();
    let later = play.remembers(&play.agent, "later").id;
    assert_eq!(play.effective(later), Nothing);
    let note = play.remembers(&play.owner, "owner's").id;
    let other = play.owner.register("other", Role::Agent, None).unwrap();
    let theirs = play.remembers(&play.warden.handle(&other).unwrap(), "theirs").id;
    for record in [note, theirs] {
        let wish = play.agent.retire(record, "wrong").unwrap();
        assert_eq!(wish.change, Change::Proposed, "a revoked principal hides nothing");
    }
    play.owner.undo_revocation(position, "key found").unwrap();
    assert_eq!(play.effective(later), Inform);
    assert_eq!(play.agent.retire(theirs, "wrong").unwrap().change, Change::Done);
}

#[test]
fn only_the_owner_revokes_and_only_a_principal_and_interval_that_make_sense() {
    let play = Play::new();
    let agent = play.agent.principal().id;
    for handle in [&play.user, &play.agent, &play.step] {
        let refused = handle.revoke(agent, time(0), None, "why");
        assert_eq!(refusal(&refused.unwrap_err()), "forbidden: revoke");
        assert!(handle.preview_revocation(agent, time(0), None).is_err());
        assert!(handle.undo_revocation(1, "why").is_err());
    }
    let unknown = memwarden::core::PrincipalId::from_bytes([9; 16]);
    let refused = play.owner.revoke(unknown, time(0), None, "why").unwrap_err();
    assert_eq!(refusal(&refused), "bad input: principal");
    let refused = play
        .owner
        .revoke(agent, time(2), Some(time(1)), "why")
        .unwrap_err();
    assert_eq!(refusal(&refused), "bad input: until");
}

#[test]
fn receipts_of_a_revoked_step_stop_counting_until_it_is_undone() {
    let play = Play::new();
    play.asks("import batch 0412");
    play.validated("bytes", Outcome::Passed);
    let step = play.step.principal().id;
    let position = play
        .owner
        .revoke(step, time(0), None, "runner broken into")
        .unwrap();
    assert_eq!(play.decides("import", &import("bytes")), Decision::Deny);
    let done = crate::origin_play::executed(play.context, "validate", "bytes", Outcome::Passed);
    assert_eq!(
        refusal(&play.step.receipt(&done).unwrap_err()),
        "forbidden: receipt"
    );
    play.owner.undo_revocation(position, "false alarm").unwrap();
    assert_eq!(play.decides("import", &import("bytes")), Decision::Allow);
}

#[test]
fn endorsements_of_a_revoked_endorser_stop_counting_and_the_preview_says_so() {
    let play = Play::new();
    let named = |name: &str, domain: &str| {
        let credential = play.owner.register(name, Role::User, Some(domain)).unwrap();
        play.warden.handle(&credential).unwrap()
    };
    let (bo, cy) = (named("bo", "north"), named("cy", "south"));
    let record = play.remembers(&play.agent, "ACME moved").id;
    let content = play.owner.inspect(record).unwrap().content_digest();
    bo.endorse(record, &content, &[], "seen").unwrap();
    cy.endorse(record, &content, &[], "seen").unwrap();
    assert_eq!(play.effective(record), Act);
    let bo = bo.principal().id;
    let preview = play.owner.preview_revocation(bo, time(0), None).unwrap();
    assert_eq!(preview, [record]);
    let position = play.owner.revoke(bo, time(0), None, "bribed").unwrap();
    assert_eq!(play.effective(record), Inform);
    play.owner.undo_revocation(position, "acquitted").unwrap();
    assert_eq!(play.effective(record), Act);
}

#[test]
fn what_a_revoked_person_asked_for_and_approved_stops_counting() {
    let play = Play::new();
    let wipe = params([("scope", text("archive"))]);
    play.asks("pay ACME");
    let approval = play
        .user
        .approve(&ns("a"), play.context, "wipe", &wipe)
        .unwrap()
        .approval;
    let user = play.user.principal().id;
    let position = play.owner.revoke(user, time(0), None, "phone stolen").unwrap();
    assert_eq!(play.decides("pay", &pay("ACME")), Decision::Confirm);
    let used = play.within.authorize(&ns("a"), "wipe", &wipe, Some(approval));
    used.unwrap_err();
    let asked = play.user.request(play.context, "pay ACME", None).unwrap_err();
    assert_eq!(refusal(&asked), "forbidden: request");
    let approves = play
        .user
        .approve(&ns("a"), play.context, "wipe", &wipe)
        .unwrap_err();
    assert_eq!(refusal(&approves), "forbidden: approve");
    play.owner.undo_revocation(position, "phone found").unwrap();
    assert_eq!(play.decides("pay", &pay("ACME")), Decision::Allow);
    let used = play.within.authorize(&ns("a"), "wipe", &wipe, Some(approval));
    assert!(used.unwrap().approved);
}

#[test]
fn a_capped_record_binds_nothing_and_a_permit_decided_before_is_decided_anew() {
    let play = Play::new();
    play.asks("pay our supplier");
    let entry = with_field("the supplier", "payee", "Globex");
    play.user.remember(&ns("a"), entry).unwrap();
    play.at(MINUTE);
    play.asks("pay our supplier");
    assert_eq!(play.decides("pay", &pay("Globex")), Decision::Allow);
    let other = play.other();
    let owner = play.fixture.handle(&other, Role::Owner);
    let user = play.user.principal().id;
    owner
        .revoke(user, time(0), Some(time(1)), "typed by a guest")
        .unwrap();
    assert_eq!(play.decides("pay", &pay("Globex")), Decision::Confirm);
}

#[test]
fn a_revocation_by_another_process_is_seen_previewed_and_undone_here() {
    let play = Play::new();
    let record = play.remembers(&play.agent, "noted").id;
    let other = play.other();
    let owner = play.fixture.handle(&other, Role::Owner);
    let fresh = play.owner.register("fresh", Role::Agent, None).unwrap();
    let fresh_id = fresh.principal();
    assert_eq!(owner.preview_revocation(fresh_id, time(0), None).unwrap(), []);
    let agent = play.agent.principal().id;
    let position = owner.revoke(agent, time(0), None, "key lost").unwrap();
    assert_eq!(play.effective(record), Nothing);
    play.owner.undo_revocation(position, "key found").unwrap();
    let seen: Authority = owner.inspect(record).unwrap().effective;
    assert_eq!(seen, Inform);
}
