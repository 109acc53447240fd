//! What the gate may know: facts that count, and rows of one view that were checked.

use crate::facts::{Facts, Receipt, passed};
use crate::view::View;
use crate::{Handle, Mechanisms, Warden, WardenError};
use memwarden_core::log::{NamespaceRow, Retrieval, Search, field_key};
use memwarden_core::{
    Authority, CanonicalValue, ContextId, Evidence, EvidenceError, Namespace, ReceiptFact, RequestFact, Role,
    Status, Subject, Timestamp, Witness, tokens,
};
use std::cell::RefCell;

/// Most weaker records that a reason names.
const MAX_WEAKER: usize = 5;

/// What the gate may know, from facts and checked rows of one view.
pub(crate) struct GateEvidence<'f, 'v> {
    pub(crate) facts: &'f Facts,
    pub(crate) view: RefCell<View<'v>>,
    pub(crate) name: &'f Namespace,
    pub(crate) namespace: Option<&'f NamespaceRow>,
    pub(crate) handle: &'f Handle,
    pub(crate) now: Timestamp,
}

impl GateEvidence<'_, '_> {
    fn mechanisms(&self) -> &Mechanisms {
        &self.handle.warden.mechanisms
    }

    /// Whether a receipt is evidence here at all.
    fn counts(&self, receipt: &Receipt) -> bool {
        receipt.namespace == self.name.as_str() && self.handle.warden.receipt_counts(receipt)
    }

    fn rows(
        &self,
        rows: Vec<i64>,
        keep: impl Fn(&memwarden_core::Record) -> bool,
    ) -> Result<Vec<Witness>, EvidenceError> {
        let mut witnesses = Vec::new();
        for row in rows {
            let found = self.view.borrow_mut().record(row);
            let record = match found {
                Ok(Some(record)) => record.into_inner(),
                Ok(None) | Err(WardenError::Purged { .. }) => continue,
                Err(error) => {
                    return Err(EvidenceError {
                        reason: error.to_string(),
                    });
                }
            };
            let alive = record.entry.valid_until.is_none_or(|end| end > self.now);
            if record.status == Status::Active && alive && keep(&record) {
                witnesses.push(Witness {
                    record: Some(record.id),
                    position: record.lineage.position,
                    principal: record.principal,
                });
            }
        }
        Ok(witnesses)
    }

    /// Records in whose text the value stands, best first.
    fn mentioning(
        &self,
        value: &CanonicalValue,
        keep: impl Fn(&memwarden_core::Record) -> bool,
    ) -> Result<Vec<Witness>, EvidenceError> {
        let Some(namespace) = self.namespace else {
            return Ok(Vec::new());
        };
        let words = match value {
            CanonicalValue::Words(words) => words.join(" "),
            CanonicalValue::Number(number) => number.clone(),
        };
        let search = Search {
            namespace: namespace.id,
            retrieval: Retrieval::Lexical,
            vector: None,
            query: &words,
            limit: 4 * MAX_WEAKER,
            common_above: u64::MAX,
            kind: None,
            without: &[],
        };
        let candidates = self.view.borrow_mut().snapshot.candidates(&search);
        let candidates = candidates.map_err(|error| EvidenceError {
            reason: error.to_string(),
        })?;
        let rows = candidates.into_iter().map(|candidate| candidate.row).collect();
        let mut found = self.rows(rows, |record| {
            value.stands_in(&tokens(&record.entry.content)) && keep(record)
        })?;
        found.truncate(MAX_WEAKER);
        Ok(found)
    }
}

impl Evidence for GateEvidence<'_, '_> {
    fn newest_receipt(&self, step: &str, subject: &Subject) -> Result<Option<ReceiptFact>, EvidenceError> {
        let exact = self.facts.receipts(step, subject).iter();
        let any_subject = self
            .facts
            .all_receipts()
            .filter(|(of, _, _)| *of == step)
            .map(|(_, _, receipt)| receipt);
        let found: Vec<_> = if self.mechanisms().gate.subject {
            exact.collect()
        } else {
            any_subject.collect()
        };
        let counted = found.into_iter().filter(|receipt| self.counts(receipt));
        let newest = if self.mechanisms().newest_receipt {
            counted.max_by_key(|receipt| receipt.fact.position)
        } else {
            counted.max_by_key(|receipt| (passed(receipt), receipt.fact.position))
        };
        Ok(newest.map(|receipt| receipt.fact.clone()))
    }

    fn requests(&self, context: &ContextId) -> Result<Vec<RequestFact>, EvidenceError> {
        let requests = self.facts.requests(context).iter();
        let standing = |by, time| !self.handle.warden.chain.replay().standing().revokes(by, time);
        Ok(requests
            .filter(|request| standing(&request.by, request.time))
            .map(|request| request.fact.clone())
            .collect())
    }

    fn bindings(&self, parameter: &str, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError> {
        let policy = self.handle.warden.policy();
        let warden = &self.handle.warden;
        let counts = |receipt: &Receipt| warden.receipt_counts(receipt);
        let mut passes = self.facts.standing_passes(self.name.as_str(), counts);
        let from_output = passes.find(|(_, receipt)| {
            let never_echoes = receipt
                .tool
                .as_ref()
                .and_then(|tool| policy.tools.get(tool))
                .is_some_and(|tool| tool.echoes == memwarden_core::Echoes::Never);
            never_echoes
                && receipt.fact.expires > self.now
                && receipt
                    .output
                    .iter()
                    .any(|(name, output)| name == parameter && value.is_said_by(output))
        });
        if let Some((_, receipt)) = from_output {
            let witness = Witness {
                record: None,
                position: receipt.fact.position,
                principal: receipt.issuer,
            };
            return Ok(vec![witness]);
        }
        let Some(namespace) = self.namespace else {
            return Ok(Vec::new());
        };
        let rows = self
            .view
            .borrow_mut()
            .snapshot
            .with_field(namespace.id, parameter, &value.key());
        let rows = rows.map_err(|error| EvidenceError {
            reason: error.to_string(),
        })?;
        let key = value.key();
        let bound = self.rows(rows, |record| {
            let field = record.entry.fields.get(parameter).and_then(field_key);
            record.effective == Authority::Act && field.as_ref() == Some(&key)
        })?;
        if bound.is_empty() && !self.mechanisms().structured_fields {
            return self.mentioning(value, |record| record.effective == Authority::Act);
        }
        Ok(bound)
    }

    fn weaker(&self, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError> {
        self.mentioning(value, |record| record.effective < Authority::Act)
    }
}

impl Warden {
    /// Whether a receipt is evidence: of this epoch, by a step that no revocation reaches.
    pub(crate) fn receipt_counts(&self, receipt: &Receipt) -> bool {
        let is_step = self
            .principal(&receipt.issuer)
            .is_some_and(|principal| principal.role == Role::Step);
        let replay = self.chain.replay();
        (receipt.epoch == replay.epoch() || !self.mechanisms.epochs)
            && (is_step || !self.mechanisms.step_role)
            && !replay.standing().revokes(&receipt.issuer, receipt.fact.time)
    }
}
