//! Notices changes of the file that no commit to a log made.
//!
//! `PRAGMA data_version` tells a connection that others changed the file, not how often. Comparing it only when
//! somebody reads would hide a change behind the next commit, so this connection looks at both ends of each
//! commit of this store too. What another process changes in the moment of its own commit stays unseen here.

use crate::connection::{self, Purpose};
use crate::fault::Fault;
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A connection that only looks.
#[derive(Debug)]
pub(crate) struct Watch(Mutex<Watcher>);

#[derive(Debug)]
struct Watcher {
    conn: Connection,
    last: Look,
    changes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    data_version: i64,
    leaves: i64,
}

impl Watch {
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let conn = connection::open(path, Purpose::Read)?;
        let last = look(&conn)?;
        Ok(Self(Mutex::new(Watcher {
            conn,
            last,
            changes: 0,
        })))
    }

    /// How many changes were noticed since the store was opened.
    pub(crate) fn changes(&self) -> Result<u64, Fault> {
        let mut watcher = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = look(&watcher.conn)?;
        if seen.data_version != watcher.last.data_version && seen.leaves == watcher.last.leaves {
            watcher.changes += 1;
        }
        watcher.last = seen;
        Ok(watcher.changes)
    }
}

fn look(conn: &Connection) -> Result<Look, Fault> {
    let whole = conn.unchecked_transaction()?;
    let look = Look {
        data_version: whole
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?,
        leaves: whole
            .prepare_cached("SELECT coalesce(sum(size), 0) FROM log")?
            .query_row([], |row| row.get(0))?,
    };
    whole.commit()?;
    Ok(look)
}
