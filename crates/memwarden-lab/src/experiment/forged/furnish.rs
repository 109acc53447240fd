//! The store of a cell before its trials: honest memory, what came from outside, what the legitimate skips rest on, and
//! the attack under its grant.

use super::ground::Ground;
use super::honest;
use super::result::CellResult;
use crate::agents::attack::{act_as_the_agent, isolate_edits};
use crate::agents::cell::bring_from_outside;
use crate::agents::house::{House, Setting};
use crate::agents::tasks::Task;
use crate::agents::{Grant, layer};
use crate::experiment::ExperimentError;
use crate::experiment::defense::Condition;
use memwarden::{Durability, Entry, Handle, Kind, Mechanisms, Namespace, RecordId, Status, Verdict};
use memwarden_core::OriginMode;
use std::collections::HashSet;
use std::path::Path;

/// A store that is ready for trials.
pub(super) struct Furnished {
    pub(super) house: House,
    /// Forged records that may be served.
    pub(super) forged: HashSet<RecordId>,
}

/// What goes into a store.
pub(super) struct Contents<'a> {
    pub(super) ground: &'a Ground,
    pub(super) tasks: &'a [Task],
    /// Honest logs, and as many notes.
    pub(super) honest: usize,
    /// The attack, if there is one.
    pub(super) attack: Option<(Grant, Vec<Entry>)>,
    pub(super) seed: u64,
}

/// An empty store under a condition.
pub(super) fn empty(directory: &Path, condition: &Condition) -> Result<Furnished, ExperimentError> {
    Ok(Furnished {
        house: House::with(directory, &condition.policy, setting())?,
        forged: HashSet::new(),
    })
}

/// The published agents retrieve by words. Nobody needs these stores after a crash.
fn setting() -> Setting {
    Setting {
        mechanisms: Mechanisms::default(),
        encoder: None,
        durability: Durability::Unsynced,
    }
}

/// A store with its contents.
pub(super) fn furnish(
    directory: &Path,
    condition: &Condition,
    contents: Contents<'_>,
    counts: &mut CellResult,
) -> Result<Furnished, ExperimentError> {
    let Contents {
        ground,
        tasks,
        honest,
        attack,
        seed,
    } = contents;
    // A published guard runs on a store that checks nothing: rows that are edited behind it were written under no
    // policy. Under a policy of our own the file is edited and the store looks for itself.
    let unchecked = condition.policy.origin == OriginMode::Off;
    let behind = matches!(attack, Some((Grant::Rows, _))) && unchecked;
    let mut furnished = if behind {
        let house = House::with(directory, &layer::policy("off")?, setting())?;
        Furnished {
            house,
            forged: HashSet::new(),
        }
    } else {
        empty(directory, condition)?
    };
    let house = &furnished.house;
    let (agent, namespace) = house.agent(ground.agent)?;

    let subjects = &ground.subjects;
    let mut memory = honest::logs(ground.domain, subjects, honest, seed);
    memory.extend(honest::notes(
        ground.domain,
        subjects,
        honest,
        seed.wrapping_add(1),
    ));
    let mut replaced = Vec::new();
    if behind && let Some((_, forged)) = &attack {
        replaced = replace(&mut memory, forged);
    }
    // One after another: the order of the log must not depend on threads.
    for entry in &memory {
        let remembered = agent.remember(namespace, entry.clone())?;
        counts.honest_written += 1;
        counts.honest_lost += u64::from(remembered.status != Status::Active);
    }
    for task in tasks.iter().filter(|task| task.legitimate_skip) {
        for entry in honest::earlier_session(&task.job) {
            let remembered = agent.remember(namespace, entry)?;
            counts.honest_written += 1;
            counts.honest_lost += u64::from(remembered.status != Status::Active);
        }
        house.check_earlier(&task.job, None)?;
    }
    for which in 0..3 {
        bring_from_outside(house, ground.agent, which)?;
    }

    let mut forged_records = HashSet::new();
    match attack {
        None => {}
        Some((Grant::Rows, forged)) if behind => {
            counts.honest_lost += replaced.len() as u64;
            for entry in forged.into_iter().take(replaced.len()) {
                let remembered = agent.remember(namespace, entry)?;
                counts.forged_written += 1;
                counts.forged_admitted += 1;
                forged_records.insert(remembered.id);
            }
            house.owner.load_policy(&condition.policy)?;
        }
        Some((Grant::Rows, forged)) => edit(house, &memory, &forged, (agent, namespace), counts)?,
        Some((grant, forged)) => {
            let writer = if grant == Grant::Plugin {
                &house.plugin
            } else {
                agent
            };
            for entry in forged {
                let remembered = writer.remember(namespace, entry)?;
                counts.forged_written += 1;
                if remembered.verdict < Verdict::Quarantine {
                    counts.forged_admitted += 1;
                    forged_records.insert(remembered.id);
                }
            }
            if grant == Grant::Agent {
                // What it leaves there (receipts of other subjects) is not in the store of the trials.
                let aside = house.fork(&directory.join("aside"))?;
                let tried = act_as_the_agent(&aside, &[ground.agent], seed)?;
                counts.attempts += tried.chances;
                counts.attempts_executed += tried.wrong_actions;
                counts.receipts_refused += tried.receipts_refused;
                counts.confirms += tried.confirms;
            }
        }
    }
    furnished.forged = forged_records;
    Ok(furnished)
}

/// Takes out of the honest memory what an attacker overwrites: entries of the same kind, the last ones first. Returns
/// them.
fn replace(memory: &mut Vec<Entry>, forged: &[Entry]) -> Vec<Entry> {
    let mut replaced = Vec::new();
    for entry in forged {
        if let Some(at) = memory.iter().rposition(|known| known.kind == entry.kind) {
            replaced.push(memory.remove(at));
        }
    }
    replaced
}

/// Overwrites rows of the database file. The agent's recall is refused then, and the owner takes out what was edited.
fn edit(
    house: &House,
    memory: &[Entry],
    forged: &[Entry],
    (agent, namespace): (&Handle, &Namespace),
    counts: &mut CellResult,
) -> Result<(), ExperimentError> {
    let mut honest = memory.to_vec();
    let file = rusqlite::Connection::open(house.database())?;
    let mut words = None;
    for (old, new) in replace(&mut honest, forged).iter().zip(forged) {
        // A text that several rows have is edited in one of them.
        let rows = file.execute(
            "UPDATE record SET content = ?1, subject = ?2 WHERE num = \
             (SELECT max(num) FROM record WHERE content = ?3 AND status = 0)",
            [
                &new.content,
                new.subject.as_ref().unwrap_or(&new.content),
                &old.content,
            ],
        )?;
        counts.forged_written += rows as u64;
        words.get_or_insert_with(|| new.content.clone());
    }
    drop(file);
    if let Some(words) = words {
        let query = memwarden::Query {
            kind: Some(Kind::Reasoning),
            ..memwarden::Query::new(words)
        };
        match agent.recall(namespace, &query) {
            Err(error) if error.is_integrity() => counts.tamper_refused += 1,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
    }
    counts.honest_lost += isolate_edits(house)?;
    Ok(())
}
