//! The vectors of a store, kept in memory and caught up by place in the log.
//!
//! They are derived from the rows: an index that is thrown away is read anew and answers the same. It holds the
//! vectors of records whatever their status, because a status can change back; which records a view may see is
//! asked of the view. A restored backup is noticed by the last record that was read, which then stands there no
//! longer, and a change outside the log by the watch.

use crate::fault::Fault;
use crate::index::IN_INDEX;
use crate::nearest::{Near, NearestVectors};
use crate::schema::span;
use memwarden_core::VectorPayload;
use memwarden_core::log::{QueryVector, Search};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(feature = "approximate")]
type Looking = crate::approximate::Approximate;
#[cfg(not(feature = "approximate"))]
type Looking = crate::nearest::Exact;

/// The vectors that were read so far.
#[derive(Default)]
pub(crate) struct Vectors(RwLock<Known>);

#[derive(Default)]
struct Known {
    logs: HashMap<i64, Mark>,
    /// By number of the namespace and name of the encoder.
    indexes: HashMap<(i64, String), Box<dyn NearestVectors>>,
    /// Numbers for principals, in the order in which they were met.
    writers: HashMap<[u8; 16], u32>,
    /// Changes outside the log that were known when it was read.
    changes: u64,
}

/// How far a log was read.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The first row number that was not read yet.
    next: i64,
    /// Id and number of the last row that was read.
    last: Option<([u8; 16], i64)>,
}

impl Mark {
    /// Whether another record stands where the last one that was read stood. A view may be older than that one.
    fn is_of_another(&self, conn: &Connection) -> Result<bool, Fault> {
        match self.last {
            Some((id, row)) => Ok(id_at(conn, row)?.is_some_and(|found| found != id)),
            None => Ok(false),
        }
    }
}

impl std::fmt::Debug for Vectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vectors")
            .field("indexes", &self.read().indexes.len())
            .finish_non_exhaustive()
    }
}

/// Where and for what to look.
pub(crate) struct Wanted<'a> {
    pub(crate) log: i64,
    pub(crate) namespace: i64,
    pub(crate) search: &'a Search<'a>,
    pub(crate) vector: QueryVector<'a>,
    pub(crate) limit: usize,
    /// Changes outside the log that the view knows of.
    pub(crate) changes: u64,
}

impl Vectors {
    /// The nearest records that `conn` sees active and that the search does not leave out, best first.
    pub(crate) fn nearest(&self, conn: &Connection, wanted: &Wanted<'_>) -> Result<Vec<Near>, Fault> {
        let mut known = self.read();
        while !known.is_current(conn, wanted)? {
            drop(known);
            self.write().catch_up(conn, wanted)?;
            known = self.read();
        }
        let key = (wanted.namespace, wanted.vector.encoder.to_owned());
        let Some(index) = known.indexes.get(&key) else {
            return Ok(Vec::new());
        };
        // Whoever never wrote has no number, and nothing to be left out.
        let without = wanted.search.without.iter();
        let without: Vec<u32> = without
            .filter_map(|principal| known.writers.get(principal.as_bytes()).copied())
            .collect();
        let mut asked = wanted.limit.saturating_mul(2).saturating_add(16);
        loop {
            let found = index.nearest(wanted.vector.vector, asked, &without);
            let all = found.len() < asked || asked >= index.len();
            let mut near = Vec::with_capacity(wanted.limit);
            let mut far = false;
            for found in found {
                far = found.cosine < wanted.vector.at_least;
                if far || near.len() == wanted.limit {
                    break;
                }
                if is_seen(conn, wanted, found.row)? {
                    near.push(found);
                }
            }
            if all || far || near.len() == wanted.limit {
                index.rerank(wanted.vector.vector, &mut near);
                return Ok(near);
            }
            asked = asked.saturating_mul(4);
        }
    }

    /// Keeps nothing of what was read: some of it was destroyed.
    pub(crate) fn forget(&self) {
        *self.write() = Known::default();
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Whether it holds everything that `conn` sees, and nothing that was read from another file. Changes that
    /// this view does not know of yet are no reason to read again.
    fn is_current(&self, conn: &Connection, wanted: &Wanted<'_>) -> Result<bool, Fault> {
        let Some(mark) = self.logs.get(&wanted.log) else {
            return Ok(false);
        };
        if self.changes < wanted.changes || mark.is_of_another(conn)? {
            return Ok(false);
        }
        let more = conn
            .prepare_cached("SELECT 1 FROM record WHERE num BETWEEN ?1 AND ?2 LIMIT 1")?
            .exists([mark.next, span(wanted.log).1])?;
        Ok(!more)
    }

    /// Reads the rows that were committed since the last time.
    fn catch_up(&mut self, conn: &Connection, wanted: &Wanted<'_>) -> Result<(), Fault> {
        let mark = self.logs.get(&wanted.log).copied();
        let another = mark.map_or(Ok(false), |mark| mark.is_of_another(conn))?;
        if self.changes < wanted.changes || another {
            *self = Self {
                changes: wanted.changes,
                ..Self::default()
            };
        }
        let log = wanted.log;
        let mark = self.logs.entry(log).or_insert(Mark {
            next: span(log).0,
            last: None,
        });
        let mut statement = conn.prepare_cached(
            "SELECT num, id, namespace, vector, principal FROM record WHERE num BETWEEN ?1 AND ?2 ORDER BY num",
        )?;
        let mut rows = statement.query(params![mark.next, span(log).1])?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            mark.next = number + 1;
            // What no version of this code writes has no vector to be found by; reading the record says so.
            let (Ok(id), Ok(namespace), Ok(Some(bytes)), Ok(principal)) = (
                row.get(1),
                row.get(2),
                row.get::<_, Option<Vec<u8>>>(3),
                row.get::<_, [u8; 16]>(4),
            ) else {
                continue;
            };
            mark.last = Some((id, number));
            let Ok(payload) = VectorPayload::decode(&bytes) else {
                continue;
            };
            let next = u32::try_from(self.writers.len()).unwrap_or(u32::MAX);
            let writer = *self.writers.entry(principal).or_insert(next);
            self.indexes
                .entry((namespace, payload.encoder))
                .or_insert_with(|| Box::<Looking>::default())
                .put(number, writer, &payload.embedding);
        }
        Ok(())
    }
}

/// The encoders of the first and of the last vector of a log: one name if they are one.
pub(crate) fn encoders(conn: &Connection, log: i64) -> Result<Vec<String>, Fault> {
    let (from, to) = span(log);
    let mut names = Vec::new();
    for order in ["ASC", "DESC"] {
        let vector: Option<Vec<u8>> = conn
            .prepare_cached(&format!(
                "SELECT vector FROM record WHERE num BETWEEN ?1 AND ?2 AND vector IS NOT NULL ORDER BY num {order} \
                 LIMIT 1"
            ))?
            .query_row([from, to], |row| row.get(0))
            .optional()?;
        // What does not read back is told by whoever reads the record.
        names.extend(vector.and_then(|bytes| Some(VectorPayload::decode(&bytes).ok()?.encoder)));
    }
    names.dedup();
    Ok(names)
}

fn id_at(conn: &Connection, row: i64) -> Result<Option<[u8; 16]>, Fault> {
    Ok(conn
        .prepare_cached("SELECT id FROM record WHERE num = ?1")?
        .query_row([row], |row| row.get(0))
        .optional()?)
}

/// Whether the view sees the record active, and the search does not leave it out.
fn is_seen(conn: &Connection, wanted: &Wanted<'_>, row: i64) -> Result<bool, Fault> {
    let found: Option<(u8, [u8; 16])> = conn
        .prepare_cached(&format!(
            "SELECT kind, principal FROM record WHERE num = ?1 AND namespace = ?2 AND {IN_INDEX}"
        ))?
        .query_row([row, wanted.namespace], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.is_some_and(|(kind, principal)| {
        let without = wanted.search.without;
        wanted.search.kind.is_none_or(|wanted| wanted.code() == kind)
            && without.iter().all(|left_out| *left_out.as_bytes() != principal)
    }))
}
