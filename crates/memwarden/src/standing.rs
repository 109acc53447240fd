//! Endorsing a record, and revoking a principal over an interval.

use crate::review::check_reason;
use crate::{Handle, WardenError, draft};
use memwarden_core::{
    Authority, Digest, EndorsePayload, LeafKind, PrincipalId, RecordId, Replay, Revocation,
    RevocationPayload, Role, Standing, Status, Timestamp,
};

/// What an endorsement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endorsed {
    /// The record's authority now.
    pub effective: Authority,
    /// Its place in the log.
    pub position: u64,
}

impl Handle {
    /// Vouches for a record's text. It rises to `act` once enough `act` principals of different
    /// administrative domains did, whose grounds share no ancestor (policy `endorse.k`).
    ///
    /// # Errors
    /// A role below `act`; a digest of another text; a record that is not active.
    pub fn endorse(
        &self,
        record: RecordId,
        content: &Digest,
        grounds: &[RecordId],
        reason: &str,
    ) -> Result<Endorsed, WardenError> {
        self.require_roles(
            "endorse",
            &[Role::Owner, Role::User, Role::System],
            "the owner, a user, or the system",
        )?;
        check_reason(reason)?;
        let found = self.inspect(record)?;
        self.require_unrevoked("endorse")?;
        if self.acting() < Authority::Act {
            return Err(WardenError::Forbidden {
                verb: "endorse",
                role: self.principal.role,
                needs: "a context whose label is still act",
            });
        }
        for ground in grounds {
            self.warden.expectation(*ground)?;
        }
        if found.content_digest() != *content {
            return Err(WardenError::BadInput {
                field: "content",
                given: content.to_string(),
                expected: format!("the digest of the record's text, {}", found.content_digest()),
            });
        }
        if found.status != Status::Active {
            return Err(WardenError::BadInput {
                field: "record",
                given: format!("{record}, {}", found.status),
                expected: "an active record".to_owned(),
            });
        }
        let policy = self.warden.chain.registry().policy_hash();
        let bytes = EndorsePayload {
            content: *content,
            reason: reason.to_owned(),
        }
        .encode();
        let mut draft = draft::note(
            LeafKind::Approval,
            Some(&self.principal),
            bytes,
            policy,
            self.warden.now(),
        )?;
        draft.leaf.record = Some(record);
        draft.leaf.context = self.context;
        draft.leaf.parents = grounds.to_vec();
        let placed = self.warden.writer.commit(vec![draft])?;
        let effective = self
            .warden
            .chain
            .replay()
            .expectation(&record)
            .map_or(Authority::None, |known| known.effective());
        Ok(Endorsed {
            effective,
            position: placed.first().map_or(0, |placed| placed.position),
        })
    }

    /// Records whose authority a revocation would change, oldest first.
    ///
    /// # Errors
    /// A caller who is not the owner, or a principal that is not registered.
    pub fn preview_revocation(
        &self,
        principal: PrincipalId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<Vec<RecordId>, WardenError> {
        self.require("revoke", &[Role::Owner])?;
        self.check_interval(principal, since, until)?;
        let revocation = Revocation {
            principal,
            since,
            until,
        };
        let replay = self.warden.chain.replay();
        let registry = self.warden.chain.registry();
        let after = registry.standing_with(&replay, self.warden.mechanisms, Some(revocation));
        Ok(changed(&replay, after))
    }

    /// Caps everything that `principal` wrote in an interval, and what declares it as parent, at `none`.
    ///
    /// # Errors
    /// As [`Handle::preview_revocation`].
    pub fn revoke(
        &self,
        principal: PrincipalId,
        since: Timestamp,
        until: Option<Timestamp>,
        reason: &str,
    ) -> Result<u64, WardenError> {
        self.require("revoke", &[Role::Owner])?;
        check_reason(reason)?;
        self.check_interval(principal, since, until)?;
        self.write_revocation(&RevocationPayload {
            principal,
            since,
            until,
            undoes: None,
            reason: reason.to_owned(),
        })
    }

    /// Takes back the revocation at a log position.
    ///
    /// # Errors
    /// A caller who is not the owner, or a position at which no revocation stands.
    pub fn undo_revocation(&self, position: u64, reason: &str) -> Result<u64, WardenError> {
        self.require("revoke", &[Role::Owner])?;
        check_reason(reason)?;
        drop(self.warden.view()?);
        let revoked = self.warden.chain.registry().revocation_at(position);
        let revoked = revoked.ok_or_else(|| WardenError::BadInput {
            field: "undo",
            given: position.to_string(),
            expected: "the log position of a revocation in force".to_owned(),
        })?;
        self.write_revocation(&RevocationPayload {
            principal: revoked.principal,
            since: revoked.since,
            until: revoked.until,
            undoes: Some(position),
            reason: reason.to_owned(),
        })
    }

    fn check_interval(
        &self,
        principal: PrincipalId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<(), WardenError> {
        drop(self.warden.view()?);
        if self.warden.principal(&principal).is_none() {
            return Err(WardenError::BadInput {
                field: "principal",
                given: principal.to_string(),
                expected: "the id of a registered principal; see `memwarden principal list`".to_owned(),
            });
        }
        if until.is_some_and(|until| until < since) {
            return Err(WardenError::BadInput {
                field: "until",
                given: until.unwrap_or_default().as_micros().to_string(),
                expected: "a time not before `since`".to_owned(),
            });
        }
        Ok(())
    }

    fn write_revocation(&self, payload: &RevocationPayload) -> Result<u64, WardenError> {
        let policy = self.warden.chain.registry().policy_hash();
        let draft = draft::note(
            LeafKind::Key,
            Some(&self.principal),
            payload.encode(),
            policy,
            self.warden.now(),
        )?;
        let placed = self.warden.writer.commit(vec![draft])?;
        Ok(placed.first().map_or(0, |placed| placed.position))
    }
}

/// Records whose effective authority would differ under `after`, oldest first.
fn changed(replay: &Replay, after: Standing) -> Vec<RecordId> {
    let mut copy = replay.clone();
    copy.set_standing(after);
    let mut found: Vec<(u64, RecordId)> = copy
        .expectations()
        .filter(|(id, known)| {
            replay
                .expectation(id)
                .is_some_and(|before| before.effective() != known.effective())
        })
        .map(|(id, known)| (known.position, *id))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}
