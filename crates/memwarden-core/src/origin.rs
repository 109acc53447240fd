//! What the log says about contexts, permits and approvals: a pure fold over leaves, no payload needed.
//!
//! - A *label* leaf with a context opens it (the first one), lowers its label to its authority, or, with
//!   status `retired`, ends it. A *recall* leaf lowers the label of its context to its authority. Both lower
//!   the last hour of their principal too: whoever leaves the token out sheds nothing.
//! - A *permit* leaf with status `active` grants the permit that its record id names and spends the
//!   approvals among its parents; with status `retired` and a known id it spends the permit.
//! - An *approval* leaf whose record id is no record grants an approval.
//!
//! - An *epoch* leaf follows a restore: what entered the windows after the restored state is not known, so
//!   their labels are lost, and so is everybody's last hour.
//!
//! State that expired is dropped, by entry time.

use crate::{Authority, ContextId, Leaf, LeafKind, PrincipalId, RecordId, Status, Timestamp};
use std::collections::HashMap;

/// How long a context token works: 24 hours.
pub const CONTEXT_LIFE_US: u64 = 24 * 3_600 * 1_000_000;
/// How long what was served lowers what its principal writes without a token: one hour, and the minute in which
/// what serves no less is not written down again at once.
pub const TOKENLESS_WINDOW_US: u64 = 3_600 * 1_000_000 + TOKENLESS_RENEWAL_US;
/// How old the mark of an hour may be before the next fall is durable at once: one minute. So a crash that takes
/// the newest mark leaves one that lasts the full hour.
pub const TOKENLESS_RENEWAL_US: u64 = 60 * 1_000_000;
/// How long a permit works: five minutes.
pub const PERMIT_LIFE_US: u64 = 5 * 60 * 1_000_000;
/// How long an approval works: ten minutes.
pub const APPROVAL_LIFE_US: u64 = 10 * 60 * 1_000_000;
/// How long a request stays open: one hour.
pub const REQUEST_LIFE_US: u64 = 3_600 * 1_000_000;
/// How long a receipt counts unless it says otherwise: one hour.
pub const RECEIPT_LIFE_US: u64 = 3_600 * 1_000_000;

/// One model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Who opened it.
    pub opened_by: PrincipalId,
    /// When.
    pub opened: Timestamp,
    /// The lowest authority of everything that entered it.
    pub label: Authority,
    /// Whether it was ended.
    pub ended: bool,
    /// The epoch it was opened in; in a later one its label is lost.
    pub epoch: u32,
}

impl Window {
    /// Whether its token still works.
    #[must_use]
    pub const fn is_open(&self, now: Timestamp) -> bool {
        !self.ended && now.as_micros() < self.opened.as_micros().saturating_add(CONTEXT_LIFE_US)
    }
}

/// Something that may be used once, for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// When it was given.
    pub time: Timestamp,
    /// The epoch it was given in; a later epoch voids it.
    pub epoch: u32,
    /// Where it was given.
    pub position: u64,
    /// Whether it was used.
    pub spent: bool,
}

/// What was served to a principal, newest of each weakness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Hour {
    none: Option<Timestamp>,
    inform: Option<Timestamp>,
}

/// Contexts, permits and approvals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    windows: HashMap<ContextId, Window>,
    hours: HashMap<PrincipalId, Hour>,
    permits: HashMap<RecordId, Grant>,
    approvals: HashMap<RecordId, Grant>,
    swept: Timestamp,
    epoch: u32,
    /// When this epoch began, if a restore did.
    restored: Option<Timestamp>,
    evidence: u64,
    receipts: u64,
    decisions: u64,
}

impl Origin {
    /// Takes in a leaf. `is_record` tells whether a record id names a record of the log.
    pub(crate) fn apply(&mut self, leaf: &Leaf, is_record: impl Fn(&RecordId) -> bool) {
        if leaf.epoch > self.epoch {
            self.epoch = leaf.epoch;
            self.restored = Some(leaf.time);
        }
        match leaf.kind {
            LeafKind::Label => self.take_label(leaf),
            LeafKind::Recall => self.take_recall(leaf),
            LeafKind::Permit => self.permit(leaf),
            LeafKind::Approval => {
                if let Some(id) = leaf.record.filter(|id| !is_record(id)) {
                    self.approvals.insert(id, grant(leaf));
                }
            }
            LeafKind::Receipt => self.receipts += 1,
            LeafKind::Policy
            | LeafKind::Status
            | LeafKind::Purge
            | LeafKind::Isolate
            | LeafKind::Key
            | LeafKind::Epoch => {}
            LeafKind::Write => return,
        }
        if takes_evidence_away(leaf.kind) {
            self.evidence = leaf.position + 1;
        }
        self.sweep(leaf.time);
    }

    /// One context.
    #[must_use]
    pub fn window(&self, context: &ContextId) -> Option<&Window> {
        self.windows.get(context)
    }

    /// The label of a principal's writes without a token: the lowest of all that was served to it in the
    /// last hour.
    #[must_use]
    pub fn tokenless(&self, principal: &PrincipalId, now: Timestamp) -> Authority {
        let within = |time: Option<Timestamp>| {
            time.is_some_and(|time| now.as_micros() < time.as_micros().saturating_add(TOKENLESS_WINDOW_US))
        };
        let hour = self.hours.get(principal).copied().unwrap_or_default();
        if within(hour.none) || within(self.restored) {
            Authority::None
        } else if within(hour.inform) {
            Authority::Inform
        } else {
            Authority::Act
        }
    }

    /// Whether the log shows that `principal` was served `label` or less within the last minute: then its hour
    /// stays lowered for an hour from now whatever becomes of the next mark.
    #[must_use]
    pub fn is_marked(&self, principal: &PrincipalId, label: Authority, now: Timestamp) -> bool {
        let hour = self.hours.get(principal).copied().unwrap_or_default();
        let newest = match label {
            Authority::Act => return true,
            Authority::Inform => hour.none.max(hour.inform),
            Authority::None => hour.none,
        };
        newest.is_some_and(|time| now.as_micros() < time.as_micros().saturating_add(TOKENLESS_RENEWAL_US))
    }

    /// The label of one context. Of one that is not known, or was opened before a restore, it is `none`
    /// (invariant 12).
    #[must_use]
    pub fn label(&self, context: &ContextId) -> Authority {
        match self.window(context) {
            Some(window) if window.epoch == self.epoch => window.label,
            _ => Authority::None,
        }
    }

    /// The label that a write of `principal` takes: that of its context, or of its last hour.
    #[must_use]
    pub fn label_of(
        &self,
        context: Option<&ContextId>,
        principal: &PrincipalId,
        now: Timestamp,
    ) -> Authority {
        match context {
            Some(context) => self.label(context),
            None => self.tokenless(principal, now),
        }
    }

    /// One permit.
    #[must_use]
    pub fn permit_grant(&self, id: &RecordId) -> Option<&Grant> {
        self.permits.get(id)
    }

    /// One approval.
    #[must_use]
    pub fn approval_grant(&self, id: &RecordId) -> Option<&Grant> {
        self.approvals.get(id)
    }

    /// Receipts ever written.
    #[must_use]
    pub const fn receipt_count(&self) -> u64 {
        self.receipts
    }

    /// Actions ever decided.
    #[must_use]
    pub const fn decision_count(&self) -> u64 {
        self.decisions
    }

    /// One past the newest leaf that may have taken evidence away. A decision made before it is made again.
    #[must_use]
    pub const fn evidence_mark(&self) -> u64 {
        self.evidence
    }

    fn take_label(&mut self, leaf: &Leaf) {
        let Some(context) = leaf.context else { return };
        let opened = Window {
            opened_by: leaf.principal,
            opened: leaf.time,
            label: Authority::Act,
            ended: false,
            epoch: leaf.epoch,
        };
        let window = self.windows.entry(context).or_insert(opened);
        window.label = window.label.min(leaf.authority);
        window.ended |= leaf.status == Status::Retired;
        // The end of a context brings nothing new into anybody's hands.
        if leaf.status != Status::Retired {
            self.mark(leaf);
        }
    }

    fn take_recall(&mut self, leaf: &Leaf) {
        if let Some(window) = leaf.context.and_then(|context| self.windows.get_mut(&context)) {
            window.label = window.label.min(leaf.authority);
        }
        self.mark(leaf);
    }

    /// Notes what reached a principal, for its writes without a token.
    fn mark(&mut self, leaf: &Leaf) {
        if leaf.authority == Authority::Act {
            return;
        }
        let hour = self.hours.entry(leaf.principal).or_default();
        match leaf.authority {
            Authority::None => hour.none = Some(leaf.time),
            Authority::Inform => hour.inform = Some(leaf.time),
            Authority::Act => {}
        }
    }

    fn permit(&mut self, leaf: &Leaf) {
        let Some(id) = leaf.record else { return };
        // Every decision has an id of its own; only the spending of a permit repeats one.
        self.decisions += u64::from(!self.permits.contains_key(&id));
        match leaf.status {
            Status::Active => {
                self.permits.insert(id, grant(leaf));
                for approval in &leaf.parents {
                    if let Some(approval) = self.approvals.get_mut(approval) {
                        approval.spent = true;
                    }
                }
            }
            Status::Retired => {
                if let Some(permit) = self.permits.get_mut(&id) {
                    permit.spent = true;
                }
            }
            Status::Quarantined | Status::Purged => {}
        }
    }

    /// Drops what expired, at most once a minute of entry time.
    fn sweep(&mut self, now: Timestamp) {
        const EVERY_US: u64 = 60 * 1_000_000;
        if now.as_micros() < self.swept.as_micros().saturating_add(EVERY_US) {
            return;
        }
        self.swept = now;
        let alive = |time: Timestamp, life: u64| now.as_micros() < time.as_micros().saturating_add(life);
        self.windows
            .retain(|_, window| alive(window.opened, CONTEXT_LIFE_US));
        self.permits.retain(|_, grant| alive(grant.time, PERMIT_LIFE_US));
        self.approvals
            .retain(|_, grant| alive(grant.time, APPROVAL_LIFE_US));
        self.hours.retain(|_, hour| {
            [hour.none, hour.inform]
                .into_iter()
                .flatten()
                .any(|time| alive(time, TOKENLESS_WINDOW_US))
        });
    }
}

/// Whether a leaf of this kind may turn an `allow` into something else.
/// Public so that the sealer can count the drafts of its own batch.
#[must_use]
pub const fn takes_evidence_away(kind: LeafKind) -> bool {
    matches!(
        kind,
        LeafKind::Receipt
            | LeafKind::Policy
            | LeafKind::Status
            | LeafKind::Purge
            | LeafKind::Isolate
            | LeafKind::Key
            | LeafKind::Epoch
    )
}

const fn grant(leaf: &Leaf) -> Grant {
    Grant {
        time: leaf.time,
        epoch: leaf.epoch,
        position: leaf.position,
        spent: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Digest, LogId};
    use proptest::prelude::*;

    fn leaf(kind: LeafKind, position: u64, time: u64) -> Leaf {
        Leaf {
            log: LogId::from_bytes([9; 16]),
            epoch: 0,
            position,
            time: Timestamp::from_micros(time),
            kind,
            namespace: None,
            record: None,
            principal: PrincipalId::from_bytes([2; 16]),
            context: None,
            channel: Channel::Direct,
            authority: Authority::Act,
            status: Status::Active,
            parents: Vec::new(),
            payload: Digest::of(b""),
            findings: None,
            vector: None,
            policy: Digest::of(b""),
        }
    }

    fn any_authority() -> impl Strategy<Value = Authority> {
        prop_oneof![
            Just(Authority::None),
            Just(Authority::Inform),
            Just(Authority::Act)
        ]
    }

    proptest! {
        #[test]
        fn a_label_never_rises(events in prop::collection::vec((any::<bool>(), any_authority()), 1..20)) {
            let context = ContextId::from_bytes([1; 16]);
            let mut origin = Origin::default();
            let mut lowest = Authority::Act;
            for (at, (is_recall, authority)) in events.into_iter().enumerate() {
                let kind = if is_recall && at > 0 { LeafKind::Recall } else { LeafKind::Label };
                let mut leaf = leaf(kind, at as u64, at as u64);
                leaf.context = Some(context);
                leaf.authority = authority;
                origin.apply(&leaf, |_| false);
                lowest = lowest.min(authority);
                prop_assert_eq!(origin.window(&context).unwrap().label, lowest);
            }
        }
    }

    #[test]
    fn a_lost_context_counts_as_none_and_an_hour_without_a_token_falls_and_recovers() {
        let mut origin = Origin::default();
        let principal = PrincipalId::from_bytes([2; 16]);
        let at = Timestamp::from_micros;
        let unknown = ContextId::from_bytes([5; 16]);
        assert_eq!(
            origin.label_of(Some(&unknown), &principal, at(0)),
            Authority::None
        );
        assert_eq!(origin.label_of(None, &principal, at(0)), Authority::Act);
        let mut served = leaf(LeafKind::Recall, 0, 1_000);
        served.authority = Authority::None;
        origin.apply(&served, |_| false);
        assert_eq!(origin.label_of(None, &principal, at(2_000)), Authority::None);
        assert_eq!(
            origin.label_of(None, &principal, at(1_000 + TOKENLESS_WINDOW_US)),
            Authority::Act
        );
    }

    #[test]
    fn a_permit_and_an_approval_are_spent_once() {
        let mut origin = Origin::default();
        let (permit, approval) = (RecordId::from_bytes([3; 16]), RecordId::from_bytes([4; 16]));
        let mut approved = leaf(LeafKind::Approval, 0, 0);
        approved.record = Some(approval);
        origin.apply(&approved, |_| false);
        assert!(!origin.approval_grant(&approval).unwrap().spent);
        let mut allowed = leaf(LeafKind::Permit, 1, 0);
        allowed.record = Some(permit);
        allowed.parents = vec![approval];
        origin.apply(&allowed, |_| false);
        assert!(origin.approval_grant(&approval).unwrap().spent);
        assert!(!origin.permit_grant(&permit).unwrap().spent);
        let mut redeemed = leaf(LeafKind::Permit, 2, 0);
        redeemed.record = Some(permit);
        redeemed.status = Status::Retired;
        origin.apply(&redeemed, |_| false);
        assert!(origin.permit_grant(&permit).unwrap().spent);
        let mut endorsed = leaf(LeafKind::Approval, 3, 0);
        endorsed.record = Some(permit);
        origin.apply(&endorsed, |_| true);
        assert!(
            origin.approval_grant(&permit).is_none(),
            "an endorsement is no approval"
        );
    }
}
