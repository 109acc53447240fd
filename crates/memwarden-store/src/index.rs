//! The search indexes: one FTS5 table per namespace, so that scores depend on nothing outside of it.
//!
//! A table holds the words of the namespace's active records that were not isolated, and no text
//! (`content=''`). It is derived: [`rebuild`] makes it anew from the records, [`differences`] compares the two.

use crate::fault::Fault;
use crate::schema::span;
use crate::terms::indexed;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

/// Rows that belong into an index; the one place that says so.
pub(crate) const IN_INDEX: &str = "status = 0 AND isolated = 0";

/// The index table of a namespace.
pub(crate) fn table(namespace: i64) -> String {
    format!("fts_{namespace}")
}

/// Makes the empty index of a namespace.
pub(crate) fn create(conn: &Connection, namespace: i64) -> Result<(), Fault> {
    conn.execute_batch(&definition(&table(namespace)))?;
    Ok(())
}

/// Puts a record's words in. A row that stands there already (planted: the store never does it) is replaced.
pub(crate) fn insert(
    conn: &Connection,
    namespace: i64,
    row: i64,
    subject: Option<&str>,
    content: &str,
) -> Result<(), Fault> {
    let sql = format!(
        "INSERT OR REPLACE INTO {} (rowid, body) VALUES (?1, ?2)",
        table(namespace)
    );
    conn.prepare_cached(&sql)?
        .execute(params![row, indexed(subject, content)])?;
    Ok(())
}

/// Takes a record's words out; does nothing if they are not in.
pub(crate) fn delete(conn: &Connection, namespace: i64, row: i64) -> Result<(), Fault> {
    let sql = format!("DELETE FROM {} WHERE rowid = ?1", table(namespace));
    conn.prepare_cached(&sql)?.execute([row])?;
    Ok(())
}

/// Merges an index into one segment that holds nothing of deleted rows.
pub(crate) fn compact(conn: &Connection, namespace: i64) -> Result<(), Fault> {
    let name = table(namespace);
    conn.execute_batch(&format!("INSERT INTO {name} ({name}) VALUES ('optimize')"))?;
    Ok(())
}

/// Makes all indexes of a log anew.
pub(crate) fn rebuild(conn: &Connection, log: i64) -> Result<(), Fault> {
    let namespaces: Vec<i64> = conn
        .prepare("SELECT num FROM namespace WHERE log = ?1")?
        .query_map([log], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for namespace in &namespaces {
        conn.execute_batch(&format!("DROP TABLE IF EXISTS {}", table(*namespace)))?;
        create(conn, *namespace)?;
    }
    let (first, last) = span(log);
    let sql = format!(
        "SELECT namespace, num, subject, content FROM record
         WHERE num BETWEEN ?1 AND ?2 AND {IN_INDEX}
           AND namespace IN (SELECT num FROM namespace WHERE log = ?3) ORDER BY num"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([first, last, log])?;
    while let Some(row) = rows.next()? {
        let subject: Option<String> = row.get(2)?;
        let content: String = row.get(3)?;
        insert(conn, row.get(0)?, row.get(1)?, subject.as_deref(), &content)?;
    }
    Ok(())
}

/// Row numbers whose words in the index are not those of the record: missing, extra, or others.
///
/// Both sides are reduced to one keyed hash per row over its terms, their places and its length. When only
/// the totals differ, which every score depends on, all rows are returned.
pub(crate) fn differences(conn: &Connection, log: i64, namespace: i64) -> Result<Vec<i64>, Fault> {
    let expected = Connection::open_in_memory()?;
    crate::connection::settle(&expected)?;
    expected.execute_batch(&definition(&table(namespace)))?;
    let (first, last) = span(log);
    {
        let whole = expected.unchecked_transaction()?;
        let sql = format!(
            "SELECT num, subject, content FROM record
             WHERE num BETWEEN ?1 AND ?2 AND namespace = ?3 AND {IN_INDEX} ORDER BY num"
        );
        let mut statement = conn.prepare(&sql)?;
        let mut rows = statement.query([first, last, namespace])?;
        while let Some(row) = rows.next()? {
            let subject: Option<String> = row.get(1)?;
            let content: String = row.get(2)?;
            insert(&whole, namespace, row.get(0)?, subject.as_deref(), &content)?;
        }
        whole.commit()?;
    }

    let key = RandomState::new();
    let Some(found) = summary(conn, namespace, &key)? else {
        return Ok(summary(&expected, namespace, &key)?
            .map(|expected| expected.rows.into_keys().collect())
            .unwrap_or_default());
    };
    let Some(mut expected) = summary(&expected, namespace, &key)? else {
        return Ok(Vec::new());
    };
    let same_totals = found.totals == expected.totals;
    let mut differing = BTreeMap::new();
    for (row, hash) in found.rows {
        if expected.rows.remove(&row) != Some(hash) || !same_totals {
            differing.insert(row, ());
        }
    }
    differing.extend(expected.rows.into_keys().map(|row| (row, ())));
    Ok(differing.into_keys().collect())
}

struct Summary {
    rows: HashMap<i64, u64>,
    totals: Option<Vec<u8>>,
}

/// `None` if the table is not there.
fn summary(conn: &Connection, namespace: i64, key: &RandomState) -> Result<Option<Summary>, Fault> {
    let name = table(namespace);
    if !conn.table_exists(None, name.as_str())? {
        return Ok(None);
    }
    let mut rows = HashMap::new();
    {
        let mut statement = conn.prepare(&format!("SELECT id, sz FROM {name}_docsize"))?;
        let mut sizes = statement.query([])?;
        while let Some(row) = sizes.next()? {
            let size: Option<Vec<u8>> = row.get(1)?;
            rows.insert(row.get(0)?, key.hash_one(size));
        }
    }
    // The virtual table over the terms lives in the connection's own temporary schema, not in the file.
    let terms = format!("{name}_terms");
    conn.execute_batch(&format!(
        "PRAGMA query_only = OFF;
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.{terms} USING fts5vocab('main', '{name}', 'instance')"
    ))?;
    {
        let mut statement = conn.prepare(&format!("SELECT term, doc, \"offset\" FROM temp.{terms}"))?;
        let mut instances = statement.query([])?;
        while let Some(row) = instances.next()? {
            let (term, doc): (String, i64) = (row.get(0)?, row.get(1)?);
            let place: i64 = row.get(2)?;
            let hash: &mut u64 = rows.entry(doc).or_default();
            *hash = hash.wrapping_add(key.hash_one((term, place)));
        }
    }
    conn.execute_batch(&format!("DROP TABLE temp.{terms}; PRAGMA query_only = ON"))?;
    let totals = conn
        .query_row(
            &format!("SELECT block FROM {name}_data WHERE id = 1"),
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(Some(Summary { rows, totals }))
}

fn definition(name: &str) -> String {
    format!(
        "CREATE VIRTUAL TABLE {name} USING fts5(body, content='', contentless_delete=1, tokenize='porter unicode61')"
    )
}
