//! How fast a language model of this machine scores and answers, in tokens a second.
//!
//! `MEMWARDEN_GGUF=FILE cargo bench --profile release -p memwarden-model --features local`; without the variable the tiny
//! model of the tests is measured, which says nothing but that this runs.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has nothing to recover"
)]
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use memwarden_core::model::{Chat as _, ChatCall, Message, Purpose, Score as _, ScoreCall};
use memwarden_model::{LanguageModel, Meter, Metered, Prices};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const SENTENCE: &str = " The night shift checked the list of open orders and wrote down what was missing.";

/// The model, and how many sentences it is to score.
fn model() -> (Metered, usize) {
    let tiny = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llama/tiny.gguf");
    let path = std::env::var_os("MEMWARDEN_GGUF").map_or(tiny, PathBuf::from);
    let model = LanguageModel::open(&path).unwrap();
    let sentences = if model.context() < 1024 { 1 } else { 16 };
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    (Metered::local(model, meter), sentences)
}

fn speed(criterion: &mut Criterion) {
    let (model, sentences) = model();
    let purpose: Purpose = "bench".parse().unwrap();
    let mut group = criterion.benchmark_group("llama");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_secs(2))
        .measurement_time(Duration::from_secs(15));
    // Each text begins otherwise, so that nothing of the one before can be reused.
    let mut count = 0;
    let mut score = || {
        count += 1;
        let text = format!("{count}.{}", SENTENCE.repeat(sentences));
        let scored = model
            .score(&[ScoreCall::new(&purpose, "", &text)])
            .pop()
            .unwrap()
            .unwrap();
        scored.tokens.len()
    };
    group.throughput(Throughput::Elements(score() as u64));
    group.bench_function("score", |bencher| bencher.iter(&mut score));
    let messages = [Message::user(
        "Count from one to fifty in words, one number a line.",
    )];
    let mut call = ChatCall::new(&purpose, &messages, NonZeroU32::new(64).unwrap());
    call.temperature = 1.0;
    call.seed = Some(7);
    let answering = model.passing_on();
    let answer = || {
        let reply = answering.chat(&[call]).pop().unwrap().unwrap();
        reply.usage.unwrap().completion
    };
    group.throughput(Throughput::Elements(answer()));
    group.bench_function("answer", |bencher| bencher.iter(answer));
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
