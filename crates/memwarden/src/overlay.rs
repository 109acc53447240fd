//! Whether a draft still holds when it is about to be sealed: the newest verified state with the batch so far
//! on top. Nothing is decided here but yes or no.

use crate::Mechanisms;
use crate::chain::{Chain, Usage};
use crate::registry::LabelRule;
use memwarden_core::log::{Body, Draft, NewRecord, Refusal, SaltedPayload};
use memwarden_core::{
    APPROVAL_LIFE_US, Authority, BeginPayload, ContextId, Digest, LeafKind, PERMIT_LIFE_US, PermitPayload,
    PrincipalId, Quota, RecallPayload, RecordId, RedeemPayload, Replay, Status, StatusChange, StatusPayload,
    Timestamp, Verdict, takes_evidence_away,
};
use std::collections::{HashMap, HashSet};

/// State of a record after the earlier drafts of the same batch.
#[derive(Debug, Clone, Copy)]
struct Standing {
    status: Status,
    effective: Authority,
}

/// The newest verified state with the batch so far on top.
pub(crate) struct Overlay<'a> {
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

impl<'a> Overlay<'a> {
    pub(crate) fn new(chain: &'a Chain, replay: &'a Replay, usage: &'a HashMap<PrincipalId, Usage>) -> Self {
        Self {
            replay,
            records: HashMap::new(),
            isolated: HashSet::new(),
            policy: replay.policy().map(|(_, hash)| hash),
            usage: HashMap::new(),
            base: usage,
            quota: chain.registry().policy().quota,
            spent: HashSet::new(),
            evidence_mark: replay.origin().evidence_mark(),
            labels: HashMap::new(),
            hours: HashMap::new(),
            now: replay.time(),
            mechanisms: chain.mechanisms(),
            chain,
        }
    }

    /// What the batch adds to what principals keep.
    pub(crate) fn into_usage(self) -> HashMap<PrincipalId, Usage> {
        self.usage
    }

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

    /// Whether the drafts of a group, all of which are sealed or none, still hold.
    pub(crate) fn check_group(&self, group: &[Draft]) -> Result<(), Refusal> {
        group.iter().enumerate().try_for_each(|(index, draft)| {
            let earlier = group.get(..index).unwrap_or_default();
            self.check(draft, earlier)
        })
    }

    /// Whether `draft` still holds after the `earlier` ones of its group.
    fn check(&self, draft: &Draft, earlier: &[Draft]) -> Result<(), Refusal> {
        match (&draft.body, draft.leaf.record) {
            (Body::Record(row), Some(_)) => self.check_write(draft, row, earlier),
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

    fn check_write(&self, draft: &Draft, row: &NewRecord, earlier: &[Draft]) -> Result<(), Refusal> {
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
            let original = match row.verdict {
                Verdict::Rewrite => original_among(earlier, parent, draft),
                _ => None,
            };
            let standing = original.map_or_else(|| self.standing(parent), Ok)?;
            if standing.status != Status::Active && original.is_none() {
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
        let kept = earlier.iter().filter_map(content_bytes);
        let (records, bytes) = kept
            .chain([row.entry.content.len() as u64])
            .fold((0, 0), |(records, bytes), content| (records + 1, bytes + content));
        limit(
            "records",
            base.records + added.records + records,
            self.quota.records,
        )?;
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
            StatusChange::Expire | StatusChange::Quarantine => needs(&[Status::Active], "active"),
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

    /// Takes in a draft that holds and gets this place.
    pub(crate) fn apply(&mut self, draft: &Draft, position: u64, time: Timestamp) {
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

/// How the original of a rewrite stands: the record `parent` that the same principal writes to the same namespace in
/// the same group, kept out of sight. It is the one parent that need not be active; that it is no weaker than what is
/// derived from it is checked as for any other.
fn original_among(earlier: &[Draft], parent: &RecordId, rewrite: &Draft) -> Option<Standing> {
    let mut writes = earlier.iter().filter(|draft| content_bytes(draft).is_some());
    let original = writes.find(|draft| draft.leaf.record == Some(*parent))?;
    let (leaf, by) = (&original.leaf, &rewrite.leaf);
    let same = leaf.principal == by.principal && leaf.namespace == by.namespace;
    (same && leaf.status == Status::Quarantined).then_some(Standing {
        status: leaf.status,
        effective: leaf.authority,
    })
}

/// The bytes of content that a draft keeps; none for one that writes no record.
fn content_bytes(draft: &Draft) -> Option<u64> {
    match &draft.body {
        Body::Record(row) => Some(row.entry.content.len() as u64),
        _ => None,
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
