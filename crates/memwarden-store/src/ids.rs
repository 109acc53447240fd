//! Which row holds a record id, kept in memory.
//!
//! An index over random ids in the file cost more than all other tables together: each of the 64 records of a
//! commit touched a page of its own (17 000 rows/s with it, 28 000 without). The ids are read once with the
//! rows, some 50 bytes of memory a record, and caught up by place in the log.
//!
//! A restored backup is noticed by the last record that was read, which then stands there no longer.
//! An answer is only a hint about where to look: the caller's transaction sees the row there, or none.

use crate::fault::Fault;
use crate::schema::{log_of, span};
use memwarden_core::RecordId;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The rows of all records that were committed up to a place in each log.
#[derive(Debug, Default)]
pub(crate) struct Ids(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    rows: HashMap<RecordId, i64>,
    logs: HashMap<i64, Mark>,
}

/// How far a log was read.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The first row number that was not read yet.
    next: i64,
    /// The last record that was read: while it stands there, nothing before it is another one.
    last: Option<(RecordId, i64)>,
}

impl Mark {
    const fn start(log: i64) -> Self {
        Self {
            next: span(log).0,
            last: None,
        }
    }
}

impl Ids {
    /// The row of a record as `conn` sees it, which must not see rows that are not committed.
    pub(crate) fn find(&self, conn: &Connection, id: RecordId) -> Result<Option<i64>, Fault> {
        if let Some(row) = self.known(id) {
            match id_at(conn, row)? {
                Some(found) if found == id => return Ok(Some(row)),
                // The view is older than the row.
                None => return Ok(None),
                // The file is not the one that was read.
                Some(_) => *self.lock() = Known::default(),
            }
        }
        self.catch_up(conn)?;
        self.known_at(conn, id)
    }

    /// The row of a record among those that [`Ids::catch_up`] read, if `conn` sees it there.
    pub(crate) fn known_at(&self, conn: &Connection, id: RecordId) -> Result<Option<i64>, Fault> {
        match self.known(id) {
            Some(row) if id_at(conn, row)? == Some(id) => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// Reads the rows that were committed since the last time.
    pub(crate) fn catch_up(&self, conn: &Connection) -> Result<(), Fault> {
        let logs: Vec<i64> = conn
            .prepare_cached("SELECT num FROM log")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut statement =
            conn.prepare_cached("SELECT num, id FROM record WHERE num BETWEEN ?1 AND ?2 ORDER BY num")?;
        let mut known = self.lock();
        for mark in known.logs.values() {
            if let Some((id, row)) = mark.last
                && id_at(conn, row)? != Some(id)
            {
                // A backup took the place of the file, or this view is older than what was read.
                *known = Known::default();
                break;
            }
        }
        let Known { rows, logs: marks } = &mut *known;
        for log in logs {
            let mark = marks.entry(log).or_insert(Mark::start(log));
            let mut found = statement.query(params![mark.next, span(log).1])?;
            while let Some(row) = found.next()? {
                let number: i64 = row.get(0)?;
                mark.next = number + 1;
                // A row whose id does not read back has none to be found by.
                if let Ok(id) = row.get(1) {
                    let id = RecordId::from_bytes(id);
                    mark.last = Some((id, number));
                    rows.insert(id, number);
                }
            }
        }
        Ok(())
    }

    /// Takes over the records at row numbers `places` of one log, in order: all that there are, and committed.
    pub(crate) fn learn(&self, places: Range<i64>, records: impl IntoIterator<Item = (RecordId, i64)>) {
        let log = log_of(places.start);
        let mut known = self.lock();
        let Known { rows, logs } = &mut *known;
        let mark = logs.entry(log).or_insert(Mark::start(log));
        if (places.start..places.end).contains(&mark.next) {
            for (id, row) in records {
                rows.insert(id, row);
                mark.last = Some((id, row));
            }
            mark.next = places.end;
        }
    }

    fn known(&self, id: RecordId) -> Option<i64> {
        self.lock().rows.get(&id).copied()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn id_at(conn: &Connection, row: i64) -> Result<Option<RecordId>, Fault> {
    Ok(conn
        .prepare_cached("SELECT id FROM record WHERE num = ?1")?
        .query_row([row], |row| row.get(0))
        .optional()?
        .map(RecordId::from_bytes))
}
