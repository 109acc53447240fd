//! Who may act and by which policy: read from the log's payloads, each checked against its leaf.

use crate::{Credential, WardenError};
use memwarden_core::log::{SaltedPayload, Snapshot};
use memwarden_core::{
    Digest, KeyPayload, LeafKind, LogId, Policy, PolicyPayload, Principal, PrincipalId, RotationPayload,
    commitment,
};
use memwarden_ledger::Rotation;
use std::collections::HashMap;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

#[derive(Debug, Clone)]
struct Registered {
    principal: Principal,
    secret: Digest,
}

/// Principals and policy of one log.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    principals: HashMap<PrincipalId, Registered>,
    policy: Arc<Policy>,
    policy_hash: Digest,
}

impl Registry {
    /// Reads the payloads at `notes`, which come from a verified log.
    pub(crate) fn load(
        snapshot: &mut dyn Snapshot,
        log: LogId,
        notes: &[(u64, LeafKind, Digest)],
    ) -> Result<Self, WardenError> {
        let mut principals = HashMap::new();
        let mut policy = None;
        for (position, kind, digest) in notes {
            if *kind == LeafKind::Epoch {
                continue;
            }
            let payload = checked(snapshot, log, *position, digest)?;
            if *kind == LeafKind::Policy {
                let payload = PolicyPayload::decode(&payload.bytes).map_err(WardenError::unverified)?;
                let parsed =
                    memwarden_guard::parse(&payload.source).map_err(|error| WardenError::Policy {
                        reason: error.to_string(),
                    })?;
                policy = Some(parsed);
            } else if let Ok(key) = KeyPayload::decode(&payload.bytes) {
                let principal = Principal {
                    id: key.principal,
                    name: key.name,
                    role: key.role,
                    domain: key.domain,
                };
                principals.insert(
                    key.principal,
                    Registered {
                        principal,
                        secret: key.secret,
                    },
                );
            }
        }
        let policy = policy.ok_or_else(|| WardenError::unverified("the log holds no policy"))?;
        Ok(Self {
            principals,
            ..Self::with_policy(policy)
        })
    }

    /// Nobody yet, and the policy that the store will start with.
    pub(crate) fn with_policy(policy: Policy) -> Self {
        let policy_hash = policy.hash();
        Self {
            principals: HashMap::new(),
            policy: Arc::new(policy),
            policy_hash,
        }
    }

    /// The principal that `credential` proves to be.
    pub(crate) fn authenticate(&self, credential: &Credential) -> Result<Principal, WardenError> {
        let refused = || WardenError::Credential {
            reason: "it is not registered in this store".to_owned(),
        };
        let registered = self.principals.get(&credential.principal).ok_or_else(refused)?;
        let shown = credential.secret_digest();
        if bool::from(shown.as_bytes().ct_eq(registered.secret.as_bytes())) {
            Ok(registered.principal.clone())
        } else {
            Err(refused())
        }
    }

    pub(crate) fn principal(&self, id: &PrincipalId) -> Option<&Principal> {
        self.principals.get(id).map(|registered| &registered.principal)
    }

    pub(crate) fn principals(&self) -> impl Iterator<Item = &Principal> {
        self.principals.values().map(|registered| &registered.principal)
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy)
    }

    pub(crate) const fn policy_hash(&self) -> Digest {
        self.policy_hash
    }
}

/// The payloads of the key rotations among `notes`, in position order.
pub(crate) fn rotations(
    snapshot: &mut dyn Snapshot,
    log: LogId,
    notes: &[(u64, LeafKind, Digest)],
) -> Result<Vec<Rotation>, WardenError> {
    let mut found = Vec::new();
    for (position, kind, digest) in notes {
        if *kind == LeafKind::Key {
            let payload = checked(snapshot, log, *position, digest)?;
            if RotationPayload::decode(&payload.bytes).is_ok() {
                found.push(Rotation {
                    position: *position,
                    salt: payload.salt,
                    payload: payload.bytes,
                });
            }
        }
    }
    Ok(found)
}

fn checked(
    snapshot: &mut dyn Snapshot,
    log: LogId,
    position: u64,
    digest: &Digest,
) -> Result<SaltedPayload, WardenError> {
    let payload = snapshot
        .payload(log, position)?
        .ok_or_else(|| WardenError::unverified(format!("the payload of log entry {position} is missing")))?;
    if commitment(&payload.salt, &payload.bytes) != *digest {
        return Err(WardenError::unverified(format!(
            "the payload of log entry {position} was changed"
        )));
    }
    Ok(payload)
}
