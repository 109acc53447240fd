//! The grammar of policies: what is read, what is refused and how, presets, rows and loosenings.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::{named, policy};
use expect_test::{Expect, expect};
use memwarden_core::{FailMode, Quota, Verdict};
use memwarden_guard::{DEFAULT_PRESET, PRESETS, explain, loosenings, parse, preset};

const FULL: &str = r#"name = "mine"
[write]
stages = ["keyword", "taint", "reasoning-guard"]
[read]
stages = ["pattern"]
[stage.taint]
threshold = 0.60
fail = "open"
[stage.reasoning-guard]
threshold = 0.29
precedents = "receipt-backed"
fail = "closed"
[verdict]
keyword = "quarantine"
[weights]
s1 = 0.4
s2 = 0.3
s3 = 0.1
s4 = 0.1
s5 = 0.1
[quota]
records = 10_000
bytes = 0x100000
"#;

#[test]
fn every_key_of_the_grammar_is_read() {
    let policy = policy(FULL);
    assert_eq!(policy.name, "mine");
    assert_eq!(policy.write, ["keyword", "taint", "reasoning-guard"]);
    assert_eq!(policy.read, ["pattern"]);
    assert_eq!(policy.stages["taint"].numbers["threshold"], 60);
    assert_eq!(policy.stages["taint"].fail, Some(FailMode::Open));
    assert_eq!(policy.stages["reasoning-guard"].numbers["threshold"], 29);
    assert_eq!(
        policy.stages["reasoning-guard"].words["precedents"],
        "receipt-backed"
    );
    assert_eq!(policy.verdict_of("keyword"), Verdict::Quarantine);
    assert_eq!(policy.verdict_of("taint"), Verdict::Annotate);
    assert_eq!(policy.weights["s1"], 40);
    assert_eq!(
        policy.quota,
        Quota {
            records: 10_000,
            bytes: 1 << 20
        }
    );
    assert_eq!(policy.source, FULL);
    assert_eq!(parse(&policy.source).unwrap(), policy);
}

#[test]
fn every_preset_parses_to_itself_under_its_own_name() {
    assert_eq!(
        PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>(),
        [
            "off",
            "keyword",
            "sentinel",
            "sentinel-strict",
            "sentinel-full",
            "warden"
        ]
    );
    assert_eq!(DEFAULT_PRESET, "warden");
    assert!(preset(DEFAULT_PRESET).is_some());
    for entry in PRESETS {
        let policy = parse(entry.toml).unwrap();
        assert_eq!(policy.name, entry.name);
        assert_eq!(Some(&policy), preset(entry.name).as_ref());
        assert_eq!(parse(&policy.source).unwrap(), policy);
        assert_eq!(policy.weights.values().sum::<u32>(), 100);
    }
}

#[test]
fn the_example_in_the_documentation_parses() {
    let page = include_str!("../../../docs/policy.md");
    let examples: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        parse(example).unwrap();
    }
    for entry in PRESETS {
        assert!(
            page.contains(&format!("| `{}` |", entry.name)),
            "{} is not in the table",
            entry.name
        );
    }
}

/// The error of each of `texts`, a line each.
fn refused(texts: &[&str], expected: &Expect) {
    let errors: Vec<String> = texts
        .iter()
        .map(|text| parse(text).unwrap_err().to_string())
        .collect();
    expected.assert_eq(&(errors.join("\n") + "\n"));
}

/// A policy that runs all five stages, with `more` at its end.
fn with(more: &str) -> String {
    format!(
        "name = \"x\"\n[write]\nstages = [\"keyword\", \"provenance\", \"taint\", \"pattern\", \"reasoning-guard\"]\n{more}\n"
    )
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    refused(
        &[
            "name = \"x\"\nwrit = 1\n",
            "name = \"x\"\n[write]\nstage = []\n",
            &with("[stage.tiant]\nthreshold = 0.5"),
            &with("[stage.taint]\ntreshold = 0.5"),
            &with("[stage.keyword]\nthreshold = 0.5"),
            &with("[stage.taint]\nprecedents = \"stored\""),
            &with("[verdict]\nreasoning_guard = \"reject\""),
            &with("[weights]\ns6 = 0.5"),
            &with("[quota]\nrecord = 5"),
            &with("zebra = 1"),
        ],
        &expect![[r#"
            line 2: key `writ` is unknown: expected name, origin, write, read, stage, verdict, weights, quota, endorse, recall, tool or action; did you mean `write`?
            line 3: key `write.stage` is unknown: expected stages; did you mean `stages`?
            line 4: key `stage.tiant` is unknown: expected keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank; did you mean `taint`?
            line 5: key `stage.taint.treshold` is unknown: expected fail or threshold; did you mean `threshold`?
            line 5: key `stage.keyword.threshold` is unknown: expected fail
            line 5: key `stage.taint.precedents` is unknown: expected fail or threshold
            line 5: key `verdict.reasoning_guard` is unknown: expected keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank; did you mean `reasoning-guard`?
            line 5: key `weights.s6` is unknown: expected s1, s2, s3, s4 or s5
            line 5: key `quota.record` is unknown: expected records or bytes; did you mean `records`?
            line 4: key `write.zebra` is unknown: expected stages
        "#]],
    );
}

#[test]
fn stage_lists_are_checked() {
    refused(
        &[
            "name = \"x\"\n[write]\nstages = [\"keyword\", \"vibes\"]\n",
            "name = \"x\"\n[read]\nstages = [\"taint\", \"taint\"]\n",
            "name = \"x\"\n[read]\nstages = \"taint\"\n",
            "name = \"x\"\n[read]\nstages = [1]\n",
            "name = \"x\"\n[read]\nstages = [\"keywrd\"]\n",
            "name = \"x\"\n[read]\n",
        ],
        &expect![[r#"
            line 3: key `write.stages` is `vibes`: expected a list of keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank
            line 3: key `read.stages` is `taint, taint`: expected each stage once
            line 3: key `read.stages` is `"taint"`: expected a list of keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank
            line 3: key `read.stages` is `1`: expected a list of keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank
            line 3: key `read.stages` is `keywrd`: expected a list of keyword, provenance, taint, pattern, reasoning-guard, sanitize, injection, standing-order, precedent, gibberish, secrets, anomaly or rerank; did you mean `keyword`?
            line 2: key `read.stages` is missing: expected a list of stages, which may be empty
        "#]],
    );
}

#[test]
fn verdicts_that_could_never_take_effect_are_refused() {
    refused(
        &[
            "name = \"x\"\n[write]\nstages = [\"keyword\"]\n[verdict]\ntaint = \"reject\"\n",
            &with("[verdict]\nkeyword = \"rewrite\""),
            &with("[verdict]\nkeyword = \"admit\""),
            &with("[verdict]\nkeyword = \"Reject\""),
            &with("[verdict]\nprovenance = \"reject\""),
        ],
        &expect![[r#"
            line 5: key `verdict.taint` is `reject`: expected stage `taint` in `write.stages` or `read.stages`, since it runs nowhere
            line 5: key `verdict.keyword` is `rewrite`: expected annotate, quarantine or reject, since stage `keyword` cannot rewrite a text
            line 5: key `verdict.keyword` is `admit`: expected annotate, quarantine or reject
            line 5: key `verdict.keyword` is `Reject`: expected annotate, quarantine or reject
            line 5: key `verdict.provenance` is `reject`: expected no verdict, since stage `provenance` only labels and never fires
        "#]],
    );
}

#[test]
fn settings_of_a_stage_that_runs_nowhere_are_refused() {
    let keyword = "name = \"x\"\n[write]\nstages = [\"keyword\"]\n";
    refused(
        &[
            &format!("{keyword}[stage.taint]\nthreshold = 0.5\n"),
            &format!("{keyword}[weights]\ns1 = 0.2\n"),
        ],
        &expect![[r#"
            line 4: key `stage.taint` is `a table`: expected stage `taint` in `write.stages` or `read.stages`, since it runs nowhere
            line 4: key `weights` is `a table`: expected stage `reasoning-guard` in `write.stages` or `read.stages`, since it runs nowhere
        "#]],
    );
}

#[test]
fn weights_must_sum_to_exactly_one() {
    refused(
        &[
            &with("[weights]\ns1 = 0.21"),
            &with("[weights]\ns1 = 0.19"),
            &with("[weights]\ns1 = 1.5"),
            &with("[weights]\ns1 = -0.2"),
            &with("[weights]\ns1 = 0.205"),
            &with("[weights]\ns1 = \"0.2\""),
        ],
        &expect![[r#"
            line 4: key `weights` is `1.01 in sum`: expected weights that sum to exactly 1.00, where a signal that is not named weighs 0.20
            line 4: key `weights` is `0.99 in sum`: expected weights that sum to exactly 1.00, where a signal that is not named weighs 0.20
            line 5: key `weights.s1` is `1.5`: expected a weight from 0 to 1
            line 5: key `weights.s1` is `-0.2`: expected a decimal number from 0 to 1 with at most two decimals
            line 5: key `weights.s1` is `0.205`: expected a decimal number from 0 to 1 with at most two decimals
            line 5: key `weights.s1` is `"0.2"`: expected a decimal number from 0 to 1 with at most two decimals
        "#]],
    );
    let accepted = policy(&with("[weights]\ns1 = 1\ns2 = 0\ns3 = 0.0\ns4 = 0\ns5 = 0.00"));
    assert_eq!(accepted.weights["s1"], 100);
}

#[test]
fn thresholds_that_can_never_be_passed_are_refused() {
    refused(
        &[
            &with("[stage.reasoning-guard]\nthreshold = 1.0"),
            &with("[stage.taint]\nthreshold = 1"),
            &with("[stage.pattern]\nthreshold = 1.5"),
            &with("[stage.taint]\nthreshold = 0.455"),
            &with("[stage.taint]\nthreshold = nan"),
        ],
        &expect![[r#"
            line 5: key `stage.reasoning-guard.threshold` is `1.0`: expected less than 1.00, the highest forgery score that can occur, since at or over it the stage never fires by it
            line 5: key `stage.taint.threshold` is `1`: expected less than 1.00, the highest taint that can occur, since at or over it the stage never fires by it
            line 5: key `stage.pattern.threshold` is `1.5`: expected less than 1.00, the highest risk that can occur, since at or over it the stage never fires by it
            line 5: key `stage.taint.threshold` is `0.455`: expected a decimal number from 0 to 1 with at most two decimals
            line 5: key `stage.taint.threshold` is `nan`: expected a decimal number from 0 to 1 with at most two decimals
        "#]],
    );
    assert_eq!(
        policy(&with("[stage.taint]\nthreshold = 0.99")).stages["taint"].numbers["threshold"],
        99
    );
    assert_eq!(
        policy(&with("[stage.taint]\nthreshold = 0")).stages["taint"].numbers["threshold"],
        0
    );
}

#[test]
fn other_values_are_checked() {
    refused(
        &[
            &with("[stage.taint]\nfail = \"maybe\""),
            &with("[stage.provenance]\nundeclared = \"trusted\""),
            &with("[stage.taint]\nundeclared = \"poisoned\""),
            &with("[stage.reasoning-guard]\nprecedents = \"all\""),
            &with("[quota]\nrecords = 0"),
            &with("[quota]\nbytes = -1"),
            &with("[quota]\nbytes = 1e9"),
            &with("[stage]\ntaint = 3"),
            "[write]\nstages = []\n",
            "name = \" \"\n",
            &format!("name = \"{}\"\n", "n".repeat(65)),
            "name = \"a\\u001bb\"\n",
            "name = \"x\"\nname = \"y\"\n",
            "name = \"x\n",
            &"#".repeat(65_537),
        ],
        &expect![[r#"
            line 5: key `stage.taint.fail` is `maybe`: expected closed or open
            line 5: key `stage.provenance.undeclared` is `trusted`: expected poisoned or unlabeled
            line 5: key `stage.taint.undeclared` is unknown: expected fail or threshold
            line 5: key `stage.reasoning-guard.precedents` is `all`: expected stored or receipt-backed
            line 5: key `quota.records` is `0`: expected a whole number from 1 to 9223372036854775807
            line 5: key `quota.bytes` is `-1`: expected a whole number from 1 to 9223372036854775807
            line 5: key `quota.bytes` is `1e9`: expected a whole number from 1 to 9223372036854775807
            line 5: key `stage.taint` is `3`: expected a table
            key `name` is missing: expected a name of 1 to 64 bytes without control characters
            line 1: key `name` is ` `: expected a name of 1 to 64 bytes without control characters
            line 1: key `name` is `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`: expected a name of 1 to 64 bytes without control characters
            line 1: key `name` is `a�b`: expected a name of 1 to 64 bytes without control characters
            line 2: the policy is not TOML: duplicate key
            line 1: the policy is not TOML: invalid basic string, expected `"`
            the policy has 65537 bytes: expected at most 65536
        "#]],
    );
    assert!(parse(&format!("name = \"{}\"\n", "n".repeat(64))).is_ok());
}

#[test]
fn the_line_of_an_error_is_the_line_of_the_key() {
    let error = parse("name = \"x\"\n\n# a comment\n[quota]\nrecords = 0\n").unwrap_err();
    assert_eq!(error.line(), Some(5));
}

fn rows(name: &str) -> String {
    let rows = explain(&named(name)).into_iter().map(|row| {
        let verdict = row
            .verdict
            .map_or("labels".to_owned(), |verdict| verdict.to_string());
        let parameters: Vec<String> = row
            .parameters
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        format!(
            "{} {}: {verdict}, fails {:?} [{}]\n",
            row.phase,
            row.stage,
            row.fail,
            parameters.join(" ")
        )
    });
    rows.collect()
}

#[test]
fn a_policy_is_explained_stage_by_stage() {
    expect![[r#"
        write keyword: reject, fails Closed []
        write reasoning-guard: reject, fails Closed [threshold=0.50 precedents=receipt-backed s1=0.20 s2=0.20 s3=0.20 s4=0.20 s5=0.20]
        read keyword: reject, fails Open []
        read provenance: labels, fails Open [undeclared=poisoned]
        read taint: reject, fails Open [threshold=0.45]
        read pattern: reject, fails Open [threshold=0.50]
        read reasoning-guard: reject, fails Open [threshold=0.50 precedents=receipt-backed s1=0.20 s2=0.20 s3=0.20 s4=0.20 s5=0.20]
    "#]].assert_eq(&rows("sentinel-strict"));
    expect![[r#"
        write sanitize: rewrite, fails Closed []
        write injection: quarantine, fails Closed [threshold=0.50]
        write standing-order: quarantine, fails Closed [threshold=0.50]
        write precedent: annotate, fails Closed [threshold=0.50]
        write gibberish: quarantine, fails Closed [threshold=0.49]
        write secrets: quarantine, fails Closed []
        write keyword: annotate, fails Closed []
        write provenance: labels, fails Closed [undeclared=unlabeled]
        write taint: annotate, fails Closed [threshold=0.45]
        write pattern: annotate, fails Closed [threshold=0.50]
        write reasoning-guard: annotate, fails Open [threshold=0.50 precedents=stored s1=0.20 s2=0.20 s3=0.20 s4=0.20 s5=0.20]
    "#]].assert_eq(&rows("warden"));
    assert!(rows("off").is_empty());
}

#[test]
fn a_loosening_is_told_line_by_line_and_a_tightening_is_not() {
    let lines = |old: &str, new: &str| loosenings(&named(old), &named(new)).join("\n");
    expect![[r#"
        write: stage `provenance` no longer runs
        write: stage `taint` no longer runs
        write: stage `pattern` no longer runs"#]]
    .assert_eq(&lines("sentinel-full", "sentinel"));
    expect!["stage `reasoning-guard`: precedents weakened from receipt-backed to stored"]
        .assert_eq(&lines("sentinel-strict", "sentinel"));
    expect![[r#"
        write: stage `reasoning-guard` fails open, was closed
        read: stage `keyword` no longer runs
        read: stage `provenance` no longer runs
        read: stage `taint` no longer runs
        read: stage `pattern` no longer runs
        read: stage `reasoning-guard` no longer runs
        stage `keyword`: verdict weakened from reject to annotate
        stage `taint`: verdict weakened from reject to annotate
        stage `pattern`: verdict weakened from reject to annotate
        stage `reasoning-guard`: verdict weakened from reject to annotate
        stage `provenance`: undeclared weakened from poisoned to unlabeled"#]]
    .assert_eq(&lines("sentinel", "warden"));
    assert_eq!(lines("sentinel", "sentinel-strict"), "");
    assert_eq!(lines("sentinel", "sentinel-full"), "");
    assert_eq!(lines("off", "sentinel"), "");
    let old = policy(FULL);
    let changed = FULL
        .replace("0.29", "0.31")
        .replace("s1 = 0.4", "s1 = 0.3")
        .replace("s2 = 0.3", "s2 = 0.4")
        .replace("10_000", "20_000")
        .replace("fail = \"closed\"", "fail = \"open\"");
    expect![[r#"
        write: stage `reasoning-guard` fails open, was closed
        stage `reasoning-guard`: threshold raised from 0.29 to 0.31
        weights: s1 lowered from 0.40 to 0.30
        quota: records raised from 10000 to 20000"#]]
    .assert_eq(&loosenings(&old, &policy(&changed)).join("\n"));
    let poisoned = policy(&with(""));
    let unlabeled = policy(&with("[stage.provenance]\nundeclared = \"unlabeled\""));
    expect!["stage `provenance`: undeclared weakened from poisoned to unlabeled"]
        .assert_eq(&loosenings(&poisoned, &unlabeled).join("\n"));
    assert!(loosenings(&unlabeled, &poisoned).is_empty());
    let keyword = policy("name = \"x\"\n[write]\nstages = [\"keyword\"]\n");
    assert!(
        loosenings(&keyword, &unlabeled).is_empty(),
        "nothing that both run reads a declaration"
    );
}
