//! One consistent view of the file: a read transaction on a connection of its own.

use crate::connection::{self, Purpose};
use crate::fault::{Fault, unreadable};
use crate::row::count;
use crate::schema::{number, position, range, span};
use crate::search::Searcher;
use crate::sqlite::SqliteStore;
use crate::{index, row, vectors};
use memwarden_core::log::{
    Candidate, EachLeaf, Head, NamespaceRow, RowRef, SaltedPayload, Search, Snapshot, StoreError, Tile,
};
use memwarden_core::{
    Kind, LeafKind, LogId, NamespaceId, PrincipalId, RecordId, Salt, Status, StoredRecord, Timestamp,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// A connection that reads, and how many changes outside the log were known when it last did.
#[derive(Debug)]
pub(crate) struct Reader {
    conn: Connection,
    changes: u64,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            conn: connection::open(path, Purpose::Read)?,
            changes: 0,
        })
    }
}

/// A view; gives its connection back when dropped.
pub(crate) struct View<'s> {
    store: &'s SqliteStore,
    reader: Option<Reader>,
    changed: bool,
}

impl<'s> View<'s> {
    /// A view whose connection has not seen every change outside the log yet says that there was one.
    pub(crate) fn begin(store: &'s SqliteStore, mut reader: Reader) -> Result<Self, Fault> {
        reader.conn.prepare_cached("BEGIN")?.execute([])?;
        // The first read fixes what the view sees; only then is the count taken, so that it covers it.
        reader
            .conn
            .prepare_cached("SELECT one FROM store")?
            .query([])?
            .next()?;
        let changes = store.watch().changes()?;
        let changed = reader.changes != changes;
        reader.changes = changes;
        Ok(Self {
            store,
            reader: Some(reader),
            changed,
        })
    }

    fn conn(&self) -> Result<&Connection, Fault> {
        self.reader
            .as_ref()
            .map(|reader| &reader.conn)
            .ok_or_else(|| crate::fault::misuse("the view has ended"))
    }

    fn log(&self, id: LogId) -> Result<i64, Fault> {
        log_number(self.conn()?, id)
    }

    /// Log number and namespace number; `None` if it does not exist.
    fn namespace(&self, id: NamespaceId) -> Result<Option<(i64, i64)>, Fault> {
        Ok(self
            .conn()?
            .prepare_cached("SELECT log, num FROM namespace WHERE id = ?1")?
            .query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    fn read_rows(&self, log: LogId, from: u64, each: &mut dyn FnMut(RowRef)) -> Result<(), Fault> {
        let conn = self.conn()?;
        let log = self.log(log)?;
        let namespaces: HashMap<i64, NamespaceId> = conn
            .prepare_cached("SELECT num, id FROM namespace WHERE log = ?1")?
            .query_map([log], |row| {
                Ok((row.get(0)?, NamespaceId::from_bytes(row.get(1)?)))
            })?
            .collect::<Result<_, _>>()?;
        let places = range(log, from, u64::MAX);
        let mut statement = conn.prepare_cached(
            "SELECT num, id, namespace, status, principal, isolated FROM record
             WHERE num >= ?1 AND num < ?2 ORDER BY num",
        )?;
        let mut rows = statement.query([places.start, places.end])?;
        let mut seen = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            // What no version of this code writes reads as no row.
            let (Ok(id), Ok(namespace), Ok(status), Ok(principal), Ok(isolated)) = (
                row.get(1),
                row.get::<_, i64>(2),
                row.get(3),
                row.get(4),
                row.get(5),
            ) else {
                continue;
            };
            let Some(status) = Status::from_code(status) else {
                continue;
            };
            let id = RecordId::from_bytes(id);
            seen.push((id, number));
            each(RowRef {
                row: number,
                id,
                namespace: namespaces.get(&namespace).copied(),
                position: position(number),
                status,
                principal: PrincipalId::from_bytes(principal),
                isolated,
            });
        }
        if let Some((_, last)) = seen.last() {
            self.store.ids().learn(places.start..last + 1, seen);
        }
        Ok(())
    }

    fn read_payload(&self, log: LogId, position: u64) -> Result<Option<SaltedPayload>, Fault> {
        let number = number(self.log(log)?, position)?;
        self.conn()?
            .prepare_cached("SELECT salt, bytes FROM payload WHERE num = ?1")?
            .query_row([number], |row| {
                Ok(SaltedPayload {
                    salt: Salt::from_bytes(row.get(0)?),
                    bytes: row.get(1)?,
                })
            })
            .optional()
            .map_err(|error| unreadable("payload", number, error))
    }

    fn count_reasoning(&self, namespace: NamespaceId, subject: Option<&str>) -> Result<u64, Fault> {
        let Some((_, namespace)) = self.namespace(namespace)? else {
            return Ok(0);
        };
        const { assert!(Kind::Reasoning.code() == 1) };
        let conn = self.conn()?;
        let found = match subject {
            None => conn
                .prepare_cached(
                    "SELECT count(*) FROM record
                     WHERE namespace = ?1 AND kind = 1 AND status = 0 AND isolated = 0",
                )?
                .query_row([namespace], |row| count(row, 0))?,
            Some(subject) => conn
                .prepare_cached(
                    "SELECT count(*) FROM record
                     WHERE namespace = ?1 AND subject = ?2 AND kind = 1 AND status = 0 AND isolated = 0",
                )?
                .query_row(params![namespace, subject], |row| count(row, 0))?,
        };
        Ok(found)
    }

    fn numbers_with_status(&self, namespace: NamespaceId, status: Status) -> Result<Vec<i64>, Fault> {
        let Some((log, namespace)) = self.namespace(namespace)? else {
            return Ok(Vec::new());
        };
        let conn = self.conn()?;
        let (first, last) = span(log);
        let numbers = if status == Status::Active {
            conn.prepare_cached(
                "SELECT num FROM record
                 WHERE num BETWEEN ?1 AND ?2 AND namespace = ?3 AND status = 0 AND isolated = 0 ORDER BY num",
            )?
            .query_map([first, last, namespace], |row| row.get(0))?
            .collect::<Result<_, _>>()?
        } else {
            conn.prepare_cached(
                "SELECT num FROM record
                 WHERE namespace = ?1 AND status = ?2 AND status <> 0 AND isolated = 0 ORDER BY num",
            )?
            .query_map(params![namespace, status.code()], |row| row.get(0))?
            .collect::<Result<_, _>>()?
        };
        Ok(numbers)
    }

    fn numbers_with_field(&self, namespace: NamespaceId, name: &str, value: &str) -> Result<Vec<i64>, Fault> {
        let Some((_, namespace)) = self.namespace(namespace)? else {
            return Ok(Vec::new());
        };
        let conn = self.conn()?;
        let numbers = conn
            .prepare_cached(
                "SELECT record FROM field WHERE namespace = ?1 AND name = ?2 AND value = ?3 ORDER BY record DESC",
            )?
            .query_map(params![namespace, name, value], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        Ok(numbers)
    }

    fn read_usage(&self, log: LogId) -> Result<Vec<(PrincipalId, u64, u64)>, Fault> {
        let (first, last) = span(self.log(log)?);
        let usage = self
            .conn()?
            .prepare_cached(
                "SELECT principal, sum(octet_length(content)), count(*) FROM record
                 WHERE num BETWEEN ?1 AND ?2 AND status <> 3 GROUP BY principal ORDER BY principal",
            )?
            .query_map([first, last], |row| {
                Ok((
                    PrincipalId::from_bytes(row.get(0)?),
                    count(row, 1)?,
                    count(row, 2)?,
                ))
            })?
            .collect::<Result<_, _>>()?;
        Ok(usage)
    }

    fn read_expired(&self, log: LogId, now: Timestamp) -> Result<Vec<RecordId>, Fault> {
        let (first, last) = span(self.log(log)?);
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        // A time beyond the engine's integers is kept as its bits, which read as negative: far in the future.
        let ids = self
            .conn()?
            .prepare_cached(
                "SELECT id FROM record
                 WHERE valid_until BETWEEN 0 AND ?3 AND valid_until IS NOT NULL AND status = 0 AND isolated = 0
                   AND +num BETWEEN ?1 AND ?2 ORDER BY num",
            )?
            .query_map([first, last, now], |row| Ok(RecordId::from_bytes(row.get(0)?)))?
            .collect::<Result<_, _>>()?;
        Ok(ids)
    }

    fn old_recalls(&self, log: LogId, before: Timestamp) -> Result<Vec<u64>, Fault> {
        let (first, last) = span(self.log(log)?);
        let mut statement = self.conn()?.prepare_cached(
            "SELECT num, kind, time_us FROM payload WHERE num BETWEEN ?1 AND ?2 ORDER BY num",
        )?;
        let mut rows = statement.query([first, last])?;
        let mut positions = Vec::new();
        while let Some(row) = rows.next()? {
            // Times never fall along a log, so the first younger entry ends the search.
            if row.get::<_, i64>(2)?.cast_unsigned() >= before.as_micros() {
                break;
            }
            if row.get::<_, u8>(1)? == LeafKind::Recall.code() {
                positions.push(position(row.get(0)?));
            }
        }
        Ok(positions)
    }
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            // A connection that cannot end its transaction is not used again.
            if reader.conn.execute_batch("COMMIT").is_ok() {
                self.store.give_back(reader);
            }
        }
    }
}

impl Snapshot for View<'_> {
    fn head(&mut self, log: LogId) -> Result<Head, StoreError> {
        let log = self.log(log)?;
        Ok(self
            .conn()?
            .prepare_cached("SELECT size, checkpoint FROM log WHERE num = ?1")
            .and_then(|mut statement| {
                statement.query_row([log], |row| {
                    Ok(Head {
                        size: count(row, 0)?,
                        checkpoint: row.get(1)?,
                    })
                })
            })
            .map_err(Fault::from)?)
    }

    fn changed_outside_the_log(&self) -> bool {
        self.changed
    }

    fn leaves(&mut self, log: LogId, places: Range<u64>, each: &mut EachLeaf<'_>) -> Result<(), StoreError> {
        let numbers = range(self.log(log)?, places.start, places.end);
        let mut statement = self
            .conn()?
            .prepare_cached("SELECT num, bytes FROM leaf WHERE num >= ?1 AND num < ?2 ORDER BY num")
            .map_err(Fault::from)?;
        let mut rows = statement
            .query([numbers.start, numbers.end])
            .map_err(Fault::from)?;
        let mut next = numbers.start;
        while let Some(row) = rows.next().map_err(Fault::from)? {
            let number: i64 = row.get(0).map_err(Fault::from)?;
            if number != next {
                break;
            }
            let bytes = row.get_ref(1).map_err(Fault::from)?;
            let bytes = bytes
                .as_blob()
                .map_err(|error| unreadable("leaf", number, error.into()))?;
            each(position(number), bytes)?;
            next += 1;
        }
        Ok(())
    }

    fn tiles(&mut self, log: LogId, each: &mut dyn FnMut(&Tile)) -> Result<(), StoreError> {
        let log = self.log(log)?;
        let conn = self.conn()?;
        let mut read = || -> Result<(), Fault> {
            let mut statement = conn
                .prepare_cached("SELECT level, idx, hashes FROM tile WHERE log = ?1 ORDER BY level, idx")?;
            let mut rows = statement.query([log])?;
            while let Some(row) = rows.next()? {
                each(&Tile {
                    level: row.get(0)?,
                    index: count(row, 1)?,
                    hashes: row.get(2)?,
                });
            }
            Ok(())
        };
        Ok(read()?)
    }

    fn payload(&mut self, log: LogId, position: u64) -> Result<Option<SaltedPayload>, StoreError> {
        Ok(self.read_payload(log, position)?)
    }

    fn rows(&mut self, log: LogId, from: u64, each: &mut dyn FnMut(RowRef)) -> Result<(), StoreError> {
        Ok(self.read_rows(log, from, each)?)
    }

    fn namespaces(&mut self, log: LogId) -> Result<Vec<NamespaceRow>, StoreError> {
        let log = self.log(log)?;
        Ok(namespaces(self.conn()?, log)?)
    }

    fn encoders(&mut self, log: LogId) -> Result<Vec<String>, StoreError> {
        let log = self.log(log)?;
        Ok(vectors::encoders(self.conn()?, log)?)
    }

    fn candidates(&mut self, search: &Search<'_>) -> Result<Vec<Candidate>, StoreError> {
        match self.namespace(search.namespace)? {
            None => Ok(Vec::new()),
            Some((log, namespace)) => {
                let searcher = Searcher {
                    conn: self.conn()?,
                    vectors: self.store.vectors(),
                    changes: self.reader.as_ref().map_or(0, |reader| reader.changes),
                    log,
                    namespace,
                };
                Ok(searcher.candidates(search)?)
            }
        }
    }

    fn row(&mut self, row: i64) -> Result<Option<StoredRecord>, StoreError> {
        Ok(row::read(self.conn()?, row)?)
    }

    fn find(&mut self, record: &RecordId) -> Result<Option<i64>, StoreError> {
        Ok(self.store.ids().find(self.conn()?, *record)?)
    }

    fn find_origin(&mut self, namespace: NamespaceId, origin_key: &str) -> Result<Option<i64>, StoreError> {
        let Some((_, namespace)) = self.namespace(namespace)? else {
            return Ok(None);
        };
        Ok(self
            .conn()?
            .prepare_cached(
                "SELECT num FROM record
                 WHERE namespace = ?1 AND origin_key = ?2 AND origin_key IS NOT NULL AND status <> 3 AND isolated = 0
                 ORDER BY num LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![namespace, origin_key], |row| row.get(0))
                    .optional()
            })
            .map_err(Fault::from)?)
    }

    fn with_status(&mut self, namespace: NamespaceId, status: Status) -> Result<Vec<i64>, StoreError> {
        Ok(self.numbers_with_status(namespace, status)?)
    }

    fn with_field(
        &mut self,
        namespace: NamespaceId,
        name: &str,
        value: &str,
    ) -> Result<Vec<i64>, StoreError> {
        Ok(self.numbers_with_field(namespace, name, value)?)
    }

    fn reasoning_count(&mut self, namespace: NamespaceId, subject: Option<&str>) -> Result<u64, StoreError> {
        Ok(self.count_reasoning(namespace, subject)?)
    }

    fn usage(&mut self, log: LogId) -> Result<Vec<(PrincipalId, u64, u64)>, StoreError> {
        Ok(self.read_usage(log)?)
    }

    fn expired(&mut self, log: LogId, now: Timestamp) -> Result<Vec<RecordId>, StoreError> {
        Ok(self.read_expired(log, now)?)
    }

    fn recall_payloads_before(&mut self, log: LogId, before: Timestamp) -> Result<Vec<u64>, StoreError> {
        Ok(self.old_recalls(log, before)?)
    }

    fn index_differences(&mut self, namespace: NamespaceId) -> Result<Vec<i64>, StoreError> {
        match self.namespace(namespace)? {
            None => Ok(Vec::new()),
            Some((log, namespace)) => Ok(index::differences(self.conn()?, log, namespace)?),
        }
    }
}

/// The number of a log.
pub(crate) fn log_number(conn: &Connection, id: LogId) -> Result<i64, Fault> {
    conn.prepare_cached("SELECT num FROM log WHERE id = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| crate::fault::misuse(format!("log {id} is not in this store")))
}

/// The namespaces of a log, in the order they were made.
pub(crate) fn namespaces(conn: &Connection, log: i64) -> Result<Vec<NamespaceRow>, Fault> {
    let rows = conn
        .prepare_cached("SELECT id, name, num FROM namespace WHERE log = ?1 ORDER BY num")?
        .query_map([log], |row| {
            Ok(NamespaceRow {
                id: NamespaceId::from_bytes(row.get(0)?),
                name: row.get(1)?,
                number: row.get(2)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(rows)
}
