//! The verbs alone, for comparing two versions on one machine: `cargo bench --profile release -p memwarden`.
//!
//! Ratios against bare SQLite, on a store of realistic size, come from `cargo xtask bench`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on has nothing to recover"
)]
#![allow(missing_docs, reason = "the macros of criterion make public functions")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use memwarden::guard::{Candidate, Guard, Phase, StageError, StoreView, Writer};
use memwarden::{Entry, Handle, Namespace, Places, Query, Role, Warden};
use std::hint::black_box;

const RECORDS: usize = 10_000;
const WORDS: [&str; 24] = [
    "invoice", "customer", "harbor", "weekly", "report", "vendor", "prefers", "meeting", "ledger", "travel",
    "window", "allergic", "project", "deadline", "archive", "refund", "shipment", "quarter", "contract",
    "budget", "review", "license", "traffic", "summary",
];

/// A remark of about 200 characters; `n` is one of its words.
fn entry(n: usize) -> Entry {
    let words = (0..26).map(|k| WORDS[(n * (k + 3) + k * k + n / 7) % WORDS.len()]);
    let mut entry = Entry::new(words.fold(format!("note{n}"), |text, word| text + " " + word));
    entry.source = Some("agent".to_owned());
    entry
}

fn store(records: usize) -> (tempfile::TempDir, Handle) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let places = Places::within(at("store"), at("keys"), at("witness"));
    let made = Warden::init(&places, &memwarden::guard::preset("sentinel").unwrap()).unwrap();
    let warden = Warden::open(&places).unwrap();
    let agent = warden.handle(&made.credential(Role::Agent).unwrap()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let agent = &agent;
            scope.spawn(move || {
                for n in (thread..records).step_by(32) {
                    agent.remember(&Namespace::default(), entry(n)).unwrap();
                }
            });
        }
    });
    (directory, agent)
}

fn remember(criterion: &mut Criterion) {
    let (_directory, agent) = store(0);
    let namespace = Namespace::default();
    let mut n = 0;
    criterion.bench_function("remember, one writer", |bencher| {
        bencher.iter_batched(
            || {
                n += 1;
                entry(n)
            },
            |entry| agent.remember(&namespace, entry).unwrap(),
            BatchSize::SmallInput,
        );
    });
}

fn recall(criterion: &mut Criterion) {
    let (_directory, agent) = store(RECORDS);
    let namespace = Namespace::default();
    let mut n = 0;
    criterion.bench_function("recall ten of 10,000", |bencher| {
        bencher.iter(|| {
            n = (n + 7_919) % RECORDS;
            let query = Query::new(format!("note{n} harbor refund"));
            agent.recall(&namespace, &query).unwrap()
        });
    });
}

struct NoStore;

impl StoreView for NoStore {
    fn reasoning_entries(&self, _subject: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }

    fn receipt_backed_entries(&self, _subject: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }
}

fn screen(criterion: &mut Criterion) {
    let guard = Guard::new();
    let policy = memwarden::guard::preset("sentinel-full").unwrap();
    let entry = entry(1);
    let candidate = Candidate {
        entry: &entry,
        inherited: None,
    };
    criterion.bench_function("screen with all five layers", |bencher| {
        bencher.iter(|| {
            guard.screen(
                &policy,
                Phase::Write,
                black_box(&candidate),
                &NoStore,
                Writer::Untrusted,
            )
        });
    });
}

criterion_group!(verbs, remember, recall, screen);
criterion_main!(verbs);
