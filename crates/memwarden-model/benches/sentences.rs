//! Texts a second of a sentence encoder whose directory `MEMWARDEN_ENCODER` names.
//!
//! Each text has 30 pieces beside its two markers. `RAYON_NUM_THREADS=1` makes it one core.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot go on has nothing to recover"
)]
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memwarden_core::encode::Encode as _;
use memwarden_model::{Meter, Metered, Prices};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

const TEXTS: usize = 64;

/// Thirty words that are one piece each, turned by `number`.
fn text(number: usize) -> String {
    const WORDS: [&str; 30] = [
        "the", "invoice", "from", "march", "was", "paid", "late", "because", "our", "office", "moved", "to",
        "another", "street", "and", "nobody", "told", "the", "bank", "about", "it", "so", "please", "call",
        "them", "before", "you", "send", "the", "next",
    ];
    let turned = WORDS.iter().cycle().skip(number % WORDS.len()).take(WORDS.len());
    turned.copied().collect::<Vec<&str>>().join(" ")
}

fn sentences(criterion: &mut Criterion) {
    let Some(directory) = std::env::var_os("MEMWARDEN_ENCODER").map(PathBuf::from) else {
        println!("DID NOT RUN: MEMWARDEN_ENCODER names no directory of a sentence encoder");
        return;
    };
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let purpose = "bench".parse().expect("a purpose");
    let encoder =
        Metered::sentence_encoder(&directory, purpose, meter).expect("the files of a sentence encoder");
    let texts: Vec<String> = (0..TEXTS).map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut group = criterion.benchmark_group("sentences");
    group.sample_size(10);
    group.throughput(Throughput::Elements(TEXTS as u64));
    group.bench_function("64 at once", |bench| {
        bench.iter(|| encoder.encode(black_box(&texts)))
    });
    group.throughput(Throughput::Elements(1));
    let one = texts.get(..1).unwrap_or_default();
    group.bench_function("one alone", |bench| bench.iter(|| encoder.encode(black_box(one))));
    group.finish();
}

criterion_group!(benches, sentences);
criterion_main!(benches);
