//! Opening a store, and handles bound to a principal.

use crate::anchor::Anchor;
use crate::chain::{Chain, Place};
use crate::clock::ClockWatch;
use crate::facts::Facts;
use crate::view::{View, checks_enabled};
use crate::witness::{Seen, Witness};
use crate::writer::{Desk, Writer};
use crate::{Clock, Credential, Mechanisms, Places, SystemClock, WardenError, keys, random, sweep};
use memwarden_core::encode::Encode;
use memwarden_core::log::{LogRow, NamespaceRow, Records, Snapshot, StoreError};
use memwarden_core::{
    ContextId, Digest, Expectation, Finding, Limits, Namespace, NamespaceId, Policy, Principal, PrincipalId,
    RecordId, Role, Status, StoreId, Timestamp,
};
use memwarden_guard::Guard;
use memwarden_ledger::{Checkpoint, SignerKey, origin};
use memwarden_store::{CommitPhase, Durability, SqliteStore};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The tenant of a store that nobody divided.
pub(crate) const DEFAULT_TENANT: &str = "default";

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// How large an entry may be.
    pub limits: Limits,
    /// The tenant whose log is used.
    pub tenant: String,
    /// What turns texts into vectors, the built-in encoder unless another is given; without one, recall goes by
    /// words alone.
    pub encoder: Option<Arc<dyn Encode>>,
    /// What a measurement switches off; everything is on by default.
    pub mechanisms: Mechanisms,
    /// When a commit is on the disk: before the caller is answered, unless a measurement throws its stores away.
    pub durability: Durability,
    /// Told when a transaction begins and ends; for crash tests.
    pub commit_probe: Option<Probe>,
}

/// See [`Options::commit_probe`].
#[derive(Clone)]
pub struct Probe(pub Arc<dyn Fn(CommitPhase) + Send + Sync>);

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            tenant: DEFAULT_TENANT.to_owned(),
            encoder: Some(crate::built_in_encoder()),
            mechanisms: Mechanisms::default(),
            durability: Durability::Synced,
            commit_probe: None,
        }
    }
}

/// What opening brings together before the writer starts.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Records>,
    pub(crate) chain: Arc<Chain>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) keys: PathBuf,
    pub(crate) signer: SignerKey,
    pub(crate) warnings: Vec<String>,
    pub(crate) seen: Option<Seen>,
    /// The root over as many entries as the witness has seen, if the log has as many.
    pub(crate) root_as_seen: Option<Digest>,
}

/// An open store. Cheap to share; dropping the last one commits what was deferred and ends the writer.
pub struct Warden {
    pub(crate) store: Arc<dyn Records>,
    pub(crate) chain: Arc<Chain>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) writer: Writer,
    /// Compiled when somebody first asks: most commands screen nothing.
    guard: OnceLock<Guard>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) encoder: Option<Arc<dyn Encode>>,
    pub(crate) places: Places,
    pub(crate) keys: PathBuf,
    warnings: Vec<String>,
    /// The latest time that the clock told, in microseconds: what expired does not come back.
    latest: AtomicU64,
    pub(crate) clock_watch: ClockWatch,
    namespaces: Mutex<HashMap<String, NamespaceRow>>,
    pub(crate) mechanisms: Mechanisms,
    facts: Mutex<Facts>,
}

impl std::fmt::Debug for Warden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Warden")
            .field("store", &self.store.store_id())
            .finish_non_exhaustive()
    }
}

impl Warden {
    /// Opens the store at `places` with the machine's clock and the default limits.
    ///
    /// # Errors
    /// Everything that makes the store unfit to be trusted: see [`Warden::open_with`].
    pub fn open(places: &Places) -> Result<Arc<Self>, WardenError> {
        Self::open_with(places, &Options::default())
    }

    /// Opens the store: verifies the whole log against the key outside it and the witness, and compares
    /// every row with the log.
    ///
    /// # Errors
    /// No store or no key; a log that does not verify; a store behind its witness. Rows that differ do not
    /// fail here but at every recall in their namespace.
    pub fn open_with(places: &Places, options: &Options) -> Result<Arc<Self>, WardenError> {
        let opened = open_parts(places, options)?;
        if let Some(seen) = &opened.seen {
            require_not_behind(&opened.chain, seen, opened.root_as_seen)?;
        }
        start(opened, places, options)
    }

    /// A handle for the principal that `credential` proves.
    ///
    /// # Errors
    /// A credential of another store, or one that is not registered.
    pub fn handle(self: &Arc<Self>, credential: &Credential) -> Result<Handle, WardenError> {
        if credential.store != self.store.store_id() {
            return Err(WardenError::OtherStore {
                given: credential.store,
                store: self.store.store_id(),
            });
        }
        let known = self.chain.registry().authenticate(credential);
        let principal = match known {
            Ok(principal) => principal,
            Err(_) => {
                // Another process may have registered it since.
                drop(self.view()?);
                self.chain.registry().authenticate(credential)?
            }
        };
        Ok(Handle {
            warden: Arc::clone(self),
            principal,
            context: None,
        })
    }

    /// The store's id.
    #[must_use]
    pub fn store_id(&self) -> StoreId {
        self.store.store_id()
    }

    /// The directory of signing key and credentials.
    #[must_use]
    pub const fn keys(&self) -> &PathBuf {
        &self.keys
    }

    /// The policy in force, as far as this process has read the log.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.chain.registry().policy()
    }

    /// What was worth a warning when the store was opened.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Commits deferred recall entries now.
    ///
    /// # Errors
    /// The store failed.
    pub fn flush(&self) -> Result<(), WardenError> {
        self.writer.flush()
    }

    /// How many requests wait for the writer, beyond the ones that it is committing.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.writer.queued()
    }

    /// Does at once what the warden does each minute: compares every row with the log, retires what has
    /// expired, and drops the payloads of recall entries past their retention. For programs that live shorter.
    ///
    /// # Errors
    /// The store failed, or the log does not verify.
    pub fn sweep(&self) -> Result<(), WardenError> {
        self.writer.sweep()
    }

    pub(crate) fn guard(&self) -> &Guard {
        self.guard.get_or_init(Guard::new)
    }

    /// Takes evidence in up to the newest entry that `snapshot` sees.
    pub(crate) fn catch_up_facts(&self, snapshot: &mut dyn Snapshot) -> Result<(), WardenError> {
        self.facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .catch_up(&self.chain, snapshot)
    }

    pub(crate) fn with_facts<T>(&self, ask: impl FnOnce(&Facts) -> T) -> T {
        ask(&self.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn view(&self) -> Result<View<'_>, WardenError> {
        View::open(&*self.store, &self.chain)
    }

    /// Never before any time that was told or logged.
    pub(crate) fn now(&self) -> Timestamp {
        let told = self.clock.now().as_micros();
        let latest = self.latest.fetch_max(told, Ordering::SeqCst).max(told);
        Timestamp::from_micros(latest).max(self.chain.replay().time())
    }

    /// A finding about the clock, told once for each jump forward and always while it lies behind the log.
    pub(crate) fn look_at_clock(&self) -> Option<Finding> {
        let newest = self.chain.replay().time();
        self.clock_watch.look(&*self.clock, newest)
    }

    /// What the log says of a record, another process's newest writes included.
    pub(crate) fn expectation(&self, record: RecordId) -> Result<Expectation, WardenError> {
        let known = self.chain.replay().expectation(&record).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        drop(self.view()?);
        let known = self.chain.replay().expectation(&record).cloned();
        known.ok_or(WardenError::NotFound { record })
    }

    pub(crate) fn principal(&self, id: &PrincipalId) -> Option<Principal> {
        self.chain.registry().principal(id).cloned()
    }

    /// The row of a namespace, made if it is new.
    pub(crate) fn ensure_namespace(&self, name: &Namespace) -> Result<NamespaceRow, WardenError> {
        let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = known.get(name.as_str()) {
            return Ok(row.clone());
        }
        let found = self.view()?.namespace(name);
        let row = match found {
            Err(WardenError::NoNamespace { .. }) => {
                let fresh = NamespaceId::from_bytes(random::bytes()?);
                self.store.namespace(self.chain.log, name.as_str(), fresh)?
            }
            found => found?,
        };
        known.insert(name.to_string(), row.clone());
        Ok(row)
    }
}

/// A warden as one principal. No verb takes a principal as an argument: who acts is who holds the handle.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) warden: Arc<Warden>,
    pub(crate) principal: Principal,
    pub(crate) context: Option<ContextId>,
}

impl Handle {
    /// Who acts.
    #[must_use]
    pub const fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The store it acts on.
    #[must_use]
    pub const fn warden(&self) -> &Arc<Warden> {
        &self.warden
    }

    pub(crate) fn require(&self, verb: &'static str, roles: &[Role]) -> Result<(), WardenError> {
        let needs = if roles.contains(&Role::Reviewer) {
            "the owner or a reviewer"
        } else {
            "the owner"
        };
        self.require_roles(verb, roles, needs)
    }

    pub(crate) fn require_roles(
        &self,
        verb: &'static str,
        roles: &[Role],
        needs: &'static str,
    ) -> Result<(), WardenError> {
        if roles.contains(&self.principal.role) {
            return Ok(());
        }
        Err(WardenError::Forbidden {
            verb,
            role: self.principal.role,
            needs,
        })
    }
}

/// Opens store, key and witness and verifies the log; what the witness saw is compared by the caller.
pub(crate) fn open_parts(places: &Places, options: &Options) -> Result<Opened, WardenError> {
    let store = SqliteStore::open(&places.store)?;
    store.set_durability(options.durability)?;
    let anchor = Anchor::new(store.path())?;
    if let Some(probe) = options.commit_probe.clone() {
        store.set_commit_probe(Box::new(move |phase| (probe.0)(phase)));
    }
    let store: Arc<dyn Records> = Arc::new(store);
    let keys = places.keys_of(store.store_id())?;
    let row = log_row(&*store, &options.tenant)?;
    let origin = origin(store.store_id(), row.id);
    let signer = keys::read_signer(&keys, &origin)?;
    let witness = Witness::open(&places.witness_of(store.store_id())?, &row.id.to_string())?;
    let seen = witness.newest()?;
    let mut warnings = Vec::new();
    if seen.is_none() {
        warnings.push(
            "no witness for this store: an older copy put in its place would not be noticed until one is written"
                .to_owned(),
        );
    }
    let place = Arc::new(Place {
        anchor,
        keys: keys.clone(),
        mechanisms: options.mechanisms,
    });
    let mark = seen.as_ref().map(|seen| seen.size);
    let (chain, root_as_seen, signer) = load_with_key(&*store, &row, signer, &place, &origin, mark)?;
    Ok(Opened {
        store,
        chain: Arc::new(chain),
        witness: Arc::new(witness),
        keys,
        signer,
        warnings,
        seen,
        root_as_seen,
    })
}

/// Loads the log with the present key or, if a rotation was cut off between its commit and the renaming of
/// the key file, with the staged one, and finishes the renaming.
fn load_with_key(
    store: &dyn Records,
    row: &LogRow,
    signer: SignerKey,
    place: &Arc<Place>,
    origin: &str,
    mark: Option<u64>,
) -> Result<(Chain, Option<Digest>, SignerKey), WardenError> {
    match Chain::load(store, row, signer.verifier(), place, mark) {
        Ok((chain, root)) => return Ok((chain, root, signer)),
        Err(error) if keys::read_staged(&place.keys, origin).is_none() => return Err(error),
        // A rotation is under way or was cut off: if the former, wait until it is done.
        Err(_) => {}
    }
    let _lock = keys::lock_rotation(&place.keys)?;
    let present = keys::read_signer(&place.keys, origin)?;
    let error = match Chain::load(store, row, present.verifier(), place, mark) {
        Ok((chain, root)) => return Ok((chain, root, present)),
        Err(error) => error,
    };
    let Some(staged) = keys::read_staged(&place.keys, origin) else {
        return Err(error);
    };
    let (chain, root) = Chain::load(store, row, staged.verifier(), place, mark).map_err(|_| error)?;
    keys::finish_rotation(&place.keys)?;
    Ok((chain, root, staged))
}

/// Refuses a log that is older than what the witness saw, or that forked from it.
///
/// A log of a later epoch was accepted by its owner where this witness did not see it, and is trusted.
pub(crate) fn require_not_behind(
    chain: &Chain,
    seen: &Seen,
    root_as_seen: Option<Digest>,
) -> Result<(), WardenError> {
    if !checks_enabled() {
        return Ok(());
    }
    let (epoch, size) = {
        let replay = chain.replay();
        (replay.epoch(), replay.size())
    };
    if (epoch, size) < (seen.epoch, seen.size) {
        return Err(WardenError::BehindWitness {
            store_size: size,
            store_epoch: epoch,
            witness_size: seen.size,
            witness_epoch: seen.epoch,
        });
    }
    let held = Checkpoint::read_unverified(&seen.checkpoint).map_err(WardenError::unverified)?;
    if epoch == seen.epoch && root_as_seen != Some(held.root) {
        return Err(WardenError::unverified(format!(
            "its first {} entries are not those that the witness has seen: the log was forked or another copy \
             was put in its place; put the right files back, or accept these with `memwarden restore --accept` \
             and the owner's credential",
            seen.size
        )));
    }
    Ok(())
}

/// Compares all rows once and starts the writer.
pub(crate) fn start(opened: Opened, places: &Places, options: &Options) -> Result<Arc<Warden>, WardenError> {
    let Opened {
        store,
        chain,
        witness,
        keys,
        signer,
        warnings,
        ..
    } = opened;
    if checks_enabled() {
        let mut view = View::open(&*store, &chain)?;
        let size = view.size;
        sweep::compare_all(&chain, &mut *view.snapshot, size)?;
        drop(view);
        bury_again(&chain, &witness)?;
    }
    let desk = Desk {
        store: Arc::clone(&store),
        chain: Arc::clone(&chain),
        witness: Arc::clone(&witness),
        clock: Arc::clone(&options.clock),
    };
    Ok(Arc::new(Warden {
        writer: Writer::start(desk, signer)?,
        store,
        chain,
        witness,
        guard: OnceLock::new(),
        clock: Arc::clone(&options.clock),
        limits: options.limits,
        encoder: options.encoder.clone(),
        places: places.clone(),
        keys,
        warnings: warnings_of(warnings, options),
        latest: AtomicU64::new(0),
        clock_watch: ClockWatch::of(&*options.clock),
        namespaces: Mutex::new(HashMap::new()),
        mechanisms: options.mechanisms,
        facts: Mutex::new(Facts::default()),
    }))
}

/// Writes the tombstones that the witness lacks: a crash may have come between a purge and its tombstone, or
/// the witness may be new.
fn bury_again(chain: &Chain, witness: &Witness) -> Result<(), WardenError> {
    let buried: HashSet<RecordId> = witness.tombstones()?.into_iter().collect();
    let replay = chain.replay();
    let purged = replay
        .expectations()
        .filter(|(record, known)| known.status == Status::Purged && !buried.contains(*record));
    for (record, _) in purged {
        witness.bury(record)?;
    }
    Ok(())
}

fn log_row(store: &dyn Records, tenant: &str) -> Result<LogRow, WardenError> {
    store
        .logs()?
        .into_iter()
        .find(|row| row.tenant == tenant)
        .ok_or_else(|| {
            WardenError::Store(StoreError::Missing {
                path: format!("tenant {tenant}"),
            })
        })
}

fn warnings_of(mut warnings: Vec<String>, options: &Options) -> Vec<String> {
    let mechanisms = options.mechanisms;
    if options.durability == Durability::Unsynced {
        warnings.push(
            "opened for a measurement: commits are not synced, a crash of the machine may lose them"
                .to_owned(),
        );
    }
    if !mechanisms.all_on() {
        warnings.push(format!(
            "opened for a measurement, with mechanisms switched off: {mechanisms:?}"
        ));
    }
    warnings
}
