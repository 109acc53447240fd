//! One entry of the log, in the canonical encoding (leaf v1).
//!
//! A leaf says *that* something happened, when, by whom and to which record; the words are committed to by
//! a salted hash and live elsewhere, so that they can be destroyed while the log stays provable.

use crate::{
    Authority, Channel, ContextId, DecodeError, Decoder, Digest, Encoder, LogId, NamespaceId, PrincipalId,
    RecordId, Status, Timestamp,
};

/// The domain tag that opens every leaf.
pub const LEAF_TAG: &str = "memwarden-leaf";
/// The version that this code writes and reads.
pub const LEAF_VERSION: u8 = 1;

/// What a leaf is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeafKind {
    /// A record was written.
    Write,
    /// A record's status changed, or a change was proposed.
    Status,
    /// Records were served.
    Recall,
    /// A step was executed.
    Receipt,
    /// An action was decided.
    Permit,
    /// A person approved an action.
    Approval,
    /// A context opened, fell or ended.
    Label,
    /// The policy changed.
    Policy,
    /// A principal was registered or a signing key rotated.
    Key,
    /// An older state was accepted; history after it was abandoned.
    Epoch,
    /// A record's text and salt were destroyed.
    Purge,
    /// A damaged record was taken out of the expected set.
    Isolate,
}

impl LeafKind {
    /// Every kind, in the order of its code.
    pub const ALL: [Self; 12] = [
        Self::Write,
        Self::Status,
        Self::Recall,
        Self::Receipt,
        Self::Permit,
        Self::Approval,
        Self::Label,
        Self::Policy,
        Self::Key,
        Self::Epoch,
        Self::Purge,
        Self::Isolate,
    ];

    /// The byte that stands for it, its place in [`LeafKind::ALL`].
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Write => 0,
            Self::Status => 1,
            Self::Recall => 2,
            Self::Receipt => 3,
            Self::Permit => 4,
            Self::Approval => 5,
            Self::Label => 6,
            Self::Policy => 7,
            Self::Key => 8,
            Self::Epoch => 9,
            Self::Purge => 10,
            Self::Isolate => 11,
        }
    }

    /// The kind that `code` stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Status => "status",
            Self::Recall => "recall",
            Self::Receipt => "receipt",
            Self::Permit => "permit",
            Self::Approval => "approval",
            Self::Label => "label",
            Self::Policy => "policy",
            Self::Key => "key",
            Self::Epoch => "epoch",
            Self::Purge => "purge",
            Self::Isolate => "isolate",
        }
    }
}

/// One entry of the log. Holds ids and commitments; never user text, a query, or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The log it belongs to.
    pub log: LogId,
    /// The epoch it was written in; rises when an older state is accepted.
    pub epoch: u32,
    /// Its place in the log, from 0.
    pub position: u64,
    /// Entry time: never before that of the leaf in front of it.
    pub time: Timestamp,
    /// What it is about.
    pub kind: LeafKind,
    /// The namespace, where there is one.
    pub namespace: Option<NamespaceId>,
    /// The record, where there is one.
    pub record: Option<RecordId>,
    /// Who caused it.
    pub principal: PrincipalId,
    /// The window it happened in.
    pub context: Option<ContextId>,
    /// The way in.
    pub channel: Channel,
    /// Written authority of a record, the label that a context fell to, or else the class of the principal.
    pub authority: Authority,
    /// Status after this leaf.
    pub status: Status,
    /// Declared parents of a record.
    pub parents: Vec<RecordId>,
    /// Commitment to the payload.
    pub payload: Digest,
    /// Commitment to the findings.
    pub findings: Option<Digest>,
    /// Commitment to the vector.
    pub vector: Option<Digest>,
    /// Hash of the policy in force.
    pub policy: Digest,
}

impl Leaf {
    /// The canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(LEAF_TAG, LEAF_VERSION);
        e.fixed(self.log.as_bytes())
            .u32(self.epoch)
            .u64(self.position)
            .u64(self.time.as_micros())
            .u8(self.kind.code())
            .option(self.namespace, |e, id| {
                e.fixed(id.as_bytes());
            })
            .option(self.record, |e, id| {
                e.fixed(id.as_bytes());
            })
            .fixed(self.principal.as_bytes())
            .option(self.context, |e, id| {
                e.fixed(id.as_bytes());
            })
            .u8(self.channel.code())
            .u8(self.authority.code())
            .u8(self.status.code())
            .list(&self.parents, |e, id| {
                e.fixed(id.as_bytes());
            })
            .fixed(self.payload.as_bytes())
            .option(self.findings, |e, digest| {
                e.fixed(digest.as_bytes());
            })
            .option(self.vector, |e, digest| {
                e.fixed(digest.as_bytes());
            })
            .fixed(self.policy.as_bytes());
        e.finish()
    }

    /// The kind of an encoded leaf, without reading the rest.
    #[must_use]
    pub fn kind_of(bytes: &[u8]) -> Option<LeafKind> {
        // Tag, version, log, epoch, position and time come before it.
        const AT: usize = LEAF_TAG.len() + 1 + 16 + 4 + 8 + 8;
        bytes.get(AT).copied().and_then(LeafKind::from_code)
    }

    /// Reads canonical bytes; accepts exactly what [`Leaf::encode`] writes.
    ///
    /// # Errors
    /// Bytes that are not a leaf of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, LEAF_TAG, LEAF_VERSION)?;
        let leaf = Self {
            log: LogId::from_bytes(d.array("log")?),
            epoch: d.u32("epoch")?,
            position: d.u64("position")?,
            time: Timestamp::from_micros(d.u64("time_us")?),
            kind: d.code("kind", LeafKind::from_code)?,
            namespace: d.option("namespace", |d| d.array("namespace").map(NamespaceId::from_bytes))?,
            record: d.option("record", |d| d.array("record").map(RecordId::from_bytes))?,
            principal: PrincipalId::from_bytes(d.array("principal")?),
            context: d.option("context", |d| d.array("context").map(ContextId::from_bytes))?,
            channel: d.code("channel", Channel::from_code)?,
            authority: d.code("authority", Authority::from_code)?,
            status: d.code("status", Status::from_code)?,
            parents: d.list("parents", |d| d.array("parents").map(RecordId::from_bytes))?,
            payload: Digest::from_bytes(d.array("payload")?),
            findings: d.option("findings", |d| d.array("findings").map(Digest::from_bytes))?,
            vector: d.option("vector", |d| d.array("vector").map(Digest::from_bytes))?,
            policy: Digest::from_bytes(d.array("policy")?),
        };
        d.finish()?;
        Ok(leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_leaf()(
            ids in prop::array::uniform5(prop::array::uniform16(any::<u8>())),
            numbers in (any::<u32>(), any::<u64>(), any::<u64>()),
            kind in 0u8..12, present in prop::array::uniform5(any::<bool>()),
            codes in (0u8..6, 0u8..3, 0u8..4),
            parents in prop::collection::vec(prop::array::uniform16(any::<u8>()), 0..4),
            digests in prop::array::uniform4(prop::array::uniform32(any::<u8>())),
        ) -> Leaf {
            Leaf {
                log: LogId::from_bytes(ids[0]),
                epoch: numbers.0,
                position: numbers.1,
                time: Timestamp::from_micros(numbers.2),
                kind: LeafKind::from_code(kind).unwrap(),
                namespace: present[0].then_some(NamespaceId::from_bytes(ids[1])),
                record: present[1].then_some(RecordId::from_bytes(ids[2])),
                principal: PrincipalId::from_bytes(ids[3]),
                context: present[2].then_some(ContextId::from_bytes(ids[4])),
                channel: Channel::from_code(codes.0).unwrap(),
                authority: Authority::from_code(codes.1).unwrap(),
                status: Status::from_code(codes.2).unwrap(),
                parents: parents.into_iter().map(RecordId::from_bytes).collect(),
                payload: Digest::from_bytes(digests[0]),
                findings: present[3].then_some(Digest::from_bytes(digests[1])),
                vector: present[4].then_some(Digest::from_bytes(digests[2])),
                policy: Digest::from_bytes(digests[3]),
            }
        }
    }

    proptest! {
        #[test]
        fn decoding_returns_what_was_encoded(leaf in any_leaf()) {
            let bytes = leaf.encode();
            prop_assert_eq!(Leaf::kind_of(&bytes), Some(leaf.kind));
            prop_assert_eq!(Leaf::decode(&bytes).unwrap(), leaf);
        }

        #[test]
        fn every_accepted_encoding_is_canonical(bytes in any_leaf().prop_map(|leaf| leaf.encode()), at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut bytes = bytes;
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if let Ok(leaf) = Leaf::decode(&bytes) {
                prop_assert_eq!(leaf.encode(), bytes);
            }
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = Leaf::decode(&bytes);
            let mut tagged = LEAF_TAG.as_bytes().to_vec();
            tagged.push(LEAF_VERSION);
            tagged.extend(bytes);
            let _ = Leaf::decode(&tagged);
        }
    }
}
