//! The meter's file: what is entered is read again, and what is no line is named.

use crate::fixture::*;
use memwarden_core::Timestamp;
use memwarden_core::model::{Ability, Finish, Usage, UsageSource};
use memwarden_model::{By, Call, Meter, Outcome, Prices, Served, read_meter};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

fn call(source: UsageSource) -> Call {
    Call {
        at: Timestamp::from_micros(NOON_US),
        ability: Ability::Chat,
        purpose: purpose("defense:anomaly"),
        model: "gpt-4o-mini".to_owned(),
        cell: Some("anomaly/conv-26/0".parse().unwrap()),
        served: Served::Live,
        outcome: Outcome::Failed("truncated".to_owned()),
        status: Some(200),
        finish: Some(Finish::Length),
        usage: Some(Usage {
            prompt: 10,
            completion: 5,
            source,
        }),
        retries: 2,
        waiting: Duration::from_micros(7),
        serving: Duration::from_micros(11),
    }
}

fn calls() -> Vec<Call> {
    let tokenizer = || "o200k_base".to_owned();
    let whole = Call {
        cell: None,
        outcome: Outcome::Whole,
        finish: Some(Finish::Other("tool_calls".to_owned())),
        model: "of the \"house\"\n".to_owned(),
        ..call(UsageSource::Approximated {
            tokenizer: tokenizer(),
        })
    };
    let refused = Call {
        outcome: Outcome::Failed("upstream".to_owned()),
        status: Some(429),
        finish: None,
        usage: None,
        ..call(UsageSource::Provider)
    };
    vec![
        call(UsageSource::Provider),
        call(UsageSource::Counted {
            tokenizer: tokenizer(),
        }),
        whole,
        refused,
    ]
}

fn open(path: &Path) -> Meter {
    Meter::append_to(path, Prices::parse(PRICES).unwrap()).unwrap()
}

#[test]
fn what_was_entered_is_read_again_and_adds_up_to_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("meter.jsonl");
    let meter = open(&path);
    let costs: Vec<_> = calls().iter().map(|call| meter.record(call).unwrap()).collect();
    let read = read_meter(&path).unwrap();
    assert!(read.damaged.is_empty());
    assert_eq!(read.calls, calls().into_iter().zip(costs).collect::<Vec<_>>());
    for by in [By::Purpose, By::Model, By::Cell] {
        assert_eq!(read.report(by), meter.report(by));
    }
    // 10 · 0.15 + 5 · 0.6 dollars for a million; the model of the house has no price; the refusal was free.
    let picodollars: Vec<_> = read
        .calls
        .iter()
        .map(|(_, cost)| cost.map(|cost| cost.picodollars()))
        .collect();
    assert_eq!(picodollars, [Some(4_500_000), Some(4_500_000), None, Some(0)]);
}

#[test]
fn a_second_meter_goes_on_where_the_first_ended_even_inside_of_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("meter.jsonl");
    open(&path).record(&calls()[0]).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"v\":1,\"at_us\":17").unwrap();
    open(&path).record(&calls()[1]).unwrap();
    let read = read_meter(&path).unwrap();
    assert_eq!(read.calls.len(), 2);
    assert_eq!(
        read.damaged
            .iter()
            .map(|damaged| damaged.line)
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn lines_that_are_no_calls_are_named_and_in_no_sum() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("meter.jsonl");
    open(&path).record(&calls()[0]).unwrap();
    let good = std::fs::read_to_string(&path).unwrap();
    let without_purpose = good.replace("\"purpose\":\"defense:anomaly\",", "");
    for (bad, reason) in [
        (without_purpose, "the purpose is missing"),
        (
            good.replace("defense:anomaly", "Rerank it"),
            "purpose `Rerank it` is not valid",
        ),
        (good.replace("\"v\":1", "\"v\":2"), "version `2`"),
        (good.replace("\"chat\"", "\"guess\""), "ability `guess`"),
        (
            good.replace("\"prompt_tokens\":10", "\"prompt_tokens\":null"),
            "go together",
        ),
        (
            good.replace("\"provider\"", "\"counted\""),
            "tokenizer is missing",
        ),
        (good.trim_end().to_owned(), "cut off"),
        (format!("{}\n", "x".repeat(70_000)), "longer than 65536 bytes"),
    ] {
        std::fs::write(&path, format!("{good}\n{bad}")).unwrap();
        let read = read_meter(&path).unwrap();
        assert_eq!((read.calls.len(), read.damaged.len()), (1, 1), "{reason}");
        assert_eq!(read.damaged[0].line, 3);
        assert!(
            read.damaged[0].reason.contains(reason),
            "{reason}: {}",
            read.damaged[0].reason
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reply_whose_call_cannot_be_entered_is_withheld() {
    use memwarden_core::model::ModelError;
    use memwarden_model::Metered;
    use std::sync::Arc;
    // Every write to this device fails for want of space.
    let full = Path::new("/dev/full");
    let meter = Arc::new(Meter::append_to(full, Prices::default()).unwrap());
    let model = Metered::simulated(1, Arc::clone(&meter)).unwrap();
    assert!(matches!(ask(&model), Err(ModelError::Unrecorded { .. })));
    assert_eq!(total(&meter).calls, 0);
}
