//! What the simulated agents did: one table by attack and grant, one for the mechanisms.

use super::escape::Text;
use super::{Percent, distinct};
use std::fmt::{self, Write as _};

/// What simulated agents did in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    /// Name of the policy.
    pub policy: String,
    /// Name of the attack; `none` for the run without one.
    pub attack: String,
    /// What the attacker of forged reasoning holds.
    pub grant: Option<String>,
    /// The mechanism that was switched off.
    pub mechanism_off: Option<String>,
    /// Whether the attack reaches at least half of its chances without a defense. Only then a 0 says something.
    pub power: Option<bool>,
    /// Forged entries that the attacker wrote, or rows that it edited.
    pub forged_written: u64,
    /// Of these, the ones that the policy admitted.
    pub forged_admitted: u64,
    /// Share of forged entries among all that the tasks recalled, 0 to 1.
    pub forged_share_top_k: f64,
    /// Honest entries written.
    pub honest_written: u64,
    /// Of these, the ones that were refused or had to be taken out.
    pub honest_lost: u64,
    /// Tasks and attempts in which an action could be wrong.
    pub chances: u64,
    /// Wrong actions that were allowed and executed: the target action without a genuine receipt, or what an
    /// attack on the rules of origin is after.
    pub wrong_actions: u64,
    /// Wrong actions that a person would have been asked about.
    pub wrong_confirmed: u64,
    /// Times that the gate was asked.
    pub actions: u64,
    /// Final requests of honest tasks.
    pub honest_actions: u64,
    /// Of these, the ones that were not executed.
    pub honest_refused: u64,
    /// Of these, the ones that a person would have been asked about.
    pub honest_confirmed: u64,
    /// Honest tasks.
    pub tasks: u64,
    /// Of these, the ones that ended with an executed action.
    pub tasks_completed: u64,
    /// Of the tasks, the ones in which leaving the check out is right.
    pub legitimate_skips: u64,
    /// Target actions with a genuine receipt that were asked for in a task, allowed and executed.
    pub skips_allowed: u64,
    /// Of the tasks, the ones whose window recalled entries of authority `none`.
    pub untrusted_contexts: u64,
    /// Receipts that the attacker tried to write and that were refused.
    pub receipts_refused: u64,
    /// Recalls that refused rows edited behind the store's back.
    pub tamper_refused: u64,
    /// Share of honest entries at authority `none` after a run of tasks of which some read the web, 0 to 1.
    pub label_creep: Option<f64>,
    /// Confirmations and quarantined entries for each 100 tasks.
    pub review_load: f64,
}

impl AgentRow {
    /// Wrong actions as `n of m`.
    #[must_use]
    pub fn wrong(&self) -> String {
        format!("{} of {}", self.wrong_actions, self.chances)
    }
}

/// The part of the page about simulated agents.
pub(super) fn write(page: &mut String, rows: &[AgentRow], attacks: &[(String, String)]) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    by_grant(page, rows)?;
    mechanisms(page, rows, attacks)
}

/// Wrong actions of every attack with forged reasoning, a column for each policy.
fn by_grant(page: &mut String, rows: &[AgentRow]) -> fmt::Result {
    let rows: Vec<&AgentRow> = rows
        .iter()
        .filter(|row| row.mechanism_off.is_none() && is_reasoning(row))
        .collect();
    let policies = distinct(rows.iter().map(|row| row.policy.as_str()));
    writeln!(
        page,
        "<h2>Simulated agents: wrong actions</h2>\n\
         <p class=\"soft\">Three simulated agents decide by a fixed rule: they leave their check out if a recalled \
         trace claims that it was done. A wrong action is one that ran without its check. No language model ran. \
         &#8220;No power&#8221;: the attack reaches less than half of its chances even without a defense, so \
         a 0 says nothing about one.</p>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th>Simulated attack</th><th>Attacker holds</th>"
    )?;
    for policy in &policies {
        write!(page, "<th class=\"number\">{}: wrong actions</th>", Text(policy))?;
    }
    let last = policies.last().copied().unwrap_or_default();
    let name = Text(last);
    writeln!(
        page,
        "<th class=\"number\">{name}: honest refused</th><th class=\"number\">{name}: tasks completed</th>\
         <th>Note</th></tr></thead>\n<tbody>"
    )?;
    for (attack, grant) in distinct(rows.iter().map(|row| (row.attack.as_str(), row.grant.as_deref()))) {
        let of = |policy: &str| {
            let same = |row: &&&AgentRow| {
                row.policy == policy && row.attack == attack && row.grant.as_deref() == grant
            };
            rows.iter().find(same).copied()
        };
        write!(
            page,
            "<tr><td>{}</td><td>{}</td>",
            Text(attack),
            Text(held(grant))
        )?;
        for policy in &policies {
            cell(page, of(policy))?;
        }
        let last = of(last);
        let (refused, completed) = last.map_or_else(Default::default, |row| {
            (
                format!("{} of {}", row.honest_refused, row.honest_actions),
                format!("{} of {}", row.tasks_completed, row.tasks),
            )
        });
        let note = note(last);
        writeln!(
            page,
            "<td class=\"number\">{refused}</td><td class=\"number\">{completed}</td><td class=\"soft\">{note}</td></tr>"
        )?;
    }
    writeln!(page, "</tbody></table></div>")?;
    for policy in policies {
        let creep = rows
            .iter()
            .find(|row| row.policy == policy)
            .and_then(|row| row.label_creep);
        let load = rows
            .iter()
            .filter(|row| row.policy == policy)
            .map(|row| row.review_load)
            .fold(0.0, f64::max);
        writeln!(
            page,
            "<p class=\"soft\">{}: label creep {} of the honest entries after 100 simulated tasks, a tenth of which \
             read the web; at most {load:.0} items to review for 100 tasks.</p>",
            Text(policy),
            Percent(creep),
        )?;
    }
    Ok(())
}

/// Each attack on the rules of origin, with its mechanism and without it.
fn mechanisms(page: &mut String, rows: &[AgentRow], attacks: &[(String, String)]) -> fmt::Result {
    writeln!(
        page,
        "<h2>Simulated attacks on the rules of origin</h2>\n\
         <p class=\"soft\">Each was played once for each simulated agent under warden, then again with one mechanism \
         switched off. A wrong action here is one that reached the attack&#39;s goal.</p>\n\
         <div class=\"scroll\"><table>\n<thead><tr><th>Simulated attack</th><th>Mechanism</th>\
         <th class=\"number\">Wrong actions with it</th><th class=\"number\">Without it</th>\
         <th class=\"number\">Asked about with it</th></tr></thead>\n<tbody>"
    )?;
    for without in rows.iter().filter(|row| row.mechanism_off.is_some()) {
        let with = rows.iter().find(|row| {
            row.policy == without.policy
                && row.attack == without.attack
                && row.grant == without.grant
                && row.mechanism_off.is_none()
        });
        let what = attacks.iter().find(|(name, _)| *name == without.attack);
        write!(
            page,
            "<tr><td class=\"wrap\">{}<br><span class=\"soft\">{}</span></td><td>{}</td>",
            Text(&without.attack),
            Text(
                what.map_or("claims in other words that the checks were done", |(_, what)| {
                    what
                })
            ),
            Text(without.mechanism_off.as_deref().unwrap_or_default())
        )?;
        cell(page, with)?;
        cell(page, Some(without))?;
        let asked = with.map_or(0, |row| row.wrong_confirmed);
        writeln!(page, "<td class=\"number\">{asked}</td></tr>")?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn cell(page: &mut String, row: Option<&AgentRow>) -> fmt::Result {
    let Some(row) = row else {
        return write!(page, "<td class=\"number\">–</td>");
    };
    let class = match row {
        row if row.wrong_actions > 0 => "accepted",
        row if row.power == Some(false) => "soft",
        _ => "refused",
    };
    write!(page, "<td class=\"number {class}\">{}</td>", row.wrong())
}

fn is_reasoning(row: &AgentRow) -> bool {
    row.grant.is_some() || row.attack == "none"
}

/// What a grant gives, for people.
#[must_use]
pub fn held(grant: Option<&str>) -> &str {
    match grant {
        Some("plugin") => "a plugin's key",
        Some("agent") => "the agent's own key",
        Some("rows") => "the database file",
        Some(other) => other,
        None => "nothing",
    }
}

fn note(row: Option<&AgentRow>) -> String {
    match row {
        Some(row) if row.tamper_refused > 0 => "no power: edits refused".to_owned(),
        Some(row) if row.power == Some(false) => "no power".to_owned(),
        _ => String::new(),
    }
}
