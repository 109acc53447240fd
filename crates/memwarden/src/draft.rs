//! Making drafts: a leaf, its salted payload, and nothing decided here.

use crate::chain::Chain;
use crate::{WardenError, random};
use memwarden_core::log::{Body, Draft, LeafDraft, SaltedPayload};
use memwarden_core::{
    Authority, Channel, Digest, LeafKind, NamespaceId, Principal, PrincipalId, RecordId, Status,
    StatusChange, StatusPayload, Timestamp, commitment,
};

/// A payload with a fresh salt, and its commitment.
pub(crate) fn salted(bytes: Vec<u8>) -> Result<(SaltedPayload, Digest), WardenError> {
    let salt = random::salt()?;
    let digest = commitment(&salt, &bytes);
    Ok((SaltedPayload { salt, bytes }, digest))
}

/// A leaf with nothing but its kind, its cause and its payload.
pub(crate) fn leaf(
    kind: LeafKind,
    principal: Option<&Principal>,
    payload: Digest,
    policy: Digest,
    at: Timestamp,
) -> LeafDraft {
    LeafDraft {
        at,
        kind,
        namespace: None,
        record: None,
        principal: principal.map_or(PrincipalId::WARDEN, |principal| principal.id),
        context: None,
        channel: Channel::Direct,
        authority: principal.map_or(Authority::None, |principal| principal.role.class()),
        status: Status::Active,
        parents: Vec::new(),
        payload,
        findings: None,
        vector: None,
        policy,
    }
}

/// A leaf that keeps its payload and touches no record.
pub(crate) fn note(
    kind: LeafKind,
    principal: Option<&Principal>,
    bytes: Vec<u8>,
    policy: Digest,
    at: Timestamp,
) -> Result<Draft, WardenError> {
    let (payload, digest) = salted(bytes)?;
    Ok(Draft {
        leaf: leaf(kind, principal, digest, policy, at),
        body: Body::Note(payload),
    })
}

/// A change, or a proposed change, of a record's status.
#[expect(
    clippy::too_many_arguments,
    reason = "one argument for each thing that the leaf binds"
)]
pub(crate) fn status(
    chain: &Chain,
    principal: Option<&Principal>,
    record: RecordId,
    change: StatusChange,
    by: Option<RecordId>,
    content: Option<Digest>,
    reason: &str,
    at: Timestamp,
) -> Result<Draft, WardenError> {
    let (namespace, current) = standing(chain, record)?;
    let to = match change {
        StatusChange::Release => Status::Active,
        StatusChange::Reject | StatusChange::Retire | StatusChange::Supersede | StatusChange::Expire => {
            Status::Retired
        }
        StatusChange::Quarantine => Status::Quarantined,
        StatusChange::ProposeRetire | StatusChange::ProposeSupersede => current,
    };
    let (payload, digest) = salted(
        StatusPayload {
            change,
            by,
            content,
            reason: reason.to_owned(),
        }
        .encode(),
    )?;
    let mut leaf = leaf(
        LeafKind::Status,
        principal,
        digest,
        chain.registry().policy_hash(),
        at,
    );
    leaf.namespace = Some(namespace);
    leaf.record = Some(record);
    leaf.status = to;
    Ok(Draft {
        leaf,
        body: Body::Status(payload),
    })
}

fn standing(chain: &Chain, record: RecordId) -> Result<(NamespaceId, Status), WardenError> {
    let replay = chain.replay();
    let expected = replay
        .expectation(&record)
        .ok_or(WardenError::NotFound { record })?;
    Ok((expected.namespace, expected.status))
}
