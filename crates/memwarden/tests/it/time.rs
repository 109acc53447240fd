//! Time comes from the clock that was given, never runs backwards in the log, and revives nothing.

use crate::fixture::{Fixture, START, keep, ns, recall};
use memwarden::core::{LeafKind, Timestamp};
use memwarden::{CLOCK_JUMP_RULE, Depth, Entry, Handle, Role, Status, WardenError};

const SECOND: u64 = 1_000_000;

fn until(text: &str, end: u64) -> Entry {
    let mut entry = Entry::new(text);
    entry.valid_until = Some(Timestamp::from_micros(end));
    entry
}

fn scene(fixture: &Fixture) -> (std::sync::Arc<memwarden::Warden>, Handle) {
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    agent
        .remember(&ns("a"), until("the harbor is closed today", START + 10 * SECOND))
        .unwrap();
    keep(&agent, "a", "the harbor opens at dawn");
    (warden, agent)
}

#[test]
fn a_record_is_served_until_its_end_and_not_at_it() {
    let fixture = Fixture::new("off");
    let (_warden, agent) = scene(&fixture);
    fixture.clock.set(START + 10 * SECOND - 1);
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 2);
    fixture.clock.set(START + 10 * SECOND);
    assert_eq!(
        recall(&agent, "a", "harbor").unwrap(),
        ["the harbor opens at dawn"]
    );
}

#[test]
fn what_expired_does_not_come_back_when_the_clock_is_set_back() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    fixture.clock.set(START + 20 * SECOND);
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
    fixture.clock.set(START);
    // The entry of that recall may not be in the log yet: the warden remembers what it was told.
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
    drop((agent, warden));
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    assert_eq!(recall(&agent, "a", "harbor").unwrap().len(), 1);
}

#[test]
fn a_sweep_retires_what_has_expired_in_the_name_of_the_warden() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    let expired = agent.list(&ns("a"), Status::Active).unwrap()[0].id;
    warden.sweep().unwrap();
    assert_eq!(agent.inspect(expired).unwrap().status, Status::Active);
    fixture.clock.set(START + 10 * SECOND);
    warden.sweep().unwrap();
    warden.sweep().unwrap();
    assert_eq!(agent.inspect(expired).unwrap().status, Status::Retired);
    let history = agent.history(expired).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!((history[1].kind, &history[1].by), (LeafKind::Status, &None));
    assert_eq!(history[1].time, Timestamp::from_micros(START + 10 * SECOND));
}

#[test]
fn an_end_that_was_brought_forward_behind_our_back_retires_nothing() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    let victim = agent.list(&ns("a"), Status::Active).unwrap()[1].id;
    fixture.tamper(&format!(
        "UPDATE record SET valid_until = 1 WHERE id = {}",
        crate::fixture::blob(victim)
    ));
    warden.sweep().unwrap();
    assert_eq!(agent.history(victim).unwrap().len(), 1);
    assert!(!agent.verify(Depth::Log, None).unwrap().is_intact());
}

#[test]
fn entry_times_never_go_backwards() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    let mut times = Vec::new();
    for clock in [START + 5, START + 9, START + 2, 0, START + 9, START + 30] {
        fixture.clock.set(clock);
        times.push(
            agent
                .remember(&ns("a"), Entry::new("tick"))
                .unwrap()
                .time
                .as_micros()
                - START,
        );
    }
    assert_eq!(times, [5, 9, 9, 9, 9, 30]);
    assert!(agent.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn an_end_in_the_past_is_refused_by_the_log_s_time_if_the_clock_is_behind_it() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    let size = agent.status().unwrap().entries;
    for end in [0, START - 1, START] {
        let error = agent.remember(&ns("a"), until("late", end)).unwrap_err();
        assert!(
            matches!(
                error,
                WardenError::BadInput {
                    field: "valid_until",
                    ..
                }
            ),
            "{error}"
        );
    }
    fixture.clock.set(START + 50 * SECOND);
    keep(&agent, "a", "later");
    drop((agent, warden));
    fixture.clock.set(START);
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    assert!(
        agent
            .remember(&ns("a"), until("late", START + 20 * SECOND))
            .is_err()
    );
    assert_eq!(agent.status().unwrap().entries, size + 1);
}

#[test]
fn the_words_of_a_query_are_dropped_after_thirty_days_and_its_entry_stays() {
    let fixture = Fixture::new("off");
    let (warden, agent) = scene(&fixture);
    recall(&agent, "a", "harbor").unwrap();
    warden.flush().unwrap();
    let kept = || -> i64 {
        let db = fixture.db();
        db.query_row("SELECT count(*) FROM payload WHERE kind = 2", [], |row| {
            row.get(0)
        })
        .unwrap()
    };
    let month = 30 * 24 * 3_600 * SECOND;
    fixture.clock.set(START + month);
    warden.sweep().unwrap();
    assert_eq!(kept(), 1);
    fixture.clock.set(START + month + 1);
    warden.sweep().unwrap();
    assert_eq!(kept(), 0);
    let report = agent.verify(Depth::Deep, None).unwrap();
    assert!(report.is_intact(), "{report:?}");
}

#[test]
fn a_clock_that_jumps_over_five_minutes_is_told_with_the_next_entry() {
    let fixture = Fixture::new("warden");
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    let told = |text: &str| {
        let written = agent.remember(&ns("a"), Entry::new(text)).unwrap();
        let jumps: Vec<_> = written
            .findings
            .iter()
            .filter(|finding| finding.rule == CLOCK_JUMP_RULE)
            .map(|finding| finding.reason.clone())
            .collect();
        // What is told is in the log too.
        let kept = agent.inspect(written.id).unwrap().findings;
        assert_eq!(
            kept.iter()
                .filter(|finding| finding.rule == CLOCK_JUMP_RULE)
                .count(),
            jumps.len()
        );
        jumps
    };
    let limit = 300 * SECOND;
    assert!(told("the harbor opens at dawn").is_empty());
    // Time that passes is no jump, however long it is.
    fixture.clock.set(START + 10 * limit);
    assert!(told("the harbor closes at dusk").is_empty());
    fixture.clock.tamper(START + 11 * limit);
    assert!(told("the ferry leaves at noon").is_empty());
    fixture.clock.tamper(START + 12 * limit + SECOND);
    assert_eq!(
        told("the crane lifts ten tons"),
        ["the clock was set forward by 301 s since the last entry"]
    );
    assert!(told("the quay is two miles long").is_empty(), "told once");
    fixture.clock.tamper(START + 11 * limit + SECOND);
    assert!(told("the light burns all night").is_empty());
    fixture.clock.tamper(START);
    for text in ["the pilot comes aboard", "the tug waits outside"] {
        assert_eq!(
            told(text),
            ["the clock lies 3601 s behind the newest entry, whose time counts"]
        );
    }
    let owner = fixture.handle(&warden, Role::Owner);
    assert!(
        owner
            .status()
            .unwrap()
            .warnings
            .iter()
            .any(|warning| warning.contains("3601 s behind"))
    );
}
