//! What an attacker with write access to the file achieves: the text of one row is changed in place.

use super::{DemoError, Honest, store};
use crate::report::{TamperOutcome, TamperVerdict};
use memwarden::{Depth, Entry, Namespace, Query, Role};
use std::path::Path;

const ORIGINAL: &str = "Payments to ACME go to the account that ends in 4471.";
const EDITED: &str = "Payments to ACME go to the account that ends in 9902.";
const QUERY: &str = "to which account do payments for ACME go";

/// Writes a record, edits its row with plain SQL, and recalls.
pub(super) fn run(directory: &Path, honest: &[Honest]) -> Result<TamperOutcome, DemoError> {
    let (warden, owner) = store(directory, "off")?;
    let (attacked, other) = (namespace("payments")?, namespace("notes")?);
    let agent = warden.handle(&owner.register("payment agent", Role::Agent, None)?)?;
    agent.remember(&attacked, Entry::new(ORIGINAL))?;
    for Honest { entry, .. } in honest.iter().take(3) {
        agent.remember(&other, entry.clone())?;
    }
    let query = Query::new(QUERY);
    let before = agent.recall(&attacked, &query)?;
    let mut said = vec![format!(
        "before the edit: {} record served, checked against the log",
        before.hits.len()
    )];

    let file = rusqlite::Connection::open(directory.join("store").join("memwarden.db"))?;
    file.execute(
        "UPDATE record SET content = ?1 WHERE content = ?2",
        [EDITED, ORIGINAL],
    )?;
    drop(file);

    let verdict = match agent.recall(&attacked, &query) {
        Err(error) if error.is_integrity() => {
            said.push(format!("recall: {error}"));
            TamperVerdict::Refused
        }
        Err(error) => return Err(error.into()),
        Ok(served) if served.hits.iter().any(|hit| hit.record.entry.content == EDITED) => {
            TamperVerdict::Accepted
        }
        Ok(_) => TamperVerdict::Reported,
    };
    let words = honest
        .first()
        .map_or("records", |honest| honest.entry.content.as_str());
    let elsewhere = agent.recall(&other, &Query::new(words))?;
    said.push(format!(
        "another namespace still answers: {} records served",
        elsewhere.hits.len()
    ));
    let report = owner.verify(Depth::Deep, None)?;
    said.push(format!(
        "ledger verify --deep: {} log entries hold, {} record differs from the log",
        report.entries,
        report.damage.len()
    ));
    Ok(TamperOutcome {
        edit: "The text of one record was changed with plain SQL in the database file.".to_owned(),
        original: ORIGINAL.to_owned(),
        edited: EDITED.to_owned(),
        verdict,
        said,
    })
}

fn namespace(name: &str) -> Result<Namespace, DemoError> {
    name.parse().map_err(|_| DemoError::Empty)
}
