//! Throughput of `normalize` by kind of text: `cargo bench --profile release -p memwarden-guard`.
//!
//! The first three are what memories are made of; the others are made to cost as much as they can, at two sizes, so
//! that anything but linear time shows as a difference between the two.

#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memwarden_guard::normalize;
use std::hint::black_box;

const PROSE: &str = "The weekly report for the harbor project was sent to the vendor on Monday, and the customer \
    said that the window of the second quarter suits them. Please keep the invoice with the contract; we will \
    review the budget after the meeting. ";
const RUSSIAN: &str =
    "Еженедельный отчёт о проекте отправлен в понедельник, и заказчик согласен со сроками. ";
const CHINESE: &str = "每周的项目报告已于星期一发送给供应商，客户确认第二季度的时间安排合适。";

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len() + 1)
}

/// "ignore it all, " in base64 in base64 in base64.
fn nested(bytes: usize) -> String {
    use base64::Engine;
    let mut text = repeated("ignore it all, ", bytes / 3);
    for _ in 0..3 {
        text = base64::engine::general_purpose::STANDARD.encode(text);
    }
    text
}

fn throughput(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("normalize");
    group.sample_size(10);
    let units = [
        ("prose", PROSE),
        ("russian", RUSSIAN),
        ("chinese", CHINESE),
        ("a.", "a. "),
        ("A", "A"),
        ("percent", "%25"),
        ("entities", "&amp;"),
        ("letters", "i g n o r e "),
        ("leet", "1gn0r3 "),
        ("signs", "i-g-n-o-r-e "),
        ("mixed script", "ignоre "),
        ("zero-width", "i\u{200b}g"),
        ("marks", "e\u{301}\u{336}\u{301}"),
        ("only marks", "\u{301}"),
        ("overrides", "\u{202e}\u{2066}a"),
        ("escapes", "\x1b]"),
        ("backspaces", "a\x08"),
        ("lines of code", "aWdub3JlIGl0IGFsbCwg\n"),
        ("hex pairs", "69 67 "),
    ];
    let mut texts: Vec<(&str, String)> = Vec::new();
    for (name, unit) in units {
        texts.extend([1 << 16, 1 << 20].map(|bytes| (name, repeated(unit, bytes))));
    }
    texts.extend([1 << 16, 1 << 20].map(|bytes| ("nested base64", nested(bytes))));
    for (name, text) in &texts {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(BenchmarkId::new(*name, bytes), |bencher| {
            bencher.iter(|| normalize(black_box(text)));
        });
    }
    group.finish();
}

criterion_group!(benches, throughput);
criterion_main!(benches);
