//! The verified state of one log, shared by every thread of this process.
//!
//! Nothing enters it but leaves whose root a checkpoint signs that the store's own key made. Writers extend
//! it after their commit is durable; readers extend it when they see leaves of another process first.
//! Locks are taken in the order `state`, then `replay`; neither is held across I/O by a writer's commit.

use crate::registry::Registry;
use crate::{Damage, WardenError};
use memwarden_core::log::{LogRow, Records, Snapshot, StoreError};
use memwarden_core::{Digest, Leaf, LeafKind, LogId, Policy, PrincipalId, RecordId, Replay, leaf_hash};
use memwarden_ledger::{Checkpoint, LogVerifier, Rotation, Tree, VerifierKey, origin};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Records and content bytes that a principal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// The cryptographic head and where the registry's entries are.
#[derive(Debug)]
pub(crate) struct ChainState {
    pub(crate) tree: Tree,
    pub(crate) checkpoint: Option<String>,
    pub(crate) key: VerifierKey,
    /// Position and payload commitment of every key, policy and epoch leaf.
    pub(crate) notes: Vec<(u64, LeafKind, Digest)>,
}

/// What an extension brought.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    /// Records that were written.
    pub(crate) written: Vec<RecordId>,
    /// Whether principals, keys or policy changed.
    pub(crate) registry: bool,
}

/// The verified state of one log.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) log: LogId,
    pub(crate) origin: String,
    state: Mutex<ChainState>,
    replay: RwLock<Replay>,
    registry: RwLock<Registry>,
    damage: RwLock<Vec<Damage>>,
    usage: Mutex<HashMap<PrincipalId, Usage>>,
}

impl Chain {
    /// Verifies the whole log of a snapshot. `key` is the verifier key that lies outside the store: the
    /// newest checkpoint must be signed with it. `held` is a checkpoint that was seen before.
    pub(crate) fn load(
        store: &dyn Records,
        row: &LogRow,
        key: &VerifierKey,
        held: Option<&str>,
    ) -> Result<Self, WardenError> {
        let mut snapshot = store.snapshot()?;
        let origin = origin(store.store_id(), row.id);
        let (state, replay) = verify(&mut *snapshot, row, &origin, key, held)?;
        let registry = Registry::load(&mut *snapshot, row.id, &state.notes)?;
        let usage = load_usage(&mut *snapshot, row.id)?;
        Ok(Self {
            log: row.id,
            origin,
            state: Mutex::new(state),
            replay: RwLock::new(replay),
            registry: RwLock::new(registry),
            damage: RwLock::new(Vec::new()),
            usage: Mutex::new(usage),
        })
    }

    /// The state of a log that is about to get its first entries.
    pub(crate) fn empty(log: LogId, origin: String, key: VerifierKey, policy: &Policy) -> Self {
        Self {
            log,
            origin,
            state: Mutex::new(ChainState {
                tree: Tree::new(),
                checkpoint: None,
                key,
                notes: Vec::new(),
            }),
            replay: RwLock::new(Replay::new(log)),
            registry: RwLock::new(Registry::with_policy(policy.clone())),
            damage: RwLock::new(Vec::new()),
            usage: Mutex::new(HashMap::new()),
        }
    }

    /// Verifies everything anew: after a key rotation by another process, or after a commit whose outcome
    /// is not known.
    pub(crate) fn reload(&self, store: &dyn Records, key: &VerifierKey) -> Result<(), WardenError> {
        let row = store.logs()?.into_iter().find(|row| row.id == self.log);
        let row = row.ok_or_else(|| WardenError::unverified("the log is gone from the store"))?;
        let mut snapshot = store.snapshot()?;
        let held = self.state().checkpoint.clone();
        let (state, replay) = verify(&mut *snapshot, &row, &self.origin, key, held.as_deref())?;
        let registry = Registry::load(&mut *snapshot, self.log, &state.notes)?;
        let usage = load_usage(&mut *snapshot, self.log)?;
        let mut current = self.state();
        *self.replay_mut() = replay;
        *current = state;
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        *self.usage() = usage;
        Ok(())
    }

    /// Takes in leaves that follow `state`, if `checkpoint` signs what they lead to.
    ///
    /// A failure leaves the head as it was; a replay that stopped half-way is reported and calls for a
    /// [`Chain::reload`].
    pub(crate) fn extend(
        &self,
        state: &mut ChainState,
        leaves: &[Vec<u8>],
        checkpoint: &str,
    ) -> Result<Extended, WardenError> {
        let mut tree = state.tree.clone();
        let mut tiles = Vec::new();
        let mut decoded = Vec::with_capacity(leaves.len());
        for bytes in leaves {
            let leaf = Leaf::decode(bytes).map_err(WardenError::unverified)?;
            let hash = leaf_hash(bytes);
            tree.append(hash, &mut tiles);
            decoded.push((leaf, hash));
        }
        let signed = Checkpoint::open(checkpoint, &self.origin, std::slice::from_ref(&state.key))
            .map_err(WardenError::unverified)?;
        if signed.size != tree.size() || signed.root != tree.root() {
            return Err(WardenError::unverified(format!(
                "the checkpoint over {} entries does not match the entries in the store",
                signed.size
            )));
        }
        let extended = self.absorb(state, &decoded)?;
        state.tree = tree;
        state.checkpoint = Some(checkpoint.to_owned());
        Ok(extended)
    }

    /// Takes in leaves that this process sealed and committed itself.
    pub(crate) fn absorb(
        &self,
        state: &mut ChainState,
        leaves: &[(Leaf, Digest)],
    ) -> Result<Extended, WardenError> {
        let mut extended = Extended::default();
        let mut replay = self.replay_mut();
        for (leaf, hash) in leaves {
            replay.apply(leaf, *hash).map_err(WardenError::unverified)?;
            match leaf.kind {
                LeafKind::Write => extended.written.extend(leaf.record),
                LeafKind::Key | LeafKind::Policy | LeafKind::Epoch => {
                    extended.registry = true;
                    state.notes.push((leaf.position, leaf.kind, leaf.payload));
                }
                _ => {}
            }
        }
        Ok(extended)
    }

    /// Brings the state up to what `snapshot` sees, and says which records another process wrote.
    pub(crate) fn catch_up(&self, snapshot: &mut dyn Snapshot) -> Result<(u64, Extended), WardenError> {
        let head = snapshot.head(self.log)?;
        let mut state = self.state();
        let known = state.tree.size();
        if head.size == known {
            if head.checkpoint != state.checkpoint {
                return Err(WardenError::unverified(
                    "the checkpoint was changed without a new entry",
                ));
            }
            return Ok((head.size, Extended::default()));
        }
        if head.size < known {
            // A snapshot opened before another thread's commit is older, and must be a state that was signed.
            return Ok((head.size, Extended::default()));
        }
        let mut leaves = Vec::new();
        snapshot.leaves(self.log, known..head.size, &mut |_, bytes| {
            leaves.push(bytes.to_vec());
            Ok(())
        })?;
        let checkpoint = head.checkpoint.unwrap_or_default();
        let extended = self.extend(&mut state, &leaves, &checkpoint)?;
        if extended.registry {
            let registry = Registry::load(snapshot, self.log, &state.notes)?;
            *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        }
        Ok((head.size, extended))
    }

    /// Reads principals and policy anew from a snapshot.
    pub(crate) fn refresh_registry(&self, snapshot: &mut dyn Snapshot) -> Result<(), WardenError> {
        let notes = self.state().notes.clone();
        let registry = Registry::load(snapshot, self.log, &notes)?;
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        Ok(())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ChainState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn replay(&self) -> RwLockReadGuard<'_, Replay> {
        self.replay.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn damage(&self) -> RwLockReadGuard<'_, Vec<Damage>> {
        self.damage.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_damage(&self, damage: Vec<Damage>) {
        *self.damage.write().unwrap_or_else(PoisonError::into_inner) = damage;
    }

    pub(crate) fn add_damage(&self, damage: Damage) {
        let mut all = self.damage.write().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&damage) {
            all.push(damage);
        }
    }

    pub(crate) fn usage(&self) -> MutexGuard<'_, HashMap<PrincipalId, Usage>> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replay_mut(&self) -> RwLockWriteGuard<'_, Replay> {
        self.replay.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load_usage(snapshot: &mut dyn Snapshot, log: LogId) -> Result<HashMap<PrincipalId, Usage>, StoreError> {
    let rows = snapshot.usage(log)?;
    Ok(rows
        .into_iter()
        .map(|(id, bytes, records)| (id, Usage { records, bytes }))
        .collect())
}

/// Replays the whole log and checks it against the newest checkpoint, the key that lies outside the store,
/// and the checkpoint held before.
fn verify(
    snapshot: &mut dyn Snapshot,
    row: &LogRow,
    origin: &str,
    key: &VerifierKey,
    held: Option<&str>,
) -> Result<(ChainState, Replay), WardenError> {
    let genesis: VerifierKey = row.verifier_key.parse().map_err(WardenError::unverified)?;
    let mut verifier = LogVerifier::new(row.id, origin.to_owned(), genesis);
    if let Some(held) = held {
        let held = Checkpoint::read_unverified(held).map_err(WardenError::unverified)?;
        verifier.expect_prefix(held).map_err(WardenError::unverified)?;
    }
    let head = snapshot.head(row.id)?;
    let mut notes = Vec::new();
    let mut failure = None;
    snapshot.leaves(row.id, 0..head.size, &mut |position, bytes| {
        if failure.is_some() {
            return Ok(());
        }
        if let Err(error) = verifier.push(bytes) {
            failure = Some(error);
            return Ok(());
        }
        if let Some(kind @ (LeafKind::Key | LeafKind::Policy | LeafKind::Epoch)) = Leaf::kind_of(bytes)
            && let Ok(leaf) = Leaf::decode(bytes)
        {
            notes.push((position, kind, leaf.payload));
        }
        Ok(())
    })?;
    if let Some(error) = failure {
        return Err(WardenError::unverified(error));
    }
    for Rotation {
        position,
        salt,
        payload,
    } in crate::registry::rotations(snapshot, row.id, &notes)?
    {
        verifier
            .rotation(position, &salt, &payload)
            .map_err(WardenError::unverified)?;
    }
    let note = head.checkpoint.ok_or_else(|| {
        WardenError::unverified("the store has no checkpoint: `memwarden init` did not finish")
    })?;
    let verified = verifier.finish(&note).map_err(WardenError::unverified)?;
    if verified.key != *key {
        return Err(WardenError::unverified(
            "the checkpoint is signed with another key than the one in the key directory",
        ));
    }
    let state = ChainState {
        tree: verified.tree,
        checkpoint: Some(note),
        key: verified.key,
        notes,
    };
    Ok((state, verified.replay))
}
