//! The part of an agent that is no model: it runs checks, leaves receipts, and executes what was allowed.
//!
//! It also remembers which checks really ran, apart from the warden: by this, and never by what the gate said, the
//! demo decides whether an executed action was a wrong one.

use super::work::{Checked, Job};
use super::{Agent, Lever};
use crate::demo::DemoError;
use memwarden::{Executed, Handle, Namespace, Policy, RecordId, WardenError};
use memwarden_core::{ContextId, Digest, Outcome, ParamValue, Params, Subject, Timestamp, digest_parameter};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The rules of the demo's actions.
pub(crate) const ACTIONS: &str = include_str!("../../policies/demo-actions.toml");

/// The policy of this name as the demo runs it: the preset, and for `warden` the rules of the demo's actions
/// behind it. The published presets know no origin, so they take no rules of actions.
///
/// # Errors
/// No such preset.
pub fn policy(name: &str) -> Result<Policy, DemoError> {
    policy_with(name, "")
}

/// [`policy`] with more rules behind it.
pub(crate) fn policy_with(name: &str, more: &str) -> Result<Policy, DemoError> {
    let unknown = || DemoError::Policy {
        name: name.to_owned(),
    };
    let preset = memwarden::guard::PRESETS
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(unknown)?;
    let actions = if name == "warden" { ACTIONS } else { "" };
    let text = format!("{}{actions}{more}", preset.toml);
    memwarden::guard::parse(&text).map_err(|error| DemoError::Rules {
        reason: error.to_string(),
    })
}

/// An action that is about to be executed, with what it would have to rest on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deed {
    pub(crate) tool: String,
    pub(crate) params: Params,
    /// The step, and the subjects that it must have passed for.
    pub(crate) rests_on: (&'static str, Vec<Subject>),
}

impl Deed {
    /// `tool` on a job, its digests taken from the bytes at hand; an order buys `listing`, or else the first one.
    pub(crate) fn new(tool: &str, job: &Job, listing: Option<&str>, lever: &str) -> Result<Self, DemoError> {
        let Lever { name, .. } = job.agent.lever();
        let mut subjects = vec![job.subject()];
        let listings = job.listings();
        let chosen = listings
            .iter()
            .find(|found| Some(found.id.as_str()) == listing)
            .or(listings.first());
        subjects.extend(chosen.cloned());
        let mut values = BTreeMap::from([(name.to_owned(), ParamValue::String(lever.to_owned()))]);
        for subject in &subjects {
            values.insert(
                digest_parameter(&subject.kind),
                ParamValue::String(subject.digest.to_string()),
            );
            values.insert(subject.kind.clone(), ParamValue::String(subject.id.clone()));
        }
        Ok(Self {
            tool: tool.to_owned(),
            params: params(values)?,
            rests_on: (job.agent.step(), subjects),
        })
    }

    /// The action that leaves the check out, to the usual place.
    pub(crate) fn target(job: &Job) -> Result<Self, DemoError> {
        Self::new(job.agent.target_action(), job, None, job.agent.lever().usual)
    }
}

/// Checked parameters.
pub(crate) fn params(values: BTreeMap<String, ParamValue>) -> Result<Params, DemoError> {
    Params::new(values).map_err(|error| DemoError::Rules {
        reason: error.to_string(),
    })
}

/// A check that ran.
#[derive(Debug, Clone)]
struct Proof {
    step: &'static str,
    subject: Subject,
    passed: bool,
    position: u64,
    expires: Timestamp,
}

/// The step's credential, and what it did.
#[derive(Debug)]
pub(crate) struct Layer {
    step: Handle,
    proofs: Mutex<Vec<Proof>>,
}

impl Layer {
    pub(crate) fn new(step: Handle) -> Self {
        Self {
            step,
            proofs: Mutex::new(Vec::new()),
        }
    }

    /// The same record of what ran, with the step's handle on another opening of the store.
    pub(crate) fn reopened(self, step: Handle) -> Self {
        Self {
            step,
            proofs: self.proofs,
        }
    }

    /// The same record of what ran, for a copy of the store. What runs there is recorded there.
    #[cfg(feature = "full")]
    pub(crate) fn forked(&self, step: Handle) -> Self {
        let proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            step,
            proofs: Mutex::new(proofs.clone()),
        }
    }

    /// Runs the check of a job and leaves a receipt for everything that it covered.
    pub(crate) fn check(
        &self,
        namespace: &Namespace,
        context: ContextId,
        job: &Job,
        life_us: Option<u64>,
    ) -> Result<Checked, WardenError> {
        let checked = job.check();
        for subject in &checked.covered {
            self.receipt(namespace, context, job.agent, subject, checked.outcome, life_us)?;
        }
        Ok(checked)
    }

    /// Leaves a receipt.
    pub(crate) fn receipt(
        &self,
        namespace: &Namespace,
        context: ContextId,
        agent: Agent,
        subject: &Subject,
        outcome: Outcome,
        life_us: Option<u64>,
    ) -> Result<(), WardenError> {
        let executed = executed(namespace, context, agent, subject, outcome, life_us);
        let receipted = self.step.receipt(&executed)?;
        self.proofs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Proof {
                step: agent.step(),
                subject: subject.clone(),
                passed: outcome == Outcome::Passed,
                position: receipted.position,
                expires: receipted.expires,
            });
        Ok(())
    }

    /// Whether what a deed rests on really ran, passed last, and is fresh.
    pub(crate) fn is_genuine(&self, deed: &Deed, now: Timestamp) -> bool {
        let (step, subjects) = &deed.rests_on;
        let proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        subjects.iter().all(|subject| {
            let about = proofs
                .iter()
                .filter(|proof| proof.step == *step && proof.subject == *subject);
            let newest = about.max_by_key(|proof| proof.position);
            newest.is_some_and(|proof| proof.passed && proof.expires > now)
        })
    }

    /// Redeems the permit for exactly this deed and then executes it; false if the permit does not hold.
    pub(crate) fn execute(
        &self,
        permit: RecordId,
        namespace: &Namespace,
        context: ContextId,
        deed: &Deed,
    ) -> Result<bool, WardenError> {
        match self
            .step
            .redeem(permit, namespace, context, &deed.tool, &deed.params)
        {
            // Here a real layer would import, answer or buy.
            Ok(_) => Ok(true),
            Err(WardenError::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What a step reports about one subject.
pub(crate) fn executed(
    namespace: &Namespace,
    context: ContextId,
    agent: Agent,
    subject: &Subject,
    outcome: Outcome,
    life_us: Option<u64>,
) -> Executed {
    Executed {
        namespace: namespace.clone(),
        context,
        step: agent.step().to_owned(),
        subject: subject.clone(),
        arguments: Digest::of(subject.id.as_bytes()),
        outcome,
        tool: None,
        output: Vec::new(),
        life_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::{ActionClass, OriginMode};

    #[test]
    fn the_demos_warden_is_the_preset_with_rules_for_the_agents_actions() {
        let demo = policy("warden").unwrap();
        let preset = memwarden::guard::preset("warden").unwrap();
        assert_eq!((&demo.write, &demo.read), (&preset.write, &preset.read));
        assert_eq!(
            (&demo.verdicts, demo.origin),
            (&preset.verdicts, OriginMode::Enforced)
        );
        let rule = |tool: &str| demo.actions.iter().find(|rule| rule.tool == tool).unwrap();
        for agent in Agent::ALL {
            let target = rule(agent.target_action());
            let control = target.control.clone().unwrap();
            assert!(
                control.contains(&agent.item().to_owned())
                    && control.contains(&agent.lever().name.to_owned())
            );
            assert!(
                target
                    .requires
                    .iter()
                    .all(|needs| needs.step == agent.step() && !needs.same_context)
            );
            assert!(target.requires.iter().any(|needs| needs.subject == agent.item()));
            let checked = rule(agent.checked_action());
            assert_eq!(checked.requires.len(), target.requires.len());
            assert!(checked.requires.iter().all(|needs| needs.same_context));
        }
        assert_eq!(rule("reject").class, ActionClass::Routine);
        assert!(
            demo.actions
                .iter()
                .all(|rule| rule.class != ActionClass::HighImpact)
        );
        assert!(policy("off").unwrap().actions.is_empty());
        assert!(policy("nonsense").is_err());
    }

    #[test]
    fn a_deed_carries_the_digest_of_the_bytes_at_hand() {
        let job = Job::new(
            Agent::Rap,
            Agent::Rap.kinds()[0],
            "O-7",
            super::super::work::Quality::Good,
            1,
        );
        let deed = Deed::new("compare_then_buy", &job, job.check().result.as_deref(), "office").unwrap();
        assert_eq!(
            deed.params.text("order_sha256").unwrap(),
            job.subject().digest.to_string()
        );
        assert_eq!(deed.params.text("listing"), job.check().result.as_deref());
        assert_eq!(deed.rests_on.1, job.check().covered);
    }
}
