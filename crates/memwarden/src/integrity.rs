//! `ledger verify`: replay everything anew and say what that proves.

use crate::view::View;
use crate::{Damage, Handle, WardenError};
use memwarden_core::log::{SaltedPayload, Tile};
use memwarden_core::{Digest, Leaf, LeafKind, Status, Verified, commitment};
use memwarden_ledger::{Checkpoint, LogVerifier, Rotation, VerifierKey};

/// What a verification is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// A checkpoint held before: nothing since then was changed, dropped or reordered.
    Held {
        /// Whose it is.
        whose: String,
        /// Entries it covers.
        size: u64,
    },
    /// Nothing held before: the log is consistent in itself, no more.
    InternallyConsistent,
}

/// What was checked and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrityReport {
    /// Log entries replayed.
    pub entries: u64,
    /// Full tiles compared.
    pub tiles: u64,
    /// Key rotations checked.
    pub rotations: u64,
    /// Rows compared with the log; whole texts where `deep`.
    pub records: u64,
    /// Payloads of other entries compared; 0 unless `deep`.
    pub payloads: u64,
    /// Whether texts, payloads and search indexes were compared too.
    pub deep: bool,
    /// What differs. Empty means that everything holds.
    pub damage: Vec<Damage>,
    /// Records whose search index entry differs (only `deep`): `memwarden ledger verify --reindex` mends it.
    pub index_differences: Vec<String>,
    /// What the result is relative to.
    pub trust: Trust,
    /// The newest checkpoint.
    pub checkpoint: String,
    /// The verifier key that signed it.
    pub verifier_key: String,
}

impl IntegrityReport {
    /// Whether everything holds.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.damage.is_empty() && self.index_differences.is_empty()
    }
}

impl Handle {
    /// Replays leaves and tiles and checks the newest signature and all rotations; `deep` also hashes every
    /// row and payload and compares the search indexes. `held` is a checkpoint that the caller kept; without
    /// one, the witness's is used.
    ///
    /// # Errors
    /// A log that does not verify at all. Rows that differ are in the report.
    pub fn verify(&self, deep: Depth, held: Option<&str>) -> Result<IntegrityReport, WardenError> {
        let warden = &self.warden;
        let chain = &warden.chain;
        let mut snapshot = warden.store.snapshot()?;
        let row = warden.store.logs()?.into_iter().find(|row| row.id == chain.log);
        let row = row.ok_or_else(|| WardenError::unverified("the log is gone from the store"))?;
        let genesis: VerifierKey = row.verifier_key.parse().map_err(WardenError::unverified)?;
        let seen = warden.witness.newest()?;
        let mut verifier = LogVerifier::new(chain.log, chain.origin.clone(), genesis);
        let trust = match (held, &seen) {
            (Some(note), _) => Some(("the caller".to_owned(), note.to_owned())),
            (None, Some(seen)) => Some(("this machine's witness".to_owned(), seen.checkpoint.clone())),
            (None, None) => None,
        };
        let trust = match trust {
            None => Trust::InternallyConsistent,
            Some((whose, note)) => {
                let checkpoint = Checkpoint::read_unverified(&note).map_err(WardenError::unverified)?;
                let size = checkpoint.size;
                verifier
                    .expect_prefix(checkpoint)
                    .map_err(WardenError::unverified)?;
                Trust::Held { whose, size }
            }
        };
        let head = snapshot.head(chain.log)?;
        let mut failure = None;
        let mut notes: Vec<(u64, LeafKind, Digest)> = Vec::new();
        let keep = deep == Depth::Deep;
        let mut payloads: Vec<(u64, Digest)> = Vec::new();
        snapshot.leaves(chain.log, 0..head.size, &mut |position, bytes| {
            if failure.is_none() {
                failure = verifier.push(bytes).err();
            }
            let kind = Leaf::kind_of(bytes);
            if (keep && kind != Some(LeafKind::Write)) || kind == Some(LeafKind::Key) {
                if let Ok(leaf) = Leaf::decode(bytes) {
                    if leaf.kind == LeafKind::Key {
                        notes.push((position, leaf.kind, leaf.payload));
                    }
                    payloads.push((position, leaf.payload));
                }
            }
            Ok(())
        })?;
        if let Some(error) = failure {
            return Err(WardenError::unverified(error));
        }
        let rotations = crate::registry::rotations(&mut *snapshot, chain.log, &notes)?;
        for Rotation {
            position,
            salt,
            payload,
        } in &rotations
        {
            verifier
                .rotation(*position, salt, payload)
                .map_err(WardenError::unverified)?;
        }
        let mut tiles = 0;
        let mut tile_failure = None;
        snapshot.tiles(chain.log, &mut |tile: &Tile| {
            tiles += 1;
            if tile_failure.is_none() {
                tile_failure = verifier.tile(tile).err();
            }
        })?;
        if let Some(error) = tile_failure {
            return Err(WardenError::unverified(error));
        }
        let checkpoint = head.checkpoint.unwrap_or_default();
        let verified = verifier.finish(&checkpoint).map_err(WardenError::unverified)?;
        drop(snapshot);

        let mut view = View::open(&*warden.store, chain)?;
        let size = view.size;
        crate::sweep::compare_all(chain, &mut *view.snapshot, size)?;
        let mut report = IntegrityReport {
            entries: verified.checkpoint.size,
            tiles,
            rotations: rotations.len() as u64,
            records: chain.replay().record_count() as u64,
            payloads: 0,
            deep: keep,
            damage: chain.damage().clone(),
            index_differences: Vec::new(),
            trust,
            checkpoint,
            verifier_key: verified.key.to_string(),
        };
        if keep {
            deep_check(&mut view, &mut report, &payloads)?;
        }
        Ok(report)
    }
}

/// How much `verify` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Leaves, tiles, signatures, the id set.
    Log,
    /// Also every text, payload and search index.
    Deep,
}

fn deep_check(
    view: &mut View<'_>,
    report: &mut IntegrityReport,
    payloads: &[(u64, Digest)],
) -> Result<(), WardenError> {
    let chain = view.chain;
    let mut rows = Vec::new();
    view.snapshot.rows(chain.log, 0, &mut |row| rows.push(row))?;
    for row in rows {
        let known = chain.replay().expectation(&row.id).cloned();
        let Some(expected) = known.filter(|expected| expected.status != Status::Purged) else {
            continue;
        };
        let Some(stored) = view.snapshot.row(row.row)? else {
            continue;
        };
        if let Err(mismatch) = Verified::check(stored, &expected, view.size) {
            let damage = Damage {
                namespace: Some(expected.namespace),
                record: row.id,
                what: mismatch.to_string(),
            };
            if !report.damage.contains(&damage) {
                report.damage.push(damage.clone());
            }
            chain.add_damage(damage);
        }
    }
    for (position, digest) in payloads {
        // A recall payload past its retention, or destroyed by a purge, is gone on purpose.
        if let Some(SaltedPayload { salt, bytes }) = view.snapshot.payload(chain.log, *position)? {
            report.payloads += 1;
            if commitment(&salt, &bytes) != *digest {
                return Err(WardenError::unverified(format!(
                    "the payload of log entry {position} was changed"
                )));
            }
        }
    }
    for namespace in view.snapshot.namespaces(chain.log)? {
        for row in view.snapshot.index_differences(namespace.id)? {
            let id = view
                .snapshot
                .row(row)?
                .map_or_else(|| format!("row {row}"), |row| row.id.to_string());
            report.index_differences.push(format!("{}: {id}", namespace.name));
        }
    }
    Ok(())
}
