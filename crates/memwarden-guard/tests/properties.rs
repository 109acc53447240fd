//! What holds for every text: no panic, spans on character boundaries, order of verdicts, linear work.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::{AMPLIFICATION, NAIVE, SEED, Shelf, general, log, named, screen};
use memwarden_core::{Entry, Verdict};
use memwarden_guard::{Phase, loosenings, parse};
use proptest::prelude::*;

/// Texts out of the guard's own vocabulary, other scripts and noise.
fn any_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("skip".to_owned()),
        Just("without".to_owned()),
        Just("verification".to_owned()),
        Just("established pattern".to_owned()),
        Just("Decision log update".to_owned()),
        Just("For pipeline X:".to_owned()),
        Just("100 %".to_owned()),
        Just("١٢ prior runs".to_owned()),
        Just("across 9,999 runs".to_owned()),
        Just("\u{202e}\u{200b}é日本".to_owned()),
        Just("\n\u{a0}\t".to_owned()),
        "\\PC{0,12}",
    ];
    let space = prop_oneof![Just(" "), Just("\n"), Just("")];
    prop::collection::vec((word, space), 0..24)
        .prop_map(|parts| parts.into_iter().map(|(word, space)| word + space).collect())
}

fn any_source() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        Just(Some("agent".to_owned())),
        Just(Some("tool".to_owned())),
        "\\PC{0,8}".prop_map(Some),
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (any_text(), any_source(), any::<bool>()).prop_map(|(text, source, reasoning)| {
        let make = if reasoning { log } else { general };
        make(&text, source.as_deref())
    })
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(Verdict::ALL.to_vec())
}

proptest! {
    #[test]
    fn every_span_is_a_range_of_characters(entry in any_entry()) {
        for phase in [Phase::Write, Phase::Read] {
            for preset in ["warden", "sentinel-full"] {
                for finding in screen(&named(preset), phase, &entry, &Shelf::default()).findings {
                    if let Some((start, end)) = finding.span {
                        prop_assert!(entry.content.get(start as usize..end as usize).is_some_and(|s| !s.is_empty()));
                    }
                }
            }
        }
    }

    #[test]
    fn a_stronger_mapping_never_gives_a_weaker_verdict(
        entry in any_entry(),
        stage in prop::sample::select(vec!["keyword", "taint", "pattern", "reasoning-guard"]),
        one in any_verdict(),
        other in any_verdict(),
    ) {
        let under = |verdict: Verdict| {
            let mut policy = named("warden");
            policy.verdicts.insert(stage.to_owned(), verdict);
            screen(&policy, Phase::Write, &entry, &Shelf::default()).verdict
        };
        prop_assert!(under(one.min(other)) <= under(one.max(other)));
    }

    #[test]
    fn a_longer_reasoning_store_never_makes_a_verdict_stronger(entry in any_entry(), size in 0usize..40) {
        let policy = named("sentinel");
        let small = screen(&policy, Phase::Write, &entry, &Shelf::of(size)).verdict;
        let large = screen(&policy, Phase::Write, &entry, &Shelf::of(size + 5)).verdict;
        prop_assert!(large <= small);
    }

    #[test]
    fn strict_never_admits_what_sentinel_refuses(entry in any_entry(), size in 0usize..40) {
        let verdict = |preset| screen(&named(preset), Phase::Write, &entry, &Shelf::of(size)).verdict;
        prop_assert!(verdict("sentinel-strict") >= verdict("sentinel"));
        prop_assert!(verdict("sentinel-full") >= verdict("sentinel"));
    }

    #[test]
    fn no_text_makes_the_policy_parser_panic(text in "\\PC{0,200}", key in "[a-z.]{1,12}", value in "[-+0-9a-z\"\\[\\]{}.=]{0,12}") {
        let _ = parse(&text);
        let _ = parse(&format!("{key} = {value}"));
        let _ = parse(&format!("name = \"x\"\n[{key}]\nstages = {value}\nthreshold = {value}\n"));
        let _ = parse(&format!("name = \"x\"\n[[action]]\ntool = \"t\"\nclass = {value}\n[tool.{key}]\ntrust = {value}\n"));
        let _ = parse(&format!("name = \"x\"\n[[action]]\ncontrol = {value}\nrequires = [{{ max_age = \"{key}\", subject = {value} }}]\n"));
    }

    #[test]
    fn a_policy_is_no_loosening_of_itself(name in prop::sample::select(vec!["off", "keyword", "sentinel", "sentinel-strict", "sentinel-full", "warden"])) {
        prop_assert!(loosenings(&named(name), &named(name)).is_empty());
    }
}

/// A megabyte of the worst repeats known for each matcher. The test ends only if the work is linear: the
/// quadratic version of any of them takes hours.
#[test]
fn a_megabyte_of_pathological_repeats_is_screened() {
    let repeats = [
        "without ",
        "skip",
        "skip ",
        "9",
        "9,999",
        "1 prior ",
        "consistent with 1 prior processing run ",
        "across ",
        "bypass a a ",
        "bypass bypass ",
        "re-validation at the import stage is ",
        "decision log ",
        "\u{202f}",
        " ",
        "\n-",
        "٣٬",
        "日本",
        "100%",
        AMPLIFICATION,
        NAIVE,
        SEED,
    ];
    for repeat in repeats {
        let text = repeat.repeat(1_048_576 / repeat.len());
        for preset in ["warden", "sentinel-full"] {
            let screening = screen(
                &named(preset),
                Phase::Write,
                &log(&text, Some("tool")),
                &Shelf::default(),
            );
            assert!(
                screening.findings.len() < 20,
                "findings are bounded by the lists, not by the text"
            );
        }
    }
}
