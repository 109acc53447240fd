//! Recall by words and vectors together: what is found, why it stands where it does, and that a vector is bound
//! in the log like the words are.

use crate::fixture::{Fixture, Meanings, START, keep, ns, tampered_record};
use memwarden::core::{Authority, Timestamp};
use memwarden::{Handle, Query, Recall, RecordId, Retrieval, Role};

const SEA: Meanings = Meanings("meanings");

fn ask(handle: &Handle, retrieval: Retrieval, text: &str) -> Recall {
    let query = Query {
        retrieval,
        ..Query::new(text)
    };
    handle.recall(&ns("a"), &query).unwrap()
}

fn texts(recall: &Recall) -> Vec<&str> {
    recall
        .hits
        .iter()
        .map(|hit| hit.record.entry.content.as_str())
        .collect()
}

/// Ids and exact scores.
fn exactly(recall: &Recall) -> Vec<(RecordId, u64)> {
    let hits = recall.hits.iter();
    hits.map(|hit| (hit.record.id, hit.score.to_bits())).collect()
}

fn scene(fixture: &Fixture) -> (std::sync::Arc<memwarden::Warden>, Handle) {
    let warden = fixture.open_with_vectors(SEA);
    let agent = fixture.handle(&warden, Role::Agent);
    for text in [
        "the vessel berths at the quay",
        "a ship left in the morning",
        "the captain drinks tea",
        "the invoice of the hoist was paid",
        "nothing that the encoder knows",
    ] {
        keep(&agent, "a", text);
    }
    (warden, agent)
}

#[test]
fn a_record_is_found_by_what_it_means_and_says_so() {
    let fixture = Fixture::new("off");
    let (_warden, agent) = scene(&fixture);
    assert_eq!(
        texts(&ask(&agent, Retrieval::Lexical, "ship")),
        ["a ship left in the morning"]
    );
    let both = ask(&agent, Retrieval::Hybrid, "ship");
    // Both name the thing; only one in this word. What is about something else is not found at all.
    assert_eq!(
        texts(&both),
        ["a ship left in the morning", "the vessel berths at the quay"]
    );
    let [first, second] = [&both.hits[0].why, &both.hits[1].why];
    assert_eq!(first.words.unwrap().rank, 1);
    assert!(first.vector.is_some() && second.words.is_none());
    assert!((second.vector.unwrap().score - 0.5_f64.sqrt()).abs() < 0.01);
    assert_eq!(
        texts(&ask(&agent, Retrieval::Hybrid, "the encoder")),
        ["nothing that the encoder knows"]
    );
    assert!(texts(&ask(&agent, Retrieval::Vector, "the encoder")).is_empty());
}

#[test]
fn an_index_that_is_thrown_away_changes_no_answer() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    let ways = [Retrieval::Hybrid, Retrieval::Vector];
    let before = ways.map(|way| exactly(&ask(&agent, way, "ship in the port at dawn")));
    assert!(before.iter().all(|answer| answer.len() >= 2));
    drop((agent, warden));
    let warden = fixture.open_with_vectors(SEA);
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        ways.map(|way| exactly(&ask(&agent, way, "ship in the port at dawn"))),
        before
    );
}

#[test]
fn what_another_process_writes_and_takes_out_of_sight_is_seen_at_once() {
    let fixture = Fixture::new("off");
    let (_warden, agent) = scene(&fixture);
    let other = fixture.open_with_vectors(SEA);
    let others = fixture.handle(&other, Role::Agent);
    assert_eq!(ask(&agent, Retrieval::Vector, "gale").hits.len(), 0);
    let storm = keep(&others, "a", "a storm came up");
    assert_eq!(
        texts(&ask(&agent, Retrieval::Vector, "gale")),
        ["a storm came up"]
    );
    others.retire(storm, "over").unwrap();
    assert_eq!(ask(&agent, Retrieval::Vector, "gale").hits.len(), 0);
}

#[test]
fn a_vector_that_was_changed_or_removed_is_refused_when_it_is_read() {
    for change in [
        "vector = NULL",
        "vector = (SELECT vector FROM record WHERE content LIKE '%captain%')",
    ] {
        let fixture = Fixture::new("off");
        let (_warden, agent) = scene(&fixture);
        let ship = ask(&agent, Retrieval::Lexical, "ship").hits[0].record.id;
        fixture.tamper(&format!(
            "UPDATE record SET {change} WHERE content LIKE '%a ship%'"
        ));
        let error = agent.recall(&ns("a"), &Query::new("ship")).unwrap_err();
        assert_eq!(tampered_record(&error), ship, "{change}");
    }
}

#[test]
fn a_purge_destroys_the_vector_too() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    let ship = ask(&agent, Retrieval::Hybrid, "ship").hits[0].record.id;
    let bytes: Vec<u8> = fixture
        .db()
        .query_row(
            "SELECT vector FROM record WHERE content LIKE '%a ship%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let owner = fixture.handle(&warden, Role::Owner);
    owner.purge(&[ship], "asked to").unwrap();
    assert_eq!(
        texts(&ask(&agent, Retrieval::Hybrid, "ship")),
        ["the vessel berths at the quay"]
    );
    for file in std::fs::read_dir(&fixture.places.store).unwrap() {
        let held = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!held.windows(bytes.len()).any(|window| window == bytes));
    }
}

#[test]
fn vectors_of_another_encoder_are_never_compared() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    drop((agent, warden));
    let warden = fixture.open_with_vectors(Meanings("another"));
    let told = |warden: &memwarden::Warden| {
        warden
            .warnings()
            .iter()
            .any(|warning| warning.contains("are of `meanings`"))
    };
    assert!(told(&warden), "{:?}", warden.warnings());
    assert!(!told(&fixture.open_with_vectors(Meanings("meanings"))));
    assert!(!told(&fixture.open()));
    let agent = fixture.handle(&warden, Role::Agent);
    keep(&agent, "a", "the ferry waits");
    assert_eq!(
        texts(&ask(&agent, Retrieval::Vector, "vessel")),
        ["the ferry waits"]
    );
    // By their words the older ones are still found.
    assert_eq!(
        texts(&ask(&agent, Retrieval::Hybrid, "vessel"))[0],
        "the vessel berths at the quay"
    );
}

#[test]
fn a_store_without_an_encoder_goes_by_words_and_refuses_to_look_for_vectors() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    drop((agent, warden));
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(
        exactly(&ask(&agent, Retrieval::Hybrid, "ship")),
        exactly(&ask(&agent, Retrieval::Lexical, "ship"))
    );
    let query = Query {
        retrieval: Retrieval::Vector,
        ..Query::new("ship")
    };
    let refused = agent.recall(&ns("a"), &query).unwrap_err().to_string();
    assert!(
        refused.contains("retrieval") && refused.contains("vector"),
        "{refused}"
    );
}

#[test]
fn filters_leave_out_what_they_say_and_fill_up_with_the_rest() {
    let fixture = Fixture::new("warden");
    let warden = fixture.open_with_vectors(SEA);
    let agent = fixture.handle(&warden, Role::Agent);
    let user = fixture.registered(&warden, Role::User);
    for n in 0..12 {
        fixture.clock.set(START + n * 1_000_000);
        let writer = if n % 4 == 0 { &user } else { &agent };
        keep(writer, "a", &format!("ship number {n} came in"));
    }
    let numbers = |query: Query| {
        let served = agent.recall(&ns("a"), &query).unwrap();
        let mut numbers: Vec<u64> = served
            .hits
            .iter()
            .map(|hit| {
                hit.record
                    .entry
                    .content
                    .split(' ')
                    .nth(2)
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        numbers.sort_unstable();
        numbers
    };
    let at = |n: u64| Some(Timestamp::from_micros(START + n * 1_000_000));
    let ships = || Query::new("vessel");
    assert_eq!(
        numbers(Query {
            principal: Some(user.principal().id),
            ..ships()
        }),
        [0, 4, 8]
    );
    assert_eq!(
        numbers(Query {
            authority: Some(Authority::Act),
            ..ships()
        }),
        [0, 4, 8]
    );
    assert_eq!(
        numbers(Query {
            since: at(9),
            ..ships()
        }),
        [9, 10, 11]
    );
    assert_eq!(
        numbers(Query {
            until: at(2),
            ..ships()
        }),
        [0, 1]
    );
    assert_eq!(
        numbers(Query {
            since: at(3),
            until: at(6),
            k: 2,
            ..ships()
        })
        .len(),
        2
    );
}

#[test]
fn what_nobody_vouches_for_counts_less_among_equals() {
    for (trust, first) in [("", "agent"), ("\n[recall.trust]\nnone = 1\n", "tool")] {
        let fixture = Fixture::new("warden");
        let warden = fixture.open_with_vectors(SEA);
        let owner = fixture.handle(&warden, Role::Owner);
        let source = format!("{}{trust}", warden.policy().source);
        owner
            .load_policy(&memwarden::guard::parse(&source).unwrap())
            .unwrap();
        let agent = fixture.handle(&warden, Role::Agent);
        let tool = fixture.registered(&warden, Role::Tool);
        // The older of two equals comes first, unless it counts less.
        keep(&tool, "a", "the vessel of the tool");
        keep(&agent, "a", "the vessel of the agent");
        let served = agent.recall(&ns("a"), &Query::new("ship")).unwrap();
        assert!(
            texts(&served)[0].ends_with(first),
            "{trust}: {:?}",
            texts(&served)
        );
        let tools = served
            .hits
            .iter()
            .find(|hit| hit.record.effective == Authority::None)
            .unwrap();
        assert_eq!(tools.why.trust, if first == "tool" { 1.0 } else { 0.8 });
        assert!(served.hits.is_sorted_by(|a, b| a.score >= b.score));
    }
}
