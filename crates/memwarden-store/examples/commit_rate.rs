//! What a commit costs over bare SQLite, and how long the full reads take.
//!
//! `cargo run --release -p memwarden-store --example commit_rate [DIRECTORY]`. The bare loop writes one table
//! row and one FTS5 row per record; both sides take turns on the same disk: trust the ratios, not the digits.

use memwarden_core::log::{
    Body, Draft, LeafDraft, LogRow, LogTail, NewRecord, Records, Retrieval, SealError, Sealed, SealedLeaf,
    Sealer, Search,
};
use memwarden_core::{
    Authority, Channel, Digest, Entry, LeafKind, LogId, NamespaceId, PrincipalId, RecordId, Salt, Status,
    StoreId, Timestamp, Verdict,
};
use memwarden_store::SqliteStore;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const LOG: LogId = LogId::from_bytes([1; 16]);
const NAMESPACE: NamespaceId = NamespaceId::from_bytes([2; 16]);
const ROUNDS: u32 = 5;
const WORDS: [&str; 16] = [
    "invoice",
    "deploy",
    "customer",
    "validated",
    "batch",
    "schema",
    "refund",
    "pipeline",
    "shipment",
    "quarter",
    "patient",
    "ledger",
    "policy",
    "meeting",
    "window",
    "release",
];

fn main() -> Result<(), Box<dyn Error>> {
    let kept;
    let base = match std::env::args().nth(1) {
        Some(directory) => directory.into(),
        None => {
            kept = tempfile::tempdir()?;
            kept.path().to_path_buf()
        }
    };
    for (batch, commits) in [(1, 1_000), (64, 150), (256, 50)] {
        compare(&base.join(format!("batch-{batch}")), batch, commits)?;
    }
    reads(&base.join("reads"))
}

fn compare(directory: &Path, batch: u32, commits: u32) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(directory)?;
    let bare = bare_store(directory)?;
    let store = store(&directory.join("store"))?;
    let mut sealer = Counter::default();
    let (mut bare_rate, mut store_rate) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let first = round * commits * batch;
        let started = Instant::now();
        for commit in 0..commits {
            write_bare(&bare, first + commit * batch, batch)?;
        }
        bare_rate.push(f64::from(commits) / started.elapsed().as_secs_f64());
        let batches: Vec<_> = (0..commits)
            .map(|commit| drafts(first + commit * batch, batch))
            .collect();
        let started = Instant::now();
        for drafts in &batches {
            store.commit(LOG, drafts, &mut sealer)?;
        }
        store_rate.push(f64::from(commits) / started.elapsed().as_secs_f64());
    }
    let (bare_rate, store_rate) = (median(bare_rate), median(store_rate));
    println!(
        "{batch:>3} per commit: bare {:>7.0} rows/s, store {:>7.0} rows/s, cost {:+.0} %",
        bare_rate * f64::from(batch),
        store_rate * f64::from(batch),
        (bare_rate / store_rate - 1.0) * 100.0
    );
    Ok(())
}

fn reads(directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = store(directory)?;
    let mut sealer = Counter::default();
    for first in (0..100_000).step_by(250) {
        store.commit(LOG, &drafts(first, 250), &mut sealer)?;
    }
    for turn in ["cold", "warm"] {
        let mut snapshot = store.snapshot()?;
        let (mut leaves, mut rows) = (0, 0);
        let started = Instant::now();
        snapshot.leaves(LOG, 0..u64::MAX, &mut |_, _| {
            leaves += 1;
            Ok(())
        })?;
        let all_leaves = started.elapsed();
        let started = Instant::now();
        snapshot.rows(LOG, 0, &mut |_| rows += 1)?;
        let all_rows = started.elapsed();
        let started = Instant::now();
        snapshot.usage(LOG)?;
        println!(
            "{turn}: {leaves} leaves {all_leaves:.0?}, {rows} rows {all_rows:.0?}, usage {:.0?}",
            started.elapsed()
        );
        for (query, common_above) in [
            ("which refund of the customer at window 77123", 1_000),
            ("refund customer window", u64::MAX),
        ] {
            let search = Search {
                namespace: NAMESPACE,
                retrieval: Retrieval::Lexical,
                query,
                vector: None,
                limit: 50,
                common_above,
                kind: None,
                without: &[],
            };
            let started = Instant::now();
            let found = snapshot.candidates(&search)?.len();
            println!("{turn}: `{query}` ({found}) {:.1?}", started.elapsed());
        }
    }
    let started = Instant::now();
    let differences = store.snapshot()?.index_differences(NAMESPACE)?.len();
    println!("index differences ({differences}) {:.0?}", started.elapsed());
    let started = Instant::now();
    store.scrub()?;
    println!("scrub {:.0?}", started.elapsed());
    Ok(())
}

fn store(directory: &Path) -> Result<SqliteStore, Box<dyn Error>> {
    let store = SqliteStore::create(directory, StoreId::from_bytes([3; 16]))?;
    store.add_log(&LogRow {
        id: LOG,
        tenant: "default".into(),
        verifier_key: "none".into(),
    })?;
    store.namespace(LOG, "default", NAMESPACE)?;
    Ok(store)
}

fn bare_store(directory: &Path) -> Result<rusqlite::Connection, Box<dyn Error>> {
    let conn = rusqlite::Connection::open(directory.join("bare.db"))?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
         CREATE TABLE record (num INTEGER PRIMARY KEY, id BLOB, leaf BLOB, content TEXT);
         CREATE VIRTUAL TABLE fts USING fts5(body, content='', contentless_delete=1, tokenize='porter unicode61');",
    )?;
    Ok(conn)
}

fn write_bare(conn: &rusqlite::Connection, first: u32, batch: u32) -> Result<(), Box<dyn Error>> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for n in first..first + batch {
        let text = text(n);
        conn.prepare_cached("INSERT INTO record (num, id, leaf, content) VALUES (?1, ?2, ?3, ?4)")?
            .execute(rusqlite::params![n, id(n).as_bytes(), [0_u8; 200], text])?;
        conn.prepare_cached("INSERT INTO fts (rowid, body) VALUES (?1, ?2)")?
            .execute(rusqlite::params![n, text])?;
    }
    conn.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

fn text(n: u32) -> String {
    let words = (0..12).map(|k| {
        WORDS
            .get(((n >> k) ^ (n * (k + 1))) as usize % WORDS.len())
            .unwrap_or(&"")
    });
    words.fold(format!("Note {n}:"), |text, word| text + " " + word)
}

fn id(n: u32) -> RecordId {
    let digest = Digest::of(&n.to_be_bytes());
    RecordId::try_from(digest.as_bytes().split_at(16).0).unwrap_or(RecordId::from_bytes([0; 16]))
}

fn drafts(first: u32, batch: u32) -> Vec<Draft> {
    (first..first + batch)
        .map(|n| Draft {
            leaf: LeafDraft {
                at: Timestamp::from_micros(n.into()),
                kind: LeafKind::Write,
                namespace: Some(NAMESPACE),
                record: Some(id(n)),
                principal: PrincipalId::WARDEN,
                context: None,
                channel: Channel::Direct,
                authority: Authority::Inform,
                status: Status::Active,
                parents: Vec::new(),
                payload: Digest::of(b"payload"),
                findings: None,
                vector: None,
                policy: Digest::of(b"policy"),
            },
            body: Body::Record(Box::new(NewRecord {
                id: id(n),
                namespace: NAMESPACE,
                entry: Entry::new(text(n)),
                salt: Salt::from_bytes([4; 32]),
                verdict: Verdict::Admit,
                findings: None,
                vector: None,
                status: Status::Active,
            })),
        })
        .collect()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seals by counting.
#[derive(Default)]
struct Counter {
    size: u64,
}

impl Sealer for Counter {
    fn seen(&self) -> u64 {
        self.size
    }

    fn seal(&mut self, tail: &LogTail, drafts: &[Draft]) -> Result<Sealed, SealError> {
        self.size = tail.size;
        let mut outcomes = Vec::new();
        for draft in drafts {
            outcomes.push(Ok(SealedLeaf {
                position: self.size,
                time: draft.leaf.at,
                bytes: draft.leaf.place(tail.log, 0, self.size, draft.leaf.at).encode(),
            }));
            self.size += 1;
        }
        Ok(Sealed {
            outcomes,
            tiles: Vec::new(),
            size: self.size,
            checkpoint: format!("a checkpoint of about the usual length: {:0>220}", self.size),
        })
    }
}
