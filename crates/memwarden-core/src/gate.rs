//! The gate: may this action run? A pure function of the policy, the action and the evidence.
//!
//! It never reads a memory's wording and never a label. Memory can supply a parameter, never the mandate:
//! what a person asked for in this context decides, and steps that ran leave receipts. All that is missing
//! is collected, so that `explain` can say it at once.

use crate::{
    CanonicalValue, ContextId, Digest, Outcome, ParamValue, Params, PrincipalId, RecordId, Subject,
    Timestamp, Token,
};
use std::fmt;

/// How much an action can harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActionClass {
    /// Allowed and logged.
    Routine,
    /// Checked.
    Sensitive,
    /// Checked, and always asked about.
    HighImpact,
}

impl ActionClass {
    /// The name used in policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Routine => "routine",
            Self::Sensitive => "sensitive",
            Self::HighImpact => "high_impact",
        }
    }
}

/// A step that must have run before an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The step's name.
    pub step: String,
    /// The parameter that names the step's subject: its value is the subject's id, its name the subject's
    /// kind, and the parameter `<name>_sha256` the digest of the bytes that the action will use.
    pub subject: String,
    /// Oldest receipt that counts, in microseconds.
    pub max_age_us: u64,
    /// Whether the receipt must be of the same context.
    pub same_context: bool,
}

/// What the policy says about one tool's action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRule {
    /// The tool.
    pub tool: String,
    /// How much it can harm.
    pub class: ActionClass,
    /// Parameters that matter; `None` for all but the digests of required subjects.
    pub control: Option<Vec<String>>,
    /// Steps that must have run.
    pub requires: Vec<Requirement>,
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The tool.
    pub tool: String,
    /// Its parameters.
    pub params: Params,
    /// The context it is done in.
    pub context: ContextId,
}

/// The newest receipt for a step and subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptFact {
    /// Its place in the log.
    pub position: u64,
    /// How the step ended.
    pub outcome: Outcome,
    /// The context it ran for.
    pub context: ContextId,
    /// When it was written.
    pub time: Timestamp,
    /// When it stops counting.
    pub expires: Timestamp,
}

/// What a person asked for in a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFact {
    /// Its place in the log.
    pub position: u64,
    /// The words.
    pub tokens: Vec<Token>,
    /// Tools it covers; `None` for every sensitive action that the policy lists.
    pub tools: Option<Vec<String>>,
    /// When it closes.
    pub expires: Timestamp,
}

/// A record or output in which a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The record, if it is one.
    pub record: Option<RecordId>,
    /// Its place in the log.
    pub position: u64,
    /// Who wrote it.
    pub principal: PrincipalId,
}

/// The store could not say what is true.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("evidence cannot be had: {reason}")]
pub struct EvidenceError {
    /// Why.
    pub reason: String,
}

/// What the gate may know. Implemented over verified state only.
pub trait Evidence {
    /// The newest receipt of this epoch and namespace for a step and a subject, whatever its outcome.
    ///
    /// # Errors
    /// [`EvidenceError`].
    fn newest_receipt(&self, step: &str, subject: &Subject) -> Result<Option<ReceiptFact>, EvidenceError>;

    /// Requests opened in a context.
    ///
    /// # Errors
    /// [`EvidenceError`].
    fn requests(&self, context: &ContextId) -> Result<Vec<RequestFact>, EvidenceError>;

    /// What binds a value to a parameter: active `act` records with a structured field of that name and
    /// value, and outputs of passed receipts from tools that never echo.
    ///
    /// # Errors
    /// [`EvidenceError`].
    fn bindings(&self, parameter: &str, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError>;

    /// Weaker records in which the value stands; for a person who decides. May be empty.
    ///
    /// # Errors
    /// [`EvidenceError`].
    fn weaker(&self, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError>;
}

/// What the gate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// It may run, once, with exactly these parameters.
    Allow,
    /// A person must approve.
    Confirm,
    /// It may not run.
    Deny,
}

impl Decision {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }

    /// The byte that stands for it in a payload.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Confirm => 1,
            Self::Deny => 2,
        }
    }

    /// The decision that `code` stands for.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Allow),
            1 => Some(Self::Confirm),
            2 => Some(Self::Deny),
            _ => None,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One check of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// Required steps have receipts.
    Receipt,
    /// Control parameters are bound.
    Parameter,
    /// A person's request covers the action.
    Mandate,
    /// The class is always asked about.
    HighImpact,
}

impl Check {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Parameter => "parameter",
            Self::Mandate => "mandate",
            Self::HighImpact => "high_impact",
        }
    }
}

/// Why the gate did not simply allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The check that did not hold.
    pub check: Check,
    /// The step or parameter that it is about; empty where it is about the whole action.
    pub about: String,
    /// One sentence for a person.
    pub text: String,
    /// Weaker records in which the value stands.
    pub records: Vec<RecordId>,
}

/// The decision, with everything that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The decision.
    pub decision: Decision,
    /// Why it is not `allow`; empty for `allow`.
    pub reasons: Vec<Reason>,
    /// Log positions that the decision rests on.
    pub evidence: Vec<u64>,
}

/// Checks that a measurement can switch off to show what comes back. Everything is on by default, and a store
/// opened with anything off says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a table of switches, one for each mechanism"
)]
pub struct GateChecks {
    /// Check 1.
    pub receipts: bool,
    /// A receipt counts only for the subject's very digest.
    pub subject: bool,
    /// A receipt stops counting at its expiry and at the policy's age limit.
    pub expiry: bool,
    /// A receipt of another outcome than `passed` does not count.
    pub outcome: bool,
    /// Check 2.
    pub parameters: bool,
    /// Check 3.
    pub mandate: bool,
    /// Check 4.
    pub high_impact: bool,
}

impl Default for GateChecks {
    fn default() -> Self {
        Self {
            receipts: true,
            subject: true,
            expiry: true,
            outcome: true,
            parameters: true,
            mandate: true,
            high_impact: true,
        }
    }
}

/// Decides one action.
///
/// # Errors
/// [`EvidenceError`] when the evidence cannot be had; nothing is then allowed.
pub fn authorize(
    rules: &[ActionRule],
    action: &Action,
    evidence: &dyn Evidence,
    now: Timestamp,
    checks: GateChecks,
) -> Result<Decided, EvidenceError> {
    let listed = rules.iter().find(|rule| rule.tool == action.tool);
    let class = listed.map_or(ActionClass::Sensitive, |rule| rule.class);
    let mut gate = Gate {
        action,
        evidence,
        now,
        checks,
        reasons: Vec::new(),
        used: Vec::new(),
        worst: Decision::Allow,
    };
    if class == ActionClass::Routine {
        return Ok(gate.decided());
    }
    let requires = listed.map_or(&[][..], |rule| rule.requires.as_slice());
    let requests = evidence.requests(&action.context)?;
    let open: Vec<&RequestFact> = requests.iter().filter(|request| request.expires > now).collect();
    if checks.receipts {
        for requirement in requires {
            gate.check_receipt(requirement)?;
        }
    }
    if checks.parameters {
        for (name, value) in control(listed, action) {
            gate.check_parameter(name, value, &open)?;
        }
    }
    if checks.mandate {
        gate.check_mandate(listed.is_some(), class, &open);
    }
    if checks.high_impact && class == ActionClass::HighImpact {
        let text = "an action of this class is always confirmed by a person".to_owned();
        gate.miss(Decision::Confirm, Check::HighImpact, "", text, Vec::new());
    }
    Ok(gate.decided())
}

/// The subject that a requirement asks about, from the action's parameters.
#[must_use]
pub fn subject_of(requirement: &Requirement, params: &Params) -> Option<Subject> {
    let id = match params.get(&requirement.subject)? {
        ParamValue::String(text) => text.clone(),
        ParamValue::Number(_) => params.get(&requirement.subject)?.to_canonical_json(),
        _ => return None,
    };
    let digest = params.text(&digest_parameter(&requirement.subject))?;
    Some(Subject {
        kind: requirement.subject.clone(),
        id,
        digest: digest.parse::<Digest>().ok()?,
    })
}

/// The parameter that carries the digest of the subject named by `parameter`.
#[must_use]
pub fn digest_parameter(parameter: &str) -> String {
    format!("{parameter}_sha256")
}

/// The parameters that must be bound.
fn control<'a>(rule: Option<&'a ActionRule>, action: &'a Action) -> Vec<(&'a str, Option<&'a ParamValue>)> {
    match rule.and_then(|rule| rule.control.as_ref()) {
        Some(names) => names
            .iter()
            .map(|name| (name.as_str(), action.params.get(name)))
            .collect(),
        None => {
            let requires = rule.map_or(&[][..], |rule| rule.requires.as_slice());
            let bound_by_receipt = |name: &str| {
                requires
                    .iter()
                    .any(|requirement| digest_parameter(&requirement.subject) == name)
            };
            action
                .params
                .iter()
                .filter(|(name, _)| !bound_by_receipt(name))
                .map(|(name, value)| (name, Some(value)))
                .collect()
        }
    }
}

struct Gate<'a> {
    action: &'a Action,
    evidence: &'a dyn Evidence,
    now: Timestamp,
    checks: GateChecks,
    reasons: Vec<Reason>,
    used: Vec<u64>,
    worst: Decision,
}

impl Gate<'_> {
    fn miss(&mut self, decision: Decision, check: Check, about: &str, text: String, records: Vec<RecordId>) {
        self.worst = self.worst.max(decision);
        self.reasons.push(Reason {
            check,
            about: about.to_owned(),
            text,
            records,
        });
    }

    fn check_receipt(&mut self, requirement: &Requirement) -> Result<(), EvidenceError> {
        let step = &requirement.step;
        let Some(subject) = subject_of(requirement, &self.action.params) else {
            let text = format!(
                "step `{step}` cannot be looked up: expected parameters `{name}` and `{name}_sha256` (64 hexadecimal digits)",
                name = requirement.subject
            );
            self.miss(Decision::Deny, Check::Receipt, step, text, Vec::new());
            return Ok(());
        };
        let newest = self.evidence.newest_receipt(step, &subject)?;
        let problem = match &newest {
            None => Some(format!(
                "no receipt that step `{step}` ran for {} `{}` with these bytes",
                subject.kind, subject.id
            )),
            Some(receipt) => self.receipt_problem(requirement, receipt),
        };
        match (problem, newest) {
            (Some(text), _) => self.miss(Decision::Deny, Check::Receipt, step, text, Vec::new()),
            (None, Some(receipt)) => self.used.push(receipt.position),
            (None, None) => {}
        }
        Ok(())
    }

    fn receipt_problem(&self, requirement: &Requirement, receipt: &ReceiptFact) -> Option<String> {
        let (step, position) = (&requirement.step, receipt.position);
        if self.checks.outcome && receipt.outcome != Outcome::Passed {
            return Some(format!(
                "the newest receipt of step `{step}` (log entry {position}) says that it did not pass"
            ));
        }
        let age = self.now.as_micros().saturating_sub(receipt.time.as_micros());
        if self.checks.expiry && (receipt.expires <= self.now || age > requirement.max_age_us) {
            return Some(format!(
                "the receipt of step `{step}` (log entry {position}) is too old: run it again"
            ));
        }
        if requirement.same_context && receipt.context != self.action.context {
            return Some(format!(
                "the receipt of step `{step}` (log entry {position}) is of another context"
            ));
        }
        None
    }

    fn check_parameter(
        &mut self,
        name: &str,
        value: Option<&ParamValue>,
        open: &[&RequestFact],
    ) -> Result<(), EvidenceError> {
        let Some(value) = value else {
            let text = format!("parameter `{name}` is missing: the policy names it as one that matters");
            self.miss(Decision::Confirm, Check::Parameter, name, text, Vec::new());
            return Ok(());
        };
        for scalar in value.scalars() {
            let Some(scalar) = scalar.filter(|scalar| !scalar.is_empty()) else {
                let text = format!("parameter `{name}` has a value that no request can name");
                self.miss(Decision::Confirm, Check::Parameter, name, text, Vec::new());
                continue;
            };
            if let Some(request) = open.iter().find(|request| scalar.stands_in(&request.tokens)) {
                self.used.push(request.position);
                continue;
            }
            let bindings = self.evidence.bindings(name, &scalar)?;
            if let Some(binding) = bindings.first() {
                self.used.push(binding.position);
                continue;
            }
            let weaker = self.evidence.weaker(&scalar)?;
            let records: Vec<RecordId> = weaker.iter().filter_map(|witness| witness.record).collect();
            let where_it_stands = match records.len() {
                0 => "no memory has it either".to_owned(),
                1 => "it stands only in a weaker memory".to_owned(),
                n => format!("it stands only in {n} weaker memories"),
            };
            let text = format!(
                "parameter `{name}` has a value that neither the request of this context nor a record of authority act names; {where_it_stands}"
            );
            self.miss(Decision::Confirm, Check::Parameter, name, text, records);
        }
        Ok(())
    }

    fn check_mandate(&mut self, listed: bool, class: ActionClass, open: &[&RequestFact]) {
        let covers = |request: &&&RequestFact| match &request.tools {
            Some(tools) => tools.contains(&self.action.tool),
            None => listed && class == ActionClass::Sensitive,
        };
        match open.iter().find(covers) {
            Some(request) => self.used.push(request.position),
            None => {
                let text = format!(
                    "no open request of a person in this context covers `{}`",
                    self.action.tool
                );
                self.miss(Decision::Confirm, Check::Mandate, "", text, Vec::new());
            }
        }
    }

    fn decided(mut self) -> Decided {
        self.used.sort_unstable();
        self.used.dedup();
        Decided {
            decision: self.worst,
            reasons: self.reasons,
            evidence: self.used,
        }
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
