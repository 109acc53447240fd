//! Making a store: its keys, its first principals, its policy.

use crate::anchor::Anchor;
use crate::chain::{Chain, Place};
use crate::scribe::Scribe;
use crate::warden::DEFAULT_TENANT;
use crate::witness::{Advance, Seen, Witness};
use crate::{
    Clock, Credential, Mechanisms, Places, SystemClock, Warden, WardenError, credential_path, draft, keys,
    random,
};
use memwarden_core::log::{Draft, LogRow, Records};
use memwarden_core::{
    KeyPayload, LeafKind, LogId, Policy, PolicyPayload, Principal, Role, StoreId, Timestamp,
};
use memwarden_ledger::origin;
use memwarden_store::SqliteStore;
use std::path::PathBuf;
use std::sync::Arc;

/// The roles that get a credential when a store is made.
const FIRST_ROLES: [Role; 3] = [Role::Owner, Role::Agent, Role::Step];

/// What [`Warden::init`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The store's id.
    pub store: StoreId,
    /// The directory of signing key and credentials.
    pub keys: PathBuf,
    /// The directory of the witness.
    pub witness: PathBuf,
    /// The verifier key of the log, in signed-note form: hand it to whoever shall verify.
    pub verifier_key: String,
}

impl Made {
    /// Reads the credential of one of the first roles.
    ///
    /// # Errors
    /// A role that got none, or a file that cannot be read.
    pub fn credential(&self, role: Role) -> Result<Credential, WardenError> {
        Credential::read(&credential_path(&self.keys, role))
    }
}

impl Warden {
    /// Makes a store with `policy`, and credentials for owner, agent and step.
    ///
    /// # Errors
    /// A store or keys that exist, a directory that cannot be written, keys inside the store. What was made
    /// before the failure is removed again.
    pub fn init(places: &Places, policy: &Policy) -> Result<Made, WardenError> {
        Self::init_at(places, policy, SystemClock.now())
    }

    /// [`Warden::init`] at a given time.
    ///
    /// # Errors
    /// As there.
    pub fn init_at(places: &Places, policy: &Policy, now: Timestamp) -> Result<Made, WardenError> {
        let store_id = StoreId::from_bytes(random::bytes()?);
        let (key_directory, witness_directory) = (places.keys_of(store_id)?, places.witness_of(store_id)?);
        let new_directory = !places.store.exists();
        let log = LogId::from_bytes(random::bytes()?);
        let origin = origin(store_id, log);
        let signer = keys::fresh_signer(&origin)?;
        let verifier_key = signer.verifier().to_string();

        let store = SqliteStore::create(&places.store, store_id)?;
        let mut made = Undo {
            store: Some((&places.store, new_directory)),
            keys: Vec::new(),
        };
        keys::make_directory(&key_directory)?;
        made.keys.push(key_directory.join("log.key"));
        if key_directory.join("log.key").exists() {
            made.keys.clear();
            return Err(WardenError::Keys {
                path: key_directory,
                reason: "holds the key of another store: expected an empty directory".to_owned(),
            });
        }
        keys::write_signer(&key_directory, &signer)?;
        let mut drafts = Vec::new();
        let mut owner = None;
        for role in FIRST_ROLES {
            let credential = Credential::fresh(store_id, role)?;
            let path = credential_path(&key_directory, role);
            credential.write_new(&path)?;
            made.keys.push(path);
            let principal = Principal {
                id: credential.principal(),
                name: role.as_str().to_owned(),
                role,
                domain: Principal::SHARED_DOMAIN.to_owned(),
            };
            let by = owner.get_or_insert_with(|| principal.clone()).clone();
            drafts.push(register(&by, &principal, &credential, false, policy, now)?);
        }
        let bytes = PolicyPayload {
            source: policy.source.clone(),
        }
        .encode();
        drafts.push(draft::note(
            LeafKind::Policy,
            owner.as_ref(),
            bytes,
            policy.hash(),
            now,
        )?);

        let row = LogRow {
            id: log,
            tenant: DEFAULT_TENANT.to_owned(),
            verifier_key: verifier_key.clone(),
        };
        let row = store.add_log(&row)?;
        let place = Arc::new(Place {
            anchor: Anchor::new(store.path())?,
            keys: key_directory.clone(),
            mechanisms: Mechanisms::default(),
        });
        let key = signer.verifier().clone();
        let chain = Arc::new(Chain::empty(row.id, origin, key, policy, place));
        let mut scribe = Scribe::new(Arc::clone(&chain), signer);
        let committed = store.commit(row.id, &drafts, &mut scribe)?;
        let witness = Witness::open(&witness_directory, &row.id.to_string())?;
        let seen = Seen {
            epoch: 0,
            size: committed.size,
            checkpoint: committed.checkpoint,
        };
        witness.advance(&seen, Advance::Forward)?;
        made.keep();
        Ok(Made {
            store: store_id,
            keys: key_directory,
            witness: witness_directory,
            verifier_key,
        })
    }
}

/// The draft that registers `principal` with the digest of its secret.
pub(crate) fn register(
    by: &Principal,
    principal: &Principal,
    credential: &Credential,
    attest_roles: bool,
    policy: &Policy,
    now: Timestamp,
) -> Result<Draft, WardenError> {
    let payload = KeyPayload {
        principal: principal.id,
        name: principal.name.clone(),
        role: principal.role,
        domain: principal.domain.clone(),
        secret: credential.secret_digest(),
        attest_roles,
    };
    draft::note(LeafKind::Key, Some(by), payload.encode(), policy.hash(), now)
}

/// Removes what a failed `init` made.
struct Undo<'a> {
    store: Option<(&'a PathBuf, bool)>,
    keys: Vec<PathBuf>,
}

impl Undo<'_> {
    fn keep(mut self) {
        self.store = None;
        self.keys.clear();
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // Removal is a courtesy: what stays behind after a second failure is named by the next `init`.
        if let Some((directory, was_new)) = self.store.take() {
            for name in ["memwarden.db", "memwarden.db-wal", "memwarden.db-shm"] {
                let _ = std::fs::remove_file(directory.join(name));
            }
            if was_new {
                let _ = std::fs::remove_dir(directory);
            }
        }
        for path in self.keys.drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}
