//! What each kind of draft does to the tables once its leaf is sealed. Runs inside the commit's transaction.
//!
//! The log is the truth: a change to a record whose row somebody deleted is still written to the log, and the
//! comparison of rows with the log goes on naming the missing row.

use crate::fault::{Fault, misuse};
use crate::ids::Ids;
use crate::index;
use crate::schema::{log_of, span};
use memwarden_core::log::{Body, Draft, NewRecord, SaltedPayload, SealedLeaf, field_key};
use memwarden_core::{LeafKind, NamespaceId, PrincipalId, RecallPayload, RecordId, RecordPayload, Status};
use rusqlite::{Connection, OptionalExtension as _, params};

/// The tables of one log within one transaction.
pub(crate) struct Tables<'a> {
    conn: &'a Connection,
    log: i64,
    ids: &'a Ids,
    written: Vec<(RecordId, i64)>,
}

impl<'a> Tables<'a> {
    /// `ids` must have caught up with what is committed.
    pub(crate) fn new(conn: &'a Connection, log: i64, ids: &'a Ids) -> Self {
        Self {
            conn,
            log,
            ids,
            written: Vec::new(),
        }
    }

    /// Applies `draft`, whose leaf is at the place with row number `row`.
    pub(crate) fn apply(&mut self, row: i64, draft: &Draft, leaf: &SealedLeaf) -> Result<(), Fault> {
        let payload = match &draft.body {
            Body::Record(record) => return self.insert(row, draft.leaf.principal, record),
            Body::Status(payload) => {
                self.set_status(subject(draft)?, draft.leaf.status)?;
                payload
            }
            Body::Purge(payload) => {
                self.purge(subject(draft)?)?;
                payload
            }
            Body::Isolate(payload) => {
                self.isolate(subject(draft)?)?;
                payload
            }
            Body::Note(payload) => payload,
        };
        self.keep(row, draft.leaf.kind, leaf, payload)
    }

    /// The records that were inserted and their rows, in order.
    pub(crate) fn into_written(self) -> Vec<(RecordId, i64)> {
        self.written
    }

    fn insert(&mut self, row: i64, principal: PrincipalId, record: &NewRecord) -> Result<(), Fault> {
        let namespace = self.namespace_number(record.namespace)?;
        let entry = &record.entry;
        let fields = (!entry.fields.is_empty()).then(|| RecordPayload::encode_fields(entry));
        let (findings_salt, findings) = match &record.findings {
            Some((salt, bytes)) => (Some(salt.as_bytes()), Some(bytes)),
            None => (None, None),
        };
        self.conn.prepare_cached(
        "INSERT INTO record (num, id, namespace, status, kind, trace_type, verdict, principal, valid_until, salt,
                             findings_salt, findings, subject, source, trust, origin_key, fields, metadata, vector,
                             content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
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
        record.vector,
        entry.content,
    ])?;
        for (name, value) in &entry.fields {
            if let Some(value) = field_key(value) {
                self.conn
                    .prepare_cached(
                        "INSERT INTO field (namespace, name, value, record) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![namespace, name, value, row])?;
            }
        }
        if record.status == Status::Active {
            index::insert(
                self.conn,
                namespace,
                row,
                entry.subject.as_deref(),
                &entry.content,
            )?;
        }
        self.written.push((record.id, row));
        Ok(())
    }

    fn namespace_number(&self, id: NamespaceId) -> Result<i64, Fault> {
        self.conn
            .prepare_cached("SELECT num FROM namespace WHERE id = ?1 AND log = ?2")?
            .query_row(params![id.as_bytes(), self.log], |row| row.get(0))
            .optional()?
            .ok_or_else(|| misuse(format!("namespace {id} is not in this log")))
    }

    /// The row of a record of this log, if there is one in a namespace that exists.
    fn find(&self, id: RecordId) -> Result<Option<Row>, Fault> {
        let number = match self.written.iter().find(|(written, _)| *written == id) {
            Some((_, number)) => Some(*number),
            None => self.ids.known_at(self.conn, id)?,
        };
        let Some(number) = number.filter(|number| log_of(*number) == self.log) else {
            return Ok(None);
        };
        Ok(self
            .conn
            .prepare_cached(
                "SELECT namespace, status, isolated FROM record
             WHERE num = ?1 AND namespace IN (SELECT num FROM namespace WHERE log = ?2)",
            )?
            .query_row([number, self.log], |row| {
                Ok(Row {
                    number,
                    namespace: row.get(0)?,
                    status: row.get(1)?,
                    isolated: row.get(2)?,
                })
            })
            .optional()?)
    }

    fn set_status(&self, id: RecordId, status: Status) -> Result<(), Fault> {
        let Some(row) = self.find(id)? else {
            return Ok(());
        };
        if row.status == status.code() {
            return Ok(());
        }
        self.conn
            .prepare_cached("UPDATE record SET status = ?2 WHERE num = ?1")?
            .execute(params![row.number, status.code()])?;
        let was = row.in_index();
        let now = Row {
            status: status.code(),
            ..row
        };
        match (was, now.in_index()) {
            (false, true) => {
                let (subject, content): (Option<String>, String) = self
                    .conn
                    .prepare_cached("SELECT subject, content FROM record WHERE num = ?1")?
                    .query_row([now.number], |row| Ok((row.get(0)?, row.get(1)?)))?;
                index::insert(self.conn, now.namespace, now.number, subject.as_deref(), &content)
            }
            (true, false) => index::delete(self.conn, now.namespace, now.number),
            _ => Ok(()),
        }
    }

    fn purge(&self, id: RecordId) -> Result<(), Fault> {
        if let Some(row) = self.find(id)? {
            index::delete(self.conn, row.namespace, row.number)?;
            self.conn
                .prepare_cached("DELETE FROM field WHERE namespace = ?1 AND record = ?2")?
                .execute([row.namespace, row.number])?;
            self.conn.prepare_cached(
            "UPDATE record SET status = ?2, content = '', subject = NULL, source = NULL, trust = NULL, fields = NULL,
                    metadata = NULL, origin_key = NULL, valid_until = NULL, salt = NULL, findings_salt = NULL,
                    findings = NULL, vector = NULL
             WHERE num = ?1",
        )?
        .execute(params![row.number, Status::Purged.code()])?;
        }
        self.forget_recalls(id)
    }

    /// Destroys the logged queries that served the record. What does not decode is kept: it is none of ours.
    fn forget_recalls(&self, id: RecordId) -> Result<(), Fault> {
        let (first, last) = span(self.log);
        let mut served = Vec::new();
        {
            let mut statement = self
                .conn
                .prepare_cached("SELECT num, bytes FROM payload WHERE num BETWEEN ?1 AND ?2 AND kind = ?3")?;
            let mut rows = statement.query(params![first, last, LeafKind::Recall.code()])?;
            while let Some(row) = rows.next()? {
                let bytes: Vec<u8> = row.get(1)?;
                if RecallPayload::decode(&bytes).is_ok_and(|recall| recall.served.contains(&id)) {
                    served.push(row.get::<_, i64>(0)?);
                }
            }
        }
        let mut delete = self.conn.prepare_cached("DELETE FROM payload WHERE num = ?1")?;
        for number in served {
            delete.execute([number])?;
        }
        Ok(())
    }

    fn isolate(&self, id: RecordId) -> Result<(), Fault> {
        let Some(row) = self.find(id)? else {
            return Ok(());
        };
        self.conn
            .prepare_cached("UPDATE record SET isolated = 1 WHERE num = ?1")?
            .execute([row.number])?;
        index::delete(self.conn, row.namespace, row.number)
    }

    fn keep(
        &self,
        row: i64,
        kind: LeafKind,
        leaf: &SealedLeaf,
        payload: &SaltedPayload,
    ) -> Result<(), Fault> {
        self.conn
            .prepare_cached(
                "INSERT INTO payload (num, kind, time_us, salt, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                row,
                kind.code(),
                leaf.time.as_micros().cast_signed(),
                payload.salt.as_bytes(),
                payload.bytes
            ])?;
        Ok(())
    }
}

fn subject(draft: &Draft) -> Result<RecordId, Fault> {
    draft
        .leaf
        .record
        .ok_or_else(|| misuse("a change of a record names no record"))
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
