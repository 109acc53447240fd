//! Who may act and by which policy: read from the log's payloads, each checked against its leaf.

use crate::{Credential, Mechanisms, WardenError};
use memwarden_core::log::{SaltedPayload, Snapshot};
use memwarden_core::{
    Authority, Channel, Digest, Echoes, Endorsement, KeyPayload, LeafKind, LogId, OriginMode, Policy,
    PolicyPayload, Principal, PrincipalId, RecordId, Replay, Revocation, RevocationPayload, Role,
    RotationPayload, Standing, commitment, endorsed,
};
use memwarden_ledger::Rotation;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

#[derive(Debug, Clone)]
struct Registered {
    principal: Principal,
    secret: Digest,
    attest_roles: bool,
}

/// How a label lowers a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabelRule {
    /// It does not.
    Skipped,
    /// The label of the context, or without one of the principal's last hour.
    Applies,
    /// The label of the context; without one it is not known what was echoed.
    OfContextOnly,
}

/// Principals and policy of one log.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    principals: HashMap<PrincipalId, Registered>,
    policy: Arc<Policy>,
    policy_hash: Digest,
    /// Revocations by the log position at which they stand; one that was undone is gone.
    revocations: BTreeMap<u64, Revocation>,
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
        let mut revocations = BTreeMap::new();
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
                        attest_roles: key.attest_roles,
                    },
                );
            } else if let Ok(revoked) = RevocationPayload::decode(&payload.bytes) {
                match revoked.undoes {
                    Some(undone) => {
                        revocations.remove(&undone);
                    }
                    None => {
                        let RevocationPayload {
                            principal,
                            since,
                            until,
                            ..
                        } = revoked;
                        revocations.insert(
                            *position,
                            Revocation {
                                principal,
                                since,
                                until,
                            },
                        );
                    }
                }
            }
        }
        let policy = policy.ok_or_else(|| WardenError::unverified("the log holds no policy"))?;
        Ok(Self {
            principals,
            revocations,
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
            revocations: BTreeMap::new(),
        }
    }

    /// Whether a key vouches that `role: user` in its messages came from a user.
    pub(crate) fn attests_roles(&self, id: &PrincipalId) -> bool {
        self.principals
            .get(id)
            .is_some_and(|registered| registered.attest_roles)
    }

    /// How the label of context or hour lowers what a principal writes.
    pub(crate) fn label_rule(&self, id: &PrincipalId, channel: Channel, mechanisms: Mechanisms) -> LabelRule {
        if self.policy.origin == OriginMode::Off || !mechanisms.labels {
            return LabelRule::Skipped;
        }
        let Some(principal) = self.principal(id) else {
            return LabelRule::Applies;
        };
        match principal.role {
            // What a person typed passed through no model.
            Role::Owner | Role::User if channel == Channel::Direct => LabelRule::Skipped,
            Role::Tool => match self.policy.tools.get(&principal.name) {
                Some(rule) if rule.trusted => {
                    if rule.echoes == Echoes::Never || !mechanisms.echo_label {
                        LabelRule::Skipped
                    } else {
                        LabelRule::OfContextOnly
                    }
                }
                _ => LabelRule::Applies,
            },
            _ => LabelRule::Applies,
        }
    }

    /// The highest authority that a principal can write.
    pub(crate) fn class_of(&self, principal: &Principal) -> Authority {
        let trusted = principal.role == Role::Tool
            && self
                .policy
                .tools
                .get(&principal.name)
                .is_some_and(|tool| tool.trusted);
        if trusted {
            Authority::Act
        } else {
            principal.role.class()
        }
    }

    /// The revocation in force that stands at a log position.
    pub(crate) fn revocation_at(&self, position: u64) -> Option<Revocation> {
        self.revocations.get(&position).copied()
    }

    /// How many principals have a role.
    pub(crate) fn count(&self, role: Role) -> usize {
        self.principals
            .values()
            .filter(|registered| registered.principal.role == role)
            .count()
    }

    /// Endorsers of different domains that a record needs: as the policy says, or 2, or in a store whose
    /// principals share one domain 1, the owner.
    pub(crate) fn endorsers_needed(&self) -> usize {
        let default = if self.is_one_domain() { 1 } else { 2 };
        self.policy
            .endorse_k
            .map_or(default, |k| usize::try_from(k).unwrap_or(usize::MAX))
    }

    fn is_one_domain(&self) -> bool {
        let mut domains = self.principals().map(|principal| &principal.domain);
        domains
            .next()
            .is_none_or(|first| domains.all(|domain| domain == first))
    }

    /// What raises and caps authority now.
    pub(crate) fn standing(&self, replay: &Replay, mechanisms: Mechanisms) -> Standing {
        self.standing_with(replay, mechanisms, None)
    }

    /// What would raise and cap authority if one more revocation were in force.
    pub(crate) fn standing_with(
        &self,
        replay: &Replay,
        mechanisms: Mechanisms,
        more: Option<Revocation>,
    ) -> Standing {
        let revocations: Vec<Revocation> = self.revocations.values().copied().chain(more).collect();
        // Among principals of one domain only the owner stands for it, unless the policy says otherwise.
        let owner_only = self.policy.endorse_k.is_none() && self.is_one_domain();
        let revoked = Standing {
            endorsed: HashSet::new(),
            revocations,
        };
        let domain_of = |endorsement: &Endorsement| {
            let principal = self.principal(&endorsement.principal)?;
            let counts = principal.role.class() == Authority::Act
                && (!owner_only || principal.role == Role::Owner || !mechanisms.endorsement_domains)
                && !revoked.revokes(&endorsement.principal, endorsement.time);
            counts.then(|| {
                if mechanisms.endorsement_domains {
                    principal.domain.clone()
                } else {
                    principal.id.to_string()
                }
            })
        };
        let parents_of = |record: &RecordId| {
            replay
                .expectation(record)
                .map(|known| known.parents.to_vec())
                .unwrap_or_default()
        };
        let endorsed = endorsed(
            replay.endorsements(),
            self.endorsers_needed(),
            domain_of,
            parents_of,
        );
        Standing {
            endorsed,
            revocations: revoked.revocations,
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
