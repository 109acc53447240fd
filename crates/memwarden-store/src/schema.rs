//! The tables, and the numbers that name their rows.
//!
//! A row number of `leaf`, `record` and `payload` is `log number × 2^40 + position`: the place in the log is
//! the primary key, so that no second index has to be written in a commit and a range of a log is a range of
//! rows. The columns `log` and `position` of these tables are computed, for people who open the file.

use crate::fault::{Fault, misuse};

/// The database file's name within the store's directory.
pub const DATABASE_FILE: &str = "memwarden.db";
/// `PRAGMA application_id` of a store: "mwdn".
pub const APPLICATION_ID: i32 = 0x6d77_646e;
/// `PRAGMA user_version` of the tables that this code reads and writes.
pub const SCHEMA_VERSION: i32 = 2;

const POSITION_BITS: u32 = 40;
const POSITION_MASK: i64 = (1 << POSITION_BITS) - 1;
const MAX_LOG: i64 = (1 << (63 - POSITION_BITS)) - 1;

/// Everything but the search indexes, of which each namespace has its own (see [`crate::index`]).
///
/// An ordinary write touches no index: the partial ones hold only records that are reasoning, expire, were
/// imported, or are not active. Ids are found by [`crate::ids`]; that none is used twice, the sealer sees to.
pub(crate) const TABLES: &str = "
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id BLOB NOT NULL CHECK (length(id) = 16)
) STRICT;
CREATE TABLE log (
  num INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  tenant TEXT NOT NULL UNIQUE,
  verifier_key TEXT NOT NULL,
  size INTEGER NOT NULL DEFAULT 0,
  checkpoint TEXT
) STRICT;
CREATE TABLE leaf (
  num INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL,
  log INTEGER AS (num >> 40) VIRTUAL,
  position INTEGER AS (num & 1099511627775) VIRTUAL
) STRICT;
CREATE TABLE tile (
  log INTEGER NOT NULL,
  level INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  PRIMARY KEY (log, level, idx)
) STRICT, WITHOUT ROWID;
CREATE TABLE namespace (
  num INTEGER PRIMARY KEY,
  log INTEGER NOT NULL,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  name TEXT NOT NULL,
  UNIQUE (log, name)
) STRICT;
CREATE TABLE record (
  num INTEGER PRIMARY KEY,
  id BLOB NOT NULL CHECK (length(id) = 16),
  namespace INTEGER NOT NULL,
  status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 3),
  isolated INTEGER NOT NULL DEFAULT 0 CHECK (isolated IN (0, 1)),
  kind INTEGER NOT NULL,
  trace_type INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  principal BLOB NOT NULL CHECK (length(principal) = 16),
  valid_until INTEGER,
  salt BLOB,
  findings_salt BLOB,
  findings BLOB,
  subject TEXT,
  source TEXT,
  trust TEXT,
  origin_key TEXT,
  fields BLOB,
  metadata TEXT,
  vector BLOB,
  content TEXT NOT NULL,
  log INTEGER AS (num >> 40) VIRTUAL,
  position INTEGER AS (num & 1099511627775) VIRTUAL
) STRICT;
CREATE INDEX record_status ON record (namespace, status) WHERE status <> 0;
CREATE INDEX record_reasoning ON record (namespace, subject) WHERE kind = 1 AND status = 0 AND isolated = 0;
CREATE INDEX record_expiry ON record (valid_until) WHERE valid_until IS NOT NULL AND status = 0;
CREATE INDEX record_origin ON record (namespace, origin_key) WHERE origin_key IS NOT NULL;
CREATE TABLE field (
  namespace INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  record INTEGER NOT NULL,
  PRIMARY KEY (namespace, name, value, record)
) STRICT, WITHOUT ROWID;
CREATE TABLE payload (
  num INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  salt BLOB NOT NULL,
  bytes BLOB NOT NULL,
  log INTEGER AS (num >> 40) VIRTUAL,
  position INTEGER AS (num & 1099511627775) VIRTUAL
) STRICT;
";

/// The row number of a place in a log.
pub(crate) fn number(log: i64, position: u64) -> Result<i64, Fault> {
    match i64::try_from(position) {
        Ok(position) if position <= POSITION_MASK && (0..=MAX_LOG).contains(&log) => {
            Ok((log << POSITION_BITS) | position)
        }
        _ => Err(misuse(format!(
            "log {log} position {position} is beyond what a store can hold"
        ))),
    }
}

/// The first and the last row number of a log.
pub(crate) const fn span(log: i64) -> (i64, i64) {
    (log << POSITION_BITS, (log << POSITION_BITS) | POSITION_MASK)
}

/// The row numbers of positions `from..to` of a log, both clamped to what it can hold.
pub(crate) fn range(log: i64, from: u64, to: u64) -> std::ops::Range<i64> {
    let (first, _) = span(log);
    let place = |position: u64| i64::try_from(position).unwrap_or(i64::MAX).min(POSITION_MASK + 1);
    first + place(from)..first.saturating_add(place(to))
}

/// The place in its log that a row number stands for.
pub(crate) const fn position(number: i64) -> u64 {
    (number & POSITION_MASK).cast_unsigned()
}

/// The log that a row number belongs to.
pub(crate) const fn log_of(number: i64) -> i64 {
    number >> POSITION_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_number_names_one_place_of_one_log(log in 0..=MAX_LOG, at in 0..=POSITION_MASK.cast_unsigned()) {
            let number = number(log, at).unwrap();
            prop_assert_eq!((log_of(number), position(number)), (log, at));
            let (first, last) = span(log);
            prop_assert!(first <= number && number <= last);
            prop_assert_eq!(range(log, at, u64::MAX).start, number);
            prop_assert!(range(log, 0, u64::MAX).end > last || log == MAX_LOG);
        }
    }

    #[test]
    fn a_place_beyond_the_numbers_is_refused() {
        assert!(number(1, POSITION_MASK.cast_unsigned() + 1).is_err());
        assert!(number(MAX_LOG + 1, 0).is_err());
        assert!(number(-1, 0).is_err());
    }
}
