//! Accepting an older state: the one case in which a store may stand behind its witness.

use crate::warden::{Opened, open_parts, start};
use crate::witness::Seen;
use crate::{Credential, Options, Places, Warden, WardenError, draft};
use memwarden_core::log::Body;
use memwarden_core::{EpochPayload, LeafKind, PurgePayload, RecordId, Role, Status};
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
    /// Receipts, permits and approvals of earlier epochs are void from then on.
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
        let at = options.clock.now();
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
