//! What only the owner does: backups, restore, purge, principals.

use crate::args::{Global, PrincipalCommand};
use crate::failure::Failure;
use crate::session::{self, Vouches};
use crate::{Outcome, output, wire};
use memwarden::{Handle, Options, RecordId, Role, Warden};
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

/// Whether a person is asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Person,
    Never,
}

/// What a purge takes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Named,
    WithDescendants,
}

pub(super) fn backup(global: &Global, to: &Path) -> Result<Outcome, Failure> {
    let entries = session::handle(global, Role::Owner)?.backup(to)?;
    if global.json {
        output::json(&json!({"entries": entries, "file": to}))?;
    } else {
        output::line(&format!(
            "{entries} log entries and their records in {}; keys are not part of it",
            to.display()
        ))?;
    }
    Ok(Outcome::Clean)
}

pub(super) fn restore(global: &Global, from: Option<&Path>, reason: &str) -> Result<Outcome, Failure> {
    let places = session::places(global)?;
    let options = Options::default();
    let store = match from {
        Some(backup) => Warden::store_of_backup(backup)?,
        None => Warden::store_at(&places)?,
    };
    let credential = session::credential(global, &places.keys_of(store)?, Role::Owner)?;
    let (_warden, restored) = match from {
        Some(backup) => Warden::restore_from(&places, &options, &credential, backup, reason)?,
        None => Warden::restore(&places, &options, &credential, reason)?,
    };
    let purged: Vec<String> = restored.purged_again.iter().map(ToString::to_string).collect();
    if global.json {
        output::json(&json!({
            "entries": restored.size,
            "abandoned_entries": restored.abandoned_size,
            "epoch": restored.epoch,
            "purged_again": purged,
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!(
        "accepted a state of {} log entries; the head over {} is abandoned; this is epoch {}",
        restored.size, restored.abandoned_size, restored.epoch
    ))?;
    for record in purged {
        output::line(&format!("purged again: {record}"))?;
    }
    Ok(Outcome::Clean)
}

pub(super) fn purge(
    global: &Global,
    records: &[RecordId],
    reach: Reach,
    ask: Ask,
    reason: &str,
) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Owner)?;
    let mut all = records.to_vec();
    let mut descendants = Vec::new();
    for record in records {
        descendants.extend(
            handle
                .descendants(*record)?
                .into_iter()
                .filter(|found| !records.contains(found)),
        );
    }
    descendants.sort_unstable();
    descendants.dedup();
    descendants.retain(|record| handle.inspect(*record).is_ok());
    if reach == Reach::WithDescendants {
        all.append(&mut descendants);
    }
    if ask == Ask::Person && !confirmed(&handle, &all, &descendants)? {
        return Err(Failure::Input(
            "not confirmed: nothing was purged; --yes purges without asking".to_owned(),
        ));
    }
    let report = handle.purge(&all, reason)?;
    if global.json {
        output::json(&wire::purge(&report))?;
        return Ok(Outcome::Clean);
    }
    for purged in &report.purged {
        output::line(&format!(
            "purged {} (log entry {})",
            purged.record, purged.position
        ))?;
    }
    for record in &report.descendants_left {
        output::line(&format!(
            "left: {record} declares a purged record as parent and may repeat its text"
        ))?;
    }
    for backup in &report.backups {
        output::line(&format!(
            "not reached: backup {} still holds the text",
            backup.display()
        ))?;
    }
    Ok(Outcome::Clean)
}

fn confirmed(handle: &Handle, all: &[RecordId], left: &[RecordId]) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Input(
            "purge asks before it destroys: expected a terminal or --yes".to_owned(),
        ));
    }
    for record in all {
        let found = handle.inspect(*record)?;
        eprintln!("purge {record}: {}", output::cell(&found.entry.content, 100));
    }
    for record in left {
        eprintln!("keep  {record}, derived from them (--with-descendants purges it too)");
    }
    eprint!("Destroy the text of {} records for good? [y/N] ", all.len());
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

pub(super) fn principal(global: &Global, command: &PrincipalCommand) -> Result<Outcome, Failure> {
    match command {
        PrincipalCommand::Add {
            name,
            role,
            domain,
            attest_roles,
            out,
        } => {
            let handle = session::handle(global, Role::Owner)?;
            let path = match out {
                Some(path) => path.clone(),
                None => handle.warden().keys().join(file_name(name)?),
            };
            if path.exists() {
                return Err(Failure::Input(format!(
                    "`{}` exists: name another file with --out",
                    path.display()
                )));
            }
            let vouches = Vouches::of(*attest_roles);
            let id = session::register(&handle, name, *role, domain.as_deref(), vouches, &path)?;
            if global.json {
                output::json(&json!({
                    "id": id.to_string(), "role": role.as_str(), "attest_roles": attest_roles, "file": path,
                }))?;
            } else {
                output::line(&format!("{role} {id}: {}", path.display()))?;
            }
            Ok(Outcome::Clean)
        }
        PrincipalCommand::List => {
            let status = session::handle(global, Role::Agent)?.status()?;
            if global.json {
                let value = wire::status(&status);
                output::json(value.get("principals").unwrap_or(&serde_json::Value::Null))?;
                return Ok(Outcome::Clean);
            }
            let mut table = output::table(&["name", "role", "class", "domain", "id"]);
            for principal in &status.principals {
                table.add_row([
                    output::cell(&principal.name, 60),
                    principal.role.to_string(),
                    principal.role.class().to_string(),
                    output::cell(&principal.domain, 60),
                    principal.id.to_string(),
                ]);
            }
            output::line(&table.to_string())?;
            Ok(Outcome::Clean)
        }
    }
}

fn file_name(name: &str) -> Result<String, Failure> {
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if plain {
        Ok(format!("{name}.credential"))
    } else {
        Err(Failure::Input(format!(
            "`{}` does not name a file by itself: give one with --out",
            wire::short(name)
        )))
    }
}
