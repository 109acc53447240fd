//! What each kind of draft does to the tables once its leaf is sealed. Runs inside the commit's transaction.
//!
//! The log is the truth: a change to a record whose row somebody deleted is still written to the log, and the
//! comparison of rows with the log goes on naming the missing row.

use crate::fault::{Fault, misuse};
use crate::index;
use crate::schema::log_of;
use memwarden_core::log::{Body, Draft, NewRecord, SaltedPayload, SealedLeaf};
use memwarden_core::{LeafKind, NamespaceId, PrincipalId, RecallPayload, RecordId, RecordPayload, Status};
use rusqlite::{Connection, OptionalExtension as _, params};

/// Applies `draft`, whose leaf is at the place with row number `row`.
pub(crate) fn apply(
    conn: &Connection,
    log: i64,
    row: i64,
    draft: &Draft,
    leaf: &SealedLeaf,
) -> Result<(), Fault> {
    let payload = match &draft.body {
        Body::Record(record) => return insert(conn, log, row, draft.leaf.principal, record),
        Body::Status(payload) => {
            set_status(conn, log, subject(draft)?, draft.leaf.status)?;
            payload
        }
        Body::Purge(payload) => {
            purge(conn, log, subject(draft)?)?;
            payload
        }
        Body::Isolate(payload) => {
            isolate(conn, log, subject(draft)?)?;
            payload
        }
        Body::Note(payload) => payload,
    };
    keep(conn, row, draft.leaf.kind, leaf, payload)
}

fn subject(draft: &Draft) -> Result<RecordId, Fault> {
    draft
        .leaf
        .record
        .ok_or_else(|| misuse("a change of a record names no record"))
}

fn insert(
    conn: &Connection,
    log: i64,
    row: i64,
    principal: PrincipalId,
    record: &NewRecord,
) -> Result<(), Fault> {
    let namespace = namespace_number(conn, log, record.namespace)?;
    let entry = &record.entry;
    let fields = (!entry.fields.is_empty()).then(|| RecordPayload::encode_fields(entry));
    let (findings_salt, findings) = match &record.findings {
        Some((salt, bytes)) => (Some(salt.as_bytes()), Some(bytes)),
        None => (None, None),
    };
    conn.prepare_cached(
        "INSERT INTO record (num, id, namespace, status, kind, trace_type, verdict, principal, valid_until, salt,
                             findings_salt, findings, subject, source, trust, origin_key, fields, metadata, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(params![
        row,
        record.id.as_bytes(),
        namespace,
        record.status.code(),
        entry.kind.code(),
        entry.trace_type.code(),
        record.verdict.code(),
        principal.as_bytes(),
        entry.valid_until.map(|time| time.as_micros().cast_signed()),
        record.salt.as_bytes(),
        findings_salt,
        findings,
        entry.subject,
        entry.source,
        entry.trust,
        entry.origin_key,
        fields,
        entry.metadata,
        entry.content,
    ])?;
    if record.status == Status::Active {
        index::insert(conn, namespace, row, entry.subject.as_deref(), &entry.content)?;
    }
    Ok(())
}

fn namespace_number(conn: &Connection, log: i64, id: NamespaceId) -> Result<i64, Fault> {
    conn.prepare_cached("SELECT num FROM namespace WHERE id = ?1 AND log = ?2")?
        .query_row(params![id.as_bytes(), log], |row| row.get(0))
        .optional()?
        .ok_or_else(|| misuse(format!("namespace {id} is not in this log")))
}

struct Row {
    number: i64,
    namespace: i64,
    status: u8,
    isolated: bool,
}

impl Row {
    fn in_index(&self) -> bool {
        self.status == Status::Active.code() && !self.isolated
    }
}

/// The row of a record of this log, if there is one in a namespace that exists.
fn find(conn: &Connection, log: i64, id: RecordId) -> Result<Option<Row>, Fault> {
    let found = conn
        .prepare_cached(
            "SELECT num, namespace, status, isolated FROM record
             WHERE id = ?1 AND namespace IN (SELECT num FROM namespace WHERE log = ?2)",
        )?
        .query_row(params![id.as_bytes(), log], |row| {
            Ok(Row {
                number: row.get(0)?,
                namespace: row.get(1)?,
                status: row.get(2)?,
                isolated: row.get(3)?,
            })
        })
        .optional()?;
    Ok(found.filter(|row| log_of(row.number) == log))
}

fn set_status(conn: &Connection, log: i64, id: RecordId, status: Status) -> Result<(), Fault> {
    let Some(row) = find(conn, log, id)? else {
        return Ok(());
    };
    if row.status == status.code() {
        return Ok(());
    }
    conn.prepare_cached("UPDATE record SET status = ?2 WHERE num = ?1")?
        .execute(params![row.number, status.code()])?;
    let was = row.in_index();
    let now = Row {
        status: status.code(),
        ..row
    };
    match (was, now.in_index()) {
        (false, true) => {
            let (subject, content): (Option<String>, String) = conn
                .prepare_cached("SELECT subject, content FROM record WHERE num = ?1")?
                .query_row([now.number], |row| Ok((row.get(0)?, row.get(1)?)))?;
            index::insert(conn, now.namespace, now.number, subject.as_deref(), &content)
        }
        (true, false) => index::delete(conn, now.namespace, now.number),
        _ => Ok(()),
    }
}

fn purge(conn: &Connection, log: i64, id: RecordId) -> Result<(), Fault> {
    if let Some(row) = find(conn, log, id)? {
        index::delete(conn, row.namespace, row.number)?;
        conn.prepare_cached(
            "UPDATE record SET status = ?2, content = '', subject = NULL, source = NULL, trust = NULL, fields = NULL,
                    metadata = NULL, origin_key = NULL, valid_until = NULL, salt = NULL, findings_salt = NULL,
                    findings = NULL
             WHERE num = ?1",
        )?
        .execute(params![row.number, Status::Purged.code()])?;
    }
    forget_recalls(conn, log, id)
}

/// Destroys the logged queries that served the record. What does not decode is kept: it is none of ours.
fn forget_recalls(conn: &Connection, log: i64, id: RecordId) -> Result<(), Fault> {
    let (first, last) = crate::schema::span(log);
    let mut served = Vec::new();
    {
        let mut statement =
            conn.prepare_cached("SELECT num, bytes FROM payload WHERE num BETWEEN ?1 AND ?2 AND kind = ?3")?;
        let mut rows = statement.query(params![first, last, LeafKind::Recall.code()])?;
        while let Some(row) = rows.next()? {
            let bytes: Vec<u8> = row.get(1)?;
            if RecallPayload::decode(&bytes).is_ok_and(|recall| recall.served.contains(&id)) {
                served.push(row.get::<_, i64>(0)?);
            }
        }
    }
    let mut delete = conn.prepare_cached("DELETE FROM payload WHERE num = ?1")?;
    for number in served {
        delete.execute([number])?;
    }
    Ok(())
}

fn isolate(conn: &Connection, log: i64, id: RecordId) -> Result<(), Fault> {
    let Some(row) = find(conn, log, id)? else {
        return Ok(());
    };
    conn.prepare_cached("UPDATE record SET isolated = 1 WHERE num = ?1")?
        .execute([row.number])?;
    index::delete(conn, row.namespace, row.number)
}

fn keep(
    conn: &Connection,
    row: i64,
    kind: LeafKind,
    leaf: &SealedLeaf,
    payload: &SaltedPayload,
) -> Result<(), Fault> {
    conn.prepare_cached("INSERT INTO payload (num, kind, time_us, salt, bytes) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            row,
            kind.code(),
            leaf.time.as_micros().cast_signed(),
            payload.salt.as_bytes(),
            payload.bytes
        ])?;
    Ok(())
}
