//! A store in a temporary directory, drafts for it, and a sealer without cryptography.

use memwarden_core::log::{
    Body, Candidate, Committed, Draft, LeafDraft, LogRow, LogTail, NewRecord, Records, Refusal, Retrieval,
    SaltedPayload, SealError, Sealed, SealedLeaf, Sealer, Search, StoreError, Tile,
};
use memwarden_core::{
    Authority, Channel, Digest, Entry, LeafKind, LogId, NamespaceId, PrincipalId, RecallPayload, RecordId,
    Salt, Status, StoreId, StoredRecord, Timestamp, Verdict, leaf_hash,
};
use memwarden_store::SqliteStore;
use std::collections::HashSet;

pub const LOG: LogId = LogId::from_bytes([1; 16]);
pub const A: NamespaceId = NamespaceId::from_bytes([0xa; 16]);
pub const B: NamespaceId = NamespaceId::from_bytes([0xb; 16]);
pub const WRITER: PrincipalId = PrincipalId::from_bytes([9; 16]);

/// One log with the namespaces `a` and `b`.
pub struct House {
    pub dir: tempfile::TempDir,
    pub store: SqliteStore,
}

impl House {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(dir.path(), StoreId::from_bytes([5; 16])).unwrap();
        store.add_log(&log_row(LOG, "default")).unwrap();
        store.namespace(LOG, "a", A).unwrap();
        store.namespace(LOG, "b", B).unwrap();
        Self { dir, store }
    }

    pub fn records(&self) -> &dyn Records {
        &self.store
    }

    /// Commits with a sealer that has seen nothing, so that the whole chain is checked.
    pub fn commit(&self, drafts: &[Draft]) -> Committed {
        let committed = self.try_commit(drafts).unwrap();
        assert!(
            committed.outcomes.iter().all(Result::is_ok),
            "{:?}",
            committed.outcomes
        );
        committed
    }

    pub fn try_commit(&self, drafts: &[Draft]) -> Result<Committed, StoreError> {
        self.records().commit(LOG, drafts, &mut Chain::default())
    }

    pub fn remember(&self, n: u32, namespace: NamespaceId, content: &str) -> RecordId {
        self.commit(&[write(n, namespace, Entry::new(content), Status::Active)]);
        id(n)
    }

    pub fn search(&self, namespace: NamespaceId, query: &str) -> Vec<Candidate> {
        self.look(&Search {
            query,
            ..any(namespace)
        })
    }

    pub fn look(&self, search: &Search<'_>) -> Vec<Candidate> {
        self.records().snapshot().unwrap().candidates(search).unwrap()
    }

    /// The ids of what a search finds, as the numbers they were made from.
    pub fn found(&self, namespace: NamespaceId, query: &str) -> Vec<u32> {
        self.numbers(&self.search(namespace, query))
    }

    pub fn numbers(&self, candidates: &[Candidate]) -> Vec<u32> {
        let mut snapshot = self.records().snapshot().unwrap();
        candidates
            .iter()
            .map(|c| number(&snapshot.row(c.row).unwrap().unwrap().id))
            .collect()
    }

    pub fn row(&self, record: RecordId) -> StoredRecord {
        let mut snapshot = self.records().snapshot().unwrap();
        let row = snapshot.find(&record).unwrap().unwrap();
        snapshot.row(row).unwrap().unwrap()
    }

    pub fn find(&self, n: u32) -> Option<i64> {
        self.records().snapshot().unwrap().find(&id(n)).unwrap()
    }

    pub fn leaves(&self) -> Vec<Vec<u8>> {
        let mut leaves = Vec::new();
        self.records()
            .snapshot()
            .unwrap()
            .leaves(LOG, 0..u64::MAX, &mut |position, leaf| {
                assert_eq!(position, leaves.len() as u64);
                leaves.push(leaf.to_vec());
                Ok(())
            })
            .unwrap();
        leaves
    }

    pub fn differences(&self, namespace: NamespaceId) -> Vec<i64> {
        self.records()
            .snapshot()
            .unwrap()
            .index_differences(namespace)
            .unwrap()
    }

    /// Changes the file behind the store's back.
    pub fn tamper(&self, sql: &str) {
        let conn = rusqlite::Connection::open(self.store.path()).unwrap();
        conn.execute_batch(sql).unwrap();
    }

    /// A number read from the file behind the store's back.
    pub fn peek(&self, sql: &str) -> i64 {
        let conn = rusqlite::Connection::open(self.store.path()).unwrap();
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

pub fn log_row(id: LogId, tenant: &str) -> LogRow {
    LogRow {
        id,
        tenant: tenant.into(),
        verifier_key: format!("key of {tenant}"),
    }
}

pub fn any(namespace: NamespaceId) -> Search<'static> {
    Search {
        namespace,
        retrieval: Retrieval::Lexical,
        vector: None,
        query: "",
        limit: 10,
        common_above: 1_000,
        kind: None,
        without: &[],
    }
}

pub fn id(n: u32) -> RecordId {
    let mut bytes = [0; 16];
    // The varying bytes come first, so that ids are spread over the index as random ones are.
    bytes[..4].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    RecordId::from_bytes(bytes)
}

pub fn number(id: &RecordId) -> u32 {
    u32::from_be_bytes(id.as_bytes()[12..].try_into().unwrap())
}

pub fn leaf(kind: LeafKind, record: Option<RecordId>, namespace: NamespaceId, status: Status) -> LeafDraft {
    LeafDraft {
        at: Timestamp::default(),
        kind,
        namespace: Some(namespace),
        record,
        principal: WRITER,
        context: None,
        channel: Channel::Direct,
        authority: Authority::Inform,
        status,
        parents: Vec::new(),
        payload: Digest::of(b"payload"),
        findings: None,
        vector: None,
        policy: Digest::of(b"policy"),
    }
}

pub fn write(n: u32, namespace: NamespaceId, entry: Entry, status: Status) -> Draft {
    Draft {
        leaf: leaf(LeafKind::Write, Some(id(n)), namespace, status),
        body: Body::Record(Box::new(NewRecord {
            id: id(n),
            namespace,
            entry,
            salt: Salt::from_bytes([3; 32]),
            verdict: Verdict::Admit,
            findings: None,
            vector: None,
            status,
        })),
    }
}

fn salted(bytes: &[u8]) -> SaltedPayload {
    SaltedPayload {
        salt: Salt::from_bytes([4; 32]),
        bytes: bytes.to_vec(),
    }
}

pub fn status(n: u32, namespace: NamespaceId, to: Status) -> Draft {
    Draft {
        leaf: leaf(LeafKind::Status, Some(id(n)), namespace, to),
        body: Body::Status(salted(b"because")),
    }
}

pub fn purge(n: u32, namespace: NamespaceId) -> Draft {
    Draft {
        leaf: leaf(LeafKind::Purge, Some(id(n)), namespace, Status::Purged),
        body: Body::Purge(salted(b"asked to")),
    }
}

pub fn isolate(n: u32, namespace: NamespaceId) -> Draft {
    Draft {
        leaf: leaf(LeafKind::Isolate, Some(id(n)), namespace, Status::Active),
        body: Body::Isolate(salted(b"damaged")),
    }
}

pub fn recall(at: u64, query: &str, served: &[u32]) -> Draft {
    let payload = RecallPayload {
        query: query.into(),
        served: served.iter().map(|n| id(*n)).collect(),
    };
    let mut leaf = leaf(LeafKind::Recall, None, A, Status::Active);
    leaf.at = Timestamp::from_micros(at);
    Draft {
        leaf,
        body: Body::Note(salted(&payload.encode())),
    }
}

impl Chain {
    /// One that fails, as if the log did not verify.
    pub fn failing() -> Self {
        Self {
            fail: true,
            ..Self::default()
        }
    }
}

/// A sealer that chains hashes: `h(n+1) = SHA-256(h(n) ‖ leaf hash)`; the checkpoint is size and hash.
#[derive(Default)]
pub struct Chain {
    hashes: Vec<Digest>,
    head: Option<Digest>,
    time: Timestamp,
    pub refuse: HashSet<RecordId>,
    pub handed_over: usize,
    pub unseen_bytes: Vec<u64>,
    fail: bool,
}

impl Chain {
    fn extend(&mut self, leaf: &[u8]) {
        let hash = leaf_hash(leaf);
        self.hashes.push(hash);
        let mut bytes = self.head.map_or([0; 32], |head| *head.as_bytes()).to_vec();
        bytes.extend(hash.as_bytes());
        self.head = Some(Digest::of(&bytes));
    }

    fn checkpoint(&self) -> String {
        format!("{} {:?}", self.hashes.len(), self.head)
    }
}

impl Sealer for Chain {
    fn seen(&self) -> u64 {
        self.hashes.len() as u64
    }

    fn seal(&mut self, tail: &LogTail, drafts: &[Draft]) -> Result<Sealed, SealError> {
        let unverified = |reason: String| Err(SealError::Unverified { reason });
        if self.fail {
            return unverified("told to fail".into());
        }
        if tail.size < self.seen() {
            return unverified(format!("{} leaves where {} were seen", tail.size, self.seen()));
        }
        self.handed_over = tail.unseen.len();
        self.unseen_bytes.clone_from(&tail.unseen_bytes);
        for leaf in &tail.unseen {
            self.extend(leaf);
            let leaf = memwarden_core::Leaf::decode(leaf).unwrap();
            self.time = leaf.time;
        }
        if self.seen() != tail.size || (tail.size > 0 && tail.checkpoint != Some(self.checkpoint())) {
            return unverified("the checkpoint is of another log".into());
        }
        let mut tiles = Vec::new();
        let mut outcomes = Vec::new();
        for draft in drafts {
            if let Some(record) = draft.leaf.record
                && self.refuse.contains(&record)
            {
                outcomes.push(Err(Refusal::NoSuchRecord { record }));
                continue;
            }
            let position = self.seen();
            self.time = self.time.max(draft.leaf.at);
            let bytes = draft.leaf.place(tail.log, 0, position, self.time).encode();
            self.extend(&bytes);
            outcomes.push(Ok(SealedLeaf {
                position,
                time: self.time,
                bytes,
            }));
            if self.seen().is_multiple_of(256) {
                tiles.push(Tile {
                    level: 0,
                    index: self.seen() / 256 - 1,
                    hashes: self.hashes[self.hashes.len() - 256..]
                        .iter()
                        .flat_map(|hash| *hash.as_bytes())
                        .collect(),
                });
            }
        }
        Ok(Sealed {
            outcomes,
            tiles,
            size: self.seen(),
            checkpoint: self.checkpoint(),
        })
    }
}
