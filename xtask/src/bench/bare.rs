//! The other side: a loop over bare SQLite that keeps the same row and the same search index, and nothing else.
//!
//! No screening, no log, no signature, no witness, no answer to another thread. Journal mode, durability, cache
//! size and tokenizer are those of the store.

use super::{RECORDS, WRITERS};
use crate::random::SplitMix64;
use crate::text::Texts;
use miette::{IntoDiagnostic as _, Result};
use rusqlite::{Connection, params};
use std::path::Path;

/// A bare database.
#[derive(Debug)]
pub(super) struct Bare {
    conn: Connection,
    random: SplitMix64,
    rows: u64,
}

impl Bare {
    /// Makes one that holds [`RECORDS`] rows.
    pub(super) fn create(path: &Path, texts: &Texts) -> Result<Self> {
        let conn = Connection::open(path).into_diagnostic()?;
        conn.set_prepared_statement_cache_capacity(64);
        conn.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -16384;
             CREATE TABLE record (
               num INTEGER PRIMARY KEY,
               id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
               namespace INTEGER NOT NULL,
               status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 3),
               kind INTEGER NOT NULL,
               trace_type INTEGER NOT NULL,
               principal BLOB NOT NULL CHECK (length(principal) = 16),
               time_us INTEGER NOT NULL,
               content TEXT NOT NULL
             ) STRICT;
             CREATE VIRTUAL TABLE fts USING fts5(body, content='', contentless_delete=1, tokenize='porter unicode61');",
        )
        .into_diagnostic()?;
        let mut bare = Self {
            conn,
            random: SplitMix64::new(2),
            rows: 0,
        };
        while bare.rows < RECORDS {
            let texts: Vec<String> = (0..WRITERS).map(|n| texts.text(bare.rows + n)).collect();
            bare.commit(&texts)?;
        }
        Ok(bare)
    }

    /// Writes `texts` in one transaction.
    pub(super) fn commit(&mut self, texts: &[String]) -> Result<()> {
        self.transaction(texts).into_diagnostic()
    }

    fn transaction(&mut self, texts: &[String]) -> rusqlite::Result<()> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for text in texts {
            self.rows += 1;
            let number = self.rows.cast_signed();
            self.conn
                .prepare_cached(
                    "INSERT INTO record (num, id, namespace, status, kind, trace_type, principal, time_us, content)
                     VALUES (?1, ?2, 1, 0, 0, 0, ?3, ?4, ?5)",
                )?
                .execute(params![number, self.random.bytes(), [7_u8; 16], number, text])?;
            self.conn
                .prepare_cached("INSERT INTO fts (rowid, body) VALUES (?1, ?2)")?
                .execute(params![number, text])?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}
