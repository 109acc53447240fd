//! `authorize`, `explain`, `redeem`, `approve`: the gate over verified evidence.

use crate::evidence::GateEvidence;
use crate::{Handle, Warden, WardenError, draft, random};
use memwarden_core::log::Refusal;
use memwarden_core::{
    APPROVAL_LIFE_US, Action, ApprovalPayload, ContextId, Decided, Decision, Digest, LeafKind, Namespace,
    OriginMode, PERMIT_LIFE_US, Params, PermitPayload, PrincipalId, RecordId, RedeemPayload, Role, Status,
    Timestamp, action_hash, approval_hash, authorize,
};
use std::cell::RefCell;

/// How often a decision is made anew because evidence changed under it.
const DECISION_TRIES: usize = 16;

/// What the gate said, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorized {
    /// The decision, with everything that is missing.
    pub decided: Decided,
    /// The permit, for `allow`: single use, five minutes, for exactly these parameters.
    pub permit: Option<RecordId>,
    /// RFC 8785 hash of tool, parameters, namespace and context.
    pub action: Digest,
    /// Whether an approval was used.
    pub approved: bool,
    /// Its place in the log.
    pub position: u64,
}

/// A person's confirmation of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approved {
    /// Its id: the requester passes it with the very same action.
    pub approval: RecordId,
    /// When it stops working.
    pub expires: Timestamp,
}

/// What a decision was made from.
struct Evaluated {
    decided: Decided,
    action: Digest,
    policy: Digest,
    epoch: u32,
    seen: u64,
}

impl Handle {
    /// Decides an action in this handle's context and logs the decision.
    ///
    /// # Errors
    /// A handle without a context; evidence that cannot be read: nothing is then allowed.
    pub fn authorize(
        &self,
        namespace: &Namespace,
        tool: &str,
        params: &Params,
        approval: Option<RecordId>,
    ) -> Result<Authorized, WardenError> {
        let context = self.require_context("authorize")?;
        check_tool(tool)?;
        let mut tries = 0;
        loop {
            let evaluated = self.evaluate(namespace, context, tool, params)?;
            match self.decide(namespace, context, tool, &evaluated, approval) {
                Err(WardenError::Refused(Refusal::EvidenceChanged)) if tries < DECISION_TRIES => tries += 1,
                decided => return decided,
            }
        }
    }

    /// What the gate would say, without logging it.
    ///
    /// # Errors
    /// As [`Handle::authorize`].
    pub fn explain(
        &self,
        namespace: &Namespace,
        tool: &str,
        params: &Params,
    ) -> Result<Decided, WardenError> {
        let context = self.require_context("explain")?;
        check_tool(tool)?;
        Ok(self.evaluate(namespace, context, tool, params)?.decided)
    }

    /// Spends a permit for what is about to be executed. The action layer calls it, with the parameters that
    /// it holds in its hands.
    ///
    /// # Errors
    /// A role other than step, system or owner; a permit that is spent, expired, of an earlier epoch, or for
    /// another action.
    pub fn redeem(
        &self,
        permit: RecordId,
        namespace: &Namespace,
        context: ContextId,
        tool: &str,
        params: &Params,
    ) -> Result<u64, WardenError> {
        self.require_roles(
            "redeem",
            &[Role::Step, Role::System, Role::Owner],
            "a step, the system, or the owner",
        )?;
        let action = action_hash(tool, params, namespace.as_str(), &context.to_string());
        self.facts()?;
        self.require_unrevoked("redeem")?;
        let spent = |problem| {
            WardenError::Refused(Refusal::Spent {
                what: "permit",
                id: permit,
                problem,
            })
        };
        let granted = self
            .warden
            .with_facts(|facts| facts.permit(&permit).cloned())
            .ok_or_else(|| spent("was never given, or has expired"))?;
        if self.warden.mechanisms.permit_binding && granted.action != action {
            return Err(spent(
                "was given for another action: tool, parameters, namespace or context differ",
            ));
        }
        if granted.expires <= self.warden.now() {
            return Err(spent("has expired"));
        }
        let policy = self.warden.chain.registry().policy_hash();
        let bytes = RedeemPayload { action }.encode();
        let mut draft = draft::note(
            LeafKind::Permit,
            Some(&self.principal),
            bytes,
            policy,
            self.warden.now(),
        )?;
        draft.leaf.record = Some(permit);
        draft.leaf.context = Some(context);
        draft.leaf.status = Status::Retired;
        let placed = self.warden.writer.commit(vec![draft])?;
        Ok(placed.first().map_or(0, |placed| placed.position))
    }

    /// Confirms one action that somebody else asked for: exactly this tool, these parameters, this namespace
    /// and context, under the policy in force. Works once, for ten minutes; raises no record.
    ///
    /// # Errors
    /// A handle that is neither the owner's nor a user's; the credential that opened the context.
    pub fn approve(
        &self,
        namespace: &Namespace,
        context: ContextId,
        tool: &str,
        params: &Params,
    ) -> Result<Approved, WardenError> {
        let by_another = self.warden.mechanisms.approval_by_another;
        if by_another {
            self.require_roles("approve", &[Role::Owner, Role::User], "the owner or a user")?;
        }
        check_tool(tool)?;
        self.facts()?;
        self.require_unrevoked("approve")?;
        let window = self.window(&context)?;
        if by_another && window.opened_by == self.principal.id {
            return Err(WardenError::BadInput {
                field: "context",
                given: context.to_string(),
                expected: "a context of somebody else: nobody approves what it asked for itself".to_owned(),
            });
        }
        let action = action_hash(tool, params, namespace.as_str(), &context.to_string());
        let policy = self.warden.chain.registry().policy_hash();
        let epoch = self.warden.bound_epoch();
        let now = self.warden.now();
        let expires = Timestamp::from_micros(now.as_micros().saturating_add(APPROVAL_LIFE_US));
        let payload = ApprovalPayload {
            hash: approval_hash(&action, &policy, epoch),
            requester: window.opened_by,
            context,
            expires,
        };
        let approval = RecordId::from_bytes(random::bytes()?);
        let mut draft = draft::note(
            LeafKind::Approval,
            Some(&self.principal),
            payload.encode(),
            policy,
            now,
        )?;
        draft.leaf.record = Some(approval);
        draft.leaf.context = Some(context);
        self.warden.writer.commit(vec![draft])?;
        Ok(Approved { approval, expires })
    }

    fn evaluate(
        &self,
        namespace: &Namespace,
        context: ContextId,
        tool: &str,
        params: &Params,
    ) -> Result<Evaluated, WardenError> {
        let warden = &self.warden;
        let mut view = warden.view()?;
        warden.catch_up_facts(&mut *view.snapshot)?;
        self.window(&context)?;
        let row = match view.namespace(namespace) {
            Ok(row) => {
                view.require_intact(&row)?;
                Some(row)
            }
            Err(WardenError::NoNamespace { .. }) => None,
            Err(error) => return Err(error),
        };
        let (policy, hash) = {
            let registry = warden.chain.registry();
            (registry.policy(), registry.policy_hash())
        };
        let epoch = warden.bound_epoch();
        let (seen, now) = (view.size, warden.now());
        let action = Action {
            tool: tool.to_owned(),
            params: params.clone(),
            context,
        };
        let decided = if policy.origin == OriginMode::Off {
            Decided {
                decision: Decision::Allow,
                reasons: Vec::new(),
                evidence: Vec::new(),
            }
        } else {
            warden
                .with_facts(|facts| {
                    let evidence = GateEvidence {
                        facts,
                        view: RefCell::new(view),
                        name: namespace,
                        namespace: row.as_ref(),
                        handle: self,
                        now,
                    };
                    authorize(&policy.actions, &action, &evidence, now, warden.mechanisms.gate)
                })
                .map_err(|error| WardenError::unverified(error.reason))?
        };
        let action = action_hash(tool, params, namespace.as_str(), &context.to_string());
        Ok(Evaluated {
            decided,
            action,
            policy: hash,
            epoch,
            seen,
        })
    }

    fn decide(
        &self,
        namespace: &Namespace,
        context: ContextId,
        tool: &str,
        evaluated: &Evaluated,
        approval: Option<RecordId>,
    ) -> Result<Authorized, WardenError> {
        let warden = &self.warden;
        let now = warden.now();
        let mut decided = evaluated.decided.clone();
        let mut used = None;
        if decided.decision == Decision::Confirm
            && let Some(approval) = approval
        {
            self.check_approval(approval, context, evaluated, now)?;
            decided.decision = Decision::Allow;
            used = Some(approval);
        }
        let payload = PermitPayload {
            decision: decided.decision,
            tool: tool.to_owned(),
            action: evaluated.action,
            expires: Timestamp::from_micros(now.as_micros().saturating_add(PERMIT_LIFE_US)),
            decided_at: evaluated.seen,
            evidence: decided.evidence.clone(),
            reasons: decided.reasons.iter().map(|reason| reason.text.clone()).collect(),
        };
        let id = RecordId::from_bytes(random::bytes()?);
        let mut draft = draft::note(
            LeafKind::Permit,
            Some(&self.principal),
            payload.encode(),
            evaluated.policy,
            now,
        )?;
        draft.leaf.record = Some(id);
        draft.leaf.context = Some(context);
        draft.leaf.namespace = warden.chain.namespace_named(namespace.as_str());
        draft.leaf.status = match decided.decision {
            Decision::Allow => Status::Active,
            Decision::Confirm => Status::Quarantined,
            Decision::Deny => Status::Retired,
        };
        draft.leaf.parents = used.into_iter().collect();
        let placed = warden.writer.commit(vec![draft])?;
        Ok(Authorized {
            permit: (decided.decision == Decision::Allow).then_some(id),
            action: evaluated.action,
            approved: used.is_some(),
            position: placed.first().map_or(0, |placed| placed.position),
            decided,
        })
    }

    fn check_approval(
        &self,
        id: RecordId,
        context: ContextId,
        evaluated: &Evaluated,
        now: Timestamp,
    ) -> Result<(), WardenError> {
        let spent = |problem| {
            WardenError::Refused(Refusal::Spent {
                what: "approval",
                id,
                problem,
            })
        };
        let approval = self
            .warden
            .with_facts(|facts| facts.approval(&id).cloned())
            .ok_or_else(|| spent("was never given, or has expired"))?;
        if approval.words.expires <= now {
            return Err(spent("has expired"));
        }
        if !self.warden.may_approve(&approval.by, approval.time) {
            return Err(spent("was given by somebody who may not approve, or was revoked"));
        }
        let approval = approval.words;
        let hash = approval_hash(&evaluated.action, &evaluated.policy, evaluated.epoch);
        let bound =
            approval.hash == hash && approval.context == context && approval.requester == self.principal.id;
        if self.warden.mechanisms.approval_binding && !bound {
            return Err(spent(
                "was given for another action: parameters, context, requester, policy or epoch differ",
            ));
        }
        Ok(())
    }
}

impl Warden {
    /// The epoch that approvals are bound to.
    fn bound_epoch(&self) -> u32 {
        if self.mechanisms.epochs {
            self.chain.replay().epoch()
        } else {
            0
        }
    }

    /// Whether what `by` approved at `time` is the approval of a person who still stands for it.
    fn may_approve(&self, by: &PrincipalId, time: Timestamp) -> bool {
        let is_person = self
            .principal(by)
            .is_some_and(|principal| matches!(principal.role, Role::Owner | Role::User));
        (is_person || !self.mechanisms.approval_by_another)
            && !self.chain.replay().standing().revokes(by, time)
    }
}

fn check_tool(tool: &str) -> Result<(), WardenError> {
    if (1..=128).contains(&tool.len()) && !tool.chars().any(char::is_control) {
        return Ok(());
    }
    Err(WardenError::BadInput {
        field: "tool",
        given: tool.chars().take(80).filter(|c| !c.is_control()).collect(),
        expected: "1 to 128 bytes without control characters".to_owned(),
    })
}
