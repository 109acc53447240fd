//! The meter's file: what is entered is read again, and what is no line is named.

use crate::fixture::*;
use memwarden_core::Timestamp;
use memwarden_core::model::{Ability, Finish, Usage, UsageSource};
use memwarden_model::{By, Call, Cost, Damaged, Meter, Outcome, Prices, Served, read_calls, read_meter};
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
        unsettled: 0,
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

/// The calls of a file with their costs, and the lines that are none.
fn read(path: &Path) -> (Vec<(Call, Option<Cost>)>, Vec<Damaged>) {
    let mut calls = Vec::new();
    let damaged = read_calls(path, |call, cost| calls.push((call, cost))).unwrap();
    (calls, damaged)
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
    let (read, damaged) = read(&path);
    assert!(damaged.is_empty());
    assert_eq!(read, calls().into_iter().zip(costs).collect::<Vec<_>>());
    for by in [By::Purpose, By::Model, By::Cell] {
        assert_eq!(read_meter(&path).unwrap().report(by), meter.report(by));
    }
    // 10 · 0.15 + 5 · 0.6 dollars for a million; the model of the house has no price; the refusal was free.
    let picodollars: Vec<_> = read
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
    let (read, damaged) = read(&path);
    assert_eq!(read.len(), 2);
    assert_eq!(
        damaged.iter().map(|damaged| damaged.line).collect::<Vec<_>>(),
        [2]
    );
}

/// The values of a line without their names, which would be read in the order of the fields.
fn as_list(line: &str) -> String {
    let fields = line.trim_start_matches('{').trim_end().trim_end_matches('}');
    let values = fields.split(',').map(|field| field.split_once(':').unwrap().1);
    format!("[{}]\n", values.collect::<Vec<_>>().join(","))
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
        (good.replace("truncated", "=evil"), "outcome `=evil` is not known"),
        (good.replace("truncated", ""), "outcome `` is not known"),
        (good.replace("truncated", "ok"), "finish reason is `length`"),
        (good.replace("gpt-4o-mini", ""), "the model is missing"),
        (
            good.replace(",\"cost_picousd\":4500000", ""),
            "missing field `cost_picousd`",
        ),
        (as_list(&good), "expected a JSON object"),
        (good.trim_end().to_owned(), "cut off"),
        (format!("{}\n", "x".repeat(70_000)), "longer than 65536 bytes"),
    ] {
        std::fs::write(&path, format!("{good}\n{bad}")).unwrap();
        let (read, damaged) = read(&path);
        assert_eq!((read.len(), damaged.len()), (1, 1), "{reason}");
        assert_eq!(damaged[0].line, 3);
        assert!(
            damaged[0].reason.contains(reason),
            "{reason}: {}",
            damaged[0].reason
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

#[test]
fn a_cost_is_known_only_where_the_provider_or_the_reply_says() {
    let meter = Meter::in_memory(Prices::parse(PRICES).unwrap());
    let counted = || UsageSource::Counted {
        tokenizer: "o200k_base".to_owned(),
    };
    let cost = |outcome: &str, status: u16, source: Option<UsageSource>, unsettled: u32| {
        let call = Call {
            outcome: Outcome::Failed(outcome.to_owned()),
            status: (status > 0).then_some(status),
            usage: source.and_then(|source| call(source).usage),
            unsettled,
            ..call(UsageSource::Provider)
        };
        meter.record(&call).unwrap().map(Cost::picodollars)
    };
    for outcome in [
        "cut",
        "left",
        "failed",
        "timeout",
        "closed",
        "malformed",
        "too-large",
    ] {
        assert_eq!(cost(outcome, 200, None, 0), None, "{outcome}");
        assert_eq!(cost(outcome, 200, Some(counted()), 0), None, "{outcome}");
        assert_eq!(
            cost(outcome, 200, Some(UsageSource::Provider), 0),
            Some(4_500_000),
            "{outcome}"
        );
    }
    for outcome in ["truncated", "empty", "withheld", "schema"] {
        assert_eq!(
            cost(outcome, 200, Some(counted()), 0),
            Some(4_500_000),
            "{outcome}"
        );
    }
    // A refusal is free; a gateway that gave up and an address that is another's say nothing.
    for status in [400, 401, 404, 408, 429, 500, 503] {
        assert_eq!(cost("upstream", status, None, 0), Some(0), "{status}");
    }
    for status in [301, 308, 502, 504, 524] {
        assert_eq!(cost("upstream", status, None, 0), None, "{status}");
    }
    assert_eq!(cost("unreachable", 0, None, 0), Some(0));
    // Whatever the last try cost: one before it may have been charged.
    assert_eq!(cost("truncated", 200, Some(UsageSource::Provider), 1), None);
}

#[test]
fn a_sum_that_cannot_be_written_is_unknown_and_no_less_than_before() {
    let meter = Meter::in_memory(Prices::parse(PRICES).unwrap());
    let costing = |prompt: u64| Call {
        usage: Some(Usage {
            prompt,
            completion: 0,
            source: UsageSource::Provider,
        }),
        ..call(UsageSource::Provider)
    };
    assert_eq!(meter.record(&costing(u64::MAX)).unwrap(), None);
    let large = costing(u64::MAX / 150_000);
    let cost = meter.record(&large).unwrap().unwrap();
    meter.record(&large).unwrap();
    let total = total(&meter);
    assert_eq!((total.calls, total.unpriced, total.cost), (3, 2, cost));
    assert_eq!(total.whole_cost(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn no_call_is_made_while_none_can_be_entered() {
    use crate::double::{Double, ok};
    use memwarden_core::model::ModelError;
    use std::sync::Arc;
    let meter = Arc::new(Meter::append_to(Path::new("/dev/full"), Prices::default()).unwrap());
    // One answer only: a second call would find nobody.
    let double = Double::new(vec![ok(&reply("x", "stop"))]);
    let (model, _) = paced(config(&double.url), &meter);
    for _ in 0..3 {
        assert!(matches!(ask(&model), Err(ModelError::Unrecorded { .. })));
    }
    assert_eq!(double.finish().len(), 1);
}
