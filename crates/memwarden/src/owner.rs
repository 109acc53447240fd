//! What only the owner does: purge, isolate, rotate the key, load a policy, register a principal, back up.

use crate::review::check_reason;
use crate::{Credential, Handle, WardenError, draft, init, keys};
use memwarden_core::log::{Body, Draft};
use memwarden_core::{
    Leaf, LeafKind, Policy, PolicyPayload, Principal, PurgePayload, RecordId, Role, Status,
};
use memwarden_ledger::rotate;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One record whose text is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    /// The record.
    pub record: RecordId,
    /// Its place in the log.
    pub position: u64,
}

/// What a purge did, and what it could not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeReport {
    /// Records whose text, salt, findings, logged queries and index entries are destroyed.
    pub purged: Vec<Purged>,
    /// Active descendants that were left: they declare a purged record as parent and may repeat its text.
    pub descendants_left: Vec<RecordId>,
    /// Backups that still hold the text.
    pub backups: Vec<PathBuf>,
}

impl Handle {
    /// Records that declare `record` as a parent, directly or through others, oldest first.
    ///
    /// # Errors
    /// A store that fails.
    pub fn descendants(&self, record: RecordId) -> Result<Vec<RecordId>, WardenError> {
        let chain = &self.warden.chain;
        let mut view = self.warden.view()?;
        let size = view.size;
        let mut family = HashSet::from([record]);
        let mut found = Vec::new();
        // One pass in log order: a parent always stands before its children.
        view.snapshot.leaves(chain.log, 0..size, &mut |_, bytes| {
            if Leaf::kind_of(bytes) == Some(LeafKind::Write)
                && let Ok(leaf) = Leaf::decode(bytes)
                && leaf.parents.iter().any(|parent| family.contains(parent))
                && let Some(id) = leaf.record
                && family.insert(id)
            {
                found.push(id);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Destroys text, salt, findings, logged queries and index entries of `records`; their leaves stay and
    /// the log still verifies.
    ///
    /// # Errors
    /// A caller who is not the owner, a record that is not there or already purged. If another process
    /// keeps an old state open, the records are purged but the free pages may still hold text: the error
    /// says so, and running the purge of another record, or `scrub`, finishes it.
    pub fn purge(&self, records: &[RecordId], reason: &str) -> Result<PurgeReport, WardenError> {
        self.require("purge", &[Role::Owner])?;
        check_reason(reason)?;
        let chain = &self.warden.chain;
        let at = self.warden.now();
        let mut drafts = Vec::with_capacity(records.len());
        for (index, record) in records.iter().enumerate() {
            if records.iter().take(index).any(|before| before == record) {
                return Err(WardenError::BadInput {
                    field: "records",
                    given: record.to_string(),
                    expected: "each record once".to_owned(),
                });
            }
            let draft = self.destroy(*record, LeafKind::Purge, reason, at)?;
            drafts.push(draft);
        }
        let positions: Vec<u64> = records
            .iter()
            .map(|record| {
                chain
                    .replay()
                    .expectation(record)
                    .map_or(0, |known| known.position)
            })
            .collect();
        self.warden.flush()?;
        let placed = self.warden.writer.commit(drafts)?;
        for record in records {
            self.warden.witness.bury(record)?;
        }
        self.warden.store.rebuild_indexes(chain.log)?;
        self.warden.store.scrub()?;
        let first = positions.iter().min().copied().unwrap_or(0);
        let backups = self.warden.witness.backups()?;
        let backups = backups
            .into_iter()
            .filter(|(size, path)| *size > first && path.exists());
        let mut descendants_left = Vec::new();
        for record in records {
            for descendant in self.descendants(*record)? {
                let active = chain
                    .replay()
                    .expectation(&descendant)
                    .is_some_and(|known| known.status != Status::Purged);
                if active && !descendants_left.contains(&descendant) {
                    descendants_left.push(descendant);
                }
            }
        }
        let purged = records.iter().zip(placed).map(|(record, placed)| Purged {
            record: *record,
            position: placed.position,
        });
        Ok(PurgeReport {
            purged: purged.collect(),
            descendants_left,
            backups: backups.map(|(_, path)| path).collect(),
        })
    }

    /// Takes a damaged record out of the expected set, so that its namespace answers again.
    ///
    /// # Errors
    /// A caller who is not the owner.
    pub fn isolate(&self, record: RecordId, reason: &str) -> Result<u64, WardenError> {
        self.require("isolate", &[Role::Owner])?;
        check_reason(reason)?;
        let at = self.warden.now();
        let draft = self.destroy(record, LeafKind::Isolate, reason, at)?;
        let placed = self.warden.writer.commit(vec![draft])?;
        self.recheck()?;
        Ok(placed.first().map_or(0, |placed| placed.position))
    }

    /// Replaces the log's signing key; the entry is signed by the old key and the new one.
    ///
    /// # Errors
    /// A caller who is not the owner, or a key directory that cannot be written.
    pub fn rotate_key(&self) -> Result<String, WardenError> {
        self.require("rotate the key", &[Role::Owner])?;
        let chain = &self.warden.chain;
        let _lock = keys::lock_rotation(&self.warden.keys)?;
        // A rotation by another process may have come first: catch up with it, then start from its key.
        drop(self.warden.view()?);
        let old = keys::read_signer(&self.warden.keys, &chain.origin)?;
        if *old.verifier() != chain.state().key {
            return Err(WardenError::Keys {
                path: self.warden.keys.clone(),
                reason: "does not hold the key that signed the newest checkpoint".to_owned(),
            });
        }
        let new = keys::fresh_signer(&chain.origin)?;
        let verifier_key = new.verifier().to_string();
        keys::stage_rotation(&self.warden.keys, &new)?;
        let payload = rotate(&chain.origin, &old, &new).encode();
        let policy = chain.registry().policy_hash();
        let at = self.warden.now();
        let draft = draft::note(LeafKind::Key, Some(&self.principal), payload, policy, at)?;
        self.warden.writer.rotate(vec![draft], new)?;
        keys::finish_rotation(&self.warden.keys)?;
        Ok(verifier_key)
    }

    /// Makes `policy` the store's policy, from the next entry on.
    ///
    /// # Errors
    /// A caller who is not the owner, or a policy that does not parse.
    pub fn load_policy(&self, policy: &Policy) -> Result<u64, WardenError> {
        self.require("load a policy", &[Role::Owner])?;
        let policy = memwarden_guard::parse(&policy.source).map_err(|error| WardenError::Policy {
            reason: error.to_string(),
        })?;
        let steps = self.warden.chain.registry().count(Role::Step);
        memwarden_guard::check_steps(&policy, steps).map_err(|error| WardenError::Policy {
            reason: error.to_string(),
        })?;
        let bytes = PolicyPayload {
            source: policy.source.clone(),
        }
        .encode();
        let at = self.warden.now();
        let draft = draft::note(LeafKind::Policy, Some(&self.principal), bytes, policy.hash(), at)?;
        let placed = self.warden.writer.commit(vec![draft])?;
        Ok(placed.first().map_or(0, |placed| placed.position))
    }

    /// Registers a principal and returns its credential, which exists nowhere else.
    ///
    /// # Errors
    /// A caller who is not the owner, or a name out of range.
    pub fn register(&self, name: &str, role: Role, domain: Option<&str>) -> Result<Credential, WardenError> {
        self.register_key(name, role, domain, false)
    }

    /// [`Handle::register`] for a key that vouches for roles: what it hands over as said by a user was said by
    /// one, so it may open requests. For the program between person and model, never for the model's own key.
    ///
    /// # Errors
    /// As [`Handle::register`].
    pub fn register_attesting(
        &self,
        name: &str,
        role: Role,
        domain: Option<&str>,
    ) -> Result<Credential, WardenError> {
        self.register_key(name, role, domain, true)
    }

    fn register_key(
        &self,
        name: &str,
        role: Role,
        domain: Option<&str>,
        attest_roles: bool,
    ) -> Result<Credential, WardenError> {
        self.require("register a principal", &[Role::Owner])?;
        for (field, text) in [
            ("name", name),
            ("domain", domain.unwrap_or(Principal::SHARED_DOMAIN)),
        ] {
            if text.is_empty() || text.len() > 128 || text.chars().any(char::is_control) {
                return Err(WardenError::BadInput {
                    field,
                    given: text.chars().take(80).filter(|c| !c.is_control()).collect(),
                    expected: "1 to 128 bytes without control characters".to_owned(),
                });
            }
        }
        let credential = Credential::fresh(self.warden.store_id(), role)?;
        let principal = Principal {
            id: credential.principal(),
            name: name.to_owned(),
            role,
            domain: domain.unwrap_or(Principal::SHARED_DOMAIN).to_owned(),
        };
        let at = self.warden.now();
        let draft = init::register(
            &self.principal,
            &principal,
            &credential,
            attest_roles,
            &self.warden.policy(),
            at,
        )?;
        self.warden.writer.commit(vec![draft])?;
        Ok(credential)
    }

    /// Writes a consistent copy of the store to a new file; keys and witness are not part of it.
    ///
    /// # Errors
    /// A caller who is not the owner, a file that exists, or a disk that is full.
    pub fn backup(&self, to: &Path) -> Result<u64, WardenError> {
        self.require("back up", &[Role::Owner])?;
        self.warden.flush()?;
        let size = self.warden.view()?.size;
        self.warden.store.backup(to)?;
        let path = std::path::absolute(to).map_err(|error| WardenError::file(to, &error))?;
        self.warden.witness.note_backup(size, &path)?;
        Ok(size)
    }

    /// Makes the search indexes anew from the rows.
    ///
    /// # Errors
    /// A caller who is not the owner, or a store that fails.
    pub fn reindex(&self) -> Result<(), WardenError> {
        self.require("reindex", &[Role::Owner])?;
        Ok(self.warden.store.rebuild_indexes(self.warden.chain.log)?)
    }

    /// Leaves no copy of destroyed text in the files of the store.
    ///
    /// # Errors
    /// A caller who is not the owner; another process that keeps an old state open.
    pub fn scrub(&self) -> Result<(), WardenError> {
        self.require("scrub", &[Role::Owner])?;
        Ok(self.warden.store.scrub()?)
    }

    fn recheck(&self) -> Result<(), WardenError> {
        let chain = &self.warden.chain;
        let mut view = self.warden.view()?;
        let size = view.size;
        crate::sweep::compare_all(chain, &mut *view.snapshot, size)
    }

    fn destroy(
        &self,
        record: RecordId,
        kind: LeafKind,
        reason: &str,
        at: memwarden_core::Timestamp,
    ) -> Result<Draft, WardenError> {
        let chain = &self.warden.chain;
        let known = match self.warden.expectation(record) {
            Ok(known) => Some((known.status, known.namespace)),
            Err(WardenError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        if kind == LeafKind::Purge && known.is_none() && !chain.replay().is_isolated(&record) {
            return Err(WardenError::NotFound { record });
        }
        let was = known.map_or(Status::Retired, |(status, _)| status);
        let bytes = PurgePayload {
            was,
            reason: reason.to_owned(),
        }
        .encode();
        let (payload, digest) = draft::salted(bytes)?;
        let policy = chain.registry().policy_hash();
        let mut leaf = draft::leaf(kind, Some(&self.principal), digest, policy, at);
        leaf.record = Some(record);
        leaf.namespace = known.map(|(_, namespace)| namespace);
        leaf.status = if kind == LeafKind::Purge {
            Status::Purged
        } else {
            was
        };
        let body = if kind == LeafKind::Purge {
            Body::Purge(payload)
        } else {
            Body::Isolate(payload)
        };
        Ok(Draft { leaf, body })
    }
}
