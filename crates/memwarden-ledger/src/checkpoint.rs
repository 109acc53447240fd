//! C2SP tlog-checkpoint: what a log says it holds, in three lines, signed as a note.
//!
//! Extension lines, which the C2SP text discourages, are refused: a reader of this version would drop them.

use crate::encoding::{decimal, digest_from_base64, to_base64};
use crate::key::{SignerKey, VerifierKey};
use crate::note::{NoteError, open_note, seal, split_note};
use memwarden_core::{Digest, LogId, StoreId};

const ORIGIN_PREFIX: &str = "memwarden";

/// The origin line of a log, also the name of its key: `memwarden/<store id>/<log id>`.
///
/// ```
/// use memwarden_core::{LogId, StoreId};
/// let origin = memwarden_ledger::origin(StoreId::from_bytes([1; 16]), LogId::from_bytes([2; 16]));
/// assert_eq!(origin, "memwarden/01010101010101010101010101010101/02020202020202020202020202020202");
/// ```
#[must_use]
pub fn origin(store: StoreId, log: LogId) -> String {
    format!("{ORIGIN_PREFIX}/{store}/{log}")
}

/// The ids in an origin line; `None` for a line that [`origin`] does not write.
#[must_use]
pub fn parse_origin(origin: &str) -> Option<(StoreId, LogId)> {
    let (store, log) = origin
        .strip_prefix(ORIGIN_PREFIX)?
        .strip_prefix('/')?
        .split_once('/')?;
    Some((store.parse().ok()?, log.parse().ok()?))
}

/// A checkpoint was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The note around it.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A text that is not a checkpoint.
    #[error("not a checkpoint: its {line} is not valid")]
    Malformed {
        /// Which part.
        line: &'static str,
    },
    /// A checkpoint of another log.
    #[error("checkpoint of `{given}`: expected one of `{expected}`")]
    Origin {
        /// The origin in the text.
        given: String,
        /// The origin that was asked for.
        expected: String,
    },
}

/// The size and root of a log.
///
/// ```
/// use memwarden_core::Digest;
/// use memwarden_ledger::{Checkpoint, SignerKey};
/// let signer = SignerKey::from_seed("example.com/log", &[7; 32])?;
/// let checkpoint = Checkpoint { origin: "example.com/log".into(), size: 0, root: Digest::of(b"") };
/// let note = checkpoint.sign(&signer);
/// assert_eq!(Checkpoint::open(&note, "example.com/log", &[signer.verifier().clone()])?, checkpoint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: not empty, one line.
    pub origin: String,
    /// Leaves.
    pub size: u64,
    /// RFC 6962 root over them.
    pub root: Digest,
}

impl Checkpoint {
    /// Origin, size and base64 root, one line each.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { origin, size, root } = self;
        format!("{origin}\n{size}\n{}\n", to_base64(root.as_bytes()))
    }

    /// Reads what [`Checkpoint::to_text`] writes.
    ///
    /// # Errors
    /// [`CheckpointError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let malformed = |line| CheckpointError::Malformed { line };
        let body = text.strip_suffix('\n').ok_or(malformed("end"))?;
        let mut lines = body.split('\n');
        let origin = lines
            .next()
            .filter(|line| !line.is_empty())
            .ok_or(malformed("origin line"))?;
        let size = lines.next().and_then(decimal).ok_or(malformed("size line"))?;
        let root = lines
            .next()
            .and_then(digest_from_base64)
            .ok_or(malformed("root line"))?;
        if lines.next().is_some() {
            return Err(malformed("fourth line, which this version does not know,"));
        }
        Ok(Self {
            origin: origin.to_owned(),
            size,
            root,
        })
    }

    /// The signed note. The key's name MUST be the origin: [`Checkpoint::open`] accepts no other key.
    #[must_use]
    pub fn sign(&self, signer: &SignerKey) -> String {
        seal(&self.to_text(), signer)
    }

    /// Reads a signed checkpoint of the log `origin`. Of `keys`, only those whose name is `origin` count,
    /// so a witness's signature alone is never taken for the log's.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn open(note: &str, origin: &str, keys: &[VerifierKey]) -> Result<Self, CheckpointError> {
        let own: Vec<_> = keys.iter().filter(|key| key.name() == origin).cloned().collect();
        let checkpoint = Self::parse(open_note(note, &own)?)?;
        if checkpoint.origin != origin {
            return Err(CheckpointError::Origin {
                given: checkpoint.origin,
                expected: origin.to_owned(),
            });
        }
        Ok(checkpoint)
    }

    /// What a note says, **with no signature checked**: to learn the origin or the size before the key is
    /// known.
    ///
    /// # Errors
    /// [`CheckpointError`].
    pub fn read_unverified(note: &str) -> Result<Self, CheckpointError> {
        Self::parse(split_note(note)?.0)
    }
}
