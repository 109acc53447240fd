//! Comparing rows with the log, and what falls due by itself.

use crate::chain::{Chain, Extended};
use crate::{Damage, WardenError, draft};
use memwarden_core::log::{Draft, Records, RowRef, Snapshot};
use memwarden_core::{NamespaceId, RecordId, Replay, StatusChange, Timestamp};
use std::collections::HashSet;

/// How long the payloads of recall entries are kept, in microseconds: 30 days. Their leaves stay.
pub(crate) const RECALL_RETENTION_US: u64 = 30 * 24 * 3_600 * 1_000_000;

/// Compares the whole id set of `snapshot` with the log; what differs replaces what was known.
pub(crate) fn compare_all(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
) -> Result<(), WardenError> {
    let mut rows = Vec::new();
    snapshot.rows(chain.log, 0, &mut |row| rows.push(row))?;
    let replay = chain.replay();
    let mut damage = Vec::new();
    let mut seen = HashSet::with_capacity(rows.len());
    for row in &rows {
        seen.insert(row.id);
        if let Some(what) = difference(&replay, row, snapshot_size) {
            damage.push(what);
        }
    }
    if seen.len() < replay.record_count() || replay.size() != snapshot_size {
        for (record, expected) in replay.expectations() {
            if expected.position < snapshot_size && !seen.contains(record) {
                damage.push(missing(*record, expected.namespace));
            }
        }
    }
    drop(replay);
    chain.set_damage(damage);
    Ok(())
}

/// Checks that what another process wrote has its rows.
pub(crate) fn compare_new(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    extended: &Extended,
) -> Result<(), WardenError> {
    for record in &extended.written {
        if snapshot.find(record)?.is_none() {
            let namespace = chain
                .replay()
                .expectation(record)
                .map(|expected| expected.namespace);
            if let Some(namespace) = namespace {
                chain.add_damage(missing(*record, namespace));
            }
        }
    }
    Ok(())
}

/// The minute's work of the writer: compare every row, and name what must be committed or dropped.
pub(crate) fn due(store: &dyn Records, chain: &Chain, now: Timestamp) -> Vec<Draft> {
    let attempt = || -> Result<Vec<Draft>, WardenError> {
        let mut snapshot = store.snapshot()?;
        let (size, _) = chain.catch_up(&mut *snapshot)?;
        compare_all(chain, &mut *snapshot, size)?;
        let now = now.max(chain.replay().time());
        let before = Timestamp::from_micros(now.as_micros().saturating_sub(RECALL_RETENTION_US));
        let old = snapshot.recall_payloads_before(chain.log, before)?;
        let expired = snapshot.expired(chain.log, now)?;
        drop(snapshot);
        if !old.is_empty() {
            store.drop_payloads(chain.log, &old)?;
        }
        expired
            .into_iter()
            .map(|record| expire(chain, record, now))
            .collect()
    };
    // A sweep that fails is repeated in a minute; recall reports the failure on its own path.
    attempt().unwrap_or_default()
}

fn expire(chain: &Chain, record: RecordId, now: Timestamp) -> Result<Draft, WardenError> {
    draft::status(
        chain,
        None,
        record,
        StatusChange::Expire,
        None,
        None,
        "its time ran out",
        now,
    )
}

fn missing(record: RecordId, namespace: NamespaceId) -> Damage {
    Damage {
        namespace: Some(namespace),
        record,
        what: "its row is missing".to_owned(),
    }
}

fn difference(replay: &Replay, row: &RowRef, snapshot_size: u64) -> Option<Damage> {
    let damage = |namespace, what: &str| Damage {
        namespace,
        record: row.id,
        what: what.to_owned(),
    };
    let Some(expected) = replay.expectation(&row.id) else {
        return (!replay.is_isolated(&row.id))
            .then(|| damage(row.namespace, "it has a row that the log knows nothing of"));
    };
    let namespace = Some(expected.namespace);
    if row.position != expected.position {
        return Some(damage(namespace, "its position in the log was changed"));
    }
    if row.namespace != namespace {
        return Some(damage(namespace, "it was moved to another namespace"));
    }
    if expected.status_position < snapshot_size && row.status != expected.status {
        return Some(damage(namespace, "its status was changed"));
    }
    None
}
