//! One record row, read back as it stands.

use crate::fault::{Fault, unreadable};
use crate::schema::position;
use memwarden_core::log::StoreError;
use memwarden_core::{
    Entry, Kind, NamespaceId, RecordId, RecordPayload, Salt, Status, StoredRecord, Timestamp, TraceType,
    Verdict,
};
use rusqlite::{Connection, OptionalExtension as _, Row};

/// A column that holds a count.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let given: i64 = row.get(column)?;
    u64::try_from(given).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, given))
}

/// The row with this number and the leaf at its place; `None` if there is no such row.
pub(crate) fn read(conn: &Connection, number: i64) -> Result<Option<StoredRecord>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT r.id, r.status, r.kind, r.trace_type, r.verdict, r.valid_until, r.salt, r.findings_salt,
                r.findings, r.subject, r.source, r.trust, r.origin_key, r.fields, r.metadata, r.content,
                n.id, n.name, l.bytes, r.vector
         FROM record r LEFT JOIN namespace n ON n.num = r.namespace LEFT JOIN leaf l ON l.num = r.num
         WHERE r.num = ?1",
    )?;
    statement
        .query_row([number], |row| Ok(record(row, number)))
        .optional()?
        .transpose()
}

fn record(row: &Row<'_>, number: i64) -> Result<StoredRecord, Fault> {
    let columns = Columns { row, number };
    let mut entry = Entry::new(columns.get::<String>(15)?);
    entry.kind = columns.code(2, "kind", Kind::from_code)?;
    entry.trace_type = columns.code(3, "trace_type", TraceType::from_code)?;
    entry.valid_until = columns
        .get::<Option<i64>>(5)?
        .map(|time| Timestamp::from_micros(time.cast_unsigned()));
    entry.subject = columns.get(9)?;
    entry.source = columns.get(10)?;
    entry.trust = columns.get(11)?;
    entry.origin_key = columns.get(12)?;
    if let Some(fields) = columns.get::<Option<Vec<u8>>>(13)? {
        entry.fields =
            RecordPayload::decode_fields(&fields).map_err(|error| columns.bad(error.to_string()))?;
    }
    entry.metadata = columns.get(14)?;
    let findings = match (columns.salt(7)?, columns.get::<Option<Vec<u8>>>(8)?) {
        (Some(salt), Some(bytes)) => Some((salt, bytes)),
        _ => None,
    };
    let (Some(namespace_id), Some(namespace)) = (
        columns.get::<Option<[u8; 16]>>(16)?,
        columns.get::<Option<String>>(17)?,
    ) else {
        return Err(columns.bad("its namespace does not exist"));
    };
    Ok(StoredRecord {
        id: RecordId::from_bytes(columns.get(0)?),
        namespace_id: NamespaceId::from_bytes(namespace_id),
        namespace,
        entry,
        salt: columns.salt(6)?,
        verdict: columns.code(4, "verdict", Verdict::from_code)?,
        findings,
        vector: columns.get(19)?,
        status: columns.code(1, "status", Status::from_code)?,
        position: position(number),
        leaf: columns.get::<Option<Vec<u8>>>(18)?.unwrap_or_default(),
    })
}

struct Columns<'r> {
    row: &'r Row<'r>,
    number: i64,
}

impl Columns<'_> {
    fn get<T: rusqlite::types::FromSql>(&self, column: usize) -> Result<T, Fault> {
        self.row
            .get(column)
            .map_err(|error| unreadable("record", self.number, error))
    }

    fn code<T>(&self, column: usize, name: &str, read: impl Fn(u8) -> Option<T>) -> Result<T, Fault> {
        let given: i64 = self.get(column)?;
        u8::try_from(given)
            .ok()
            .and_then(read)
            .ok_or_else(|| self.bad(format!("its {name} is {given}")))
    }

    fn salt(&self, column: usize) -> Result<Option<Salt>, Fault> {
        Ok(self.get::<Option<[u8; 32]>>(column)?.map(Salt::from_bytes))
    }

    fn bad(&self, reason: impl Into<String>) -> Fault {
        Fault::Named(StoreError::Row {
            table: "record",
            row: self.number,
            reason: reason.into(),
        })
    }
}
