//! `status`: what this store is, what it holds, and what it does not promise.

use crate::{Damage, Handle, WardenError, clock};
use memwarden_core::{Principal, Status, StoreId};
use std::path::PathBuf;

/// What one namespace holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceStatus {
    /// Its name.
    pub name: String,
    /// Records by status, in the order of [`Status::ALL`].
    pub counts: [u64; 4],
    /// What differs from the log; recall here fails while there is any.
    pub damage: Vec<Damage>,
}

impl NamespaceStatus {
    /// Records with this status.
    #[must_use]
    pub fn count(&self, status: Status) -> u64 {
        self.counts.get(usize::from(status.code())).copied().unwrap_or(0)
    }
}

/// What the whole store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStatus {
    /// Its id.
    pub store: StoreId,
    /// Its directory.
    pub directory: PathBuf,
    /// The directory of keys.
    pub keys: PathBuf,
    /// Log entries.
    pub entries: u64,
    /// The epoch of the newest entry.
    pub epoch: u32,
    /// The policy's name and hash.
    pub policy: (String, String),
    /// Everyone registered.
    pub principals: Vec<Principal>,
    /// Namespaces by name.
    pub namespaces: Vec<NamespaceStatus>,
    /// Records that the owner took out of the expected set.
    pub isolated: u64,
    /// Entries and epoch that the witness has seen.
    pub witness: Option<(u64, u32)>,
    /// Damage that belongs to no namespace.
    pub stray: Vec<Damage>,
    /// Receipts ever written.
    pub receipts: u64,
    /// Actions ever decided.
    pub decisions: u64,
    /// Endorsers of different domains that a record needs.
    pub endorsers_needed: usize,
    /// What was worth a warning when the store was opened, and a clock that lies behind the log.
    pub warnings: Vec<String>,
}

impl Handle {
    /// The state of the store.
    ///
    /// # Errors
    /// A store that fails.
    pub fn status(&self) -> Result<StoreStatus, WardenError> {
        let warden = &self.warden;
        let chain = &warden.chain;
        let mut view = warden.view()?;
        let rows = view.snapshot.namespaces(chain.log)?;
        let damage = chain.damage().clone();
        let mut namespaces: Vec<NamespaceStatus> = rows
            .iter()
            .map(|row| NamespaceStatus {
                name: row.name.clone(),
                counts: [0; 4],
                damage: damage
                    .iter()
                    .filter(|found| found.namespace == Some(row.id))
                    .cloned()
                    .collect(),
            })
            .collect();
        let replay = chain.replay();
        for (_, expected) in replay.expectations() {
            let at = rows.iter().position(|row| row.id == expected.namespace);
            if let Some(namespace) = at.and_then(|at| namespaces.get_mut(at))
                && let Some(count) = namespace.counts.get_mut(usize::from(expected.status.code()))
            {
                *count += 1;
            }
        }
        namespaces.sort_by(|a, b| a.name.cmp(&b.name));
        let registry = chain.registry();
        let mut principals: Vec<Principal> = registry.principals().cloned().collect();
        principals.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
        let stray = damage.into_iter().filter(|found| {
            found
                .namespace
                .is_none_or(|id| rows.iter().all(|row| row.id != id))
        });
        Ok(StoreStatus {
            store: warden.store_id(),
            directory: warden.places.store.clone(),
            keys: warden.keys.clone(),
            entries: replay.size(),
            epoch: replay.epoch(),
            policy: (registry.policy().name.clone(), registry.policy_hash().to_string()),
            principals,
            namespaces,
            isolated: replay.isolated_count() as u64,
            witness: warden.witness.newest()?.map(|seen| (seen.size, seen.epoch)),
            stray: stray.collect(),
            receipts: replay.origin().receipt_count(),
            decisions: replay.origin().decision_count(),
            endorsers_needed: registry.endorsers_needed(),
            warnings: {
                let behind = clock::behind(warden.clock.now(), replay.time());
                warden.warnings().iter().cloned().chain(behind).collect()
            },
        })
    }
}
