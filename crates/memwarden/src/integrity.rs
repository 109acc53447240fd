//! `ledger verify`: replay everything anew and say what that proves.

use crate::view::View;
use crate::{Damage, Handle, WardenError, keys};
use memwarden_core::log::{SaltedPayload, StoreError, Tile};
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
        let mut view = View::open(&*warden.store, chain)?;
        let size = view.size;
        let (genesis, epoch) = {
            let row = warden.store.logs()?.into_iter().find(|row| row.id == chain.log);
            let row = row.ok_or_else(|| WardenError::unverified("the log is gone from the store"))?;
            let genesis: VerifierKey = row.verifier_key.parse().map_err(WardenError::unverified)?;
            (genesis, chain.replay().epoch())
        };
        let mut verifier = LogVerifier::new(chain.log, chain.origin.clone(), genesis);
        // A witness that did not see the newest restore speaks of a history that was abandoned.
        let seen = warden.witness.newest()?.filter(|seen| seen.epoch == epoch);
        let trust = match (held, seen) {
            (Some(note), _) => Some(("the caller".to_owned(), note.to_owned())),
            (None, Some(seen)) => Some(("this machine's witness".to_owned(), seen.checkpoint)),
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
        let mut failure = None;
        let mut keys: Vec<(u64, LeafKind, Digest)> = Vec::new();
        let mut payloads: Vec<Leaf> = Vec::new();
        view.snapshot.leaves(chain.log, 0..size, &mut |position, bytes| {
            if failure.is_none() {
                failure = verifier.push(bytes).err();
            }
            if Leaf::kind_of(bytes) != Some(LeafKind::Write)
                && let Ok(leaf) = Leaf::decode(bytes)
            {
                if leaf.kind == LeafKind::Key {
                    keys.push((position, leaf.kind, leaf.payload));
                }
                if deep == Depth::Deep {
                    payloads.push(leaf);
                }
            }
            Ok(())
        })?;
        if let Some(error) = failure {
            return Err(WardenError::unverified(error));
        }
        let rotations = crate::registry::rotations(&mut *view.snapshot, chain.log, &keys)?;
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
        let tiles = check_tiles(&mut view, &mut verifier)?;
        let checkpoint = view.snapshot.head(chain.log)?.checkpoint.unwrap_or_default();
        let verified = verifier.finish(&checkpoint).map_err(WardenError::unverified)?;
        // The first key lies in the store: whoever signs everything anew puts their own there.
        let present = keys::read_signer(&warden.keys, &chain.origin)?;
        if verified.key != *present.verifier() && verified.key != chain.state().key {
            return Err(WardenError::unverified(
                "the checkpoint is signed with another key than the one in the key directory",
            ));
        }

        crate::sweep::compare_all(chain, &mut *view.snapshot, size)?;
        let mut report = IntegrityReport {
            entries: verified.checkpoint.size,
            tiles,
            rotations: rotations.len() as u64,
            records: chain.replay().record_count() as u64,
            payloads: 0,
            deep: deep == Depth::Deep,
            damage: chain.damage().clone(),
            index_differences: Vec::new(),
            trust,
            checkpoint,
            verifier_key: verified.key.to_string(),
        };
        if deep == Depth::Deep {
            check_rows(&mut view, &mut report)?;
            check_payloads(&mut view, &mut report, &payloads)?;
            check_indexes(&mut view, &mut report)?;
        }
        Ok(report)
    }
}

/// Compares every stored tile with the leaves; returns how many there are.
fn check_tiles(view: &mut View<'_>, verifier: &mut LogVerifier) -> Result<u64, WardenError> {
    let mut tiles = 0;
    let mut failure = None;
    view.snapshot.tiles(view.chain.log, &mut |tile: &Tile| {
        tiles += 1;
        if failure.is_none() {
            failure = verifier.tile(tile).err();
        }
    })?;
    if let Some(error) = failure {
        return Err(WardenError::unverified(error));
    }
    match verifier.missing_tiles().next() {
        Some((level, index)) => Err(WardenError::unverified(format!(
            "tile {index} of level {level} is missing"
        ))),
        None => Ok(tiles),
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

/// Hashes every row that is not purged.
fn check_rows(view: &mut View<'_>, report: &mut IntegrityReport) -> Result<(), WardenError> {
    let chain = view.chain;
    let mut rows = Vec::new();
    view.snapshot.rows(chain.log, 0, &mut |row| rows.push(row))?;
    for row in rows {
        let known = chain.replay().expectation(&row.id).cloned();
        let Some(expected) = known.filter(|expected| expected.status != Status::Purged) else {
            continue;
        };
        let what = match view.snapshot.row(row.row) {
            Ok(None) => continue,
            Ok(Some(stored)) => match Verified::check(stored, &expected, view.size) {
                Ok(_) => continue,
                Err(mismatch) => mismatch.to_string(),
            },
            Err(StoreError::Row { reason, .. }) => reason,
            Err(error) => return Err(error.into()),
        };
        let damage = Damage {
            namespace: Some(expected.namespace),
            record: row.id,
            what,
        };
        if !report.damage.iter().any(|found| found.record == row.id) {
            report.damage.push(damage.clone());
        }
        chain.add_damage(damage);
    }
    Ok(())
}

/// Compares what is kept beside the other leaves. Only the payload of a recall may be gone: its retention
/// ends, and a purge destroys the queries that served the record.
fn check_payloads(
    view: &mut View<'_>,
    report: &mut IntegrityReport,
    leaves: &[Leaf],
) -> Result<(), WardenError> {
    for leaf in leaves {
        let problem = match view.snapshot.payload(view.chain.log, leaf.position) {
            Ok(Some(SaltedPayload { salt, bytes })) => {
                report.payloads += 1;
                (commitment(&salt, &bytes) != leaf.payload).then_some("was changed")
            }
            Ok(None) => (leaf.kind != LeafKind::Recall).then_some("is missing"),
            Err(StoreError::Row { .. }) => Some("does not read back"),
            Err(error) => return Err(error.into()),
        };
        let Some(problem) = problem else { continue };
        let what = format!("the payload of log entry {} {problem}", leaf.position);
        match leaf.record {
            // What served records is not concerned: the namespace goes on.
            Some(record) => report.damage.push(Damage {
                namespace: leaf.namespace,
                record,
                what,
            }),
            None => return Err(WardenError::unverified(what)),
        }
    }
    Ok(())
}

fn check_indexes(view: &mut View<'_>, report: &mut IntegrityReport) -> Result<(), WardenError> {
    for namespace in view.snapshot.namespaces(view.chain.log)? {
        let rows = match view.snapshot.index_differences(namespace.id) {
            Ok(rows) => rows,
            // A text that does not read back cannot be compared; its row is among the damage.
            Err(error) if !report.damage.is_empty() => {
                report
                    .index_differences
                    .push(format!("{}: not compared: {error}", namespace.name));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for row in rows {
            let id = match view.snapshot.row(row) {
                Ok(Some(stored)) => stored.id.to_string(),
                Ok(None) | Err(StoreError::Row { .. }) => format!("row {row}"),
                Err(error) => return Err(error.into()),
            };
            report.index_differences.push(format!("{}: {id}", namespace.name));
        }
    }
    Ok(())
}
