//! Receipts: a step says that it ran, on which very bytes, and how it ended.

use crate::{Handle, WardenError, draft};
use memwarden_core::{
    ContextId, Digest, Finding, LeafKind, Namespace, Outcome, RECEIPT_LIFE_US, ReceiptPayload, Role, Score,
    Severity, Subject, Timestamp,
};

/// Longest name, id or output value in bytes.
const MAX_BYTES: usize = 4_096;
/// Most named outputs.
const MAX_OUTPUTS: usize = 64;
/// Longest life of a receipt in microseconds: 30 days, the longest age that a policy can accept.
const MAX_LIFE_US: u64 = 30 * 24 * 3_600 * 1_000_000;

/// What a step reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The namespace that it counts in.
    pub namespace: Namespace,
    /// The context it ran for.
    pub context: ContextId,
    /// The step's name.
    pub step: String,
    /// What it was about; the digest is of the very bytes that were checked.
    pub subject: Subject,
    /// SHA-256 of its canonical arguments.
    pub arguments: Digest,
    /// How it ended.
    pub outcome: Outcome,
    /// The tool that ran, if one did.
    pub tool: Option<String>,
    /// Named values that it put out.
    pub output: Vec<(String, String)>,
    /// Life in microseconds; `None` for one hour.
    pub life_us: Option<u64>,
}

/// A receipt that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipted {
    /// Its place in the log: the number that `receipt #n` shows.
    pub position: u64,
    /// When it stops counting.
    pub expires: Timestamp,
    /// An alert, if a listed action ran without a redeemed permit.
    pub findings: Vec<Finding>,
}

impl Handle {
    /// Writes a receipt.
    ///
    /// # Errors
    /// A role other than step; a context that was never opened; a field out of range.
    pub fn receipt(&self, executed: &Executed) -> Result<Receipted, WardenError> {
        if self.warden.mechanisms.step_role {
            self.require_roles("receipt", &[Role::Step], "a step")?;
        }
        check(executed)?;
        self.facts()?;
        self.require_unrevoked("receipt")?;
        if self
            .warden
            .chain
            .replay()
            .origin()
            .window(&executed.context)
            .is_none()
        {
            return Err(WardenError::Context {
                reason: format!(
                    "context {} was never opened, or is over a day old",
                    executed.context
                ),
            });
        }
        let now = self.warden.now();
        let life = executed.life_us.unwrap_or(RECEIPT_LIFE_US);
        let expires = Timestamp::from_micros(now.as_micros().saturating_add(life));
        let findings = self.alerts(executed);
        let payload = ReceiptPayload {
            namespace: executed.namespace.to_string(),
            step: executed.step.clone(),
            subject: executed.subject.clone(),
            arguments: executed.arguments,
            outcome: executed.outcome,
            expires,
            output: executed.output.clone(),
            tool: executed.tool.clone(),
            alert: findings.first().map(|finding| finding.reason.clone()),
        };
        let policy = self.warden.chain.registry().policy_hash();
        let mut draft = draft::note(
            LeafKind::Receipt,
            Some(&self.principal),
            payload.encode(),
            policy,
            now,
        )?;
        draft.leaf.context = Some(executed.context);
        draft.leaf.namespace = self.warden.chain.namespace_named(executed.namespace.as_str());
        let placed = self.warden.writer.commit(vec![draft])?;
        Ok(Receipted {
            position: placed.first().map_or(0, |placed| placed.position),
            expires,
            findings,
        })
    }

    /// A listed action that ran although nobody redeemed a permit for it: each permit explains one receipt.
    fn alerts(&self, executed: &Executed) -> Vec<Finding> {
        let policy = self.warden.policy();
        let ran = |tool: &str| executed.step == tool || executed.tool.as_deref() == Some(tool);
        let Some(rule) = policy.actions.iter().find(|rule| ran(&rule.tool)) else {
            return Vec::new();
        };
        let explained = self
            .warden
            .with_facts(|facts| facts.has_unreported_redemption(&executed.context, &rule.tool));
        if explained {
            return Vec::new();
        }
        vec![Finding {
            stage: "gate".to_owned(),
            rule: "no-permit".to_owned(),
            severity: Severity::High,
            score: Score::MAX,
            span: None,
            reason: format!(
                "action `{}` ran in this context without a redeemed permit",
                rule.tool
            ),
        }]
    }
}

fn check(executed: &Executed) -> Result<(), WardenError> {
    let text = |field: &'static str, text: &str| {
        if text.is_empty() || text.len() > MAX_BYTES || text.contains('\0') {
            return Err(WardenError::BadInput {
                field,
                given: format!("{} bytes", text.len()),
                expected: format!("1 to {MAX_BYTES} bytes of text without NUL"),
            });
        }
        Ok(())
    };
    text("step", &executed.step)?;
    text("subject.kind", &executed.subject.kind)?;
    text("subject.id", &executed.subject.id)?;
    if let Some(tool) = &executed.tool {
        text("tool", tool)?;
    }
    if executed.output.len() > MAX_OUTPUTS {
        return Err(WardenError::BadInput {
            field: "output",
            given: format!("{} values", executed.output.len()),
            expected: format!("at most {MAX_OUTPUTS}"),
        });
    }
    for (name, value) in &executed.output {
        text("output", name)?;
        text("output", value)?;
    }
    if executed
        .life_us
        .is_some_and(|life| life == 0 || life > MAX_LIFE_US)
    {
        return Err(WardenError::BadInput {
            field: "life",
            given: executed.life_us.unwrap_or_default().to_string(),
            expected: format!("1 to {MAX_LIFE_US} microseconds"),
        });
    }
    Ok(())
}
