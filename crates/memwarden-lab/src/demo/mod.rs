//! The demo: the same honest memory and the same attacks under several policies, on real stores.
//!
//! Its cells share nothing: each is a store of its own in a directory of its own, and several run at a time,
//! because most of their time is waiting for the disk. Every number is counted in the run. No language model runs
//! here: the agents that act are simulated by a fixed rule ([`crate::agents::rule`]).

mod plan;
mod published;
mod tamper;

use crate::parallel;
use crate::report::{AgentRow, DemoRow, TamperOutcome, TamperVerdict};
use memwarden::{Entry, Handle, Options, Places, Role, Warden, WardenError};
use plan::{Cell, Measured};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

pub use plan::{AGENT_ATTACKS, AGENT_POLICIES, ATTACKS, POLICIES, Size};

/// How many entries a task recalls of each store (FARMA §V-A retrieves the top 5).
pub const TASK_K: usize = 5;

/// Cells at a time. A cell waits for the disk most of its time, so that more of them than processors pay.
const CELLS_AT_A_TIME: usize = 7;

/// The demo could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The warden refused something that the demo needs.
    #[error(transparent)]
    Warden(#[from] WardenError),
    /// The row could not be edited behind the store's back.
    #[error("the demo could not edit the database file: {0}")]
    Edit(#[from] rusqlite::Error),
    /// A policy that the program does not have.
    #[error("policy `{name}` does not exist")]
    Policy {
        /// Its name.
        name: String,
    },
    /// The demo's own rules or parameters are not accepted.
    #[error("the demo's own rules are not accepted: {reason}")]
    Rules {
        /// Why.
        reason: String,
    },
    /// Something that an attack builds upon did not happen.
    #[error("an attack of the demo could not be carried out: {what}")]
    Unexpected {
        /// What.
        what: &'static str,
    },
    /// A file of a house cannot be copied.
    #[error("`{path}`: {reason}", path = path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The memory file has no entries.
    #[error("the memory file has no entries")]
    Empty,
}

impl DemoError {
    #[cfg(feature = "full")]
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }
}

/// One honest entry and the agent that wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Honest {
    /// Name of the agent.
    pub agent: String,
    /// What it wrote.
    pub entry: Entry,
}

/// Everything that the demo measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Demo {
    /// One row for each published policy and attack.
    pub rows: Vec<DemoRow>,
    /// What the simulated agents did, one row for each policy, attack, grant and mechanism switched off.
    pub agents: Vec<AgentRow>,
    /// The edit behind the store's back.
    pub tamper: TamperOutcome,
}

impl Demo {
    /// How often a recall refused rows that were edited behind the store's back.
    #[must_use]
    pub fn tamper_refused(&self) -> u64 {
        let agents: u64 = self.agents.iter().map(|row| row.tamper_refused).sum();
        agents + u64::from(self.tamper.verdict == TamperVerdict::Refused)
    }

    /// Whether the edited row was refused and no attack got a wrong action past `warden` with every mechanism on.
    #[must_use]
    pub fn holds(&self) -> bool {
        let mut warden = self
            .agents
            .iter()
            .filter(|row| row.policy == "warden" && row.mechanism_off.is_none());
        self.tamper.verdict == TamperVerdict::Refused && warden.all(|row| row.wrong_actions == 0)
    }
}

/// How many steps [`run`] tells its progress about.
#[must_use]
pub fn steps(size: Size) -> usize {
    plan::cells(size).len()
}

/// Runs the demo in `directory`, which is empty and only used by it. `progress` is told what was done.
///
/// # Errors
/// A store that fails.
pub fn run(
    honest: &[Honest],
    size: Size,
    seed: u64,
    directory: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Demo, DemoError> {
    if honest.is_empty() {
        return Err(DemoError::Empty);
    }
    let cells = plan::cells(size);
    let measured = measure(&cells, honest, size, seed, directory, progress)?;
    let (mut rows, mut agents, mut creep, mut tamper) = (Vec::new(), Vec::new(), Vec::new(), None);
    for measured in measured {
        match measured {
            Measured::Published(row) => rows.push(row),
            Measured::Agents(row) => agents.push(*row),
            Measured::Creep(policy, share) => creep.push((policy, share)),
            Measured::Tamper(outcome) => tamper = Some(*outcome),
        }
    }
    plan::complete(&mut agents, &creep);
    let tamper = tamper.ok_or(DemoError::Empty)?;
    Ok(Demo { rows, agents, tamper })
}

fn measure(
    cells: &[Cell],
    honest: &[Honest],
    size: Size,
    seed: u64,
    directory: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measured>, DemoError> {
    let numbered: Vec<(usize, &Cell)> = cells.iter().enumerate().collect();
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        let working = scope.spawn(move || {
            parallel::each(CELLS_AT_A_TIME, &numbered, |(number, cell)| {
                let measured = cell.measure(honest, size, seed, &directory.join(number.to_string()));
                // Nobody listens any more only if the demo is ending.
                let _ = done.send(cell.to_string());
                measured
            })
        });
        for what in finished {
            progress(&what);
        }
        working.join().map_err(|_| DemoError::Unexpected {
            what: "a thread of the demo panicked",
        })?
    })
}

/// A new store under `policy`, and its owner.
fn store(directory: &Path, policy: &str) -> Result<(Arc<Warden>, Handle), DemoError> {
    let preset = memwarden::guard::preset(policy).ok_or_else(|| DemoError::Policy {
        name: policy.to_owned(),
    })?;
    let places = Places::within(
        directory.join("store"),
        directory.join("keys"),
        directory.join("witness"),
    );
    let made = Warden::init(&places, &preset)?;
    // The published agents retrieve by words.
    let options = Options {
        encoder: None,
        ..Options::default()
    };
    let warden = Warden::open_with(&places, &options)?;
    let owner = warden.handle(&made.credential(Role::Owner)?)?;
    Ok((warden, owner))
}

#[cfg(test)]
mod tests;
