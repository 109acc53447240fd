//! The verified state of one log, shared by every thread of this process.
//!
//! Nothing enters it but leaves whose root a checkpoint signs that the store's own key made. Writers extend
//! it after their commit is durable; readers extend it when they see leaves of another process first.
//! Locks are taken in the order `state`, then `replay`; neither is held across I/O by a writer's commit.

use crate::anchor::Anchor;
use crate::contexts::feeds_the_gate;
use crate::registry::Registry;
use crate::view::checks_enabled;
use crate::{Damage, Mechanisms, WardenError, keys};
use memwarden_core::log::{LogRow, Records, Snapshot, StoreError};
use memwarden_core::{
    Digest, Leaf, LeafKind, LogId, NamespaceId, Policy, PrincipalId, RecordId, Replay, leaf_hash,
};
use memwarden_ledger::{Checkpoint, LogVerifier, Rotation, SignerKey, Tree, VerifierKey, origin};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    /// Records that were written, and by whom.
    pub(crate) written: Vec<(RecordId, PrincipalId)>,
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
    usage_stale: AtomicBool,
    /// Whether leaves were taken in that principals and policy were not read anew for.
    registry_stale: AtomicBool,
    /// Names of namespaces that the commitment of a record bore out.
    names: RwLock<HashMap<NamespaceId, String>>,
    place: Arc<Place>,
    /// Verified leaves that carry evidence, in order, until the facts take them in.
    gate_leaves: Mutex<VecDeque<Leaf>>,
    /// Counts verifications of the whole log.
    generation: AtomicU64,
}

/// Where a log lies: the database file as it was opened, and the directory of its key.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) anchor: Anchor,
    pub(crate) keys: PathBuf,
    /// What a measurement switched off.
    pub(crate) mechanisms: Mechanisms,
}

impl Chain {
    /// Verifies the whole log of a snapshot. `key` is the verifier key that lies outside the store: the
    /// newest checkpoint must be signed with it. Returns also the root over the first `mark` entries, if
    /// there are as many.
    pub(crate) fn load(
        store: &dyn Records,
        row: &LogRow,
        key: &VerifierKey,
        place: &Arc<Place>,
        mark: Option<u64>,
    ) -> Result<(Self, Option<Digest>), WardenError> {
        let origin = origin(store.store_id(), row.id);
        let mut snapshot = store.snapshot()?;
        let verified = verify(&mut *snapshot, row, &origin, key, None, mark)?;
        let registry = Registry::load(&mut *snapshot, row.id, &verified.state.notes)?;
        let usage = load_usage(&mut *snapshot, row.id)?;
        let chain = Self {
            log: row.id,
            origin,
            state: Mutex::new(verified.state),
            replay: RwLock::new(verified.replay),
            registry: RwLock::new(registry),
            damage: RwLock::new(Vec::new()),
            usage: Mutex::new(usage),
            usage_stale: AtomicBool::new(false),
            registry_stale: AtomicBool::new(false),
            names: RwLock::new(HashMap::new()),
            place: Arc::clone(place),
            gate_leaves: Mutex::new(verified.gate_leaves.into()),
            generation: AtomicU64::new(1),
        };
        chain.refresh_standing();
        Ok((chain, verified.root_at_mark))
    }

    /// The state of a log that is about to get its first entries.
    pub(crate) fn empty(
        log: LogId,
        origin: String,
        key: VerifierKey,
        policy: &Policy,
        place: Arc<Place>,
    ) -> Self {
        Self {
            log,
            origin,
            usage_stale: AtomicBool::new(false),
            registry_stale: AtomicBool::new(false),
            names: RwLock::new(HashMap::new()),
            place,
            gate_leaves: Mutex::new(VecDeque::new()),
            generation: AtomicU64::new(1),
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

    /// Fails if the database file is not the one that was opened.
    pub(crate) fn check_anchor(&self) -> Result<(), WardenError> {
        if checks_enabled() {
            self.place.anchor.check()
        } else {
            Ok(())
        }
    }

    /// Verifies everything anew: after a key rotation by another process, or after a commit whose outcome
    /// is not known. Returns the key that signs now: the present one, or the staged one of a rotation that
    /// is not finished.
    pub(crate) fn reload(&self, store: &dyn Records) -> Result<SignerKey, WardenError> {
        let mut tried: Vec<VerifierKey> = Vec::new();
        loop {
            let present = keys::read_signer(&self.place.keys, &self.origin)?;
            let staged = keys::read_staged(&self.place.keys, &self.origin);
            let mut error = None;
            for signer in std::iter::once(present).chain(staged) {
                if !tried.contains(signer.verifier()) {
                    tried.push(signer.verifier().clone());
                    match self.reload_with(store, signer.verifier()) {
                        Ok(()) => return Ok(signer),
                        Err(failed) => error = error.or(Some(failed)),
                    }
                }
            }
            // Other keys may have come while these were tried; the same ones give no other result.
            let again = keys::read_signer(&self.place.keys, &self.origin)?;
            if tried.contains(again.verifier()) {
                let gone = || WardenError::unverified("the key was replaced while the log was verified");
                return Err(error.unwrap_or_else(gone));
            }
        }
    }

    fn reload_with(&self, store: &dyn Records, key: &VerifierKey) -> Result<(), WardenError> {
        let row = store.logs()?.into_iter().find(|row| row.id == self.log);
        let row = row.ok_or_else(|| WardenError::unverified("the log is gone from the store"))?;
        let mut snapshot = store.snapshot()?;
        let held = self.state().checkpoint.clone();
        let verified = verify(&mut *snapshot, &row, &self.origin, key, held.as_deref(), None)?;
        let registry = Registry::load(&mut *snapshot, self.log, &verified.state.notes)?;
        let usage = load_usage(&mut *snapshot, self.log)?;
        let mut current = self.state();
        if verified.state.tree.size() < current.tree.size() {
            // Another thread went on in the meantime, and it verified what it took in.
            return Ok(());
        }
        *self.replay_mut() = verified.replay;
        *current = verified.state;
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        *self.usage() = usage;
        *self.gate_leaves.lock().unwrap_or_else(PoisonError::into_inner) = verified.gate_leaves.into();
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.refresh_standing();
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
            if feeds_the_gate(leaf) {
                let mut queue = self.gate_leaves.lock().unwrap_or_else(PoisonError::into_inner);
                queue.push_back(leaf.clone());
            }
            match leaf.kind {
                LeafKind::Write => extended
                    .written
                    .extend(leaf.record.map(|record| (record, leaf.principal))),
                LeafKind::Approval => {
                    extended.registry |= leaf.record.is_some_and(|id| replay.expectation(&id).is_some());
                }
                LeafKind::Purge => self.usage_stale.store(true, Ordering::Release),
                LeafKind::Key | LeafKind::Policy | LeafKind::Epoch => {
                    extended.registry = true;
                    state.notes.push((leaf.position, leaf.kind, leaf.payload));
                }
                _ => {}
            }
        }
        drop(replay);
        if extended.registry {
            self.registry_stale.store(true, Ordering::Release);
            // Endorsements need no payload; for the others the next view reads the registry anew.
            self.refresh_standing();
        }
        Ok(extended)
    }

    /// Entries that were verified so far.
    pub(crate) fn size(&self) -> u64 {
        self.state().tree.size()
    }

    /// Brings the state up to what `snapshot` sees, and says which records another process wrote. `floor` is
    /// what was verified before the snapshot was opened: it cannot hold less, unless the store was put back.
    pub(crate) fn catch_up(
        &self,
        snapshot: &mut dyn Snapshot,
        floor: u64,
    ) -> Result<(u64, Extended), WardenError> {
        let head = snapshot.head(self.log)?;
        if head.size < floor && checks_enabled() {
            return Err(WardenError::unverified(format!(
                "the log holds {} entries where {floor} were verified before: an older copy was put in its place",
                head.size
            )));
        }
        let mut state = self.state();
        let known = state.tree.size();
        if head.size == known {
            self.refresh_registry(snapshot, &state)?;
            if head.checkpoint != state.checkpoint {
                return Err(WardenError::unverified(
                    "the checkpoint was changed without a new entry",
                ));
            }
            return Ok((head.size, Extended::default()));
        }
        if head.size < known {
            // Another thread took in more after this snapshot was opened.
            return Ok((head.size, Extended::default()));
        }
        let mut leaves = Vec::new();
        snapshot.leaves(self.log, known..head.size, &mut |_, bytes| {
            leaves.push(bytes.to_vec());
            Ok(())
        })?;
        if known + leaves.len() as u64 != head.size {
            return Err(WardenError::unverified(format!(
                "the log says that it holds {} entries and does not hold all of them",
                head.size
            )));
        }
        let checkpoint = head.checkpoint.unwrap_or_default();
        let extended = self.extend(&mut state, &leaves, &checkpoint)?;
        for (record, principal) in &extended.written {
            let row = snapshot.find(record)?;
            // A row that does not read back is reported by the comparison with the log.
            let row = row.map(|row| snapshot.row(row)).transpose().unwrap_or_default();
            let bytes = row.flatten().map_or(0, |row| row.entry.content.len() as u64);
            self.account(*principal, bytes);
        }
        self.refresh_registry(snapshot, &state)?;
        Ok((head.size, extended))
    }

    /// Reads principals and policy anew, if leaves were taken in that changed them. `snapshot` sees exactly what
    /// `state` verified, so every view answers by the principals, policy and authority of its own moment.
    fn refresh_registry(&self, snapshot: &mut dyn Snapshot, state: &ChainState) -> Result<(), WardenError> {
        if self.registry_stale.load(Ordering::Acquire) {
            let registry = Registry::load(snapshot, self.log, &state.notes)?;
            *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
            self.refresh_standing();
            self.registry_stale.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Recomputes what raises and caps authority, from endorsements, revocations and who may endorse.
    fn refresh_standing(&self) {
        let mut replay = self.replay_mut();
        let standing = self.registry().standing(&replay, self.place.mechanisms);
        replay.set_standing(standing);
    }

    /// The next verified leaf before `size` that the facts have not taken in.
    pub(crate) fn next_gate_leaf(&self, size: u64) -> Option<Leaf> {
        let mut queue = self.gate_leaves.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front_if(|leaf| leaf.position < size)
    }

    /// Puts back a leaf that could not be taken in.
    pub(crate) fn give_back_gate_leaf(&self, leaf: Leaf) {
        self.gate_leaves
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_front(leaf);
    }

    /// What a measurement switched off.
    pub(crate) fn mechanisms(&self) -> Mechanisms {
        self.place.mechanisms
    }

    /// Which verification of the whole log the state comes from.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
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

    /// Counts a record that another process wrote.
    pub(crate) fn account(&self, principal: PrincipalId, bytes: u64) {
        let mut usage = self.usage();
        let total = usage.entry(principal).or_default();
        total.records += 1;
        total.bytes += bytes;
    }

    /// Counts anew what everyone keeps, if something was purged since.
    pub(crate) fn refresh_usage(&self, snapshot: &mut dyn Snapshot, size: u64) -> Result<(), WardenError> {
        if self.usage_stale.swap(false, Ordering::AcqRel) {
            let fresh = load_usage(snapshot, self.log)?;
            let state = self.state();
            if state.tree.size() == size {
                *self.usage() = fresh;
            } else {
                self.usage_stale.store(true, Ordering::Release);
            }
        }
        Ok(())
    }

    /// The name of a namespace, if a record bore it out.
    pub(crate) fn name_of(&self, namespace: &NamespaceId) -> Option<String> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(namespace).cloned()
    }

    /// The namespace that bears this name, if a record bore it out.
    pub(crate) fn namespace_named(&self, name: &str) -> Option<NamespaceId> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        names.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
    }

    /// Remembers a name that a record bore out.
    pub(crate) fn learn_name(&self, namespace: NamespaceId, name: &str) {
        if self.name_of(&namespace).is_none() {
            let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
            names.insert(namespace, name.to_owned());
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

struct VerifiedChain {
    state: ChainState,
    replay: Replay,
    root_at_mark: Option<Digest>,
    gate_leaves: Vec<Leaf>,
}

/// Replays the whole log and checks it against the newest checkpoint, the key that lies outside the store,
/// and the checkpoint held before.
fn verify(
    snapshot: &mut dyn Snapshot,
    row: &LogRow,
    origin: &str,
    key: &VerifierKey,
    held: Option<&str>,
    mark: Option<u64>,
) -> Result<VerifiedChain, WardenError> {
    let genesis: VerifierKey = row.verifier_key.parse().map_err(WardenError::unverified)?;
    let mut verifier = LogVerifier::new(row.id, origin.to_owned(), genesis);
    if let Some(held) = held {
        let held = Checkpoint::read_unverified(held).map_err(WardenError::unverified)?;
        verifier.expect_prefix(held).map_err(WardenError::unverified)?;
    }
    let head = snapshot.head(row.id)?;
    let mut notes = Vec::new();
    let mut failure = None;
    let mut root_at_mark = None;
    let mut gate_leaves = Vec::new();
    snapshot.leaves(row.id, 0..head.size, &mut |position, bytes| {
        if failure.is_some() {
            return Ok(());
        }
        if let Err(error) = verifier.push(bytes) {
            failure = Some(error);
            return Ok(());
        }
        if mark == Some(position + 1) {
            root_at_mark = Some(verifier.tree().root());
        }
        if let Some(kind @ (LeafKind::Key | LeafKind::Policy | LeafKind::Epoch)) = Leaf::kind_of(bytes)
            && let Ok(leaf) = Leaf::decode(bytes)
        {
            notes.push((position, kind, leaf.payload));
        }
        if let Some(LeafKind::Label | LeafKind::Receipt | LeafKind::Permit | LeafKind::Approval) =
            Leaf::kind_of(bytes)
            && let Ok(leaf) = Leaf::decode(bytes)
        {
            gate_leaves.push(leaf);
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
    Ok(VerifiedChain {
        state,
        replay: verified.replay,
        root_at_mark,
        gate_leaves,
    })
}
