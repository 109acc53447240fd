//! A write transaction that begins under contention and ends whatever happens.

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

/// The connection that writes.
pub(crate) struct Writer {
    pub(crate) conn: Connection,
    pub(crate) probe: Option<Probe>,
    /// How long it waits for another process.
    pub(crate) patience: Duration,
}

impl Writer {
    /// Waits for the write lock and begins a transaction.
    pub(crate) fn begin(&self) -> Result<Immediate<'_>, Fault> {
        self.begin_probed(None)
    }

    /// The same for a commit, of which the probe is told.
    pub(crate) fn begin_commit(&self) -> Result<Immediate<'_>, Fault> {
        self.begin_probed(self.probe.as_ref())
    }

    /// The error after waiting in vain for `waited`.
    pub(crate) fn busy(waited: Duration) -> Fault {
        Fault::Named(StoreError::Busy {
            waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn begin_probed<'w>(&'w self, probe: Option<&'w Probe>) -> Result<Immediate<'w>, Fault> {
        let started = Instant::now();
        loop {
            self.conn.busy_timeout(jitter().min(self.patience))?;
            match self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]) {
                Ok(_) => break,
                Err(error) if is_busy(&error) => {
                    let waited = started.elapsed();
                    if waited >= self.patience {
                        return Err(Self::busy(waited));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let transaction = Immediate {
            conn: &self.conn,
            probe,
        };
        transaction.tell(CommitPhase::Begun);
        Ok(transaction)
    }
}

/// An open `BEGIN IMMEDIATE`; rolled back when dropped without [`Immediate::commit`].
pub(crate) struct Immediate<'w> {
    conn: &'w Connection,
    probe: Option<&'w Probe>,
}

impl Immediate<'_> {
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
