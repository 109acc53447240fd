//! What a verified log says now: a pure fold over its leaves.
//!
//! The store's rows are compared with this, never with a hash that lies beside them. Feed it only leaves
//! whose root a trusted checkpoint signs; it checks their order and sense, not their authenticity.

use crate::{
    Authority, Digest, Endorsement, Leaf, LeafKind, LogId, NamespaceId, Origin, PrincipalId, RecordId,
    Standing, Status, Timestamp,
};
use std::collections::{HashMap, HashSet};

/// What the log says about one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// RFC 6962 hash of its write leaf.
    pub leaf_hash: Digest,
    /// Position of its write leaf.
    pub position: u64,
    /// Its namespace.
    pub namespace: NamespaceId,
    /// Who wrote it.
    pub principal: PrincipalId,
    /// Authority at write.
    pub written: Authority,
    /// Where it is in its life.
    pub status: Status,
    /// Position of the leaf that set the status.
    pub status_position: u64,
    /// When it was written.
    pub time: Timestamp,
    /// Records that it declares to be derived from.
    pub parents: Box<[RecordId]>,
    /// Whether a revocation reaches it, through its writer or an ancestor.
    pub capped: bool,
    /// Authority now.
    effective: Authority,
}

impl Expectation {
    /// Authority now: as written, raised by endorsements, capped by revocations.
    #[must_use]
    pub const fn effective(&self) -> Authority {
        self.effective
    }
}

/// A log whose leaves do not follow from each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A leaf of another log.
    #[error("log entry {position} belongs to log {given}")]
    ForeignLog {
        /// Where.
        position: u64,
        /// Its log.
        given: LogId,
    },
    /// A leaf at another place than its own.
    #[error("log entry {given} stands at position {position}")]
    Position {
        /// Where it stands.
        position: u64,
        /// Where it says it stands.
        given: u64,
    },
    /// Time or epoch went backwards.
    #[error("log entry {position} is older than the entry in front of it")]
    Backwards {
        /// Where.
        position: u64,
    },
    /// A leaf about a record that was never written, or was written before.
    #[error("log entry {position} speaks of record {record}, which {problem}")]
    Record {
        /// Where.
        position: u64,
        /// The record.
        record: RecordId,
        /// What is wrong.
        problem: &'static str,
    },
    /// A leaf without the ids that its kind needs.
    #[error("log entry {position} lacks its {field}")]
    Lacks {
        /// Where.
        position: u64,
        /// The field.
        field: &'static str,
    },
}

/// The state that the log describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    log: LogId,
    size: u64,
    epoch: u32,
    time: Timestamp,
    policy: Option<(u64, Digest)>,
    records: HashMap<RecordId, Expectation>,
    isolated: HashSet<RecordId>,
    active: HashMap<NamespaceId, u64>,
    origin: Origin,
    endorsements: Vec<Endorsement>,
    standing: Standing,
}

impl Replay {
    /// The state of an empty log.
    #[must_use]
    pub fn new(log: LogId) -> Self {
        Self {
            log,
            size: 0,
            epoch: 0,
            time: Timestamp::default(),
            policy: None,
            records: HashMap::new(),
            isolated: HashSet::new(),
            active: HashMap::new(),
            origin: Origin::default(),
            endorsements: Vec::new(),
            standing: Standing::default(),
        }
    }

    /// Takes in the next leaf and its hash.
    ///
    /// # Errors
    /// A leaf that does not follow; the state is then as it was.
    pub fn apply(&mut self, leaf: &Leaf, hash: Digest) -> Result<(), ReplayError> {
        let position = self.size;
        if leaf.log != self.log {
            return Err(ReplayError::ForeignLog {
                position,
                given: leaf.log,
            });
        }
        if leaf.position != position {
            return Err(ReplayError::Position {
                position,
                given: leaf.position,
            });
        }
        let epoch = self.epoch + u32::from(leaf.kind == LeafKind::Epoch);
        if leaf.time < self.time || leaf.epoch != epoch {
            return Err(ReplayError::Backwards { position });
        }
        match leaf.kind {
            LeafKind::Write => self.write(leaf, hash)?,
            LeafKind::Status => {
                let record = leaf.record.ok_or(ReplayError::Lacks {
                    position,
                    field: "record",
                })?;
                self.set_status(record, leaf.status, position)?;
            }
            LeafKind::Purge => {
                let record = leaf.record.ok_or(ReplayError::Lacks {
                    position,
                    field: "record",
                })?;
                // What was taken out of the expected set can still be destroyed; it stays out.
                if !self.isolated.contains(&record) {
                    self.set_status(record, Status::Purged, position)?;
                }
            }
            LeafKind::Isolate => {
                let record = leaf.record.ok_or(ReplayError::Lacks {
                    position,
                    field: "record",
                })?;
                self.isolate(record);
            }
            LeafKind::Policy => self.policy = Some((position, leaf.policy)),
            LeafKind::Approval => self.endorsed(leaf),
            LeafKind::Recall
            | LeafKind::Receipt
            | LeafKind::Permit
            | LeafKind::Label
            | LeafKind::Key
            | LeafKind::Epoch => {}
        }
        let records = &self.records;
        self.origin.apply(leaf, |id| records.contains_key(id));
        self.size += 1;
        self.epoch = epoch;
        self.time = leaf.time;
        Ok(())
    }

    /// The log it replays.
    #[must_use]
    pub const fn log(&self) -> LogId {
        self.log
    }

    /// How many leaves were taken in.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The epoch of the newest leaf.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The entry time of the newest leaf.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// Position and hash of the newest policy.
    #[must_use]
    pub const fn policy(&self) -> Option<(u64, Digest)> {
        self.policy
    }

    /// Contexts, permits and approvals.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Every endorsement of a record, oldest first; which of them count is [`Replay::set_standing`]'s matter.
    #[must_use]
    pub fn endorsements(&self) -> &[Endorsement] {
        &self.endorsements
    }

    /// What raises and caps authority beyond what was written.
    #[must_use]
    pub const fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Sets what raises and caps authority, and recomputes every record's effective authority.
    pub fn set_standing(&mut self, standing: Standing) {
        if standing == self.standing {
            return;
        }
        self.standing = standing;
        let mut order: Vec<(u64, RecordId)> = self
            .records
            .iter()
            .map(|(id, known)| (known.position, *id))
            .collect();
        // A parent always stands before its children.
        order.sort_unstable();
        for (_, id) in order {
            let Some(known) = self.records.get(&id) else {
                continue;
            };
            let capped = self.is_capped(&known.principal, known.time, &known.parents);
            let effective = self.standing.effective(&id, known.written, capped);
            if let Some(known) = self.records.get_mut(&id) {
                known.capped = capped;
                known.effective = effective;
            }
        }
    }

    /// What the log says about `record`; nothing once it was isolated.
    #[must_use]
    pub fn expectation(&self, record: &RecordId) -> Option<&Expectation> {
        self.records.get(record)
    }

    /// Every record that a row must exist for.
    pub fn expectations(&self) -> impl Iterator<Item = (&RecordId, &Expectation)> {
        self.records.iter()
    }

    /// How many records a row must exist for.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.records.len()
    }

    /// Whether the owner took `record` out of the expected set.
    #[must_use]
    pub fn is_isolated(&self, record: &RecordId) -> bool {
        self.isolated.contains(record)
    }

    /// How many records were taken out of the expected set.
    #[must_use]
    pub fn isolated_count(&self) -> usize {
        self.isolated.len()
    }

    /// How many active records `namespace` holds.
    #[must_use]
    pub fn active_in(&self, namespace: &NamespaceId) -> u64 {
        self.active.get(namespace).copied().unwrap_or(0)
    }

    fn write(&mut self, leaf: &Leaf, leaf_hash: Digest) -> Result<(), ReplayError> {
        let position = self.size;
        let record = leaf.record.ok_or(ReplayError::Lacks {
            position,
            field: "record",
        })?;
        let namespace = leaf.namespace.ok_or(ReplayError::Lacks {
            position,
            field: "namespace",
        })?;
        if self.records.contains_key(&record) || self.isolated.contains(&record) {
            return Err(ReplayError::Record {
                position,
                record,
                problem: "was written before",
            });
        }
        let capped = self.is_capped(&leaf.principal, leaf.time, &leaf.parents);
        let expectation = Expectation {
            effective: self.standing.effective(&record, leaf.authority, capped),
            capped,
            time: leaf.time,
            parents: leaf.parents.clone().into_boxed_slice(),
            leaf_hash,
            position,
            namespace,
            principal: leaf.principal,
            written: leaf.authority,
            status: leaf.status,
            status_position: position,
        };
        self.records.insert(record, expectation);
        if leaf.status == Status::Active {
            *self.active.entry(namespace).or_default() += 1;
        }
        Ok(())
    }

    fn endorsed(&mut self, leaf: &Leaf) {
        if let Some(record) = leaf.record.filter(|record| self.records.contains_key(record)) {
            self.endorsements.push(Endorsement {
                record,
                principal: leaf.principal,
                time: leaf.time,
                grounds: leaf.parents.clone(),
                position: leaf.position,
            });
        }
    }

    fn is_capped(&self, principal: &PrincipalId, time: Timestamp, parents: &[RecordId]) -> bool {
        self.standing.revokes(principal, time)
            || parents
                .iter()
                .any(|parent| self.records.get(parent).is_some_and(|parent| parent.capped))
    }

    fn set_status(&mut self, record: RecordId, to: Status, position: u64) -> Result<(), ReplayError> {
        let Some(expectation) = self.records.get_mut(&record) else {
            return Err(ReplayError::Record {
                position,
                record,
                problem: "is not in the expected set",
            });
        };
        if expectation.status == Status::Purged && to != Status::Purged {
            return Err(ReplayError::Record {
                position,
                record,
                problem: "was purged",
            });
        }
        let active = self.active.entry(expectation.namespace).or_default();
        *active = *active + u64::from(to == Status::Active) - u64::from(expectation.status == Status::Active);
        expectation.status = to;
        expectation.status_position = position;
        Ok(())
    }

    fn isolate(&mut self, record: RecordId) {
        if let Some(expectation) = self.records.remove(&record)
            && expectation.status == Status::Active
        {
            let active = self.active.entry(expectation.namespace).or_default();
            *active = active.saturating_sub(1);
        }
        self.isolated.insert(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, leaf_hash};

    fn leaf(position: u64, kind: LeafKind, record: u8, status: Status) -> Leaf {
        Leaf {
            log: LogId::from_bytes([9; 16]),
            epoch: 0,
            position,
            time: Timestamp::from_micros(position),
            kind,
            namespace: Some(NamespaceId::from_bytes([1; 16])),
            record: Some(RecordId::from_bytes([record; 16])),
            principal: PrincipalId::from_bytes([2; 16]),
            context: None,
            channel: Channel::Direct,
            authority: Authority::Inform,
            status,
            parents: Vec::new(),
            payload: Digest::of(b""),
            findings: None,
            vector: None,
            policy: Digest::of(b""),
        }
    }

    fn replayed(leaves: &[Leaf]) -> Result<Replay, ReplayError> {
        let mut replay = Replay::new(LogId::from_bytes([9; 16]));
        for leaf in leaves {
            replay.apply(leaf, leaf_hash(&leaf.encode()))?;
        }
        Ok(replay)
    }

    #[test]
    fn active_counts_follow_every_status_change() {
        let namespace = NamespaceId::from_bytes([1; 16]);
        let replay = replayed(&[
            leaf(0, LeafKind::Write, 1, Status::Active),
            leaf(1, LeafKind::Write, 2, Status::Quarantined),
            leaf(2, LeafKind::Status, 2, Status::Active),
            leaf(3, LeafKind::Status, 1, Status::Retired),
            leaf(4, LeafKind::Write, 3, Status::Active),
            leaf(5, LeafKind::Isolate, 3, Status::Active),
        ])
        .unwrap();
        assert_eq!(replay.active_in(&namespace), 1);
        assert_eq!(replay.record_count(), 2);
        assert!(replay.is_isolated(&RecordId::from_bytes([3; 16])));
    }

    #[test]
    fn a_log_that_contradicts_itself_is_refused() {
        let first = leaf(0, LeafKind::Write, 1, Status::Active);
        let refused = |second: Leaf| replayed(&[first.clone(), second]).unwrap_err();
        assert!(matches!(refused(first.clone()), ReplayError::Position { .. }));
        assert!(matches!(
            refused(leaf(1, LeafKind::Write, 1, Status::Active)),
            ReplayError::Record { .. }
        ));
        assert!(matches!(
            refused(leaf(1, LeafKind::Status, 7, Status::Active)),
            ReplayError::Record { .. }
        ));
        let mut early = leaf(1, LeafKind::Write, 2, Status::Active);
        early.time = Timestamp::default();
        let mut late_first = first.clone();
        late_first.time = Timestamp::from_micros(5);
        assert!(matches!(
            replayed(&[late_first, early]).unwrap_err(),
            ReplayError::Backwards { .. }
        ));
        let mut other_epoch = leaf(1, LeafKind::Write, 2, Status::Active);
        other_epoch.epoch = 1;
        assert!(matches!(refused(other_epoch), ReplayError::Backwards { .. }));
        let resurrected = replayed(&[
            first.clone(),
            leaf(1, LeafKind::Purge, 1, Status::Purged),
            leaf(2, LeafKind::Status, 1, Status::Active),
        ]);
        assert!(matches!(
            resurrected.unwrap_err(),
            ReplayError::Record {
                problem: "was purged",
                ..
            }
        ));
    }

    proptest::proptest! {
        #[test]
        fn effective_authority_from_scratch_equals_incremental(
            writes in proptest::collection::vec((0u8..3, 0u8..3, proptest::collection::vec(0usize..40, 0..3)), 1..40),
            endorsed in proptest::collection::hash_set(0u8..40, 0..6),
            interval in (0u8..3, 0u64..40, proptest::option::of(0u64..40)),
            at in 0usize..40,
        ) {
            let id = |n: u8| RecordId::from_bytes([n + 1; 16]);
            let mut leaves: Vec<Leaf> = Vec::new();
            for (n, (principal, authority, parents)) in writes.iter().enumerate() {
                let mut leaf = leaf(n as u64, LeafKind::Write, n as u8 + 1, Status::Active);
                leaf.principal = PrincipalId::from_bytes([*principal; 16]);
                leaf.parents = parents.iter().filter(|parent| **parent < n).map(|parent| id(*parent as u8)).collect();
                let above: Vec<Authority> = leaf
                    .parents
                    .iter()
                    .map(|parent| leaves[usize::from(parent.as_bytes()[0]) - 1].authority)
                    .collect();
                leaf.authority = Authority::derive(Authority::from_code(*authority).unwrap(), above);
                leaves.push(leaf);
            }
            let standing = Standing {
                endorsed: endorsed.into_iter().map(id).collect(),
                revocations: vec![crate::Revocation {
                    principal: PrincipalId::from_bytes([interval.0; 16]),
                    since: Timestamp::from_micros(interval.1),
                    until: interval.2.map(Timestamp::from_micros),
                }],
            };
            let mut incremental = Replay::new(LogId::from_bytes([9; 16]));
            for (n, leaf) in leaves.iter().enumerate() {
                if n == at.min(leaves.len() - 1) {
                    incremental.set_standing(standing.clone());
                }
                incremental.apply(leaf, leaf_hash(&leaf.encode())).unwrap();
            }
            let mut scratch = replayed(&leaves).unwrap();
            scratch.set_standing(standing);
            for (record, known) in scratch.expectations() {
                proptest::prop_assert_eq!(known, incremental.expectation(record).unwrap());
                let ancestors_hold = known.parents.iter().all(|parent| !scratch.expectation(parent).unwrap().capped);
                proptest::prop_assert!(ancestors_hold || known.effective() == Authority::None);
            }
        }
    }
}
