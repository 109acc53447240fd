//! A write transaction that begins under contention and ends whatever happens.

use crate::connection::BUSY_LIMIT;
use crate::fault::{Fault, is_busy};
use memwarden_core::log::StoreError;
use rusqlite::Connection;
use std::time::{Duration, Instant};

/// Where a commit is, for tests that kill the process inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPhase {
    /// The write lock is held; nothing is durable yet.
    Begun,
    /// The transaction was committed or rolled back.
    Done,
}

pub(crate) type Probe = Box<dyn Fn(CommitPhase) + Send + Sync>;

/// Longest single wait for the write lock: a waiter looks again soon after the lock is let go, and two
/// waiters do not keep step, because each wait is of random length.
const LONGEST_WAIT_MS: u32 = 16;

/// An open `BEGIN IMMEDIATE`; rolled back when dropped without [`Immediate::commit`].
pub(crate) struct Immediate<'c> {
    conn: &'c Connection,
    probe: Option<&'c Probe>,
}

impl<'c> Immediate<'c> {
    /// Waits for the write lock, at most [`BUSY_LIMIT`].
    pub(crate) fn begin(conn: &'c Connection, probe: Option<&'c Probe>) -> Result<Self, Fault> {
        let started = Instant::now();
        loop {
            conn.busy_timeout(jitter())?;
            match conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]) {
                Ok(_) => break,
                Err(error) if is_busy(&error) => {
                    let waited = started.elapsed();
                    if waited >= BUSY_LIMIT {
                        return Err(StoreError::Busy {
                            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
                        }
                        .into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let transaction = Self { conn, probe };
        transaction.tell(CommitPhase::Begun);
        Ok(transaction)
    }

    /// Makes it durable.
    pub(crate) fn commit(self) -> Result<(), Fault> {
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn tell(&self, phase: CommitPhase) {
        if let Some(probe) = self.probe {
            probe(phase);
        }
    }
}

impl Drop for Immediate<'_> {
    fn drop(&mut self) {
        if !self.conn.is_autocommit() {
            // When even this fails, the engine has rolled back already or the connection is beyond use; the
            // next `BEGIN` says so.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        self.tell(CommitPhase::Done);
    }
}

fn jitter() -> Duration {
    let random = getrandom::u32().unwrap_or(0);
    Duration::from_millis(u64::from(1 + random % LONGEST_WAIT_MS))
}
