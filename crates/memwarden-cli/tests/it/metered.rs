//! `meter report`: what a file of calls adds up to.

use crate::fixture::Store;
use serde_json::{Value, json};

fn line(purpose: &str, model: &str, cost: Option<u64>) -> String {
    let line = json!({
        "v": 1, "at_us": 1, "ability": "chat", "purpose": purpose, "model": model, "cell": null, "served": "live",
        "outcome": "ok", "status": 200, "finish": "stop", "prompt_tokens": 10, "completion_tokens": 2,
        "tokens_from": "provider", "tokenizer": null, "retries": 1, "waiting_us": 1000, "serving_us": 2000,
        "cost_picousd": cost,
    });
    format!("{line}\n")
}

fn three() -> String {
    let priced = line("answer", "small", Some(2_500_000)).repeat(2);
    format!("{priced}{}", line("defense:rerank", "=cmd(),\"x\"", None))
}

#[test]
fn calls_add_up_by_purpose_and_an_unknown_cost_stays_unknown() {
    let store = Store::unmade();
    let file = store.write("meter.jsonl", three());
    let report = store.run(&["meter", "report", &file, "--json"]);
    report.ended(0);
    let report = report.json();
    let rows = report["rows"].as_array().unwrap();
    let figures = |row: &Value| {
        json!([
            row["name"],
            row["calls"],
            row["prompt_tokens"],
            row["cost_usd"],
            row["known_cost_usd"]
        ])
    };
    assert_eq!(
        figures(&rows[0]),
        json!(["answer", 2, 20, "0.000005", "0.000005"])
    );
    assert_eq!(figures(&rows[1]), json!(["defense:rerank", 1, 10, null, "0.00"]));
    assert_eq!(
        figures(&report["total"]),
        json!(["total", 3, 30, null, "0.000005"])
    );

    let table = store.run(&["meter", "report", &file]);
    let table = table.ended(0);
    assert!(
        table.contains("unknown") && table.contains("at least 0.000005"),
        "{table}"
    );
    assert!(
        table.contains("1 call of unknown cost, which no sum of costs includes"),
        "{table}"
    );
}

#[test]
fn a_name_in_csv_is_one_field_and_no_formula() {
    let store = Store::unmade();
    let file = store.write("meter.jsonl", three());
    let csv = store.run(&["meter", "report", &file, "--by", "model", "--csv"]);
    let lines: Vec<&str> = csv.ended(0).split("\r\n").collect();
    assert_eq!(
        lines[1],
        "\"'=cmd(),\"\"x\"\"\",1,0,10,2,0,0,0,1,1000,2000,,0.00,1,0,0"
    );
    assert_eq!(
        lines[2],
        "\"small\",2,0,20,4,0,0,0,2,2000,4000,0.000005,0.000005,0,0,0"
    );
    assert_eq!(lines[0].split(',').count(), lines[2].split(',').count());
}

#[test]
fn a_damaged_line_is_named_and_makes_the_exit_code_one() {
    let store = Store::unmade();
    let cut: String = line("answer", "small", None).chars().take(40).collect();
    let file = store.write("meter.jsonl", format!("{}{cut}", three()));
    let report = store.run(&["meter", "report", &file, "--by", "cell"]);
    assert!(report.ended(1).contains("(none)"));
    assert!(
        report.err.contains("line 4 is damaged and in no sum: cut off"),
        "{}",
        report.err
    );
    store.run(&["meter", "report", &store.at("nothing")]).ended(2);
}

#[test]
fn two_long_names_stay_two_in_csv() {
    let store = Store::unmade();
    let long = |last: &str| "m".repeat(250) + last;
    let lines = line("answer", &long("1"), Some(1)) + &line("answer", &long("2"), Some(1));
    let file = store.write("meter.jsonl", lines);
    let csv = store.run(&["meter", "report", &file, "--by", "model", "--csv"]);
    let csv = csv.ended(0);
    assert!(csv.contains(&long("1")) && csv.contains(&long("2")), "{csv}");
}
