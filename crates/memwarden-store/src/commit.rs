//! The one way that a log grows: read the tail, let it be sealed, write what was sealed.

use crate::apply::Tables;
use crate::fault::{Fault, misuse};
use crate::ids::Ids;
use crate::row::count;
use crate::schema::{number, range};
use crate::transaction::Writer;
use crate::vectors::Vectors;
use crate::watch::Watch;
use memwarden_core::LogId;
use memwarden_core::log::{Body, Committed, Draft, LogTail, Placed, Sealed, Sealer};
use rusqlite::{Connection, OptionalExtension as _, params};

/// Commits what `sealer` accepts of `drafts` in one transaction.
///
/// When it accepts nothing and the log has a checkpoint, nothing is written.
pub(crate) fn commit(
    writer: &Writer,
    ids: &Ids,
    watch: &Watch,
    vectors: &Vectors,
    id: LogId,
    drafts: &[Draft],
    sealer: &mut dyn Sealer,
) -> Result<Committed, Fault> {
    let conn = &writer.conn;
    let erases = drafts.iter().any(|draft| matches!(draft.body, Body::Purge(_)));
    if erases {
        conn.execute_batch("PRAGMA secure_delete = ON")?;
    }
    let outcome = attempt(writer, ids, watch, id, drafts, sealer);
    if erases {
        vectors.forget();
        conn.execute_batch("PRAGMA secure_delete = OFF")?;
    }
    outcome
}

fn attempt(
    writer: &Writer,
    ids: &Ids,
    watch: &Watch,
    id: LogId,
    drafts: &[Draft],
    sealer: &mut dyn Sealer,
) -> Result<Committed, Fault> {
    let conn = &writer.conn;
    let by_id = drafts
        .iter()
        .any(|draft| !matches!(draft.body, Body::Record(_) | Body::Note(_)));
    if by_id {
        // Most of the reading is done before the write lock is taken.
        ids.catch_up(conn)?;
    }
    let transaction = writer.begin_commit()?;
    if by_id {
        ids.catch_up(conn)?;
    }
    // Nobody else writes from here on: what changed since the last look was not this commit.
    watch.changes()?;
    let (log, tail) = tail(conn, id, sealer.seen())?;
    let sealed = sealer.seal(&tail, drafts)?;
    if sealed.outcomes.len() != drafts.len() {
        return Err(misuse(format!(
            "{} outcomes were sealed for {} drafts",
            sealed.outcomes.len(),
            drafts.len()
        )));
    }
    match tail.checkpoint {
        Some(checkpoint) if sealed.size == tail.size => Ok(committed(sealed, checkpoint)),
        _ => {
            let mut tables = Tables::new(conn, log, ids);
            write(conn, log, &mut tables, drafts, &sealed)?;
            transaction.commit()?;
            // It is durable, whether or not the look succeeds; a look that fails is repeated by the next view.
            let _ = watch.changes();
            ids.learn(range(log, tail.size, sealed.size), tables.into_written());
            let checkpoint = sealed.checkpoint.clone();
            Ok(committed(sealed, checkpoint))
        }
    }
}

fn tail(conn: &Connection, id: LogId, seen: u64) -> Result<(i64, LogTail), Fault> {
    let (log, size, checkpoint) = conn
        .prepare_cached("SELECT num, size, checkpoint FROM log WHERE id = ?1")?
        .query_row([id.as_bytes()], |row| {
            Ok((row.get(0)?, count(row, 1)?, row.get(2)?))
        })
        .optional()?
        .ok_or_else(|| misuse(format!("log {id} is not in this store")))?;
    let (mut unseen, mut unseen_bytes) = (Vec::new(), Vec::new());
    if seen < size {
        let places = range(log, seen, size);
        let mut statement = conn.prepare_cached(
            "SELECT leaf.bytes, coalesce(octet_length(record.content), 0)
             FROM leaf LEFT JOIN record ON record.num = leaf.num
             WHERE leaf.num >= ?1 AND leaf.num < ?2 ORDER BY leaf.num",
        )?;
        let mut rows = statement.query([places.start, places.end])?;
        while let Some(row) = rows.next()? {
            unseen.push(row.get(0)?);
            unseen_bytes.push(count(row, 1)?);
        }
    }
    Ok((
        log,
        LogTail {
            log: id,
            size,
            checkpoint,
            unseen,
            unseen_bytes,
        },
    ))
}

fn write(
    conn: &Connection,
    log: i64,
    tables: &mut Tables<'_>,
    drafts: &[Draft],
    sealed: &Sealed,
) -> Result<(), Fault> {
    for (draft, outcome) in drafts.iter().zip(&sealed.outcomes) {
        let Ok(leaf) = outcome else { continue };
        let row = number(log, leaf.position)?;
        conn.prepare_cached("INSERT INTO leaf (num, bytes) VALUES (?1, ?2)")?
            .execute(params![row, leaf.bytes])?;
        tables.apply(row, draft, leaf)?;
    }
    for tile in &sealed.tiles {
        conn.prepare_cached("INSERT OR REPLACE INTO tile (log, level, idx, hashes) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![log, tile.level, tile.index.cast_signed(), tile.hashes])?;
    }
    conn.prepare_cached("UPDATE log SET size = ?2, checkpoint = ?3 WHERE num = ?1")?
        .execute(params![log, sealed.size.cast_signed(), sealed.checkpoint])?;
    Ok(())
}

fn committed(sealed: Sealed, checkpoint: String) -> Committed {
    Committed {
        outcomes: sealed
            .outcomes
            .into_iter()
            .map(|outcome| {
                outcome.map(|leaf| Placed {
                    position: leaf.position,
                    time: leaf.time,
                })
            })
            .collect(),
        size: sealed.size,
        checkpoint,
    }
}
