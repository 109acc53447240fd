//! What leaves the store so that others can verify: checkpoints, proofs, exports.

use crate::view::View;
use crate::{Handle, WardenError};
use memwarden_core::log::SaltedPayload;
use memwarden_core::{Digest, Leaf, LeafKind, RecordId, RecordPayload, leaf_hash};
use memwarden_ledger::{ExportError, ProofFile, VerifierKey, consistency_proof, export, inclusion_proof};
use std::path::Path;

/// Whether a proof carries the record's text or only its commitment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// The commitment only: proves that, when and by whom, not what.
    Commitment,
    /// Text and salt too: the holder can check the words.
    Text,
}

impl Handle {
    /// The newest signed checkpoint. Hold it: a later verification against it proves that nothing was
    /// changed since.
    ///
    /// # Errors
    /// A store that fails.
    pub fn checkpoint(&self) -> Result<String, WardenError> {
        self.warden.flush()?;
        drop(self.warden.view()?);
        Ok(self.warden.chain.state().checkpoint.clone().unwrap_or_default())
    }

    /// The verifier key of the newest checkpoint.
    #[must_use]
    pub fn verifier_key(&self) -> String {
        self.warden.chain.state().key.to_string()
    }

    /// A proof file (C2SP tlog-proof) that `record` was written as the log says.
    ///
    /// # Errors
    /// No such record; a purged one cannot be revealed.
    pub fn prove(&self, record: RecordId, reveal: Reveal) -> Result<String, WardenError> {
        self.warden.flush()?;
        let mut view = self.warden.view()?;
        let chain = &self.warden.chain;
        let position = {
            let replay = chain.replay();
            replay
                .expectation(&record)
                .ok_or(WardenError::NotFound { record })?
                .position
        };
        let payload = match reveal {
            Reveal::Commitment => None,
            Reveal::Text => {
                let checked = view.find(&record)?.into_inner();
                let row = view
                    .snapshot
                    .find(&record)?
                    .ok_or(WardenError::NotFound { record })?;
                let stored = view.snapshot.row(row)?.ok_or(WardenError::NotFound { record })?;
                let bytes = RecordPayload::encode(&checked.namespace, &checked.entry, checked.verdict);
                stored.salt.map(|salt| SaltedPayload { salt, bytes })
            }
        };
        let size = view.size;
        let (hashes, leaf) = hashes(&mut view, size, Some(position))?;
        let proof = inclusion_proof(&hashes, position, view.size).map_err(WardenError::unverified)?;
        let checkpoint = view.snapshot.head(chain.log)?.checkpoint.unwrap_or_default();
        let leaf = leaf.unwrap_or_default();
        Ok(ProofFile {
            leaf,
            revealed: payload,
            index: position,
            proof,
            checkpoint,
        }
        .to_string())
    }

    /// A consistency proof from a tree of `old` entries to the newest, for a witness.
    ///
    /// # Errors
    /// A size that the log never had.
    pub fn consistency_from(&self, old: u64) -> Result<Vec<Digest>, WardenError> {
        let mut view = self.warden.view()?;
        let size = view.size;
        let (hashes, _) = hashes(&mut view, size, None)?;
        consistency_proof(&hashes, old, size).map_err(|error| WardenError::BadInput {
            field: "size",
            given: old.to_string(),
            expected: error.to_string(),
        })
    }

    /// Writes the log as static files (C2SP tlog-tiles) into a new directory: no text, only leaves.
    ///
    /// # Errors
    /// A directory that exists or cannot be written.
    pub fn export(&self, to: &Path) -> Result<u64, WardenError> {
        self.warden.flush()?;
        let chain = &self.warden.chain;
        std::fs::create_dir(to).map_err(|error| WardenError::file(to, &error))?;
        let mut view = self.warden.view()?;
        let mut leaves = Vec::new();
        let mut notes = Vec::new();
        let size = view.size;
        view.snapshot.leaves(chain.log, 0..size, &mut |position, bytes| {
            if Leaf::kind_of(bytes) == Some(LeafKind::Key)
                && let Ok(leaf) = Leaf::decode(bytes)
            {
                notes.push((position, leaf.kind, leaf.payload));
            }
            leaves.push(bytes.to_vec());
            Ok(())
        })?;
        let rotations = crate::registry::rotations(&mut *view.snapshot, chain.log, &notes)?;
        let row = self
            .warden
            .store
            .logs()?
            .into_iter()
            .find(|row| row.id == chain.log);
        let row = row.ok_or_else(|| WardenError::unverified("the log is gone from the store"))?;
        let checkpoint = view.snapshot.head(chain.log)?.checkpoint.unwrap_or_default();
        let genesis: VerifierKey = row.verifier_key.parse().map_err(WardenError::unverified)?;
        let written = export(leaves, &checkpoint, &genesis, &rotations, &mut |path, bytes| {
            let path = to.join(path);
            let parent = path.parent().unwrap_or(to);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, bytes))
                .map_err(|error| WardenError::file(&path, &error))
        });
        written.map_err(|error| match error {
            ExportError::Write(error) => error,
            other => WardenError::unverified(other),
        })?;
        Ok(size)
    }
}

/// The hashes of all leaves, and the bytes of the one at `wanted`.
fn hashes(
    view: &mut View<'_>,
    size: u64,
    wanted: Option<u64>,
) -> Result<(Vec<Digest>, Option<Vec<u8>>), WardenError> {
    let mut hashes = Vec::new();
    let mut leaf = None;
    view.snapshot
        .leaves(view.chain.log, 0..size, &mut |position, bytes| {
            hashes.push(leaf_hash(bytes));
            if Some(position) == wanted {
                leaf = Some(bytes.to_vec());
            }
            Ok(())
        })?;
    Ok((hashes, leaf))
}
