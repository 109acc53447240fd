//! A log that is the same on every run: ids, salts and times follow from a counter, keys from fixed seeds.
//! It holds every kind of leaf, a rotation at [`ROTATION`] and an epoch at [`EPOCH`].

use memwarden_core::log::{LeafDraft, SaltedPayload, Tile};
use memwarden_core::{
    Authority, Channel, ContextId, Digest, Entry, EpochPayload, FieldValue, Finding, KeyPayload, LeafKind,
    LogId, NamespaceId, PolicyPayload, PrincipalId, PurgePayload, RecallPayload, RecordId, RecordPayload,
    Role, Salt, Score, Severity, Status, StatusChange, StatusPayload, StoreId, Timestamp, Verdict,
    commitment, encode_findings, leaf_hash,
};
use memwarden_ledger::{Checkpoint, Rotation, SignerKey, Tree, VerifierKey, origin, rotate};

pub const ROTATION: u64 = 150;
pub const EPOCH: u64 = 200;

pub fn log() -> LogId {
    LogId::from_bytes(id(2, 0))
}

pub fn log_origin() -> String {
    origin(StoreId::from_bytes(id(1, 0)), log())
}

pub fn first_key() -> SignerKey {
    SignerKey::from_seed(&log_origin(), &[0x11; 32]).unwrap()
}

pub fn second_key() -> SignerKey {
    SignerKey::from_seed(&log_origin(), &[0x22; 32]).unwrap()
}

pub fn public(key: &SignerKey) -> VerifierKey {
    key.verifier().clone()
}

/// A built log.
pub struct Sample {
    pub leaves: Vec<Vec<u8>>,
    pub payloads: Vec<SaltedPayload>,
    pub tree: Tree,
    pub tiles: Vec<Tile>,
    pub checkpoint: String,
}

impl Sample {
    /// The first `size` leaves, signed by the key then in force.
    pub fn of(size: u64) -> Self {
        let (mut leaves, mut payloads) = (Vec::new(), Vec::new());
        let (mut tree, mut tiles) = (Tree::new(), Vec::new());
        for position in 0..size {
            let (leaf, payload) = leaf(position);
            tree.append(leaf_hash(&leaf), &mut tiles);
            leaves.push(leaf);
            payloads.push(payload);
        }
        let key = if size > ROTATION {
            second_key()
        } else {
            first_key()
        };
        let checkpoint = checkpoint_of(&tree).sign(&key);
        Self {
            leaves,
            payloads,
            tree,
            tiles,
            checkpoint,
        }
    }

    pub fn hashes(&self) -> Vec<Digest> {
        self.leaves.iter().map(|leaf| leaf_hash(leaf)).collect()
    }

    pub fn rotations(&self) -> Vec<Rotation> {
        self.payloads
            .get(usize::try_from(ROTATION).unwrap())
            .map(|payload| Rotation {
                position: ROTATION,
                salt: payload.salt,
                payload: payload.bytes.clone(),
            })
            .into_iter()
            .collect()
    }
}

pub fn checkpoint_of(tree: &Tree) -> Checkpoint {
    Checkpoint {
        origin: log_origin(),
        size: tree.size(),
        root: tree.root(),
    }
}

fn id(what: u8, number: u64) -> [u8; 16] {
    let mut bytes = [what; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub fn record(position: u64) -> RecordId {
    RecordId::from_bytes(id(4, position))
}

fn salt(what: &str, position: u64) -> Salt {
    Salt::from_bytes(*Digest::of(format!("{what} {position}").as_bytes()).as_bytes())
}

fn kind(position: u64) -> LeafKind {
    match position {
        0 => LeafKind::Policy,
        1 | ROTATION => LeafKind::Key,
        EPOCH => LeafKind::Epoch,
        _ if position % 50 == 48 => LeafKind::Isolate,
        _ if position % 50 == 49 => LeafKind::Purge,
        _ => match position % 10 {
            5 => LeafKind::Status,
            6 => LeafKind::Recall,
            7 => [
                LeafKind::Receipt,
                LeafKind::Permit,
                LeafKind::Approval,
                LeafKind::Label,
            ][usize::try_from(position / 10 % 4).unwrap()],
            _ => LeafKind::Write,
        },
    }
}

/// The record that the leaf at `position` is about.
fn subject(position: u64) -> Option<RecordId> {
    match kind(position) {
        LeafKind::Write => Some(record(position)),
        LeafKind::Status => Some(record(position - 1)),
        LeafKind::Isolate => Some(record(position - 7)),
        LeafKind::Purge => Some(record(position - 9)),
        _ => None,
    }
}

pub fn entry(position: u64) -> Entry {
    let mut entry = Entry::new(format!("Invoice {position} was paid."));
    entry.subject = Some(format!("invoice:{position}"));
    entry.fields.insert(
        "number".into(),
        FieldValue::Integer(i64::try_from(position).unwrap()),
    );
    entry
}

fn payload(position: u64) -> Vec<u8> {
    match kind(position) {
        LeafKind::Write => RecordPayload::encode("agent:billing", &entry(position), Verdict::Admit),
        LeafKind::Status => StatusPayload {
            change: StatusChange::Retire,
            by: Some(record(position - 1)),
            content: Some(Digest::of(b"content")),
            reason: "paid twice".into(),
        }
        .encode(),
        LeafKind::Recall => RecallPayload {
            query: "unpaid invoices".into(),
            served: vec![record(position - 2), record(position - 3)],
        }
        .encode(),
        LeafKind::Policy => PolicyPayload {
            source: "name = \"layered\"\n".into(),
        }
        .encode(),
        LeafKind::Key if position == ROTATION => rotate(&log_origin(), &first_key(), &second_key()).encode(),
        LeafKind::Key => KeyPayload {
            principal: PrincipalId::from_bytes(id(5, 0)),
            name: "owner".into(),
            role: Role::Owner,
            domain: "example".into(),
            secret: Digest::of(b"secret"),
            attest_roles: false,
        }
        .encode(),
        LeafKind::Epoch => EpochPayload {
            abandoned: "a checkpoint".into(),
            reason: "restored a backup".into(),
        }
        .encode(),
        LeafKind::Purge | LeafKind::Isolate => PurgePayload {
            was: Status::Active,
            reason: "asked by its subject".into(),
        }
        .encode(),
        LeafKind::Receipt | LeafKind::Permit | LeafKind::Approval | LeafKind::Label => Vec::new(),
    }
}

pub fn findings() -> Vec<u8> {
    encode_findings(&[Finding {
        stage: "keyword".into(),
        rule: "bypass".into(),
        severity: Severity::High,
        score: Score::from_hundredths(90).unwrap(),
        span: Some((3, 9)),
        reason: "asks to skip a check".into(),
    }])
}

fn leaf(position: u64) -> (Vec<u8>, SaltedPayload) {
    let kind = kind(position);
    let write = kind == LeafKind::Write;
    let payload = SaltedPayload {
        salt: salt("payload", position),
        bytes: payload(position),
    };
    let draft = LeafDraft {
        at: Timestamp::from_micros(1_750_000_000_000_000 + position * 1_000),
        kind,
        namespace: subject(position).map(|_| NamespaceId::from_bytes(id(3, 0))),
        record: subject(position),
        principal: PrincipalId::from_bytes(id(5, 0)),
        context: (position % 3 == 1).then(|| ContextId::from_bytes(id(6, position))),
        channel: Channel::Direct,
        authority: Authority::Act,
        status: match kind {
            LeafKind::Status => Status::Retired,
            LeafKind::Purge => Status::Purged,
            _ => Status::Active,
        },
        parents: if write && position % 10 == 3 && position > 10 {
            vec![record(position - 1), record(position - 2)]
        } else {
            Vec::new()
        },
        payload: commitment(&payload.salt, &payload.bytes),
        findings: (write && position.is_multiple_of(2) || position == 13)
            .then(|| commitment(&salt("findings", position), &findings())),
        vector: write.then(|| Digest::of(&position.to_be_bytes())),
        policy: Digest::of(b"name = \"layered\"\n"),
    };
    let epoch = u32::from(position >= EPOCH);
    (draft.place(log(), epoch, position, draft.at).encode(), payload)
}

#[test]
fn the_sample_holds_every_kind_of_leaf() {
    for wanted in LeafKind::ALL {
        assert!((0..300).any(|position| kind(position) == wanted), "{wanted:?}");
    }
}
