//! A store in a temporary directory, with its keys and witness beside it, and ways behind its back.
#![cfg_attr(
    feature = "unverified-reads",
    allow(dead_code, reason = "the control uses only some of it")
)]

use memwarden::{
    Clock, Entry, Handle, Namespace, Options, Places, Query, RecordId, Role, Status, Warden, WardenError,
};
use memwarden_core::Timestamp;
use memwarden_core::encode::{Embedding, Encode, EncodeError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock {
    shows: AtomicU64,
    running: AtomicU64,
}

impl TestClock {
    /// Lets time pass until the clock shows `micros`; one that is set back has not run.
    pub fn set(&self, micros: u64) {
        let before = self.shows.swap(micros, Ordering::SeqCst);
        self.running
            .fetch_add(micros.saturating_sub(before), Ordering::SeqCst);
    }

    /// Sets the clock, without time passing.
    pub fn tamper(&self, micros: u64) {
        self.shows.store(micros, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.shows.load(Ordering::SeqCst))
    }

    fn running(&self) -> Duration {
        Duration::from_micros(self.running.load(Ordering::SeqCst))
    }
}

/// An encoder of eight meanings: each word of a group moves a text in one direction, and any other word in a
/// direction of its own length.
#[derive(Debug, Clone, Copy)]
pub struct Meanings(pub &'static str);

impl Encode for Meanings {
    fn name(&self) -> &str {
        self.0
    }

    fn dimensions(&self) -> usize {
        8
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        const GROUPS: [&[&str]; 8] = [
            &["ship", "vessel", "boat", "ferry"],
            &["harbor", "port", "quay"],
            &["dawn", "morning", "sunrise"],
            &["crane", "hoist"],
            &["paid", "invoice", "money"],
            &["captain", "pilot"],
            &["storm", "gale"],
            &["cargo", "freight"],
        ];
        let vector = |text: &&str| {
            let mut vector = [0.0; 8];
            for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
                for (group, value) in GROUPS.iter().zip(&mut vector) {
                    *value += f32::from(u8::from(group.contains(&word)));
                }
            }
            Embedding::quantize(&vector)
        };
        texts.iter().map(vector).collect()
    }
}

pub const START: u64 = 1_800_000_000_000_000;

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub places: Places,
    pub made: memwarden::Made,
    pub clock: Arc<TestClock>,
}

impl Fixture {
    pub fn new(preset: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let places = Places::within(at("store"), at("keys"), at("witness"));
        let policy = memwarden::guard::preset(preset).unwrap();
        let made = Warden::init_at(&places, &policy, Timestamp::from_micros(START)).unwrap();
        Self {
            dir,
            places,
            made,
            clock: Arc::new(TestClock {
                shows: AtomicU64::new(START),
                running: AtomicU64::new(0),
            }),
        }
    }

    pub fn options(&self) -> Options {
        let clock: Arc<dyn Clock> = self.clock.clone();
        Options {
            clock,
            encoder: None,
            ..Options::default()
        }
    }

    /// Opens the store with an encoder that tells a few words of the sea by their meaning.
    pub fn open_with_vectors(&self, encoder: Meanings) -> Arc<Warden> {
        let options = Options {
            encoder: Some(Arc::new(encoder)),
            ..self.options()
        };
        Warden::open_with(&self.places, &options).unwrap()
    }

    pub fn try_open(&self) -> Result<Arc<Warden>, WardenError> {
        Warden::open_with(&self.places, &self.options())
    }

    pub fn open(&self) -> Arc<Warden> {
        self.try_open().unwrap()
    }

    pub fn handle(&self, warden: &Arc<Warden>, role: Role) -> Handle {
        warden.handle(&self.made.credential(role).unwrap()).unwrap()
    }

    /// A handle for a role that `init` gives no credential to.
    pub fn registered(&self, warden: &Arc<Warden>, role: Role) -> Handle {
        let owner = self.handle(warden, Role::Owner);
        let credential = owner.register(role.as_str(), role, None).unwrap();
        warden.handle(&credential).unwrap()
    }

    /// The database, opened by somebody who is not the warden.
    pub fn db(&self) -> rusqlite::Connection {
        let db = rusqlite::Connection::open(self.places.store.join("memwarden.db")).unwrap();
        db.execute_batch("PRAGMA ignore_check_constraints = ON").unwrap();
        db
    }

    /// Runs statements behind the warden's back.
    pub fn tamper(&self, sql: &str) {
        self.db().execute_batch(sql).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Copies the store's directory.
    pub fn copy_store(&self, name: &str) -> PathBuf {
        let to = self.path(name);
        copy_directory(&self.places.store, &to);
        to
    }

    /// Puts a copy in the store's place, as a restored backup would be: other files under the same names.
    pub fn put_back(&self, copy: &Path) {
        std::fs::remove_dir_all(&self.places.store).unwrap();
        copy_directory(copy, &self.places.store);
    }

    pub fn witness_files(&self) -> PathBuf {
        let mut entries = std::fs::read_dir(&self.made.witness).unwrap();
        entries.next().unwrap().unwrap().path()
    }
}

pub fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub fn ns(name: &str) -> Namespace {
    name.parse().unwrap()
}

pub fn keep(handle: &Handle, namespace: &str, text: &str) -> RecordId {
    let kept = handle.remember(&ns(namespace), Entry::new(text)).unwrap();
    assert_eq!(kept.status, Status::Active);
    kept.id
}

pub fn recall(handle: &Handle, namespace: &str, words: &str) -> Result<Vec<String>, WardenError> {
    let recalled = handle.recall(&ns(namespace), &Query::new(words))?;
    Ok(recalled
        .hits
        .into_iter()
        .map(|hit| hit.record.entry.content)
        .collect())
}

/// The record that a refusal names; the test fails if it is no report of tampering.
pub fn tampered_record(error: &WardenError) -> RecordId {
    match error {
        WardenError::Tampered { record, .. } => *record,
        other => panic!("expected a report of tampering: {other}"),
    }
}

/// `X'...'` for SQL.
pub fn blob(id: RecordId) -> String {
    format!("X'{id}'")
}
