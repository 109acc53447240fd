//! The words behind the commitments: canonical bytes of what a leaf only hashes.
//!
//! `commitment = SHA-256(salt ‖ payload)` with a random 32-byte salt per payload, so that a leaf tells
//! nothing about a text that somebody could guess, and so that destroying the salt destroys the link.

use crate::{
    DecodeError, Decoder, Digest, Encoder, Entry, FieldValue, Finding, PrincipalId, RecordId, Role, Salt,
    Score, Severity, Status, Verdict,
};
use sha2::{Digest as _, Sha256};

/// The version that this code writes and reads.
pub const PAYLOAD_VERSION: u8 = 1;

const RECORD_TAG: &str = "memwarden-record";
const FINDINGS_TAG: &str = "memwarden-findings";
const STATUS_TAG: &str = "memwarden-status";
const RECALL_TAG: &str = "memwarden-recall";
const POLICY_TAG: &str = "memwarden-policy";
const KEY_TAG: &str = "memwarden-key";
const ROTATION_TAG: &str = "memwarden-rotation";
const EPOCH_TAG: &str = "memwarden-epoch";
const PURGE_TAG: &str = "memwarden-purge";

/// `SHA-256(salt ‖ payload)`.
#[must_use]
pub fn commitment(salt: &Salt, payload: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(salt.as_bytes());
    hasher.update(payload);
    Digest::from_bytes(hasher.finalize().into())
}

fn text(e: &mut Encoder, value: &str) {
    e.bytes(value.as_bytes());
}

/// The payload of a write leaf: namespace, entry columns, verdict.
#[derive(Debug)]
pub struct RecordPayload;

impl RecordPayload {
    /// Canonical bytes. Parents are in the leaf itself.
    #[must_use]
    pub fn encode(namespace: &str, entry: &Entry, verdict: Verdict) -> Vec<u8> {
        let mut e = Encoder::tagged(RECORD_TAG, PAYLOAD_VERSION);
        e.bytes(namespace.as_bytes())
            .u8(entry.kind.code())
            .u8(entry.trace_type.code())
            .bytes(entry.content.as_bytes())
            .option(entry.subject.as_deref(), text)
            .option(entry.source.as_deref(), text)
            .option(entry.trust.as_deref(), text)
            .fixed(&Self::encode_fields(entry))
            .option(entry.valid_until, |e, time| {
                e.u64(time.as_micros());
            })
            .option(entry.metadata.as_deref(), text)
            .option(entry.origin_key.as_deref(), text)
            .u8(verdict.code());
        e.finish()
    }

    /// The structured fields alone, as a store column: count, then name, type (0 text, 1 integer,
    /// 2 boolean) and value, in the byte order of the names.
    #[must_use]
    pub fn encode_fields(entry: &Entry) -> Vec<u8> {
        let mut e = Encoder::default();
        e.u32(u32::try_from(entry.fields.len()).unwrap_or(u32::MAX));
        for (name, value) in &entry.fields {
            e.bytes(name.as_bytes());
            match value {
                FieldValue::String(value) => e.u8(0).bytes(value.as_bytes()),
                FieldValue::Integer(value) => e.u8(1).fixed(&value.to_be_bytes()),
                FieldValue::Boolean(value) => e.u8(2).u8(u8::from(*value)),
            };
        }
        e.finish()
    }

    /// Reads what [`RecordPayload::encode_fields`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode_fields(
        bytes: &[u8],
    ) -> Result<std::collections::BTreeMap<String, FieldValue>, DecodeError> {
        let mut d = Decoder::raw(bytes);
        let fields = d.list("fields", |d| {
            let name = d.text("field name")?.to_owned();
            let value = match d.u8("field type")? {
                0 => FieldValue::String(d.text("field value")?.to_owned()),
                1 => FieldValue::Integer(i64::from_be_bytes(d.array("field value")?)),
                2 => FieldValue::Boolean(d.u8("field value")? != 0),
                given => {
                    return Err(DecodeError::Unknown {
                        field: "field type",
                        given: given.into(),
                    });
                }
            };
            Ok((name, value))
        })?;
        d.finish()?;
        Ok(fields.into_iter().collect())
    }
}

/// Canonical bytes of a record's findings.
#[must_use]
pub fn encode_findings(findings: &[Finding]) -> Vec<u8> {
    let mut e = Encoder::tagged(FINDINGS_TAG, PAYLOAD_VERSION);
    e.list(findings, |e, finding| {
        e.bytes(finding.stage.as_bytes())
            .bytes(finding.rule.as_bytes())
            .u8(finding.severity.code())
            .u32(finding.score.hundredths())
            .option(finding.span, |e, (start, end)| {
                e.u32(start).u32(end);
            })
            .bytes(finding.reason.as_bytes());
    });
    e.finish()
}

/// Reads what [`encode_findings`] writes.
///
/// # Errors
/// Bytes that it did not write.
pub fn decode_findings(bytes: &[u8]) -> Result<Vec<Finding>, DecodeError> {
    let mut d = Decoder::tagged(bytes, FINDINGS_TAG, PAYLOAD_VERSION)?;
    let findings = d.list("findings", |d| {
        Ok(Finding {
            stage: d.text("stage")?.to_owned(),
            rule: d.text("rule")?.to_owned(),
            severity: d.code("severity", Severity::from_code)?,
            score: {
                let given = d.u32("score")?;
                Score::from_hundredths(given).map_err(|_| DecodeError::Unknown {
                    field: "score",
                    given: given.into(),
                })?
            },
            span: d.option("span", |d| Ok((d.u32("span")?, d.u32("span")?)))?,
            reason: d.text("reason")?.to_owned(),
        })
    })?;
    d.finish()?;
    Ok(findings)
}

/// Why a record's status changed, or which change was proposed and not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// A reviewer made it visible again.
    Release,
    /// A reviewer refused it for good.
    Reject,
    /// Its writer or someone stronger withdrew it.
    Retire,
    /// A newer record took its place.
    Supersede,
    /// Its time ran out.
    Expire,
    /// Someone weaker asked to withdraw it: nothing changed.
    ProposeRetire,
    /// Someone weaker offered a newer record: nothing changed.
    ProposeSupersede,
    /// The policy puts it where a person looks at it.
    Quarantine,
}

impl StatusChange {
    const ALL: [Self; 8] = [
        Self::Release,
        Self::Reject,
        Self::Retire,
        Self::Supersede,
        Self::Expire,
        Self::ProposeRetire,
        Self::ProposeSupersede,
        Self::Quarantine,
    ];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Reject => "reject",
            Self::Retire => "retire",
            Self::Supersede => "supersede",
            Self::Expire => "expire",
            Self::ProposeRetire => "propose-retire",
            Self::ProposeSupersede => "propose-supersede",
            Self::Quarantine => "quarantine",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Release => 0,
            Self::Reject => 1,
            Self::Retire => 2,
            Self::Supersede => 3,
            Self::Expire => 4,
            Self::ProposeRetire => 5,
            Self::ProposeSupersede => 6,
            Self::Quarantine => 7,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// The payload of a status leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPayload {
    /// What was done.
    pub change: StatusChange,
    /// The newer record, when one took its place.
    pub by: Option<RecordId>,
    /// SHA-256 of the content that the reviewer saw.
    pub content: Option<Digest>,
    /// A sentence by the one who did it.
    pub reason: String,
}

impl StatusPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(STATUS_TAG, PAYLOAD_VERSION);
        e.u8(self.change.code())
            .option(self.by, |e, id| {
                e.fixed(id.as_bytes());
            })
            .option(self.content, |e, digest| {
                e.fixed(digest.as_bytes());
            })
            .bytes(self.reason.as_bytes());
        e.finish()
    }

    /// Reads what [`StatusPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, STATUS_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            change: d.code("change", StatusChange::from_code)?,
            by: d.option("by", |d| d.array("by").map(RecordId::from_bytes))?,
            content: d.option("content", |d| d.array("content").map(Digest::from_bytes))?,
            reason: d.text("reason")?.to_owned(),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a recall leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallPayload {
    /// The query.
    pub query: String,
    /// What was served, best first.
    pub served: Vec<RecordId>,
}

impl RecallPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(RECALL_TAG, PAYLOAD_VERSION);
        e.bytes(self.query.as_bytes()).list(&self.served, |e, id| {
            e.fixed(id.as_bytes());
        });
        e.finish()
    }

    /// Reads what [`RecallPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, RECALL_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            query: d.text("query")?.to_owned(),
            served: d.list("served", |d| d.array("served").map(RecordId::from_bytes))?,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a policy leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPayload {
    /// The policy's TOML text.
    pub source: String,
}

impl PolicyPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(POLICY_TAG, PAYLOAD_VERSION);
        e.bytes(self.source.as_bytes());
        e.finish()
    }

    /// Reads what [`PolicyPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, POLICY_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            source: d.text("source")?.to_owned(),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a key leaf that registers a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPayload {
    /// The principal.
    pub principal: PrincipalId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Its administrative domain.
    pub domain: String,
    /// SHA-256 of its credential's secret.
    pub secret: Digest,
    /// Whether `role: user` in its messages may be believed.
    pub attest_roles: bool,
}

impl KeyPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(KEY_TAG, PAYLOAD_VERSION);
        e.fixed(self.principal.as_bytes())
            .bytes(self.name.as_bytes())
            .u8(self.role.code())
            .bytes(self.domain.as_bytes())
            .fixed(self.secret.as_bytes())
            .u8(u8::from(self.attest_roles));
        e.finish()
    }

    /// Reads what [`KeyPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, KEY_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            principal: PrincipalId::from_bytes(d.array("principal")?),
            name: d.text("name")?.to_owned(),
            role: d.code("role", Role::from_code)?,
            domain: d.text("domain")?.to_owned(),
            secret: Digest::from_bytes(d.array("secret")?),
            attest_roles: d.u8("attest_roles")? != 0,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a key leaf that rotates the log's signing key: both keys sign the same statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationPayload {
    /// The verifier key in force before.
    pub old: String,
    /// The verifier key in force after.
    pub new: String,
    /// Ed25519 signature by the old key.
    pub signed_by_old: [u8; 64],
    /// Ed25519 signature by the new key.
    pub signed_by_new: [u8; 64],
}

impl RotationPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(ROTATION_TAG, PAYLOAD_VERSION);
        e.bytes(self.old.as_bytes())
            .bytes(self.new.as_bytes())
            .fixed(&self.signed_by_old)
            .fixed(&self.signed_by_new);
        e.finish()
    }

    /// Reads what [`RotationPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, ROTATION_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            old: d.text("old")?.to_owned(),
            new: d.text("new")?.to_owned(),
            signed_by_old: d.array("signed_by_old")?,
            signed_by_new: d.array("signed_by_new")?,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of an epoch leaf: which head was abandoned when an older state was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochPayload {
    /// The checkpoint that is no longer part of this history.
    pub abandoned: String,
    /// A sentence by the owner.
    pub reason: String,
}

impl EpochPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(EPOCH_TAG, PAYLOAD_VERSION);
        e.bytes(self.abandoned.as_bytes()).bytes(self.reason.as_bytes());
        e.finish()
    }

    /// Reads what [`EpochPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, EPOCH_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            abandoned: d.text("abandoned")?.to_owned(),
            reason: d.text("reason")?.to_owned(),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a purge or isolate leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgePayload {
    /// The status the record had.
    pub was: Status,
    /// A sentence by the one who did it. Never the text.
    pub reason: String,
}

impl PurgePayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(PURGE_TAG, PAYLOAD_VERSION);
        e.u8(self.was.code()).bytes(self.reason.as_bytes());
        e.finish()
    }

    /// Reads what [`PurgePayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, PURGE_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            was: d.code("was", Status::from_code)?,
            reason: d.text("reason")?.to_owned(),
        };
        d.finish()?;
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(content: &str, subject: Option<&str>) -> Entry {
        let mut entry = Entry::new(content);
        entry.subject = subject.map(str::to_owned);
        entry
            .fields
            .insert("payee".into(), FieldValue::String("ACME".into()));
        entry.fields.insert("amount".into(), FieldValue::Integer(-3));
        entry.fields.insert("paid".into(), FieldValue::Boolean(true));
        entry
    }

    #[test]
    fn text_cannot_move_between_columns_unnoticed() {
        let encode = |entry: &Entry| RecordPayload::encode("ns", entry, Verdict::Admit);
        assert_ne!(encode(&entry("ab", Some("c"))), encode(&entry("a", Some("bc"))));
        assert_ne!(encode(&entry("a", None)), encode(&entry("a", Some(""))));
        let (a, mut b) = (entry("a", None), entry("a", None));
        b.source = Some("s".into());
        let mut c = entry("a", None);
        c.trust = Some("s".into());
        assert_ne!(encode(&a), encode(&b));
        assert_ne!(encode(&b), encode(&c));
    }

    proptest! {
        #[test]
        fn fields_and_findings_survive_the_round_trip(reason in ".{0,40}", score in 0u32..=100, span in proptest::option::of((any::<u32>(), any::<u32>()))) {
            let original = entry("x", None);
            prop_assert_eq!(RecordPayload::decode_fields(&RecordPayload::encode_fields(&original)).unwrap(), original.fields);
            let finding = Finding {
                stage: "keyword".into(), rule: "bypass".into(), severity: Severity::High,
                score: Score::from_hundredths(score).unwrap(), span, reason,
            };
            prop_assert_eq!(decode_findings(&encode_findings(std::slice::from_ref(&finding))).unwrap(), vec![finding]);
        }

        #[test]
        fn no_bytes_make_a_payload_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RecordPayload::decode_fields(&bytes);
            let _ = decode_findings(&bytes);
            let _ = StatusPayload::decode(&bytes);
            let _ = RecallPayload::decode(&bytes);
            let _ = KeyPayload::decode(&bytes);
            let _ = RotationPayload::decode(&bytes);
        }
    }
}
