//! What this process adds to the log: re-checks inside the store's transaction, then places and seals.
//!
//! The store calls [`Sealer::seal`] between `BEGIN IMMEDIATE` and `COMMIT`. What it returns is kept aside
//! until [`Scribe::settle`] says that the commit is durable; a transaction that failed leaves no trace here,
//! and one whose outcome is unknown shows up as unseen leaves at the next call.

use crate::chain::{Chain, Usage};
use crate::overlay::Overlay;
use memwarden_core::log::{Draft, LogTail, SealError, Sealed, SealedLeaf, Sealer};
use memwarden_core::{Digest, Leaf, LeafKind, PrincipalId, leaf_hash};
use memwarden_ledger::{Checkpoint, SignerKey, Tree};
use std::collections::HashMap;
use std::sync::Arc;

/// What the last call of [`Sealer::seal`] would add.
#[derive(Debug)]
struct Pending {
    start: u64,
    tree: Tree,
    checkpoint: String,
    leaves: Vec<(Leaf, Digest)>,
    usage: HashMap<PrincipalId, Usage>,
    rotated: bool,
}

/// The sealer of one process.
#[derive(Debug)]
pub(crate) struct Scribe {
    chain: Arc<Chain>,
    signer: SignerKey,
    next_signer: Option<SignerKey>,
    /// Lengths of the groups of the next batch: a group is refused or sealed as a whole.
    groups: Vec<usize>,
    pending: Option<Pending>,
    /// Whether another process changed principals or policy.
    registry_stale: bool,
}

impl Scribe {
    pub(crate) fn new(chain: Arc<Chain>, signer: SignerKey) -> Self {
        Self {
            chain,
            signer,
            next_signer: None,
            groups: Vec::new(),
            pending: None,
            registry_stale: false,
        }
    }

    /// Says how the drafts of the next batch belong together.
    pub(crate) fn expect(&mut self, groups: Vec<usize>) {
        self.groups = groups;
    }

    /// Signs the next commit with `signer`, and every one after it once it is durable.
    pub(crate) fn rotate_to(&mut self, signer: SignerKey) {
        self.next_signer = Some(signer);
    }

    pub(crate) fn set_signer(&mut self, signer: SignerKey) {
        self.signer = signer;
    }

    /// The last batch is durable: makes it part of the verified state. Returns whether principals, keys or
    /// policy changed.
    pub(crate) fn settle(&mut self) -> Result<bool, SealError> {
        let stale = std::mem::take(&mut self.registry_stale);
        let Some(pending) = self.pending.take() else {
            return Ok(stale);
        };
        let mut state = self.chain.state();
        if pending.rotated
            && let Some(signer) = self.next_signer.take()
        {
            state.key = signer.verifier().clone();
            self.signer = signer;
        }
        let mut registry = stale;
        // A reader may have seen the commit first and taken it in already.
        let ahead = state.tree.size().saturating_sub(pending.start);
        if ahead == 0 {
            let absorbed = self.chain.absorb(&mut state, &pending.leaves);
            registry |= absorbed
                .map_err(|error| SealError::Unverified {
                    reason: error.to_string(),
                })?
                .registry;
            state.tree = pending.tree;
            state.checkpoint = Some(pending.checkpoint);
        } else {
            registry |= pending.leaves.iter().any(|(leaf, _)| touches_registry(leaf.kind));
        }
        if ahead == 0 {
            let mut usage = self.chain.usage();
            for (principal, added) in pending.usage {
                let total = usage.entry(principal).or_default();
                total.records += added.records;
                total.bytes += added.bytes;
            }
        }
        drop(state);
        Ok(registry)
    }

    /// The last batch did not happen, or nobody knows whether it did. Returns whether principals, keys or
    /// policy changed by what others wrote.
    pub(crate) fn abandon(&mut self) -> bool {
        self.pending = None;
        self.next_signer = None;
        std::mem::take(&mut self.registry_stale)
    }
}

const fn touches_registry(kind: LeafKind) -> bool {
    matches!(
        kind,
        LeafKind::Key | LeafKind::Policy | LeafKind::Epoch | LeafKind::Approval
    )
}

impl Sealer for Scribe {
    fn seen(&self) -> u64 {
        self.chain.state().tree.size()
    }

    fn seal(&mut self, tail: &LogTail, drafts: &[Draft]) -> Result<Sealed, SealError> {
        let unverified = |reason: String| SealError::Unverified { reason };
        self.pending = None;
        let mut state = self.chain.state();
        let known = state.tree.size();
        if tail.size < known {
            return Err(unverified(format!(
                "the log holds {} entries where {known} were verified before",
                tail.size
            )));
        }
        if !tail.unseen.is_empty() {
            let checkpoint = tail.checkpoint.as_deref().unwrap_or_default();
            // A reader may have extended the state since the store asked what was seen.
            let fresh = usize::try_from(tail.size - known).unwrap_or(usize::MAX);
            let skip = tail.unseen.len().saturating_sub(fresh);
            let leaves = tail.unseen.get(skip..).unwrap_or_default();
            if !leaves.is_empty() {
                let extended = self.chain.extend(&mut state, leaves, checkpoint);
                let extended = extended.map_err(|error| unverified(error.to_string()))?;
                self.registry_stale |= extended.registry;
                let sizes = tail.unseen_bytes.iter().skip(skip);
                let writes = leaves.iter().zip(sizes);
                let writes = writes.filter(|(leaf, _)| Leaf::kind_of(leaf) == Some(LeafKind::Write));
                for ((_, principal), (_, bytes)) in extended.written.iter().zip(writes) {
                    self.chain.account(*principal, *bytes);
                }
            }
        }
        if tail.size != state.tree.size() || tail.checkpoint != state.checkpoint {
            return Err(unverified(
                "the checkpoint in the store is not the one that was verified".to_owned(),
            ));
        }
        if *self.signer.verifier() != state.key {
            // A reader learned of a rotation by another process; the writer reads its key anew and comes again.
            return Err(unverified("the signing key was rotated".to_owned()));
        }
        let replay = self.chain.replay();
        let usage = self.chain.usage();
        let mut overlay = Overlay::new(&self.chain, &replay, &usage);
        let mut tree = state.tree.clone();
        let (mut time, mut epoch) = (replay.time(), replay.epoch());
        let mut outcomes = Vec::with_capacity(drafts.len());
        let mut leaves = Vec::with_capacity(drafts.len());
        let mut tiles = Vec::new();
        let mut rest = drafts;
        let groups = std::mem::take(&mut self.groups);
        let mut groups = groups.into_iter();
        while !rest.is_empty() {
            let length = groups.next().unwrap_or(1).clamp(1, rest.len());
            let (group, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = after;
            if let Err(refusal) = overlay.check_group(group) {
                outcomes.extend(group.iter().map(|_| Err(refusal.clone())));
                continue;
            }
            for draft in group {
                time = time.max(draft.leaf.at);
                overlay.apply(draft, tree.size(), time);
                epoch += u32::from(draft.leaf.kind == LeafKind::Epoch);
                let leaf = draft.leaf.place(tail.log, epoch, tree.size(), time);
                let bytes = leaf.encode();
                let hash = leaf_hash(&bytes);
                outcomes.push(Ok(SealedLeaf {
                    position: leaf.position,
                    time,
                    bytes,
                }));
                tree.append(hash, &mut tiles);
                leaves.push((leaf, hash));
            }
        }
        let checkpoint = if leaves.is_empty() {
            tail.checkpoint.clone().unwrap_or_default()
        } else {
            let signer = self.next_signer.as_ref().unwrap_or(&self.signer);
            Checkpoint {
                origin: self.chain.origin.clone(),
                size: tree.size(),
                root: tree.root(),
            }
            .sign(signer)
        };
        let added = overlay.into_usage();
        let sealed = Sealed {
            outcomes,
            tiles,
            size: tree.size(),
            checkpoint: checkpoint.clone(),
        };
        self.pending = Some(Pending {
            start: tail.size,
            tree,
            checkpoint,
            leaves,
            usage: added,
            rotated: self.next_signer.is_some(),
        });
        Ok(sealed)
    }
}
