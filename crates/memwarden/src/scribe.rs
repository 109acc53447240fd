//! What this process adds to the log: re-checks inside the store's transaction, then places and seals.
//!
//! The store calls [`Sealer::seal`] between `BEGIN IMMEDIATE` and `COMMIT`. What it returns is kept aside
//! until [`Scribe::settle`] says that the commit is durable; a transaction that failed leaves no trace here,
//! and one whose outcome is unknown shows up as unseen leaves at the next call.

use crate::Mechanisms;
use crate::chain::{Chain, Usage};
use crate::registry::LabelRule;
use memwarden_core::log::{
    Body, Draft, LogTail, Refusal, SaltedPayload, SealError, Sealed, SealedLeaf, Sealer,
};
use memwarden_core::{
    APPROVAL_LIFE_US, Authority, BeginPayload, ContextId, Digest, Leaf, LeafKind, PERMIT_LIFE_US,
    PermitPayload, PrincipalId, Quota, RecallPayload, RecordId, RedeemPayload, Replay, Status, StatusChange,
    StatusPayload, Timestamp, leaf_hash, takes_evidence_away,
};
use memwarden_ledger::{Checkpoint, SignerKey, Tree};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the last call of [`Sealer::seal`] would add.
#[derive(Debug)]
struct Pending {
    start: u64,
    tree: Tree,
    checkpoint: String,
    leaves: Vec<(Leaf, Digest)>,
    usage: HashMap<PrincipalId, Usage>,
    rotated: bool,
}

/// The sealer of one process.
#[derive(Debug)]
pub(crate) struct Scribe {
    chain: Arc<Chain>,
    signer: SignerKey,
    next_signer: Option<SignerKey>,
    /// Lengths of the groups of the next batch: a group is refused or sealed as a whole.
    groups: Vec<usize>,
    pending: Option<Pending>,
    /// Whether another process changed principals or policy.
    registry_stale: bool,
}

/// State of a record after the earlier drafts of the same batch.
#[derive(Debug, Clone, Copy)]
struct Standing {
    status: Status,
    effective: Authority,
}

/// The newest verified state with the batch so far on top.
struct Overlay<'a> {
    replay: &'a Replay,
    records: HashMap<RecordId, Standing>,
    isolated: HashSet<RecordId>,
    policy: Option<Digest>,
    usage: HashMap<PrincipalId, Usage>,
    base: &'a HashMap<PrincipalId, Usage>,
    quota: Quota,
    /// Grants and evidence after the earlier drafts of the same batch.
    spent: HashSet<RecordId>,
    evidence_mark: u64,
    labels: HashMap<ContextId, Authority>,
    hours: HashMap<PrincipalId, Authority>,
    now: Timestamp,
    mechanisms: Mechanisms,
    chain: &'a Chain,
}

impl Scribe {
    pub(crate) fn new(chain: Arc<Chain>, signer: SignerKey) -> Self {
        Self {
            chain,
            signer,
            next_signer: None,
            groups: Vec::new(),
            pending: None,
            registry_stale: false,
        }
    }

    /// Says how the drafts of the next batch belong together.
    pub(crate) fn expect(&mut self, groups: Vec<usize>) {
        self.groups = groups;
    }

    /// Signs the next commit with `signer`, and every one after it once it is durable.
    pub(crate) fn rotate_to(&mut self, signer: SignerKey) {
        self.next_signer = Some(signer);
    }

    pub(crate) fn set_signer(&mut self, signer: SignerKey) {
        self.signer = signer;
    }

    /// The last batch is durable: makes it part of the verified state. Returns whether principals, keys or
    /// policy changed.
    pub(crate) fn settle(&mut self) -> Result<bool, SealError> {
        let stale = std::mem::take(&mut self.registry_stale);
        let Some(pending) = self.pending.take() else {
            return Ok(stale);
        };
        let mut state = self.chain.state();
        if pending.rotated
            && let Some(signer) = self.next_signer.take()
        {
            state.key = signer.verifier().clone();
            self.signer = signer;
        }
        let mut registry = stale;
        // A reader may have seen the commit first and taken it in already.
        let ahead = state.tree.size().saturating_sub(pending.start);
        if ahead == 0 {
            let absorbed = self.chain.absorb(&mut state, &pending.leaves);
            registry |= absorbed
                .map_err(|error| SealError::Unverified {
                    reason: error.to_string(),
                })?
                .registry;
            state.tree = pending.tree;
            state.checkpoint = Some(pending.checkpoint);
        } else {
            registry |= pending.leaves.iter().any(|(leaf, _)| touches_registry(leaf.kind));
        }
        if ahead == 0 {
            let mut usage = self.chain.usage();
            for (principal, added) in pending.usage {
                let total = usage.entry(principal).or_default();
                total.records += added.records;
                total.bytes += added.bytes;
            }
        }
        drop(state);
        Ok(registry)
    }

    /// The last batch did not happen, or nobody knows whether it did. Returns whether principals, keys or
    /// policy changed by what others wrote.
    pub(crate) fn abandon(&mut self) -> bool {
        self.pending = None;
        self.next_signer = None;
        std::mem::take(&mut self.registry_stale)
    }
}

const fn touches_registry(kind: LeafKind) -> bool {
    matches!(
        kind,
        LeafKind::Key | LeafKind::Policy | LeafKind::Epoch | LeafKind::Approval
    )
}

impl Sealer for Scribe {
    fn seen(&self) -> u64 {
        self.chain.state().tree.size()
    }

    fn seal(&mut self, tail: &LogTail, drafts: &[Draft]) -> Result<Sealed, SealError> {
        let unverified = |reason: String| SealError::Unverified { reason };
        self.pending = None;
        let mut state = self.chain.state();
        let known = state.tree.size();
        if tail.size < known {
            return Err(unverified(format!(
                "the log holds {} entries where {known} were verified before",
                tail.size
            )));
        }
        if !tail.unseen.is_empty() {
            let checkpoint = tail.checkpoint.as_deref().unwrap_or_default();
            // A reader may have extended the state since the store asked what was seen.
            let fresh = usize::try_from(tail.size - known).unwrap_or(usize::MAX);
            let skip = tail.unseen.len().saturating_sub(fresh);
            let leaves = tail.unseen.get(skip..).unwrap_or_default();
            if !leaves.is_empty() {
                let extended = self.chain.extend(&mut state, leaves, checkpoint);
                let extended = extended.map_err(|error| unverified(error.to_string()))?;
                self.registry_stale |= extended.registry;
                let sizes = tail.unseen_bytes.iter().skip(skip);
                let writes = leaves.iter().zip(sizes);
                let writes = writes.filter(|(leaf, _)| Leaf::kind_of(leaf) == Some(LeafKind::Write));
                for ((_, principal), (_, bytes)) in extended.written.iter().zip(writes) {
                    self.chain.account(*principal, *bytes);
                }
            }
        }
        if tail.size != state.tree.size() || tail.checkpoint != state.checkpoint {
            return Err(unverified(
                "the checkpoint in the store is not the one that was verified".to_owned(),
            ));
        }
        if *self.signer.verifier() != state.key {
            // A reader learned of a rotation by another process; the writer reads its key anew and comes again.
            return Err(unverified("the signing key was rotated".to_owned()));
        }
        let replay = self.chain.replay();
        let usage = self.chain.usage();
        let mut overlay = Overlay {
            replay: &replay,
            records: HashMap::new(),
            isolated: HashSet::new(),
            policy: replay.policy().map(|(_, hash)| hash),
            usage: HashMap::new(),
            base: &usage,
            quota: self.chain.registry().policy().quota,
            spent: HashSet::new(),
            evidence_mark: replay.origin().evidence_mark(),
            labels: HashMap::new(),
            hours: HashMap::new(),
            now: replay.time(),
            mechanisms: self.chain.mechanisms(),
            chain: &self.chain,
        };
        let mut tree = state.tree.clone();
        let (mut time, mut epoch) = (replay.time(), replay.epoch());
        let mut outcomes = Vec::with_capacity(drafts.len());
        let mut leaves = Vec::with_capacity(drafts.len());
        let mut tiles = Vec::new();
        let mut rest = drafts;
        let groups = std::mem::take(&mut self.groups);
        let mut groups = groups.into_iter();
        while !rest.is_empty() {
            let length = groups.next().unwrap_or(1).clamp(1, rest.len());
            let (group, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = after;
            if let Err(refusal) = group.iter().try_for_each(|draft| overlay.check(draft)) {
                outcomes.extend(group.iter().map(|_| Err(refusal.clone())));
                continue;
            }
            for draft in group {
                time = time.max(draft.leaf.at);
                overlay.apply(draft, tree.size(), time);
                epoch += u32::from(draft.leaf.kind == LeafKind::Epoch);
                let leaf = draft.leaf.place(tail.log, epoch, tree.size(), time);
                let bytes = leaf.encode();
                let hash = leaf_hash(&bytes);
                outcomes.push(Ok(SealedLeaf {
                    position: leaf.position,
                    time,
                    bytes,
                }));
                tree.append(hash, &mut tiles);
                leaves.push((leaf, hash));
            }
        }
        let checkpoint = if leaves.is_empty() {
            tail.checkpoint.clone().unwrap_or_default()
        } else {
            let signer = self.next_signer.as_ref().unwrap_or(&self.signer);
            Checkpoint {
                origin: self.chain.origin.clone(),
                size: tree.size(),
                root: tree.root(),
            }
            .sign(signer)
        };
        let added = overlay.usage;
        let sealed = Sealed {
            outcomes,
            tiles,
            size: tree.size(),
            checkpoint: checkpoint.clone(),
        };
        self.pending = Some(Pending {
            start: tail.size,
            tree,
            checkpoint,
            leaves,
            usage: added,
            rotated: self.next_signer.is_some(),
        });
        Ok(sealed)
    }
}

impl Overlay<'_> {
    fn standing(&self, record: &RecordId) -> Result<Standing, Refusal> {
        if self.isolated.contains(record) {
            return Err(Refusal::NoSuchRecord { record: *record });
        }
        if let Some(standing) = self.records.get(record) {
            return Ok(*standing);
        }
        self.replay
            .expectation(record)
            .map(|known| Standing {
                status: known.status,
                effective: known.effective(),
            })
            .ok_or(Refusal::NoSuchRecord { record: *record })
    }

    fn check(&self, draft: &Draft) -> Result<(), Refusal> {
        match (&draft.body, draft.leaf.record) {
            (Body::Record(row), Some(_)) => self.check_write(draft, row.entry.content.len() as u64),
            (Body::Status(payload), Some(record)) => {
                let change = StatusPayload::decode(&payload.bytes).map(|payload| payload.change);
                self.check_status(draft, record, change.unwrap_or(StatusChange::ProposeRetire))
            }
            (Body::Purge(_), Some(record)) if self.replay.is_isolated(&record) => Ok(()),
            (Body::Purge(_), Some(record)) => match self.standing(&record)?.status {
                Status::Purged => Err(Refusal::WrongStatus {
                    record,
                    status: Status::Purged,
                    expected: "a record not yet purged",
                }),
                _ => Ok(()),
            },
            (Body::Note(payload), _) if draft.leaf.kind == LeafKind::Recall => self.check_recall(payload),
            (Body::Note(payload), Some(id)) if draft.leaf.kind == LeafKind::Permit => {
                self.check_permit(draft, id, payload)
            }
            (Body::Note(payload), _) if draft.leaf.kind == LeafKind::Label => {
                self.check_label(draft, payload)
            }
            _ => Ok(()),
        }
    }

    /// The words of a query that served a record must not outlive it.
    fn check_recall(&self, payload: &SaltedPayload) -> Result<(), Refusal> {
        let Ok(recall) = RecallPayload::decode(&payload.bytes) else {
            return Ok(());
        };
        let purged = |record: &&RecordId| {
            self.standing(record)
                .is_ok_and(|standing| standing.status == Status::Purged)
        };
        // A query that was blanked for this reason has nothing more to lose.
        match recall.served.iter().find(purged) {
            Some(record) if !recall.query.is_empty() => Err(Refusal::WrongStatus {
                record: *record,
                status: Status::Purged,
                expected: "a record whose queries may be kept",
            }),
            _ => Ok(()),
        }
    }

    fn check_write(&self, draft: &Draft, bytes: u64) -> Result<(), Refusal> {
        if self.policy.is_some_and(|policy| policy != draft.leaf.policy) {
            return Err(Refusal::PolicyChanged);
        }
        if let Some(record) = draft.leaf.record
            && let Ok(standing) = self.standing(&record)
        {
            let expected = "a new id";
            return Err(Refusal::WrongStatus {
                record,
                status: standing.status,
                expected,
            });
        }
        self.check_open(draft)?;
        self.check_write_label(draft)?;
        for parent in &draft.leaf.parents {
            let standing = self.standing(parent)?;
            if standing.status != Status::Active {
                return Err(Refusal::WrongStatus {
                    record: *parent,
                    status: standing.status,
                    expected: "an active parent",
                });
            }
            if standing.effective < draft.leaf.authority {
                return Err(Refusal::ParentFell {
                    record: *parent,
                    now: standing.effective,
                    drafted: draft.leaf.authority,
                });
            }
        }
        let of = |usage: &HashMap<PrincipalId, Usage>| {
            usage.get(&draft.leaf.principal).copied().unwrap_or_default()
        };
        let (base, added) = (of(self.base), of(&self.usage));
        let limit = |what, used: u64, limit: u64| {
            if used > limit {
                Err(Refusal::Quota { what, used, limit })
            } else {
                Ok(())
            }
        };
        limit("records", base.records + added.records + 1, self.quota.records)?;
        limit("bytes", base.bytes + added.bytes + bytes, self.quota.bytes)
    }

    fn check_status(&self, draft: &Draft, record: RecordId, change: StatusChange) -> Result<(), Refusal> {
        let standing = self.standing(&record)?;
        let needs = |wanted: &[Status], expected| {
            if wanted.contains(&standing.status) {
                Ok(())
            } else {
                Err(Refusal::WrongStatus {
                    record,
                    status: standing.status,
                    expected,
                })
            }
        };
        match change {
            StatusChange::Release => needs(&[Status::Quarantined, Status::Retired], "quarantined or refused"),
            StatusChange::Reject => needs(&[Status::Quarantined], "quarantined"),
            StatusChange::Expire => needs(&[Status::Active], "active"),
            StatusChange::ProposeRetire | StatusChange::ProposeSupersede => {
                needs(&[Status::Active], "active")
            }
            StatusChange::Retire | StatusChange::Supersede => {
                needs(&[Status::Active], "active")?;
                // Invariant 11: a stronger record is never hidden by a weaker principal.
                self.check_write_label(draft)?;
                if self.mechanisms.stronger_records && draft.leaf.authority < standing.effective {
                    return Err(Refusal::TooWeak {
                        record,
                        record_authority: standing.effective,
                        class: draft.leaf.authority,
                        verb: change.as_str(),
                    });
                }
                Ok(())
            }
        }
    }

    fn apply(&mut self, draft: &Draft, position: u64, time: Timestamp) {
        self.now = time;
        self.apply_origin(draft, position);
        if draft.leaf.kind == LeafKind::Policy {
            self.policy = Some(draft.leaf.policy);
        }
        let Some(record) = draft.leaf.record else { return };
        match &draft.body {
            Body::Record(row) => {
                let standing = Standing {
                    status: draft.leaf.status,
                    effective: draft.leaf.authority,
                };
                self.records.insert(record, standing);
                let usage = self.usage.entry(draft.leaf.principal).or_default();
                usage.records += 1;
                usage.bytes += row.entry.content.len() as u64;
            }
            Body::Status(_) | Body::Purge(_) => {
                if let Ok(standing) = self.standing(&record) {
                    self.records.insert(
                        record,
                        Standing {
                            status: draft.leaf.status,
                            ..standing
                        },
                    );
                }
            }
            Body::Isolate(_) => {
                self.isolated.insert(record);
            }
            Body::Note(_) => {}
        }
    }
}

/// What contexts, permits and approvals allow, after the earlier drafts of the same batch.
impl Overlay<'_> {
    fn apply_origin(&mut self, draft: &Draft, position: u64) {
        if takes_evidence_away(draft.leaf.kind) {
            self.evidence_mark = position + 1;
        }
        let leaf = &draft.leaf;
        match leaf.kind {
            LeafKind::Permit => {
                self.spent.extend(leaf.parents.iter().copied());
                if leaf.status == Status::Retired {
                    self.spent.extend(leaf.record);
                }
            }
            LeafKind::Label | LeafKind::Recall => {
                if let Some(context) = leaf.context {
                    let fresh = || match self.replay.origin().window(&context) {
                        Some(_) => self.replay.origin().label(&context),
                        None => Authority::Act,
                    };
                    let label = self.labels.get(&context).copied().unwrap_or_else(fresh);
                    self.labels.insert(context, label.min(leaf.authority));
                }
                if leaf.status != Status::Retired {
                    let hour = self.hours.entry(leaf.principal).or_insert(Authority::Act);
                    *hour = leaf.authority.min(*hour);
                }
            }
            _ => {}
        }
    }

    fn label(&self, context: &ContextId) -> Authority {
        let known = self.labels.get(context).copied();
        known.unwrap_or_else(|| self.replay.origin().label(context))
    }

    fn hour(&self, principal: &PrincipalId, now: Timestamp) -> Authority {
        let in_batch = self.hours.get(principal).copied().unwrap_or(Authority::Act);
        self.replay.origin().tokenless(principal, now).min(in_batch)
    }

    /// A decision rests on evidence that is still there, and what works once was not used before.
    fn check_permit(&self, draft: &Draft, id: RecordId, payload: &SaltedPayload) -> Result<(), Refusal> {
        let origin = self.replay.origin();
        let now = self.now.max(draft.leaf.at);
        if draft.leaf.status == Status::Retired && RedeemPayload::decode(&payload.bytes).is_ok() {
            if self.mechanisms.permit_once {
                self.check_grant("permit", id, origin.permit_grant(&id), PERMIT_LIFE_US, now)?;
            }
            return Ok(());
        }
        if draft.leaf.status != Status::Active {
            return Ok(());
        }
        self.check_open(draft)?;
        let decided_at = PermitPayload::decode(&payload.bytes).map_or(0, |payload| payload.decided_at);
        if self.evidence_mark > decided_at {
            return Err(Refusal::EvidenceChanged);
        }
        for approval in &draft.leaf.parents {
            if self.mechanisms.approval_once {
                let grant = origin.approval_grant(approval);
                self.check_grant("approval", *approval, grant, APPROVAL_LIFE_US, now)?;
            }
        }
        Ok(())
    }

    fn check_grant(
        &self,
        what: &'static str,
        id: RecordId,
        grant: Option<&memwarden_core::Grant>,
        life_us: u64,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let refused = |problem| Err(Refusal::Spent { what, id, problem });
        let Some(grant) = grant else {
            return refused("was never given, or has expired");
        };
        if grant.spent || self.spent.contains(&id) {
            return refused("was used before");
        }
        if self.mechanisms.epochs && grant.epoch != self.replay.epoch() {
            return refused("is of an earlier epoch");
        }
        if now.as_micros() >= grant.time.as_micros().saturating_add(life_us) {
            return refused("has expired");
        }
        Ok(())
    }

    /// A context is opened once, and nothing happens in one that is not open.
    fn check_label(&self, draft: &Draft, payload: &SaltedPayload) -> Result<(), Refusal> {
        let Some(context) = draft.leaf.context else {
            return Ok(());
        };
        if BeginPayload::decode(&payload.bytes).is_err() {
            return self.check_open(draft);
        }
        match self.replay.origin().window(&context) {
            None => Ok(()),
            Some(_) => Err(Refusal::Context {
                context,
                problem: "was opened before",
            }),
        }
    }

    /// The draft's context, if it has one, is open.
    fn check_open(&self, draft: &Draft) -> Result<(), Refusal> {
        let Some(context) = draft.leaf.context else {
            return Ok(());
        };
        match self.replay.origin().window(&context) {
            Some(window) if window.is_open(self.now.max(draft.leaf.at)) => Ok(()),
            _ => Err(Refusal::Context {
                context,
                problem: "is not open: it ended, expired, or was never opened",
            }),
        }
    }

    /// The label of the context, or of the principal's last hour, did not fall below the draft's authority.
    fn check_write_label(&self, draft: &Draft) -> Result<(), Refusal> {
        let leaf = &draft.leaf;
        let registry = self.chain.registry();
        let rule = registry.label_rule(&leaf.principal, leaf.channel, self.mechanisms);
        let label = match (rule, &leaf.context) {
            (LabelRule::Skipped, _) => return Ok(()),
            (LabelRule::OfContextOnly, None) => Authority::None,
            (LabelRule::Applies | LabelRule::OfContextOnly, Some(context)) => self.label(context),
            (LabelRule::Applies, None) => self.hour(&leaf.principal, self.now.max(leaf.at)),
        };
        if leaf.authority > label {
            Err(Refusal::LabelFell { label })
        } else {
            Ok(())
        }
    }
}
