//! Which cells the demo has, how one is measured, and what is known only when all have run.

use super::published;
use super::{DemoError, Honest, tamper};
use crate::agents::{Grant, OriginAttack, attack, cell, counts, creep, layer, origin, tasks};
use crate::farma::Variant;
use crate::report::{AgentRow, DemoRow, TamperOutcome};
use memwarden::Mechanisms;
use std::fmt;
use std::path::Path;

/// The policies that the comparison of published ones runs.
pub const POLICIES: [&str; 4] = ["off", "keyword", "sentinel", "sentinel-strict"];

/// The attacks that it runs.
pub const ATTACKS: [Variant; 2] = [Variant::Naive, Variant::Full];

/// The policies under which the simulated agents act.
pub const AGENT_POLICIES: [&str; 3] = ["off", "sentinel", "warden"];

/// The forged reasoning that they are attacked with.
pub const AGENT_ATTACKS: [Variant; 4] = [
    Variant::Naive,
    Variant::Full,
    Variant::GeneralStore,
    Variant::Paraphrase,
];

/// The mechanism whose absence brings forged reasoning back, and the attack that shows it.
const AGAINST_FORGED_REASONING: (&str, Variant, Grant) = ("receipts", Variant::Paraphrase, Grant::Plugin);

/// Below this share of wrong actions without a defense, an attack says nothing about a defense.
const POWER: f64 = 0.5;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Everything.
    Full,
    /// Fewer tasks and attacks, for tests.
    Small,
}

impl Size {
    const fn tasks_per_agent(self) -> u64 {
        match self {
            Self::Full => 14,
            Self::Small => 4,
        }
    }

    const fn agent_attacks(self) -> &'static [Variant] {
        match self {
            Self::Full => &AGENT_ATTACKS,
            Self::Small => &[Variant::Full, Variant::Paraphrase],
        }
    }
}

/// One store, and what is done in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell {
    /// Forged entries under a published policy; nobody acts.
    Published { policy: &'static str, attack: Variant },
    /// Simulated agents under an attack, or under none.
    Agents {
        policy: &'static str,
        attack: Option<(Variant, Grant)>,
        mechanism_off: Option<&'static str>,
    },
    /// Label creep.
    Creep { policy: &'static str },
    /// An attack on the rules of origin.
    Origin {
        attack: &'static OriginAttack,
        mechanism_off: Option<&'static str>,
    },
    /// An edit behind the store's back.
    Tamper,
}

/// What a cell showed.
#[derive(Debug)]
pub(super) enum Measured {
    Published(DemoRow),
    Agents(Box<AgentRow>),
    Creep(&'static str, f64),
    Tamper(Box<TamperOutcome>),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published { policy, attack } => write!(f, "policy {policy}, attack {attack}"),
            Self::Agents {
                policy, attack: None, ..
            } => write!(f, "agents under {policy}, no attack"),
            Self::Agents {
                policy,
                attack: Some((attack, grant)),
                ..
            } => {
                write!(f, "agents under {policy}, attack {attack}, grant {grant}")
            }
            Self::Creep { policy } => write!(f, "label creep under {policy}"),
            Self::Origin {
                attack,
                mechanism_off: None,
            } => write!(f, "{}", attack.name),
            Self::Origin {
                attack,
                mechanism_off: Some(off),
            } => write!(f, "{} without {off}", attack.name),
            Self::Tamper => f.write_str("a row is edited behind the store's back"),
        }
    }
}

/// The cells, in the order of the report.
pub(super) fn cells(size: Size) -> Vec<Cell> {
    let mut cells: Vec<Cell> = AGENT_POLICIES.map(|policy| Cell::Creep { policy }).to_vec();
    if size == Size::Small {
        cells.clear();
    }
    for policy in AGENT_POLICIES {
        cells.push(Cell::Agents {
            policy,
            attack: None,
            mechanism_off: None,
        });
        for attack in size.agent_attacks() {
            for grant in Grant::ALL {
                cells.push(Cell::Agents {
                    policy,
                    attack: Some((*attack, *grant)),
                    mechanism_off: None,
                });
            }
        }
    }
    let (mechanism, attack, grant) = AGAINST_FORGED_REASONING;
    let (attack, mechanism_off) = (Some((attack, grant)), Some(mechanism));
    cells.push(Cell::Agents {
        policy: "warden",
        attack,
        mechanism_off,
    });
    for attack in OriginAttack::ALL {
        cells.push(Cell::Origin {
            attack,
            mechanism_off: None,
        });
        cells.push(Cell::Origin {
            attack,
            mechanism_off: Some(attack.mechanism),
        });
    }
    for policy in POLICIES {
        for attack in ATTACKS {
            cells.push(Cell::Published { policy, attack });
        }
    }
    cells.push(Cell::Tamper);
    cells
}

impl Cell {
    pub(super) fn measure(
        &self,
        honest: &[Honest],
        size: Size,
        seed: u64,
        directory: &Path,
    ) -> Result<Measured, DemoError> {
        match *self {
            Self::Published { policy, attack } => {
                let cell = published::Cell::new(directory, policy, honest)?;
                Ok(Measured::Published(cell.measure(policy, attack, seed)?))
            }
            Self::Agents {
                policy,
                attack,
                mechanism_off,
            } => {
                let mechanisms = mechanism_off.map_or_else(Mechanisms::default, origin::without);
                let attacked = attack.map(|(variant, grant)| attack::Attack { variant, grant, seed });
                let tasks = tasks::tasks(size.tasks_per_agent(), seed);
                let rules = layer::policy(policy)?;
                let counts = cell::run(directory, &rules, mechanisms, honest, &tasks, attacked)?;
                let name = attack.map_or("none", |(variant, _)| variant.as_str());
                let grant = attack.map(|(_, grant)| grant.as_str());
                Ok(Measured::Agents(Box::new(counts.row(
                    policy,
                    name,
                    grant,
                    mechanism_off,
                ))))
            }
            Self::Creep { policy } => Ok(Measured::Creep(
                policy,
                creep::run(directory, &layer::policy(policy)?, honest)?,
            )),
            Self::Origin {
                attack,
                mechanism_off,
            } => {
                let mechanisms = mechanism_off.map_or_else(Mechanisms::default, origin::without);
                let counts = attack.run(directory, mechanisms, seed)?;
                Ok(Measured::Agents(Box::new(counts.row(
                    "warden",
                    attack.name,
                    None,
                    mechanism_off,
                ))))
            }
            Self::Tamper => Ok(Measured::Tamper(Box::new(tamper::run(directory, honest)?))),
        }
    }
}

/// Fills in what follows from several cells: the power of an attack from its run without a defense, and each
/// policy's label creep.
pub(super) fn complete(rows: &mut [AgentRow], creep: &[(&str, f64)]) {
    let undefended: Vec<(String, Option<String>, f64)> = rows
        .iter()
        .filter(|row| row.policy == "off" || (row.grant.is_none() && row.mechanism_off.is_some()))
        .filter_map(|row| {
            let rate = counts::share(row.wrong_actions, row.chances)?;
            Some((row.attack.clone(), row.grant.clone(), rate))
        })
        .collect();
    for row in rows {
        let same = |known: &&(String, Option<String>, f64)| known.0 == row.attack && known.1 == row.grant;
        let rate = undefended.iter().find(same).map(|(_, _, rate)| *rate);
        row.power = rate.filter(|_| row.attack != "none").map(|rate| rate >= POWER);
        if row.mechanism_off.is_none() {
            row.label_creep = creep
                .iter()
                .find(|(policy, _)| *policy == row.policy)
                .map(|(_, share)| *share);
        }
    }
}
