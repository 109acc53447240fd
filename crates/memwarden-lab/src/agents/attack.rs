//! Forged reasoning (FARMA) against the agents, under the three grants of its attacker.

use super::Agent;
use super::cell::Memory;
use super::counts::Counts;
use super::house::{Answer, House, LANES};
use super::layer::{Deed, executed};
use super::tasks::request;
use super::work::{Job, Quality};
use crate::demo::{DemoError, TASK_K};
use crate::farma::{DEFAULT_CYCLES, DEFAULT_SEEDS, Domain, Forged, Variant, forge_about};
use crate::parallel;
use memwarden::{Depth, Query, RecordId, Verdict, WardenError};
use memwarden_core::Outcome;
use std::collections::HashSet;
use std::fmt;

/// How many rows of each agent the attacker edits under [`Grant::Rows`].
const EDITED_ROWS: usize = 3;

/// What the attacker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grant {
    /// (a) A credential of its own, a plugin's: it writes entries that spoof source and trust.
    Plugin,
    /// (b) The agent's own credential: it also tries to write receipts, and asks for the target action of subjects
    /// for which there are only receipts of others, expired ones and failed ones.
    Agent,
    /// (c) The database file: it edits rows behind the service's back.
    Rows,
}

impl Grant {
    /// Every grant.
    pub const ALL: &'static [Self] = &[Self::Plugin, Self::Agent, Self::Rows];

    /// The name used in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Agent => "agent",
            Self::Rows => "rows",
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One attack on a whole house.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) variant: Variant,
    pub(crate) grant: Grant,
    pub(crate) seed: u64,
}

/// Carries an attack out; tells which records it left that may be served.
pub(crate) fn carry_out(
    house: &House,
    attack: Attack,
    memory: &Memory,
) -> Result<(Counts, HashSet<RecordId>), DemoError> {
    let forge = |agent: Agent| {
        let (domain, [subject, _]) = (domain(agent), agent.kinds());
        forge_about(
            domain,
            attack.variant,
            subject,
            attack.seed,
            DEFAULT_SEEDS,
            DEFAULT_CYCLES,
        )
    };
    if attack.grant == Grant::Rows {
        let writes: Vec<_> = Agent::ALL.iter().map(|agent| (*agent, forge(*agent))).collect();
        return Ok((edit_rows(house, &writes, memory)?, HashSet::new()));
    }
    // One after another for each agent: every entry claims the number of those before it.
    let written = parallel::each(LANES, Agent::ALL, |agent| {
        let (own, namespace) = house.agent(*agent)?;
        let writer = if attack.grant == Grant::Plugin {
            &house.plugin
        } else {
            own
        };
        let mut counts = Counts::default();
        let mut admitted = Vec::new();
        for write in forge(*agent) {
            counts.forged_written += 1;
            let remembered = writer.remember(namespace, write.entry())?;
            if remembered.verdict < Verdict::Quarantine {
                counts.forged_admitted += 1;
                admitted.push(remembered.id);
            }
        }
        Ok::<_, DemoError>((counts, admitted))
    })?;
    let mut counts: Counts = written.iter().map(|(counts, _)| *counts).sum();
    if attack.grant == Grant::Agent {
        counts += act_as_the_agent(house, Agent::ALL, attack.seed)?;
    }
    Ok((
        counts,
        written.into_iter().flat_map(|(_, admitted)| admitted).collect(),
    ))
}

const fn domain(agent: Agent) -> Domain {
    match agent {
        Agent::Ehr => Domain::Ehr,
        Agent::ReactQa => Domain::ReactQa,
        Agent::Rap => Domain::Rap,
    }
}

/// What evidence there is for a subject whose target action the attacker asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Citing {
    /// Genuine receipts, but of other subjects.
    Others,
    /// A receipt that has expired.
    Expired,
    /// A receipt that says that the check failed.
    Failed,
    /// What the attacker tries to write itself.
    Own,
}

/// The attacker drives an agent whose user asked for something: it asks for the target action all the same.
pub(crate) fn act_as_the_agent(house: &House, agents: &[Agent], seed: u64) -> Result<Counts, DemoError> {
    let mut jobs = Vec::new();
    for agent in agents {
        let all = [Citing::Others, Citing::Expired, Citing::Failed, Citing::Own];
        for (at, citing) in all.into_iter().enumerate() {
            let quality = if citing == Citing::Failed {
                Quality::Faulty
            } else {
                Quality::Good
            };
            let [kind, _] = agent.kinds();
            let item = format!("V-{}", 900 + at);
            jobs.push((
                citing,
                Job::new(*agent, kind, &item, quality, seed.wrapping_add(at as u64)),
            ));
        }
    }
    parallel::each(LANES, &jobs, |(citing, job)| match citing {
        Citing::Expired => house.check_earlier(job, Some(1)).map(|_| ()),
        Citing::Failed => house.check_earlier(job, None).map(|_| ()),
        Citing::Others | Citing::Own => Ok(()),
    })?;
    house.wait(2);
    let counts = parallel::each(LANES, &jobs, |(citing, job)| {
        let window = house.window(job.agent, Some(&request(job)))?;
        let mut counts = Counts {
            chances: 1,
            actions: 1,
            ..Counts::default()
        };
        if *citing == Citing::Own {
            let subject = job.subject();
            let report = executed(
                window.namespace,
                window.context,
                job.agent,
                &subject,
                Outcome::Passed,
                None,
            );
            match window.handle.receipt(&report) {
                Ok(_) => {}
                Err(WardenError::Forbidden { .. }) => counts.receipts_refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        let answer = window.act(&Deed::target(job)?, None)?;
        counts.wrong_actions = u64::from(answer == Answer::Executed);
        counts.wrong_confirmed = u64::from(answer == Answer::Confirm);
        counts.confirms = counts.wrong_confirmed;
        Ok::<_, DemoError>(counts)
    })?;
    Ok(counts.into_iter().sum())
}

/// Puts forged words in the place of honest ones in the database file. The agents are refused what was edited,
/// and the owner takes it out.
fn edit_rows(house: &House, writes: &[(Agent, Vec<Forged>)], memory: &Memory) -> Result<Counts, DemoError> {
    let mut counts = Counts::default();
    let mut edited = Vec::new();
    let file = rusqlite::Connection::open(house.database())?;
    for (agent, forged) in writes {
        let [kind, _] = agent.kinds();
        let honest = memory.honest.iter().filter(|(writer, entry, record)| {
            writer == agent && entry.subject.as_deref() == Some(kind) && record.is_some()
        });
        for (write, (_, entry, _)) in forged.iter().take(EDITED_ROWS).zip(honest) {
            let rows = file.execute(
                "UPDATE record SET content = ?1 WHERE content = ?2",
                [&write.content, &entry.content],
            )?;
            counts.forged_written += rows as u64;
            edited.push((*agent, entry.content.clone()));
        }
    }
    drop(file);
    for agent in Agent::ALL {
        let (handle, namespace) = house.agent(*agent)?;
        let Some((_, words)) = edited.iter().find(|(edited, _)| edited == agent) else {
            continue;
        };
        let query = Query {
            k: TASK_K,
            ..Query::new(words.as_str())
        };
        match handle.recall(namespace, &query) {
            Err(error) if error.is_integrity() => counts.tamper_refused += 1,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
    }
    counts.honest_lost += isolate_edits(house)?;
    Ok(counts)
}

/// The owner looks for rows that differ from the log and takes them out; how many there were.
pub(crate) fn isolate_edits(house: &House) -> Result<u64, DemoError> {
    let mut isolated = 0;
    for damage in house.owner.verify(Depth::Deep, None)?.damage {
        house
            .owner
            .isolate(damage.record, "edited behind the store's back")?;
        isolated += 1;
    }
    Ok(isolated)
}
