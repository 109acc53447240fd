//! The words behind the leaves of the gate: contexts, receipts, permits, approvals, endorsements, revocations.

use crate::{
    ContextId, Decision, DecodeError, Decoder, Digest, Encoder, Outcome, PAYLOAD_VERSION, PrincipalId,
    Subject, Timestamp,
};

const BEGIN_TAG: &str = "memwarden-begin";
const REQUEST_TAG: &str = "memwarden-request";
const OBSERVE_TAG: &str = "memwarden-observe";
const RECEIPT_TAG: &str = "memwarden-receipt";
const PERMIT_TAG: &str = "memwarden-permit";
const REDEEM_TAG: &str = "memwarden-redeem";
const APPROVAL_TAG: &str = "memwarden-approval";
const ENDORSE_TAG: &str = "memwarden-endorse";
const REVOCATION_TAG: &str = "memwarden-revocation";

fn texts(e: &mut Encoder, texts: &[String]) {
    e.list(texts, |e, text| {
        e.bytes(text.as_bytes());
    });
}

fn owned(d: &mut Decoder<'_>, field: &'static str) -> Result<String, DecodeError> {
    d.text(field).map(str::to_owned)
}

fn owned_list(d: &mut Decoder<'_>, field: &'static str) -> Result<Vec<String>, DecodeError> {
    d.list(field, |d| owned(d, field))
}

/// The payload of the label leaf that opens a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginPayload {
    /// SHA-256 of the token.
    pub token: Digest,
}

impl BeginPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(BEGIN_TAG, PAYLOAD_VERSION);
        e.fixed(self.token.as_bytes());
        e.finish()
    }

    /// Reads what [`BeginPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, BEGIN_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            token: Digest::from_bytes(d.array("token")?),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of the label leaf of a person's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPayload {
    /// The words.
    pub text: String,
    /// Tools it covers; `None` for every sensitive action that the policy lists.
    pub tools: Option<Vec<String>>,
    /// When it closes.
    pub expires: Timestamp,
}

impl RequestPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(REQUEST_TAG, PAYLOAD_VERSION);
        e.bytes(self.text.as_bytes())
            .option(self.tools.as_deref(), texts)
            .u64(self.expires.as_micros());
        e.finish()
    }

    /// Reads what [`RequestPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, REQUEST_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            text: owned(&mut d, "text")?,
            tools: d.option("tools", |d| owned_list(d, "tools"))?,
            expires: Timestamp::from_micros(d.u64("expires")?),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of the label leaf of content that entered the window without being stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservePayload {
    /// Where it came from, such as a tool's name or an address.
    pub source: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
}

impl ObservePayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(OBSERVE_TAG, PAYLOAD_VERSION);
        e.bytes(self.source.as_bytes()).fixed(self.digest.as_bytes());
        e.finish()
    }

    /// Reads what [`ObservePayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, OBSERVE_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            source: owned(&mut d, "source")?,
            digest: Digest::from_bytes(d.array("digest")?),
        };
        d.finish()?;
        Ok(payload)
    }
}

impl Outcome {
    /// The byte that stands for it in a payload.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Error => 2,
        }
    }

    /// The outcome that `code` stands for.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Passed),
            1 => Some(Self::Failed),
            2 => Some(Self::Error),
            _ => None,
        }
    }

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }
}

/// The payload of a receipt leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptPayload {
    /// The namespace that it counts in.
    pub namespace: String,
    /// The step's name.
    pub step: String,
    /// What it was about.
    pub subject: Subject,
    /// SHA-256 of the canonical arguments.
    pub arguments: Digest,
    /// How it ended.
    pub outcome: Outcome,
    /// When it stops counting.
    pub expires: Timestamp,
    /// Named values that the step put out, as text; they bind parameters only for a tool whose policy says
    /// that it never echoes its input.
    pub output: Vec<(String, String)>,
    /// The tool that ran.
    pub tool: Option<String>,
    /// What was wrong with its having run, in a sentence.
    pub alert: Option<String>,
}

impl ReceiptPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(RECEIPT_TAG, PAYLOAD_VERSION);
        e.bytes(self.namespace.as_bytes())
            .bytes(self.step.as_bytes())
            .bytes(self.subject.kind.as_bytes())
            .bytes(self.subject.id.as_bytes())
            .fixed(self.subject.digest.as_bytes())
            .fixed(self.arguments.as_bytes())
            .u8(self.outcome.code())
            .u64(self.expires.as_micros())
            .list(&self.output, |e, (name, value)| {
                e.bytes(name.as_bytes()).bytes(value.as_bytes());
            })
            .option(self.tool.as_deref(), |e, tool| {
                e.bytes(tool.as_bytes());
            })
            .option(self.alert.as_deref(), |e, alert| {
                e.bytes(alert.as_bytes());
            });
        e.finish()
    }

    /// Reads what [`ReceiptPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, RECEIPT_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            namespace: owned(&mut d, "namespace")?,
            step: owned(&mut d, "step")?,
            subject: Subject {
                kind: owned(&mut d, "subject kind")?,
                id: owned(&mut d, "subject id")?,
                digest: Digest::from_bytes(d.array("subject digest")?),
            },
            arguments: Digest::from_bytes(d.array("arguments")?),
            outcome: d.code("outcome", Outcome::from_code)?,
            expires: Timestamp::from_micros(d.u64("expires")?),
            output: d.list("output", |d| {
                Ok((owned(d, "output name")?, owned(d, "output value")?))
            })?,
            tool: d.option("tool", |d| owned(d, "tool"))?,
            alert: d.option("alert", |d| owned(d, "alert"))?,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of a permit leaf: a decision, and for `allow` what it permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermitPayload {
    /// The decision.
    pub decision: Decision,
    /// The tool.
    pub tool: String,
    /// RFC 8785 hash of tool, parameters, namespace and context.
    pub action: Digest,
    /// When the permit stops working.
    pub expires: Timestamp,
    /// Leaves that were seen when it was decided: one that takes evidence away after them makes it stale.
    pub decided_at: u64,
    /// Log positions that the decision rests on.
    pub evidence: Vec<u64>,
    /// The reasons, one sentence each.
    pub reasons: Vec<String>,
}

impl PermitPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(PERMIT_TAG, PAYLOAD_VERSION);
        e.u8(self.decision.code())
            .bytes(self.tool.as_bytes())
            .fixed(self.action.as_bytes())
            .u64(self.expires.as_micros())
            .u64(self.decided_at)
            .list(&self.evidence, |e, position| {
                e.u64(*position);
            });
        texts(&mut e, &self.reasons);
        e.finish()
    }

    /// Reads what [`PermitPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, PERMIT_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            decision: d.code("decision", Decision::from_code)?,
            tool: owned(&mut d, "tool")?,
            action: Digest::from_bytes(d.array("action")?),
            expires: Timestamp::from_micros(d.u64("expires")?),
            decided_at: d.u64("decided_at")?,
            evidence: d.list("evidence", |d| d.u64("evidence"))?,
            reasons: owned_list(&mut d, "reasons")?,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of the permit leaf that spends a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedeemPayload {
    /// RFC 8785 hash of what is about to be executed.
    pub action: Digest,
}

impl RedeemPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(REDEEM_TAG, PAYLOAD_VERSION);
        e.fixed(self.action.as_bytes());
        e.finish()
    }

    /// Reads what [`RedeemPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, REDEEM_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            action: Digest::from_bytes(d.array("action")?),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of an approval leaf: a person confirmed one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPayload {
    /// Hash of action, policy and epoch.
    pub hash: Digest,
    /// Who asked for the action.
    pub requester: PrincipalId,
    /// The context it is for.
    pub context: ContextId,
    /// When it stops working.
    pub expires: Timestamp,
}

impl ApprovalPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(APPROVAL_TAG, PAYLOAD_VERSION);
        e.fixed(self.hash.as_bytes())
            .fixed(self.requester.as_bytes())
            .fixed(self.context.as_bytes())
            .u64(self.expires.as_micros());
        e.finish()
    }

    /// Reads what [`ApprovalPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, APPROVAL_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            hash: Digest::from_bytes(d.array("hash")?),
            requester: PrincipalId::from_bytes(d.array("requester")?),
            context: ContextId::from_bytes(d.array("context")?),
            expires: Timestamp::from_micros(d.u64("expires")?),
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of the approval leaf that endorses a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndorsePayload {
    /// SHA-256 of the content that the endorser saw.
    pub content: Digest,
    /// A sentence by the endorser.
    pub reason: String,
}

impl EndorsePayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(ENDORSE_TAG, PAYLOAD_VERSION);
        e.fixed(self.content.as_bytes()).bytes(self.reason.as_bytes());
        e.finish()
    }

    /// Reads what [`EndorsePayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, ENDORSE_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            content: Digest::from_bytes(d.array("content")?),
            reason: owned(&mut d, "reason")?,
        };
        d.finish()?;
        Ok(payload)
    }
}

/// The payload of the key leaf that revokes a principal over an interval, or undoes that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationPayload {
    /// The principal.
    pub principal: PrincipalId,
    /// Start of the interval, inclusive.
    pub since: Timestamp,
    /// End of the interval, inclusive; `None` for no end.
    pub until: Option<Timestamp>,
    /// The log position of the revocation that this one undoes.
    pub undoes: Option<u64>,
    /// A sentence by the owner.
    pub reason: String,
}

impl RevocationPayload {
    /// Canonical bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(REVOCATION_TAG, PAYLOAD_VERSION);
        e.fixed(self.principal.as_bytes())
            .u64(self.since.as_micros())
            .option(self.until, |e, time| {
                e.u64(time.as_micros());
            })
            .option(self.undoes, |e, position| {
                e.u64(position);
            })
            .bytes(self.reason.as_bytes());
        e.finish()
    }

    /// Reads what [`RevocationPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, REVOCATION_TAG, PAYLOAD_VERSION)?;
        let payload = Self {
            principal: PrincipalId::from_bytes(d.array("principal")?),
            since: Timestamp::from_micros(d.u64("since")?),
            until: d.option("until", |d| d.u64("until").map(Timestamp::from_micros))?,
            undoes: d.option("undoes", |d| d.u64("undoes"))?,
            reason: owned(&mut d, "reason")?,
        };
        d.finish()?;
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_payload_of_the_gate_survives_the_round_trip() {
        let (digest, time) = (Digest::of(b"x"), Timestamp::from_micros(7));
        let subject = Subject {
            kind: "batch".into(),
            id: "0412".into(),
            digest,
        };
        let receipt = ReceiptPayload {
            namespace: "default".into(),
            step: "validate".into(),
            subject,
            arguments: digest,
            outcome: Outcome::Failed,
            expires: time,
            output: vec![("payee".into(), "ACME".into())],
            tool: Some("validator".into()),
            alert: None,
        };
        assert_eq!(ReceiptPayload::decode(&receipt.encode()).unwrap(), receipt);
        let permit = PermitPayload {
            decision: Decision::Confirm,
            tool: "pay".into(),
            action: digest,
            expires: time,
            decided_at: 9,
            evidence: vec![1, 2],
            reasons: vec!["because".into()],
        };
        assert_eq!(PermitPayload::decode(&permit.encode()).unwrap(), permit);
        let request = RequestPayload {
            text: "pay".into(),
            tools: Some(vec!["pay".into()]),
            expires: time,
        };
        assert_eq!(RequestPayload::decode(&request.encode()).unwrap(), request);
        let approval = ApprovalPayload {
            hash: digest,
            requester: PrincipalId::from_bytes([3; 16]),
            context: ContextId::from_bytes([4; 16]),
            expires: time,
        };
        assert_eq!(ApprovalPayload::decode(&approval.encode()).unwrap(), approval);
        let revocation = RevocationPayload {
            principal: PrincipalId::from_bytes([3; 16]),
            since: time,
            until: None,
            undoes: Some(5),
            reason: "stolen".into(),
        };
        assert_eq!(
            RevocationPayload::decode(&revocation.encode()).unwrap(),
            revocation
        );
        let observed = ObservePayload {
            source: "web".into(),
            digest,
        };
        assert_eq!(ObservePayload::decode(&observed.encode()).unwrap(), observed);
        assert_eq!(
            BeginPayload::decode(&BeginPayload { token: digest }.encode())
                .unwrap()
                .token,
            digest
        );
        assert_eq!(
            RedeemPayload::decode(&RedeemPayload { action: digest }.encode())
                .unwrap()
                .action,
            digest
        );
        let endorsed = EndorsePayload {
            content: digest,
            reason: "seen".into(),
        };
        assert_eq!(EndorsePayload::decode(&endorsed.encode()).unwrap(), endorsed);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_decoder_of_the_gate_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let tagged = |tag: &str| [tag.as_bytes(), &[PAYLOAD_VERSION], &bytes].concat();
            let _ = RequestPayload::decode(&tagged(REQUEST_TAG));
            let _ = ReceiptPayload::decode(&tagged(RECEIPT_TAG));
            let _ = PermitPayload::decode(&tagged(PERMIT_TAG));
            let _ = ApprovalPayload::decode(&tagged(APPROVAL_TAG));
            let _ = RevocationPayload::decode(&tagged(REVOCATION_TAG));
            let _ = ObservePayload::decode(&tagged(OBSERVE_TAG));
        }
    }
}
