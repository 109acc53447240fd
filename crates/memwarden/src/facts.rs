//! Receipts, requests, permits and approvals that may still count.
//!
//! Which of them exist, in which order, and which are spent, comes from the verified log; their words are read
//! from the store and checked against the commitment in their leaf. A payload that is missing or changed is
//! an error: evidence that cannot be read is never taken for absent, or deleting a failed receipt would
//! bring an older pass back.

use crate::WardenError;
use crate::chain::Chain;
use memwarden_core::log::Snapshot;
use memwarden_core::{
    APPROVAL_LIFE_US, ApprovalPayload, BeginPayload, CONTEXT_LIFE_US, ContextId, Digest, Leaf, LeafKind,
    Outcome, PERMIT_LIFE_US, PermitPayload, PrincipalId, ReceiptFact, ReceiptPayload, RecordId, RequestFact,
    RequestPayload, Status, Subject, Timestamp, commitment, tokens,
};
use std::collections::HashMap;

/// Longest time that any fact is kept: the longest age that a policy can accept of a receipt, 30 days.
const FACT_LIFE_US: u64 = 30 * 24 * 3_600 * 1_000_000;

/// A receipt with what it put out.
#[derive(Debug, Clone)]
pub(crate) struct Receipt {
    pub(crate) fact: ReceiptFact,
    pub(crate) epoch: u32,
    pub(crate) issuer: PrincipalId,
    pub(crate) namespace: String,
    pub(crate) tool: Option<String>,
    pub(crate) output: Vec<(String, String)>,
    /// Whether it was written for an action that no permit was redeemed for.
    alerted: bool,
}

/// A request, and who made it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) fact: RequestFact,
    pub(crate) by: PrincipalId,
    pub(crate) time: Timestamp,
}

/// An approval, and who gave it.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) words: ApprovalPayload,
    pub(crate) by: PrincipalId,
    pub(crate) time: Timestamp,
}

/// A permit that was granted.
#[derive(Debug, Clone)]
pub(crate) struct Permit {
    pub(crate) tool: String,
    pub(crate) action: Digest,
    pub(crate) context: Option<ContextId>,
    pub(crate) expires: Timestamp,
    pub(crate) redeemed: bool,
}

/// Everything that may still count.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    tokens: HashMap<Digest, (ContextId, Timestamp)>,
    receipts: HashMap<(String, Subject), Vec<Receipt>>,
    requests: HashMap<ContextId, Vec<Request>>,
    permits: HashMap<RecordId, Permit>,
    approvals: HashMap<RecordId, Approval>,
    swept: Timestamp,
    /// Which verification of the whole log the facts come from.
    generation: u64,
}

impl Facts {
    /// Takes in the leaves that the chain has verified since the last call.
    pub(crate) fn catch_up(&mut self, chain: &Chain, snapshot: &mut dyn Snapshot) -> Result<(), WardenError> {
        let generation = chain.generation();
        if generation != self.generation {
            *self = Self {
                generation,
                ..Self::default()
            };
        }
        let now = chain.replay().time();
        let size = snapshot.head(chain.log)?.size;
        // What came after this snapshot was opened is taken in by the next call.
        while let Some(leaf) = chain.next_gate_leaf(size) {
            if now.as_micros().saturating_sub(leaf.time.as_micros()) > life(leaf.kind) {
                continue;
            }
            if let Err(error) = self.take(chain, snapshot, &leaf) {
                chain.give_back_gate_leaf(leaf);
                return Err(error);
            }
        }
        self.sweep(now);
        Ok(())
    }

    /// The context that a token opens.
    pub(crate) fn context_of(&self, token: &Digest) -> Option<ContextId> {
        self.tokens.get(token).map(|(context, _)| *context)
    }

    /// Receipts for a step and a subject, oldest first.
    pub(crate) fn receipts(&self, step: &str, subject: &Subject) -> &[Receipt] {
        self.receipts
            .get(&(step.to_owned(), subject.clone()))
            .map_or(&[], Vec::as_slice)
    }

    /// All receipts.
    pub(crate) fn all_receipts(&self) -> impl Iterator<Item = (&str, &Subject, &Receipt)> {
        self.receipts.iter().flat_map(|((step, subject), receipts)| {
            receipts
                .iter()
                .map(move |receipt| (step.as_str(), subject, receipt))
        })
    }

    /// The newest receipt for each step and subject in a namespace, of those that count, if it passed: a later
    /// failure takes an earlier pass back.
    pub(crate) fn standing_passes<'f>(
        &'f self,
        namespace: &str,
        counts: impl Fn(&Receipt) -> bool,
    ) -> impl Iterator<Item = (&'f Subject, &'f Receipt)> {
        self.receipts.iter().filter_map(move |((_, subject), receipts)| {
            let counted = receipts
                .iter()
                .filter(|receipt| receipt.namespace == namespace && counts(receipt));
            let newest = counted.max_by_key(|receipt| receipt.fact.position);
            newest
                .filter(|receipt| passed(receipt))
                .map(|receipt| (subject, receipt))
        })
    }

    /// Requests that were opened in a context.
    pub(crate) fn requests(&self, context: &ContextId) -> &[Request] {
        self.requests.get(context).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn permit(&self, id: &RecordId) -> Option<&Permit> {
        self.permits.get(id)
    }

    /// Whether a permit for `tool` was redeemed in a context that no earlier receipt there speaks for.
    pub(crate) fn has_unreported_redemption(&self, context: &ContextId, tool: &str) -> bool {
        let redeemed = self.permits.values().filter(|permit| {
            permit.redeemed && permit.tool == tool && permit.context.as_ref() == Some(context)
        });
        let reported = self.all_receipts().filter(|(step, _, receipt)| {
            receipt.fact.context == *context
                && !receipt.alerted
                && (*step == tool || receipt.tool.as_deref() == Some(tool))
        });
        redeemed.count() > reported.count()
    }

    pub(crate) fn approval(&self, id: &RecordId) -> Option<&Approval> {
        self.approvals.get(id)
    }

    fn take(&mut self, chain: &Chain, snapshot: &mut dyn Snapshot, leaf: &Leaf) -> Result<(), WardenError> {
        // An endorsement is an approval leaf about a record; its words decide nothing.
        let is_record = |id: &RecordId| chain.replay().expectation(id).is_some();
        if leaf.kind == LeafKind::Approval && leaf.record.as_ref().is_none_or(is_record) {
            return Ok(());
        }
        let payload = snapshot.payload(chain.log, leaf.position)?;
        let payload = payload.filter(|payload| commitment(&payload.salt, &payload.bytes) == leaf.payload);
        let Some(payload) = payload else {
            return Err(WardenError::unverified(format!(
                "the payload of log entry {} is missing or was changed",
                leaf.position
            )));
        };
        match leaf.kind {
            LeafKind::Label => self.take_label(leaf, &payload.bytes),
            LeafKind::Receipt => {
                let words = ReceiptPayload::decode(&payload.bytes).map_err(WardenError::unverified)?;
                self.take_receipt(leaf, words);
            }
            LeafKind::Permit => self.take_permit(leaf, &payload.bytes),
            LeafKind::Approval => {
                if let (Some(id), Ok(words)) = (leaf.record, ApprovalPayload::decode(&payload.bytes)) {
                    let approval = Approval {
                        words,
                        by: leaf.principal,
                        time: leaf.time,
                    };
                    self.approvals.insert(id, approval);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_label(&mut self, leaf: &Leaf, bytes: &[u8]) {
        let Some(context) = leaf.context else { return };
        if let Ok(begin) = BeginPayload::decode(bytes) {
            self.tokens.insert(begin.token, (context, leaf.time));
        } else if let Ok(request) = RequestPayload::decode(bytes) {
            let fact = RequestFact {
                position: leaf.position,
                tokens: tokens(&request.text),
                tools: request.tools,
                expires: request.expires,
            };
            self.requests.entry(context).or_default().push(Request {
                fact,
                by: leaf.principal,
                time: leaf.time,
            });
        }
    }

    fn take_receipt(&mut self, leaf: &Leaf, words: ReceiptPayload) {
        let receipt = Receipt {
            fact: ReceiptFact {
                position: leaf.position,
                outcome: words.outcome,
                context: leaf.context.unwrap_or(ContextId::from_bytes([0; 16])),
                time: leaf.time,
                expires: words.expires,
            },
            epoch: leaf.epoch,
            issuer: leaf.principal,
            namespace: words.namespace,
            tool: words.tool,
            output: words.output,
            alerted: words.alert.is_some(),
        };
        self.receipts
            .entry((words.step, words.subject))
            .or_default()
            .push(receipt);
    }

    fn take_permit(&mut self, leaf: &Leaf, bytes: &[u8]) {
        let Some(id) = leaf.record else { return };
        if leaf.status == Status::Retired
            && let Some(permit) = self.permits.get_mut(&id)
        {
            permit.redeemed = true;
        } else if leaf.status == Status::Active
            && let Ok(words) = PermitPayload::decode(bytes)
        {
            let permit = Permit {
                tool: words.tool,
                action: words.action,
                context: leaf.context,
                expires: words.expires,
                redeemed: false,
            };
            self.permits.insert(id, permit);
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
        for receipts in self.receipts.values_mut() {
            receipts.retain(|receipt| alive(receipt.fact.time, FACT_LIFE_US));
        }
        self.receipts.retain(|_, receipts| !receipts.is_empty());
        for requests in self.requests.values_mut() {
            requests.retain(|request| request.fact.expires > now);
        }
        self.requests.retain(|_, requests| !requests.is_empty());
        // A redeemed permit explains a receipt that follows it: kept as long as its context.
        self.permits
            .retain(|_, permit| alive(permit.expires, CONTEXT_LIFE_US));
        self.approvals.retain(|_, approval| approval.words.expires > now);
        self.tokens
            .retain(|_, (_, opened)| alive(*opened, CONTEXT_LIFE_US));
    }
}

const fn life(kind: LeafKind) -> u64 {
    match kind {
        LeafKind::Receipt => FACT_LIFE_US,
        LeafKind::Permit => PERMIT_LIFE_US + CONTEXT_LIFE_US,
        LeafKind::Approval => APPROVAL_LIFE_US,
        _ => CONTEXT_LIFE_US,
    }
}

/// Whether a receipt says that the step passed.
pub(crate) fn passed(receipt: &Receipt) -> bool {
    receipt.fact.outcome == Outcome::Passed
}
