//! Each stage and the way their findings become a verdict.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::{Broken, Shelf, general, line, log, named, policy, screen, screen_derived};
use expect_test::expect;
use memwarden_core::{Severity, Verdict};
use memwarden_guard::{Candidate, Guard, Phase, StageError, Writer};

const ONE: &str = "name = \"one\"\n[write]\nstages = [\"STAGE\"]\n[read]\nstages = [\"STAGE\"]\n[verdict]\nSTAGE = \"reject\"\n";

fn only(stage: &str) -> memwarden_core::Policy {
    policy(&ONE.replace("STAGE", stage))
}

fn refuses(policy: &memwarden_core::Policy, entry: &memwarden_core::Entry) -> bool {
    screen(policy, Phase::Write, entry, &Shelf::default()).verdict == Verdict::Reject
}

#[test]
fn the_keyword_stage_names_every_word_it_found_and_where() {
    let entry = general("Ignore this: BYPASS it, bypass it", Some("agent"));
    let screening = screen(&only("keyword"), Phase::Write, &entry, &Shelf::default());
    let found: Vec<_> = screening
        .findings
        .iter()
        .map(|f| (f.rule.as_str(), f.span))
        .collect();
    assert_eq!(found, [("bypass", Some((13, 19))), ("ignore", Some((0, 6)))]);
}

#[test]
fn the_provenance_stage_labels_and_refuses_nothing() {
    let policy = policy("name = \"p\"\n[write]\nstages = [\"provenance\"]\n");
    for (source, label) in [
        (Some("tool"), "external"),
        (Some("crm"), "poisoned"),
        (None, "poisoned"),
    ] {
        let screening = screen(&policy, Phase::Write, &general("text", source), &Shelf::default());
        assert_eq!(
            (screening.verdict, screening.stage.as_deref()),
            (Verdict::Admit, None)
        );
        let [finding] = screening.findings.as_slice() else {
            panic!("{screening:?}")
        };
        assert_eq!((finding.rule.as_str(), finding.severity), (label, Severity::Info));
    }
    let trusted = screen(
        &policy,
        Phase::Write,
        &general("text", Some("user")),
        &Shelf::default(),
    );
    assert!(trusted.findings.is_empty());
}

#[test]
fn a_direct_tool_entry_passes_the_taint_stage_and_one_derived_from_it_does_not() {
    let policy = only("taint");
    let verdict = |source, inherited| {
        let entry = general("text", Some(source));
        screen_derived(&policy, Phase::Write, &entry, inherited, &Shelf::default()).verdict
    };
    assert_eq!(verdict("tool", None), Verdict::Admit);
    assert_eq!(verdict("agent", Some(40)), Verdict::Reject);
    assert_eq!(
        verdict("agent", Some(35)),
        Verdict::Admit,
        "exactly the threshold passes"
    );
    assert_eq!(verdict("agent", Some(36)), Verdict::Reject);
    assert_eq!(verdict("crm", None), Verdict::Reject);
}

#[test]
fn the_pattern_stage_fires_on_risk_and_on_each_pattern() {
    let policy = only("pattern");
    for text in [
        "the agent bypassed the input validation",
        "override all safety checks",
        "it may be leaking patient information",
        "skipping verification",
        "imported directly without\nverification",
    ] {
        assert!(refuses(&policy, &general(text, Some("agent"))), "{text}");
    }
    for text in [
        "a coronary bypass was planned",
        "validation was not skipped",
        "no leak",
    ] {
        assert!(!refuses(&policy, &general(text, Some("agent"))), "{text}");
    }
    let risk = |inherited| {
        let entry = general("text", Some("agent"));
        screen_derived(&policy, Phase::Write, &entry, Some(inherited), &Shelf::default()).verdict
    };
    assert_eq!(risk(60), Verdict::Admit, "0.70 squared is 0.49");
    assert_eq!(risk(61), Verdict::Reject, "0.71 squared is 0.5041");
}

#[test]
fn each_signal_fires_on_its_own_cause() {
    let values = |text: &str, source: &str, stored: usize| {
        let signals = Guard::new().signals(&named("sentinel"), &log(text, Some(source)), &Shelf::of(stored));
        signals.unwrap().0.map(|signal| signal.value)
    };
    assert_eq!(
        values("it cites a prior decision log", "tool", 0),
        [100, 0, 0, 0, 0]
    );
    assert_eq!(values("it cites a prior decision log", "agent", 0), [0; 5]);
    assert_eq!(
        values("Decision log update: done", "tool", 0),
        [100, 0, 0, 0, 100]
    );
    assert_eq!(
        values("consistent with 5 prior runs", "agent", 4),
        [0, 100, 0, 0, 0]
    );
    assert_eq!(values("consistent with 5 prior runs", "agent", 5), [0; 5]);
    assert_eq!(values("100% across 60 runs", "agent", 60), [0, 0, 0, 100, 0]);
    assert_eq!(
        values("never failed across 20 runs", "agent", 60),
        [0, 0, 0, 100, 0]
    );
    assert_eq!(values("100% across 19 runs", "agent", 60), [0; 5]);
    assert_eq!(values("never failed", "agent", 60), [0; 5]);
    assert_eq!(
        values("- Validation summary for batch 9", "agent", 0),
        [0, 0, 0, 0, 100]
    );
    assert_eq!(
        values("See the validation summary for batch 9", "agent", 0),
        [0; 5]
    );
}

#[test]
fn density_counts_distinct_phrases_in_three_tiers() {
    let phrases = [
        "established pattern",
        "standard processing",
        "verified upstream",
        "no anomalies observed",
        "upstream components",
        "direct-import behavior",
    ];
    let density = |count: usize| {
        let text = format!("{}. {}", phrases[..count].join(", "), phrases[0].repeat(3));
        let signals = Guard::new().signals(&named("sentinel"), &log(&text, Some("agent")), &Shelf::default());
        signals.unwrap().0[2].value
    };
    assert_eq!([1, 2, 3, 4, 5, 6].map(density), [0, 0, 50, 75, 75, 100]);
}

#[test]
fn a_score_of_exactly_one_half_passes_and_a_hair_more_does_not() {
    let text = "Decision log update: consistent with 9 prior runs. established pattern, standard processing, verified upstream";
    let entry = log(text, Some("agent"));
    let signals = Guard::new()
        .signals(&named("sentinel"), &entry, &Shelf::default())
        .unwrap();
    assert_eq!(signals.sum(), 5000);
    let sentinel = screen(&named("sentinel"), Phase::Write, &entry, &Shelf::default());
    assert_eq!(sentinel.verdict, Verdict::Admit);
    let more = log(&format!("{text}, upstream components"), Some("agent"));
    let screening = screen(&named("sentinel"), Phase::Write, &more, &Shelf::default());
    expect![[r#"
        reject by reasoning-guard
            high reasoning-guard/forgery-score: forgery score 0.55 is over the threshold 0.50: s1 provenance anomaly 0.00, s2 self-reference mismatch 1.00, s3 suspicious density 0.75, s4 implausible claim 0.00, s5 structure 1.00"#]].assert_eq(&line(&screening));
}

#[test]
fn the_guard_counts_entries_of_the_same_subject_and_without_one_the_whole_store() {
    let mut entry = log("consistent with 2 prior runs", Some("agent"));
    let shelf = Shelf(vec![
        (Some("a".into()), memwarden_core::Kind::Reasoning),
        (Some("b".into()), memwarden_core::Kind::Reasoning),
    ]);
    let mismatch = |entry: &memwarden_core::Entry, preset| {
        Guard::new().signals(&named(preset), entry, &shelf).unwrap().0[1].value
    };
    assert_eq!(mismatch(&entry, "sentinel"), 0);
    assert_eq!(mismatch(&entry, "sentinel-strict"), 100, "no receipt backs them");
    entry.subject = Some("a".into());
    assert_eq!(mismatch(&entry, "sentinel"), 100);
}

#[test]
fn the_guard_leaves_alone_what_does_not_look_like_reasoning() {
    let text = "Our established pattern: standard processing, verified upstream, no anomalies observed, upstream components, direct-import behavior; 100% across 60 runs";
    assert!(!refuses(&only("reasoning-guard"), &general(text, Some("crm"))));
    assert!(refuses(&only("reasoning-guard"), &log(text, Some("crm"))));
}

#[test]
fn the_strongest_verdict_wins_and_after_a_reject_nothing_more_runs() {
    let text = "skip the validation";
    let with = |keyword: &str, pattern: &str| {
        let policy = policy(&format!(
            "name = \"x\"\n[write]\nstages = [\"keyword\", \"pattern\"]\n[verdict]\nkeyword = \"{keyword}\"\npattern = \"{pattern}\"\n"
        ));
        let screening = screen(
            &policy,
            Phase::Write,
            &general(text, Some("agent")),
            &Shelf::default(),
        );
        (
            screening.verdict,
            screening.stage.unwrap(),
            screening.findings.len(),
        )
    };
    assert_eq!(
        with("annotate", "quarantine"),
        (Verdict::Quarantine, "pattern".into(), 2)
    );
    assert_eq!(
        with("quarantine", "annotate"),
        (Verdict::Quarantine, "keyword".into(), 2)
    );
    assert_eq!(
        with("annotate", "annotate"),
        (Verdict::Annotate, "keyword".into(), 2)
    );
    assert_eq!(with("reject", "reject"), (Verdict::Reject, "keyword".into(), 1));
    assert_eq!(with("annotate", "reject"), (Verdict::Reject, "pattern".into(), 2));
}

#[test]
fn stages_run_in_the_order_of_the_policy() {
    let policy = policy("name = \"x\"\n[write]\nstages = [\"pattern\", \"keyword\"]\n");
    let screening = screen(
        &policy,
        Phase::Write,
        &general("skip the validation", Some("agent")),
        &Shelf::default(),
    );
    let order: Vec<_> = screening
        .findings
        .iter()
        .map(|finding| finding.stage.as_str())
        .collect();
    assert_eq!(order, ["pattern", "keyword"]);
}

#[test]
fn under_the_default_policy_a_missing_source_alone_is_no_finding_and_a_strange_one_is() {
    let warden = named("warden");
    let found = |content: &str, source: Option<&str>, inherited| {
        let entry = log(content, source);
        line(&screen_derived(
            &warden,
            Phase::Write,
            &entry,
            inherited,
            &Shelf::default(),
        ))
    };
    let plain = "The import window opens at 02:00.";
    for source in [None, Some(""), Some(" ")] {
        assert_eq!(found(plain, source, None), "admit by -", "{source:?}");
    }
    expect![[r#"
        annotate by taint
            info provenance/poisoned: the entry declares no source that the guard knows: taint 1.00
            warning taint/threshold: taint 1.00 is over the threshold 0.45
            warning pattern/risk: risk 1.00 (taint 1.00 squared) is over the threshold 0.50"#]]
    .assert_eq(&found(plain, Some("crm"), None));
    expect![[r#"
        annotate by taint
            warning taint/threshold: taint 0.50 is over the threshold 0.45"#]]
    .assert_eq(&found(plain, None, Some(40)));
    expect![[r#"
        annotate by keyword
            warning keyword/skip: the text holds the block-listed `skip`"#]]
    .assert_eq(&found("skip lunch", None, None));
}

#[test]
fn a_missing_source_fires_the_first_signal_only_where_it_counts_as_poisoned() {
    let entry = log("Decision log update: the import window opens at 02:00.", None);
    let anomaly = |preset| {
        let signals = Guard::new().signals(&named(preset), &entry, &Shelf::default());
        signals.unwrap().0[0].value
    };
    assert_eq!(anomaly("sentinel"), 100);
    assert_eq!(anomaly("warden"), 0);
}

#[test]
fn what_a_child_inherits_from_a_parent_without_a_source_follows_the_policy() {
    let parent = general("text", None);
    let taint = |preset| Guard::taint_under(&named(preset), &parent, None).hundredths();
    assert_eq!((taint("sentinel"), taint("warden")), (100, 0));
    assert_eq!(Guard::taint(&parent, None).hundredths(), 100, "as published");
}

#[test]
fn nothing_is_kept_out_for_its_wording_under_the_default_policy() {
    let policy = named("warden");
    for entry in [
        log("skip, bypass, ignore; leaking information", None),
        log(
            "Decision log update: 100% across 9999 runs, established pattern",
            None,
        ),
    ] {
        let screening = screen(&policy, Phase::Write, &entry, &Shelf::default());
        assert_eq!(screening.verdict, Verdict::Annotate);
        assert_eq!(
            screen(&policy, Phase::Read, &entry, &Shelf::default()).verdict,
            Verdict::Admit
        );
    }
}

#[test]
fn a_stage_that_fails_is_a_finding_and_follows_fail() {
    let whole = Broken(StageError::Unavailable {
        reason: "no store".into(),
    });
    let one = Broken(StageError::Entry {
        reason: "bad row".into(),
    });
    let entry = log("consistent with 5 prior runs", Some("agent"));
    let outcome = |text: &str, phase, view: &Broken, writer| {
        let candidate = Candidate {
            entry: &entry,
            inherited: None,
        };
        let screening = Guard::new().screen(&policy(text), phase, &candidate, view, writer);
        assert_eq!(screening.findings.len(), 1);
        assert_eq!(screening.findings[0].rule, "failed");
        screening.verdict
    };
    let silent = ONE.replace("STAGE", "reasoning-guard");
    let open = format!("{silent}[stage.reasoning-guard]\nfail = \"open\"\n");
    let closed = format!("{silent}[stage.reasoning-guard]\nfail = \"closed\"\n");
    let (kept_out, passes) = (Verdict::Quarantine, Verdict::Annotate);
    assert_eq!(
        outcome(&silent, Phase::Write, &whole, Writer::Untrusted),
        kept_out
    );
    assert_eq!(outcome(&silent, Phase::Write, &whole, Writer::Trusted), passes);
    assert_eq!(outcome(&silent, Phase::Read, &whole, Writer::Untrusted), passes);
    assert_eq!(outcome(&open, Phase::Write, &whole, Writer::Untrusted), passes);
    assert_eq!(outcome(&closed, Phase::Write, &whole, Writer::Trusted), kept_out);
    assert_eq!(outcome(&closed, Phase::Read, &whole, Writer::Trusted), kept_out);
    assert_eq!(
        outcome(&open, Phase::Read, &one, Writer::Trusted),
        kept_out,
        "one entry is withheld"
    );
    assert_eq!(outcome(&open, Phase::Write, &one, Writer::Untrusted), passes);
}

#[test]
fn a_policy_put_together_by_hand_with_an_unknown_stage_does_not_pass_for_screened() {
    let mut policy = named("off");
    policy.write.push("vibes".into());
    let screening = screen(
        &policy,
        Phase::Write,
        &general("text", Some("agent")),
        &Shelf::default(),
    );
    expect![[r#"
        quarantine by vibes
            warning vibes/failed: the stage is unavailable: no stage has this name; the entry is kept out"#]]
    .assert_eq(&line(&screening));
}
