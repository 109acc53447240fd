//! How fast one vector is compared with 100 000 others on one core.

#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memwarden_core::encode::dot_i8;
use std::hint::black_box;

const VECTORS: usize = 100_000;
const DIMENSIONS: usize = 256;

fn scanning(criterion: &mut Criterion) {
    // Any numbers do: the kernel does not branch on them.
    let values: Vec<i8> = (0..VECTORS * DIMENSIONS)
        .map(|at| ((at.wrapping_mul(2_654_435_761) >> 7) % 255) as i8)
        .collect();
    let query: Vec<i8> = values.iter().take(DIMENSIONS).copied().collect();
    let mut group = criterion.benchmark_group("dot_i8");
    group.throughput(Throughput::Elements(VECTORS as u64));
    group.bench_function("100000 x 256", |bencher| {
        bencher.iter(|| {
            let scores = values
                .chunks_exact(DIMENSIONS)
                .map(|vector| dot_i8(black_box(&query), vector));
            black_box(scores.max())
        });
    });
    group.finish();
}

criterion_group!(benches, scanning);
criterion_main!(benches);
