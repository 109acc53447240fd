//! Over random sequences: labels never rise, authority is a function of the log, and a weaker principal hides
//! nothing stronger.

use crate::fixture::{START, ns};
use crate::origin_play::Play;
use memwarden::core::{Digest, Timestamp};
use memwarden::{Authority, Entry, Handle, Query, RecordId, Role, Status, Warden, WriteOptions};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every case opens stores on disk: few cases, each with many steps.
const CASES: u32 = 6;

#[derive(Debug, Clone)]
enum Move {
    Recall(usize),
    Observe,
    Remember,
    Begin,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => (0..3usize).prop_map(Move::Recall),
        1 => Just(Move::Observe),
        4 => Just(Move::Remember),
        1 => Just(Move::Begin),
    ]
}

#[derive(Debug, Clone)]
enum Deed {
    Write(usize, Vec<usize>),
    Endorse(usize, usize),
    Revoke(usize, u64, u64),
    Undo(usize),
}

fn any_deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => (0..5usize, prop::collection::vec(0..40usize, 0..3)).prop_map(|(by, parents)| Deed::Write(by, parents)),
        4 => (0..3usize, 0..40usize).prop_map(|(by, record)| Deed::Endorse(by, record)),
        2 => (0..5usize, 0..40u64, 0..20u64).prop_map(|(who, since, length)| Deed::Revoke(who, since, length)),
        2 => (0..8usize).prop_map(Deed::Undo),
    ]
}

/// Credentials of an owner, two users of other domains, and two agents, as handles of one process.
fn people(play: &Play) -> Vec<memwarden::Credential> {
    let register = |name: &str, role, domain| play.owner.register(name, role, Some(domain)).unwrap();
    vec![
        play.fixture.made.credential(Role::Owner).unwrap(),
        register("bo", Role::User, "north"),
        register("cy", Role::User, "south"),
        play.fixture.made.credential(Role::Agent).unwrap(),
        register("di", Role::Agent, "north"),
    ]
}

fn handles(warden: &Arc<Warden>, people: &[memwarden::Credential]) -> Vec<Handle> {
    people
        .iter()
        .map(|credential| warden.handle(credential).unwrap())
        .collect()
}

fn authorities(warden: &Arc<Warden>, owner: &memwarden::Credential) -> BTreeMap<RecordId, Authority> {
    let owner = warden.handle(owner).unwrap();
    let records = owner.list(&ns("a"), Status::Active).unwrap();
    records
        .into_iter()
        .map(|record| (record.id, record.effective))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn labels_never_rise_and_no_write_is_above_its_label(moves in prop::collection::vec(any_move(), 1..25)) {
        let play = Play::new();
        play.remembers(&play.owner, "word0 by the owner");
        play.remembers(&play.user, "word0 by the user");
        play.remembers(&play.agent, "word1 by the agent");
        play.poison("word2 from outside");
        // A program of class act, so that every step down shows.
        let system = play.owner.register("cron", Role::System, None).unwrap();
        let system = play.warden.handle(&system).unwrap();
        let mut within = system.within(&system.begin().unwrap().token).unwrap();
        let mut lowest = Authority::Act;
        let mut lowest_ever = Authority::Act;
        for (n, step) in moves.into_iter().enumerate() {
            match step {
                Move::Recall(word) => {
                    let recalled = within.recall(&ns("a"), &Query::new(format!("word{word}"))).unwrap();
                    lowest = lowest.min(recalled.label);
                }
                Move::Observe => {
                    lowest = lowest.min(within.observe("page", Digest::of(b"page")).unwrap());
                }
                Move::Remember => {
                    let written = within.remember(&ns("a"), Entry::new(format!("note {n}"))).unwrap().written;
                    prop_assert_eq!(written, lowest);
                }
                Move::Begin => {
                    within = system.within(&system.begin().unwrap().token).unwrap();
                    lowest = Authority::Act;
                }
            }
            lowest_ever = lowest_ever.min(lowest);
            prop_assert_eq!(within.current_label(), lowest);
            prop_assert_eq!(system.current_label(), lowest_ever);
        }
        let other = play.other();
        let label = other.handle(&play.fixture.made.credential(Role::Agent).unwrap()).unwrap().current_label();
        prop_assert_eq!(label, Authority::Act, "nobody else's falls");
    }

    #[test]
    fn effective_authority_is_the_same_in_every_process_and_from_scratch(
        deeds in prop::collection::vec((any::<bool>(), any_deed()), 1..40),
    ) {
        let play = Play::new();
        let people = people(&play);
        let other = play.other();
        let (here, there) = (handles(&play.warden, &people), handles(&other, &people));
        let mut records = vec![play.remembers(&play.agent, "the first record").id];
        let mut revocations: Vec<u64> = Vec::new();
        for (n, (elsewhere, deed)) in deeds.into_iter().enumerate() {
            play.at(n as u64);
            let cast = if elsewhere { &there } else { &here };
            match deed {
                Deed::Write(by, parents) => {
                    let mut entry = Entry::new(format!("record {n}"));
                    entry.parents = parents.into_iter().filter_map(|at| records.get(at).copied()).collect();
                    entry.parents.dedup();
                    records.push(cast[by].remember(&ns("a"), entry).unwrap().id);
                }
                Deed::Endorse(by, record) => {
                    if let Some(record) = records.get(record) {
                        let content = cast[by].inspect(*record).unwrap().content_digest();
                        let grounds: Vec<RecordId> = records.iter().copied().take(by % 2).collect();
                        // A revoked endorser is refused, and that is no part of this test.
                        let _ = cast[by].endorse(*record, &content, &grounds, "seen");
                    }
                }
                Deed::Revoke(who, since, length) => {
                    let at = |micros| Timestamp::from_micros(START + micros);
                    let id = cast[who].principal().id;
                    let preview = cast[0].preview_revocation(id, at(since), Some(at(since + length))).unwrap();
                    let before = authorities(&play.warden, &people[0]);
                    let position = cast[0].revoke(id, at(since), Some(at(since + length)), "why").unwrap();
                    let after = authorities(&play.warden, &people[0]);
                    let mut changed: Vec<RecordId> =
                        before.keys().filter(|id| before.get(id) != after.get(id)).copied().collect();
                    let mut shown = preview;
                    changed.sort();
                    shown.sort();
                    prop_assert_eq!(shown, changed, "the preview shows exactly what changes");
                    revocations.push(position);
                }
                Deed::Undo(at) => {
                    if at < revocations.len() {
                        cast[0].undo_revocation(revocations.remove(at), "why").unwrap();
                    }
                }
            }
        }
        let live = authorities(&play.warden, &people[0]);
        prop_assert_eq!(&authorities(&other, &people[0]), &live);
        let fresh = play.other();
        prop_assert_eq!(&authorities(&fresh, &people[0]), &live);
        for position in revocations {
            here[0].undo_revocation(position, "all").unwrap();
        }
        for (record, authority) in &authorities(&play.warden, &people[0]) {
            prop_assert!(*authority >= here[0].inspect(*record).unwrap().written);
        }
    }

    #[test]
    fn a_weaker_principal_never_hides_a_stronger_record(
        deeds in prop::collection::vec((0..3usize, 0..4usize, any::<bool>()), 1..30),
    ) {
        let play = Play::new();
        let texts = ["the harbor opens at dawn", "the harbor closes at dusk", "the harbor has two cranes", "harbor"];
        let strong: Vec<RecordId> = texts.map(|text| play.remembers(&play.user, text).id).into();
        let other = play.other();
        let weak = [play.agent.clone(), play.fixture.handle(&other, Role::Agent)];
        for (n, (deed, record, elsewhere)) in deeds.into_iter().enumerate() {
            let agent = &weak[usize::from(elsewhere)];
            match deed {
                0 => {
                    agent.retire(strong[record], "wrong").unwrap();
                }
                1 => {
                    let replacing = WriteOptions {
                        supersedes: Some(strong[record]),
                        ..WriteOptions::default()
                    };
                    let text = format!("the harbor, the harbor opens never {n}");
                    agent.remember_with(&ns("a"), Entry::new(text), &replacing).unwrap();
                }
                _ => {
                    agent.remember(&ns("a"), Entry::new(texts[record])).unwrap();
                }
            }
            let served = play.agent.recall(&ns("a"), &Query::new("harbor opens closes dawn dusk cranes")).unwrap();
            for record in &strong {
                prop_assert!(served.hits.iter().any(|hit| hit.record.id == *record), "{}", n);
            }
        }
    }
}
