//! What the rules of origin in a policy come to: rows for a table, warnings for whoever loads it, whether a
//! store can meet them, and what a change of them gives up.
//!
//! Not for: deciding an action (the core's gate), nor for the stages (`explain`).

use super::error::{PolicyError, shown};
use super::origin_rules::age;
use crate::layers::decimal;
use memwarden_core::{
    ActionClass, ActionRule, Echoes, OriginMode, Policy, RecallRule, Requirement, ToolRule,
};
use std::collections::BTreeSet;

/// One action that a policy lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRow {
    /// Its tool.
    pub tool: String,
    /// How much it can harm.
    pub class: ActionClass,
    /// Parameters that must be bound; none for all but the digests of required subjects.
    pub control: Option<Vec<String>>,
    /// Each step that must have run, such as `lint of repository, at most 1h old, in the same context`.
    pub requires: Vec<String>,
    /// What the gate does with it.
    pub summary: &'static str,
}

/// One tool that a policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    /// Its name.
    pub tool: String,
    /// Whether its output counts as `act`.
    pub trusted: bool,
    /// Whether its output may repeat what it was given.
    pub echoes: Echoes,
    /// What that comes to.
    pub summary: &'static str,
}

/// Every action that `policy` lists, in its order. Any other action is sensitive: every parameter is checked,
/// and only a request that names its tool covers it.
#[must_use]
pub fn explain_actions(policy: &Policy) -> Vec<ActionRow> {
    let row = |rule: &ActionRule| ActionRow {
        tool: rule.tool.clone(),
        class: rule.class,
        control: rule.control.clone(),
        requires: rule.requires.iter().map(requirement).collect(),
        summary: match rule.class {
            ActionClass::Routine => "allowed and logged",
            ActionClass::Sensitive => "checked: receipts, then parameters, then the request",
            ActionClass::HighImpact => "checked, and always confirmed by a person",
        },
    };
    policy.actions.iter().map(row).collect()
}

/// Every tool that `policy` names, by name. Any other tool is untrusted and may echo.
#[must_use]
pub fn explain_tools(policy: &Policy) -> Vec<ToolRow> {
    let row = |(name, rule): (&String, &ToolRule)| ToolRow {
        tool: name.clone(),
        trusted: rule.trusted,
        echoes: rule.echoes,
        summary: match (rule.trusted, rule.echoes) {
            (false, Echoes::Possible) => "its output decides nothing",
            (false, Echoes::Never) => "the output of its passed receipt binds a parameter",
            (true, Echoes::Possible) => "its output counts as act, but not over the label of its context",
            (true, Echoes::Never) => {
                "its output counts as act in any context, and that of its passed receipt binds a parameter"
            }
        },
    };
    policy.tools.iter().map(row).collect()
}

/// What whoever loads `policy` should know about its rules of origin: one line each, empty where nothing
/// stands out. Nothing here is wrong; a policy that is gets a [`PolicyError`].
///
/// ```
/// let policy = memwarden_guard::parse("name = \"mine\"\n[[action]]\ntool = \"pay\"\nclass = \"sensitive\"\n")?;
/// assert!(memwarden_guard::warnings(&policy)[0].starts_with("no action requires a step: "));
/// # Ok::<(), memwarden_guard::PolicyError>(())
/// ```
#[must_use]
pub fn warnings(policy: &Policy) -> Vec<String> {
    if policy.origin == OriginMode::Off {
        return Vec::new();
    }
    if policy.actions.is_empty() {
        return vec![
            "no action is listed: every action is then confirmed by a person, unless a request names its tool \
             and binds its parameters"
                .to_owned(),
        ];
    }
    if required_steps(policy).is_empty() {
        return vec![
            "no action requires a step: whether a check has run before an action is never looked up"
                .to_owned(),
        ];
    }
    Vec::new()
}

/// The steps that an action of `policy` requires, each once, by name.
#[must_use]
pub fn required_steps(policy: &Policy) -> Vec<&str> {
    let steps: BTreeSet<&str> = requirements(policy).map(|(_, step)| step).collect();
    steps.into_iter().collect()
}

/// Refuses a policy that requires a step in a store where no principal of role step exists: its actions could
/// never be allowed. `step_principals` is how many there are.
///
/// # Errors
/// [`PolicyError::NobodyRunsStep`] with the first such step.
pub fn check_steps(policy: &Policy, step_principals: usize) -> Result<(), PolicyError> {
    match requirements(policy).next() {
        Some((tool, step)) if step_principals == 0 => Err(PolicyError::NobodyRunsStep {
            tool: shown(tool),
            step: shown(step),
        }),
        _ => Ok(()),
    }
}

/// Tool and step of every requirement that the gate looks at.
fn requirements(policy: &Policy) -> impl Iterator<Item = (&str, &str)> {
    let checked =
        move |rule: &&ActionRule| policy.origin == OriginMode::Enforced && rule.class != ActionClass::Routine;
    policy.actions.iter().filter(checked).flat_map(|rule| {
        let steps = rule.requires.iter().map(|requirement| requirement.step.as_str());
        steps.map(|step| (rule.tool.as_str(), step))
    })
}

fn requirement(requirement: &Requirement) -> String {
    let context = if requirement.same_context {
        ", in the same context"
    } else {
        ""
    };
    format!(
        "{} of {}, at most {} old{context}",
        requirement.step,
        requirement.subject,
        age(requirement.max_age_us)
    )
}

/// What the rules of origin in `new` let pass that those in `old` do not.
pub(super) fn loosenings(old: &Policy, new: &Policy) -> Vec<String> {
    match (old.origin, new.origin) {
        // Nothing is looser than off.
        (OriginMode::Off, _) => return Vec::new(),
        (OriginMode::Enforced, OriginMode::Off) => {
            return vec!["origin: no longer enforced: every action is allowed and logged".to_owned()];
        }
        (OriginMode::Enforced, OriginMode::Enforced) => {}
    }
    let mut lines = Vec::new();
    for was in &old.actions {
        match rule(new, &was.tool) {
            Some(is) => action_loosenings(was, is, &mut lines),
            // It is then sensitive, which is stricter than routine.
            None if was.class == ActionClass::Routine => {}
            None => {
                lines.push(format!("action `{}`: no longer listed", was.tool));
                action_loosenings(was, &unlisted(&was.tool), &mut lines);
            }
        }
    }
    for is in &new.actions {
        if rule(old, &is.tool).is_none() {
            action_loosenings(&unlisted(&is.tool), is, &mut lines);
            if is.class == ActionClass::Sensitive {
                lines.push(format!(
                    "action `{}`: listed, so a request that names no tool covers it",
                    is.tool
                ));
            }
        }
    }
    for (name, is) in &new.tools {
        let was = old.tools.get(name).copied().unwrap_or_default();
        if is.trusted && !was.trusted {
            lines.push(format!("tool `{name}`: trust raised from untrusted to trusted"));
        }
        if is.echoes == Echoes::Never && was.echoes == Echoes::Possible {
            lines.push(format!("tool `{name}`: echoes changed from possible to never"));
        }
    }
    lines.extend(endorsers(old.endorse_k, new.endorse_k));
    lines.extend(shares(old.recall, new.recall));
    lines
}

fn rule<'a>(policy: &'a Policy, tool: &str) -> Option<&'a ActionRule> {
    policy.actions.iter().find(|rule| rule.tool == tool)
}

/// How the gate treats an action that no rule names.
fn unlisted(tool: &str) -> ActionRule {
    ActionRule {
        tool: tool.to_owned(),
        class: ActionClass::Sensitive,
        control: None,
        requires: Vec::new(),
    }
}

fn action_loosenings(was: &ActionRule, is: &ActionRule, lines: &mut Vec<String>) {
    let tool = &was.tool;
    if was.class == ActionClass::Routine {
        return;
    }
    if is.class < was.class {
        let (was, is) = (was.class.as_str(), is.class.as_str());
        lines.push(format!("action `{tool}`: class lowered from {was} to {is}"));
    }
    for old in &was.requires {
        let (step, subject) = (&old.step, &old.subject);
        let same = |new: &&Requirement| new.step == *step && new.subject == *subject;
        let Some(new) = is.requires.iter().find(same) else {
            lines.push(format!(
                "action `{tool}`: step `{step}` of `{subject}` no longer required"
            ));
            continue;
        };
        if new.max_age_us > old.max_age_us {
            let (was, is) = (age(old.max_age_us), age(new.max_age_us));
            lines.push(format!(
                "action `{tool}`: max_age of step `{step}` of `{subject}` raised from {was} to {is}"
            ));
        }
        if old.same_context && !new.same_context {
            lines.push(format!(
                "action `{tool}`: step `{step}` of `{subject}` may have run in another context"
            ));
        }
    }
    if is.class != ActionClass::Routine {
        lines.extend(control_loosening(was, is));
    }
}

/// Parameters that were checked and no longer are.
fn control_loosening(was: &ActionRule, is: &ActionRule) -> Option<String> {
    let tool = &was.tool;
    match (&was.control, &is.control) {
        (None, Some(is)) => Some(format!(
            "action `{tool}`: control narrowed from all parameters to {}",
            is.join(", ")
        )),
        (Some(was), Some(is)) => {
            let dropped: Vec<&str> = was
                .iter()
                .filter(|name| !is.contains(name))
                .map(String::as_str)
                .collect();
            (!dropped.is_empty())
                .then(|| format!("action `{tool}`: control no longer names {}", dropped.join(", ")))
        }
        // All parameters are checked, but one that is left out is then not missed.
        (Some(was), None) => Some(format!(
            "action `{tool}`: control no longer names {}: one that is left out is not asked about",
            was.join(", ")
        )),
        (None, None) => None,
    }
}

/// One writer may fill more of a recall, or with more of the same.
fn shares(was: RecallRule, is: RecallRule) -> impl Iterator<Item = String> {
    [
        (
            "max_share_per_principal",
            was.max_share_per_principal,
            is.max_share_per_principal,
        ),
        ("near_duplicates", was.near_duplicates, is.near_duplicates),
    ]
    .into_iter()
    .chain(
        ["trust.none", "trust.inform"]
            .into_iter()
            .zip(was.trust.into_iter().zip(is.trust))
            .map(|(key, (was, is))| (key, was, is)),
    )
    .filter(|(_, was, is)| is > was)
    .map(|(key, was, is)| format!("recall: {key} raised from {} to {}", decimal(was), decimal(is)))
}

/// The default is 2, or 1 in a store whose principals share one domain, so it may be lower than any number
/// over 1, and 1 may be lower than it.
fn endorsers(was: Option<u32>, is: Option<u32>) -> Option<String> {
    let lowered = match (was, is) {
        (Some(was), Some(is)) => is < was,
        (Some(was), None) => was > 1,
        (None, Some(is)) => is < 2,
        (None, None) => false,
    };
    let word = |k: Option<u32>| k.map_or_else(|| "the default".to_owned(), |k| k.to_string());
    lowered.then(|| format!("endorse: k lowered from {} to {}", word(was), word(is)))
}
