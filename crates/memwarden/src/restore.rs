//! Accepting an older state: the one case in which a store may stand behind its witness.

use crate::warden::{Opened, open_parts, start};
use crate::witness::Seen;
use crate::{Credential, Options, Places, Warden, WardenError, draft, random};
use memwarden_core::log::Body;
use memwarden_core::{EpochPayload, LeafKind, PurgePayload, RecordId, Role, Status, StoreId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Entries in the accepted state.
    pub size: u64,
    /// Entries that the witness had seen, of which those after the accepted state are abandoned.
    pub abandoned_size: u64,
    /// The epoch that starts with the restore.
    pub epoch: u32,
    /// Records that had been purged and were purged again.
    pub purged_again: Vec<RecordId>,
}

impl Warden {
    /// Accepts the state that now lies at `places`, though the witness has seen a newer one. Opens a new
    /// epoch, logs the abandoned head, and purges again what the tombstones name, before anything is read.
    ///
    /// Receipts, permits and approvals of earlier epochs are void from then on. That is all that happens where
    /// the store is not behind: nothing is abandoned, and a new epoch starts all the same.
    ///
    /// # Errors
    /// A credential that is not the owner's, or a store that does not verify in itself.
    pub fn restore(
        places: &Places,
        options: &Options,
        credential: &Credential,
        reason: &str,
    ) -> Result<(Arc<Self>, Restored), WardenError> {
        crate::review::check_reason(reason)?;
        let opened = open_parts(places, options)?;
        let Opened {
            chain, witness, seen, ..
        } = &opened;
        let owner = chain.registry().authenticate(credential)?;
        if owner.role != Role::Owner {
            return Err(WardenError::Forbidden {
                verb: "restore",
                role: owner.role,
                needs: "the owner",
            });
        }
        let own = chain.state().checkpoint.clone().unwrap_or_default();
        let (size, own_epoch) = {
            let replay = chain.replay();
            (replay.size(), replay.epoch())
        };
        let abandoned = seen.clone().unwrap_or(Seen {
            epoch: own_epoch,
            size,
            checkpoint: own,
        });
        let at = options.clock.now().max(chain.replay().time());
        let policy = chain.registry().policy_hash();

        // Epochs must also rise over abandoned ones, so that a head of an abandoned epoch never ranks first.
        let steps = abandoned.epoch.saturating_sub(own_epoch).saturating_add(1);
        let mut drafts = Vec::new();
        for _ in 0..steps {
            let payload = EpochPayload {
                abandoned: abandoned.checkpoint.clone(),
                reason: reason.to_owned(),
            };
            drafts.push(draft::note(
                LeafKind::Epoch,
                Some(&owner),
                payload.encode(),
                policy,
                at,
            )?);
        }
        let mut purged_again = Vec::new();
        for record in witness.tombstones()? {
            let known = chain
                .replay()
                .expectation(&record)
                .map(|known| (known.status, known.namespace));
            let Some((status, namespace)) = known else {
                continue;
            };
            if status == Status::Purged || purged_again.contains(&record) {
                continue;
            }
            let bytes = PurgePayload {
                was: status,
                reason: "purged before the restore".to_owned(),
            }
            .encode();
            let (payload, digest) = draft::salted(bytes)?;
            let mut leaf = draft::leaf(LeafKind::Purge, Some(&owner), digest, policy, at);
            leaf.record = Some(record);
            leaf.namespace = Some(namespace);
            leaf.status = Status::Purged;
            drafts.push(memwarden_core::log::Draft {
                leaf,
                body: Body::Purge(payload),
            });
            purged_again.push(record);
        }
        let warden = start(opened, places, options)?;
        warden.writer.commit_accepted(drafts)?;
        if !purged_again.is_empty() {
            warden.store.rebuild_indexes(warden.chain.log)?;
            warden.store.scrub()?;
        }
        let epoch = warden.chain.replay().epoch();
        let restored = Restored {
            size,
            abandoned_size: abandoned.size,
            epoch,
            purged_again,
        };
        Ok((warden, restored))
    }
}

impl Warden {
    /// The id of the store at `places`, without verifying it: to find its keys.
    ///
    /// # Errors
    /// No store there, or a file that is not one.
    pub fn store_at(places: &Places) -> Result<StoreId, WardenError> {
        Ok(memwarden_store::backup_id(
            &places.store.join(memwarden_store::DATABASE_FILE),
        )?)
    }

    /// The id of the store that a backup file holds.
    ///
    /// # Errors
    /// No such file, or one that is not a store of this version.
    pub fn store_of_backup(backup: &Path) -> Result<StoreId, WardenError> {
        if !backup.is_file() {
            return Err(WardenError::BadInput {
                field: "from",
                given: backup.display().to_string(),
                expected: "a file that `memwarden backup` wrote".to_owned(),
            });
        }
        Ok(memwarden_store::backup_id(backup)?)
    }

    /// Puts `backup` in the place of the database and accepts it as [`Warden::restore`] does. What lay there
    /// is gone: back it up first if it may still be wanted.
    ///
    /// # Errors
    /// As [`Warden::restore`]; a backup of another store, or one that is not signed with this store's key,
    /// changes nothing.
    pub fn restore_from(
        places: &Places,
        options: &Options,
        credential: &Credential,
        backup: &Path,
        reason: &str,
    ) -> Result<(Arc<Self>, Restored), WardenError> {
        let store = Self::store_of_backup(backup)?;
        if credential.store() != store {
            return Err(WardenError::OtherStore {
                given: credential.store(),
                store,
            });
        }
        // The backup is opened and verified as a store of its own before anything is replaced.
        let aside = tempfile_beside(&places.store)?;
        let checked = (|| {
            let copy = aside.join(memwarden_store::DATABASE_FILE);
            std::fs::copy(backup, &copy).map_err(|error| WardenError::file(&copy, &error))?;
            let keys = Some(places.keys_of(store)?);
            let witness = Some(places.witness_of(store)?);
            let opened = open_parts(
                &Places {
                    store: aside.clone(),
                    keys,
                    witness,
                },
                options,
            )?;
            let role = opened.chain.registry().authenticate(credential)?.role;
            if role != Role::Owner {
                return Err(WardenError::Forbidden {
                    verb: "restore",
                    role,
                    needs: "the owner",
                });
            }
            Ok(())
        })();
        let removed = std::fs::remove_dir_all(&aside).map_err(|error| WardenError::file(&aside, &error));
        checked?;
        removed?;
        memwarden_store::replace(&places.store, backup)?;
        Self::restore(places, options, credential, reason)
    }
}

/// A new empty directory beside the store, so that a copy in it is on the same disk.
fn tempfile_beside(store: &Path) -> Result<PathBuf, WardenError> {
    let mut name = store.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".restoring-{:08x}", u32::from_be_bytes(random::bytes()?)));
    let path = store.with_file_name(name);
    std::fs::create_dir_all(&path).map_err(|error| WardenError::file(&path, &error))?;
    Ok(path)
}
