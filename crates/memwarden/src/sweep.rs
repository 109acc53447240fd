//! Comparing rows with the log, and what falls due by itself.

use crate::chain::{Chain, Extended};
use crate::view::{View, checks_enabled};
use crate::{Damage, WardenError, draft};
use memwarden_core::log::{Draft, Records, RowRef, Snapshot, StoreError};
use memwarden_core::{
    NamespaceId, RecordId, Replay, Status, StatusChange, StoredRecord, Timestamp, Verified,
};
use std::collections::{HashMap, HashSet};

/// How long the payloads of recall entries are kept, in microseconds: 30 days. Their leaves stay.
pub(crate) const RECALL_RETENTION_US: u64 = 30 * 24 * 3_600 * 1_000_000;

/// What is said of a namespace that its records do not bear out.
pub(crate) const RENAMED: &str = "its namespace was renamed or its place in the table was changed";

/// Compares the whole id set of `snapshot` with the log; what differs replaces what was known.
pub(crate) fn compare_all(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
) -> Result<(), WardenError> {
    let mut rows = Vec::new();
    snapshot.rows(chain.log, 0, &mut |row| rows.push(row))?;
    let mut damage = Vec::new();
    {
        let replay = chain.replay();
        let mut seen = HashSet::with_capacity(rows.len());
        for row in &rows {
            seen.insert(row.id);
            if let Some(what) = difference(&replay, row, snapshot_size) {
                damage.push(what);
            }
        }
        if seen.len() < replay.record_count() || !damage.is_empty() || replay.size() != snapshot_size {
            for (record, expected) in replay.expectations() {
                if expected.position < snapshot_size && !seen.contains(record) {
                    damage.push(missing(*record, expected.namespace));
                }
            }
        }
    }
    compare_names(chain, snapshot, snapshot_size, &rows, &mut damage)?;
    still_damaged(chain, snapshot, snapshot_size, &mut damage)?;
    chain.set_damage(damage);
    Ok(())
}

/// Checks what another process wrote: that it has its rows, and that nothing else came with it.
pub(crate) fn compare_new(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
    extended: &Extended,
) -> Result<(), WardenError> {
    let positions: HashMap<RecordId, (u64, NamespaceId)> = {
        let replay = chain.replay();
        let known = |(record, _): &(RecordId, _)| {
            let expected = replay.expectation(record)?;
            Some((*record, (expected.position, expected.namespace)))
        };
        extended.written.iter().filter_map(known).collect()
    };
    let Some(from) = positions.values().map(|(position, _)| *position).min() else {
        return Ok(());
    };
    let mut rows = Vec::new();
    snapshot.rows(chain.log, from, &mut |row| rows.push(row))?;
    let mut damage: Vec<Damage> = {
        let replay = chain.replay();
        rows.iter()
            .filter_map(|row| difference(&replay, row, snapshot_size))
            .collect()
    };
    let seen: HashSet<RecordId> = rows.iter().map(|row| row.id).collect();
    for (record, (_, namespace)) in &positions {
        if !seen.contains(record) {
            damage.push(missing(*record, *namespace));
        }
    }
    for row in &rows {
        if row
            .namespace
            .is_some_and(|namespace| chain.name_of(&namespace).is_none())
        {
            prove_name(chain, snapshot, snapshot_size, row)?;
        }
    }
    for found in damage {
        chain.add_damage(found);
    }
    Ok(())
}

/// Checks that every namespace with records is still found under the name that its records commit to.
fn compare_names(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
    rows: &[RowRef],
    damage: &mut Vec<Damage>,
) -> Result<(), WardenError> {
    let mut oldest: HashMap<NamespaceId, (u64, RecordId)> = HashMap::new();
    for (record, expected) in chain.replay().expectations() {
        if expected.status != Status::Purged && expected.position < snapshot_size {
            let first = oldest
                .entry(expected.namespace)
                .or_insert((expected.position, *record));
            *first = (*first).min((expected.position, *record));
        }
    }
    let names: HashMap<NamespaceId, String> = snapshot
        .namespaces(chain.log)?
        .into_iter()
        .map(|row| (row.id, row.name))
        .collect();
    let mut unproven: HashSet<NamespaceId> = oldest
        .keys()
        .filter(|namespace| chain.name_of(namespace).is_none())
        .copied()
        .collect();
    for row in rows {
        if let Some(namespace) = row.namespace
            && unproven.contains(&namespace)
            && prove_name(chain, snapshot, snapshot_size, row)?
        {
            unproven.remove(&namespace);
        }
    }
    for (namespace, (_, record)) in oldest {
        let proven = chain.name_of(&namespace);
        if proven.is_none() || proven.as_ref() != names.get(&namespace) {
            damage.push(Damage {
                namespace: Some(namespace),
                record,
                what: RENAMED.to_owned(),
            });
        }
    }
    Ok(())
}

/// Whether the commitment of a row bears out the name of its namespace, which is then remembered.
fn prove_name(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
    row: &RowRef,
) -> Result<bool, WardenError> {
    let Some(expected) = chain.replay().expectation(&row.id).cloned() else {
        return Ok(false);
    };
    let Some(stored) = readable(snapshot.row(row.row))? else {
        return Ok(false);
    };
    let checked = Verified::check(stored, &expected, snapshot_size);
    if let Ok(record) = &checked {
        chain.learn_name(expected.namespace, &record.get().namespace);
    }
    Ok(checked.is_ok())
}

/// Keeps what a hash found earlier and what does not hold yet.
fn still_damaged(
    chain: &Chain,
    snapshot: &mut dyn Snapshot,
    snapshot_size: u64,
    damage: &mut Vec<Damage>,
) -> Result<(), WardenError> {
    let before = chain.damage().clone();
    for known in before {
        let expected = chain.replay().expectation(&known.record).cloned();
        let Some(expected) = expected.filter(|expected| expected.status != Status::Purged) else {
            continue;
        };
        if damage.iter().any(|found| found.record == known.record) {
            continue;
        }
        let row = snapshot.find(&known.record)?;
        let stored = row.map(|row| readable(snapshot.row(row))).transpose()?.flatten();
        let holds = stored.is_some_and(|stored| Verified::check(stored, &expected, snapshot_size).is_ok());
        if !holds {
            damage.push(known);
        }
    }
    Ok(())
}

/// A row, or none where it does not read back.
fn readable(row: Result<Option<StoredRecord>, StoreError>) -> Result<Option<StoredRecord>, StoreError> {
    match row {
        Err(StoreError::Row { .. }) => Ok(None),
        other => other,
    }
}

/// The minute's work of the writer: compare every row, and name what must be committed or dropped.
pub(crate) fn due(store: &dyn Records, chain: &Chain, now: Timestamp) -> Result<Vec<Draft>, WardenError> {
    let mut view = View::open(store, chain)?;
    let size = view.size;
    if checks_enabled() {
        compare_all(chain, &mut *view.snapshot, size)?;
    }
    let now = now.max(chain.replay().time());
    let before = Timestamp::from_micros(now.as_micros().saturating_sub(RECALL_RETENTION_US));
    let old = view.snapshot.recall_payloads_before(chain.log, before)?;
    let mut drafts = Vec::new();
    for record in view.snapshot.expired(chain.log, now)? {
        // The column only proposes: a record whose end was brought forward behind our back is not retired.
        let ended = match view.find(&record) {
            Ok(found) => {
                let record = found.into_inner();
                record.status == Status::Active && record.entry.valid_until.is_some_and(|end| end <= now)
            }
            Err(error) if error.is_integrity() => false,
            Err(WardenError::NotFound { .. } | WardenError::Purged { .. }) => false,
            Err(error) => return Err(error),
        };
        if ended {
            drafts.push(expire(chain, record, now)?);
        }
    }
    drop(view);
    if !old.is_empty() {
        store.drop_payloads(chain.log, &old)?;
    }
    Ok(drafts)
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
    if row.principal != expected.principal {
        return Some(damage(namespace, "its writer was changed"));
    }
    if row.isolated {
        return Some(damage(
            namespace,
            "it was taken out of the index though nobody isolated it",
        ));
    }
    None
}
