//! How fast texts become vectors on one core, and how long the first one waits for the table.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot go on has nothing to recover"
)]
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memwarden_core::encode::Encode as _;
use memwarden_encode::StaticEncoder;
use std::hint::black_box;
use std::time::Instant;

const SHORT: [&str; 4] = [
    "Alice moved to Lisbon in March and works for a shipping company now.",
    "The invoice of the second quarter was paid late because of a holiday.",
    "Prefers window seats, vegetarian meals and trains over planes.",
    "Decision log: chose the cheaper supplier after comparing three offers.",
];

fn encoding(criterion: &mut Criterion) {
    let began = Instant::now();
    let encoder = StaticEncoder::embedded().expect("the embedded table");
    println!("first use: {:.1} ms", began.elapsed().as_secs_f64() * 1e3);

    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(SHORT.len() as u64));
    group.bench_function("short texts", |bencher| {
        bencher.iter(|| encoder.encode(black_box(&SHORT)));
    });
    let long = SHORT.join(" ").repeat(200);
    group.throughput(Throughput::Bytes(long.len() as u64));
    group.bench_function("one long text", |bencher| {
        bencher.iter(|| encoder.encode(black_box(&[&long])));
    });
    group.finish();
}

criterion_group!(benches, encoding);
criterion_main!(benches);
