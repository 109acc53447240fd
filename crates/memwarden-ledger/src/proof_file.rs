//! C2SP tlog-proof: one entry, its way to a root, and the checkpoint over that root, in one text file.
//!
//! The `extra` line carries the leaf, and the salted payload when its holder wants to reveal the words. It
//! is not authenticated by the format; [`ProofFile::verify`] binds both to the signed root.

use crate::checkpoint::{Checkpoint, CheckpointError, parse_origin};
use crate::encoding::{decimal, digest_from_base64, from_base64, to_base64};
use crate::key::VerifierKey;
use crate::proof::{ProofError, verify_inclusion};
use memwarden_core::log::SaltedPayload;
use memwarden_core::{DecodeError, Decoder, Digest, Encoder, Leaf, Salt, commitment, leaf_hash};
use std::fmt;
use std::str::FromStr;

/// The first line.
pub const PROOF_HEADER: &str = "c2sp.org/tlog-proof@v1";

const EXTRA_TAG: &str = "memwarden-proof";
const EXTRA_VERSION: u8 = 1;

/// A proof file was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofFileError {
    /// Text of another form.
    #[error("not a proof file: its {line} is not valid")]
    Malformed {
        /// Which part.
        line: &'static str,
    },
    /// An `extra` line that this version did not write.
    #[error("the extra data of the proof file does not decode: {0}")]
    Extra(#[source] DecodeError),
    /// Extra data whose leaf does not decode.
    #[error("the leaf in the proof file does not decode: {0}")]
    Leaf(#[source] DecodeError),
    /// The checkpoint was not accepted.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The leaf is not under the checkpoint.
    #[error("the entry is not under the checkpoint: {0}")]
    Inclusion(#[from] ProofError),
    /// The leaf says it stands elsewhere.
    #[error(
        "the leaf says that it is entry {given} of log {log}: the proof is for entry {index} of `{origin}`"
    )]
    Place {
        /// The position in the leaf.
        given: u64,
        /// The log in the leaf.
        log: memwarden_core::LogId,
        /// The index of the proof.
        index: u64,
        /// The origin of the checkpoint.
        origin: String,
    },
    /// The payload is not the one that the leaf commits to.
    #[error("the revealed payload is not the one that log entry {index} commits to")]
    Payload {
        /// The index of the proof.
        index: u64,
    },
}

/// A proof that one leaf is in a log. Prints and parses as the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofFile {
    /// Canonical bytes of the leaf.
    pub leaf: Vec<u8>,
    /// The payload that the leaf commits to, when it is revealed.
    pub revealed: Option<SaltedPayload>,
    /// Position of the leaf.
    pub index: u64,
    /// Inclusion proof, sibling of the leaf first.
    pub proof: Vec<Digest>,
    /// The signed checkpoint, verbatim.
    pub checkpoint: String,
}

/// What a proof file shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedProof {
    /// The checkpoint that the leaf is under.
    pub checkpoint: Checkpoint,
    /// The leaf.
    pub leaf: Leaf,
    /// The payload that the leaf commits to, when it was revealed.
    pub payload: Option<Vec<u8>>,
}

impl ProofFile {
    /// Checks signature, inclusion, leaf and payload against `keys`, of which those count whose name is the
    /// origin. Without `origin`, the checkpoint's own counts: the keys alone then say which log it is.
    ///
    /// # Errors
    /// [`ProofFileError`].
    pub fn verify(
        &self,
        origin: Option<&str>,
        keys: &[VerifierKey],
    ) -> Result<VerifiedProof, ProofFileError> {
        let origin = match origin {
            Some(origin) => origin.to_owned(),
            None => Checkpoint::read_unverified(&self.checkpoint)?.origin,
        };
        let checkpoint = Checkpoint::open(&self.checkpoint, &origin, keys)?;
        verify_inclusion(
            leaf_hash(&self.leaf),
            self.index,
            checkpoint.size,
            &self.proof,
            checkpoint.root,
        )?;
        let leaf = Leaf::decode(&self.leaf).map_err(ProofFileError::Leaf)?;
        let other_log = parse_origin(&origin).is_some_and(|(_, log)| log != leaf.log);
        if leaf.position != self.index || other_log {
            return Err(ProofFileError::Place {
                given: leaf.position,
                log: leaf.log,
                index: self.index,
                origin,
            });
        }
        if let Some(revealed) = &self.revealed
            && commitment(&revealed.salt, &revealed.bytes) != leaf.payload
        {
            return Err(ProofFileError::Payload { index: self.index });
        }
        Ok(VerifiedProof {
            checkpoint,
            leaf,
            payload: self.revealed.as_ref().map(|revealed| revealed.bytes.clone()),
        })
    }

    fn extra(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(EXTRA_TAG, EXTRA_VERSION);
        e.bytes(&self.leaf).option(self.revealed.as_ref(), |e, revealed| {
            e.fixed(revealed.salt.as_bytes()).bytes(&revealed.bytes);
        });
        e.finish()
    }
}

impl fmt::Display for ProofFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{PROOF_HEADER}")?;
        writeln!(f, "extra {}", to_base64(&self.extra()))?;
        writeln!(f, "index {}", self.index)?;
        for hash in &self.proof {
            writeln!(f, "{}", to_base64(hash.as_bytes()))?;
        }
        write!(f, "\n{}", self.checkpoint)
    }
}

impl FromStr for ProofFile {
    type Err = ProofFileError;

    fn from_str(text: &str) -> Result<Self, ProofFileError> {
        let malformed = |line| ProofFileError::Malformed { line };
        // No line of the head is empty, so the first blank line ends it.
        let (head, checkpoint) = text
            .split_once("\n\n")
            .ok_or(malformed("blank line before the checkpoint"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(PROOF_HEADER) {
            return Err(malformed("first line"));
        }
        let extra = lines
            .next()
            .and_then(|line| line.strip_prefix("extra "))
            .and_then(from_base64)
            .ok_or(malformed("`extra` line, which holds the leaf,"))?;
        let (leaf, revealed) = decode_extra(&extra).map_err(ProofFileError::Extra)?;
        let index = lines
            .next()
            .and_then(|line| line.strip_prefix("index "))
            .and_then(decimal)
            .ok_or(malformed("`index` line"))?;
        let proof = lines
            .map(|line| digest_from_base64(line).ok_or(malformed("list of hashes")))
            .collect::<Result<_, _>>()?;
        Checkpoint::read_unverified(checkpoint)?;
        Ok(Self {
            leaf,
            revealed,
            index,
            proof,
            checkpoint: checkpoint.to_owned(),
        })
    }
}

fn decode_extra(bytes: &[u8]) -> Result<(Vec<u8>, Option<SaltedPayload>), DecodeError> {
    let mut d = Decoder::tagged(bytes, EXTRA_TAG, EXTRA_VERSION)?;
    let leaf = d.bytes("leaf")?.to_vec();
    let revealed = d.option("revealed", |d| {
        Ok(SaltedPayload {
            salt: Salt::from_bytes(d.array("salt")?),
            bytes: d.bytes("payload")?.to_vec(),
        })
    })?;
    d.finish()?;
    Ok((leaf, revealed))
}
