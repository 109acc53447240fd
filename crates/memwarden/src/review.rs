//! What happens to a record after it was written: release, reject, retire, and its history.

use crate::{Handle, WardenError, draft};
use memwarden_core::log::{Placed, Refusal};
use memwarden_core::{
    Digest, Leaf, LeafKind, Namespace, Principal, Record, RecordId, Role, Status, StatusChange,
    StatusPayload, Timestamp, commitment,
};

/// How often a wish is weighed anew because authority changed under it.
const WISH_TRIES: usize = 8;

/// What a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was done.
    Done,
    /// The principal was too weak: the wish is in the log, the record is as it was.
    Proposed,
}

/// What became of a change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Whether it was done.
    pub change: Change,
    /// The record's status now.
    pub status: Status,
    /// Its place in the log.
    pub position: u64,
}

/// One entry of a record's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its place in the log.
    pub position: u64,
    /// Its entry time.
    pub time: Timestamp,
    /// What it is about.
    pub kind: LeafKind,
    /// The status after it.
    pub status: Status,
    /// Who caused it; `None` for the warden itself.
    pub by: Option<Principal>,
    /// What was done, for a change of status.
    pub change: Option<StatusChange>,
    /// The sentence that its cause left, if it is kept.
    pub reason: Option<String>,
    /// Hash of the policy in force.
    pub policy: Digest,
}

impl Handle {
    /// Makes a quarantined or refused record visible again; its authority stays as written.
    ///
    /// `content` is the digest of the text that the reviewer saw ([`Record::content_digest`]).
    ///
    /// # Errors
    /// A role other than owner or reviewer, the writer itself, a digest of another text, or a record that
    /// is not kept out.
    pub fn release(&self, record: RecordId, content: &Digest, reason: &str) -> Result<Changed, WardenError> {
        self.require("release", &[Role::Owner, Role::Reviewer])?;
        let found = self.inspect(record)?;
        if found.principal == self.principal.id {
            return Err(WardenError::BadInput {
                field: "record",
                given: record.to_string(),
                expected: "a record that somebody else wrote: no writer releases its own".to_owned(),
            });
        }
        if found.content_digest() != *content {
            return Err(WardenError::BadInput {
                field: "content",
                given: content.to_string(),
                expected: format!("the digest of the text under review, {}", found.content_digest()),
            });
        }
        self.require_kept_out(&found)?;
        self.change(record, StatusChange::Release, Some(*content), reason)
    }

    /// Fails unless a policy or a reviewer put the record out of sight: what was withdrawn, superseded or has
    /// expired is not a reviewer's to bring back.
    fn require_kept_out(&self, record: &Record) -> Result<(), WardenError> {
        if record.status != Status::Retired || record.status_position == record.lineage.position {
            return Ok(());
        }
        let chain = &self.warden.chain;
        let mut view = self.warden.view()?;
        let payload = view.snapshot.payload(chain.log, record.status_position)?;
        let change = payload.and_then(|payload| StatusPayload::decode(&payload.bytes).ok());
        match change.map(|payload| payload.change) {
            Some(StatusChange::Reject) => Ok(()),
            change => Err(WardenError::BadInput {
                field: "record",
                given: format!(
                    "{} (last change: {})",
                    record.id,
                    change.map_or("unknown", StatusChange::as_str)
                ),
                expected: "a record that is quarantined or was refused".to_owned(),
            }),
        }
    }

    /// Refuses a quarantined record for good. Its text and the reason are kept.
    ///
    /// # Errors
    /// A role other than owner or reviewer, or a record that is not quarantined.
    pub fn reject(&self, record: RecordId, reason: &str) -> Result<Changed, WardenError> {
        self.require("reject", &[Role::Owner, Role::Reviewer])?;
        self.change(record, StatusChange::Reject, None, reason)
    }

    /// Takes a record out of sight. A principal weaker than the record leaves a proposal instead.
    ///
    /// # Errors
    /// A record that is not active.
    pub fn retire(&self, record: RecordId, reason: &str) -> Result<Changed, WardenError> {
        let mut tries = 0;
        loop {
            let effective = self.warden.expectation(record)?.effective();
            let weaker = self.acting() < effective && self.warden.mechanisms.stronger_records;
            let change = if weaker {
                StatusChange::ProposeRetire
            } else {
                StatusChange::Retire
            };
            match self.change(record, change, None, reason) {
                // The record rose or the label fell in another process: weigh the wish anew.
                Err(WardenError::Refused(Refusal::LabelFell { .. } | Refusal::TooWeak { .. }))
                    if tries < WISH_TRIES =>
                {
                    tries += 1;
                }
                changed => return changed,
            }
        }
    }

    /// A record in any status, checked against the log, for review. Never part of a recall.
    ///
    /// # Errors
    /// No such record, a purged one, or one that differs from the log.
    pub fn inspect(&self, record: RecordId) -> Result<Record, WardenError> {
        Ok(self.warden.view()?.find(&record)?.into_inner())
    }

    /// Records of a namespace with a status, oldest first.
    ///
    /// # Errors
    /// A namespace that holds nothing, or rows that differ from the log.
    pub fn list(&self, namespace: &Namespace, status: Status) -> Result<Vec<Record>, WardenError> {
        let mut view = self.warden.view()?;
        let row = view.namespace(namespace)?;
        view.require_intact(&row)?;
        let rows = view.snapshot.with_status(row.id, status)?;
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            match view.record(row) {
                Ok(record) => records.extend(record.map(memwarden_core::Verified::into_inner)),
                Err(WardenError::Purged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // The column is only an index: the log says what the status is.
        records.retain(|record| record.status == status);
        Ok(records)
    }

    /// Everything that the log says about a record, oldest first. Works for purged records too.
    ///
    /// # Errors
    /// No such record.
    pub fn history(&self, record: RecordId) -> Result<Vec<Event>, WardenError> {
        let chain = &self.warden.chain;
        let mut view = self.warden.view()?;
        let known = chain
            .replay()
            .expectation(&record)
            .map(|expected| expected.position);
        let isolated = chain.replay().is_isolated(&record);
        if known.is_none() && !isolated {
            return Err(WardenError::NotFound { record });
        }
        let size = view.size;
        let mut leaves: Vec<Leaf> = Vec::new();
        view.snapshot
            .leaves(chain.log, known.unwrap_or(0)..size, &mut |_, bytes| {
                leaves.extend(
                    Leaf::decode(bytes)
                        .ok()
                        .filter(|leaf| leaf.record == Some(record)),
                );
                Ok(())
            })?;
        let mut events = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let payload = view.snapshot.payload(chain.log, leaf.position)?;
            let payload = payload.filter(|payload| commitment(&payload.salt, &payload.bytes) == leaf.payload);
            let status = payload
                .as_ref()
                .and_then(|payload| StatusPayload::decode(&payload.bytes).ok());
            let purge = payload
                .as_ref()
                .and_then(|payload| memwarden_core::PurgePayload::decode(&payload.bytes).ok());
            events.push(Event {
                position: leaf.position,
                time: leaf.time,
                kind: leaf.kind,
                status: leaf.status,
                by: self.warden.principal(&leaf.principal),
                change: status.as_ref().map(|status| status.change),
                reason: status
                    .map(|status| status.reason)
                    .or_else(|| purge.map(|purge| purge.reason)),
                policy: leaf.policy,
            });
        }
        Ok(events)
    }

    fn change(
        &self,
        record: RecordId,
        change: StatusChange,
        content: Option<Digest>,
        reason: &str,
    ) -> Result<Changed, WardenError> {
        check_reason(reason)?;
        self.warden.expectation(record)?;
        let at = self.warden.now();
        let mut draft = draft::status(
            &self.warden.chain,
            Some(&self.principal),
            record,
            change,
            None,
            content,
            reason,
            at,
        )?;
        draft.leaf.authority = self.acting();
        draft.leaf.context = self.context;
        let status = draft.leaf.status;
        let placed = self.warden.writer.commit(vec![draft])?;
        let proposed = change == StatusChange::ProposeRetire;
        Ok(Changed {
            change: if proposed { Change::Proposed } else { Change::Done },
            status,
            position: placed.first().map_or(0, |Placed { position, .. }| *position),
        })
    }
}

/// Longest reason in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 4_096;

pub(crate) fn check_reason(reason: &str) -> Result<(), WardenError> {
    if reason.len() > MAX_REASON_BYTES || reason.contains('\0') {
        return Err(WardenError::BadInput {
            field: "reason",
            given: format!("{} bytes", reason.len()),
            expected: format!("at most {MAX_REASON_BYTES} bytes of text without NUL"),
        });
    }
    Ok(())
}
