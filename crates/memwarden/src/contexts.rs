//! Contexts: one model's window, its token, its label, and what a person asks for in it.

use crate::registry::LabelRule;
use crate::{Handle, WardenError, draft, random};
use memwarden_core::{
    Authority, BeginPayload, Channel, ContextId, Digest, Leaf, LeafKind, ObservePayload, REQUEST_LIFE_US,
    RequestPayload, Role, Status, Timestamp, Window,
};
use std::str::FromStr;

/// Longest request in bytes.
const MAX_REQUEST_BYTES: usize = 65_536;
/// Longest name of an observed source in bytes.
const MAX_SOURCE_BYTES: usize = 1_024;
/// Most tools that one request names.
const MAX_TOOLS: usize = 128;

/// A context that was just opened. The token exists nowhere else; the log keeps its SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its id: no secret, names it in requests, receipts and approvals.
    pub context: ContextId,
    /// Its token, 32 hexadecimal digits: works for 24 hours, only with the credential that opened it. It
    /// travels in a header or handle, never as a tool parameter.
    pub token: String,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl Handle {
    /// Opens a context: one model's window, whose label starts at `act` and only falls.
    ///
    /// # Errors
    /// A store that fails.
    pub fn begin(&self) -> Result<Opened, WardenError> {
        let context = ContextId::from_bytes(random::bytes()?);
        let token: [u8; 16] = random::bytes()?;
        let payload = BeginPayload {
            token: Digest::of(&token),
        };
        self.label(context, payload.encode(), Authority::Act, Status::Active)?;
        let token = ContextId::from_bytes(token).to_string();
        Ok(Opened { context, token })
    }

    /// The same principal, acting in the context that `token` opened.
    ///
    /// # Errors
    /// A token that is malformed, forged, expired, of an ended context, or opened with another credential.
    pub fn within(&self, token: &str) -> Result<Self, WardenError> {
        let refused = |reason: &str| WardenError::Context {
            reason: reason.to_owned(),
        };
        let bytes = ContextId::from_str(token)
            .map_err(|_| refused("the token is malformed: expected 32 hexadecimal digits, lower case"))?;
        self.facts()?;
        let found = self
            .warden
            .with_facts(|facts| facts.context_of(&Digest::of(bytes.as_bytes())));
        let context = found.ok_or_else(|| refused("no context has this token"))?;
        let window = self.window(&context)?;
        if window.opened_by != self.principal.id {
            return Err(refused("no context has this token"));
        }
        Ok(Self {
            context: Some(context),
            ..self.clone()
        })
    }

    /// The context this handle acts in.
    #[must_use]
    pub const fn context(&self) -> Option<ContextId> {
        self.context
    }

    /// The label that a write now takes.
    #[must_use]
    pub fn current_label(&self) -> Authority {
        let now = self.warden.now();
        self.warden
            .chain
            .replay()
            .origin()
            .label_of(self.context.as_ref(), &self.principal.id, now)
    }

    /// Ends the context of this handle: its token stops working.
    ///
    /// # Errors
    /// A handle without a context.
    pub fn end(&self) -> Result<(), WardenError> {
        let context = self.require_context("end")?;
        self.facts()?;
        let label = self.window(&context)?.label;
        let payload = ObservePayload {
            source: "end".to_owned(),
            digest: Digest::of(b""),
        };
        self.label(context, payload.encode(), label, Status::Retired)
    }

    /// What a person asked for in a context: the mandate for actions in it. It covers `tools`, or, where none
    /// are named, every `sensitive` action of the policy, for one hour or until the context ends.
    ///
    /// # Errors
    /// A handle that is neither the owner's nor a user's, unless its key vouches for roles; a context that is
    /// not open; a text over its limit.
    pub fn request(
        &self,
        context: ContextId,
        text: &str,
        tools: Option<&[String]>,
    ) -> Result<Timestamp, WardenError> {
        let vouches = self.warden.chain.registry().attests_roles(&self.principal.id);
        if self.warden.mechanisms.request_role && !vouches {
            self.require_roles(
                "request",
                &[Role::Owner, Role::User],
                "the owner, a user, or a key that vouches for roles",
            )?;
        }
        self.facts()?;
        self.require_unrevoked("request")?;
        self.window(&context)?;
        if text.trim().is_empty() || text.len() > MAX_REQUEST_BYTES || text.contains('\0') {
            return Err(WardenError::BadInput {
                field: "text",
                given: format!("{} bytes", text.len()),
                expected: format!("1 to {MAX_REQUEST_BYTES} bytes of text without NUL"),
            });
        }
        if tools.is_some_and(|tools| tools.len() > MAX_TOOLS || tools.iter().any(String::is_empty)) {
            return Err(WardenError::BadInput {
                field: "tools",
                given: format!("{} tools", tools.map_or(0, <[String]>::len)),
                expected: format!("at most {MAX_TOOLS} names"),
            });
        }
        let expires = Timestamp::from_micros(self.warden.now().as_micros().saturating_add(REQUEST_LIFE_US));
        let payload = RequestPayload {
            text: text.to_owned(),
            tools: tools.map(<[String]>::to_vec),
            expires,
        };
        self.label(context, payload.encode(), Authority::Act, Status::Active)?;
        Ok(expires)
    }

    /// Untrusted content entered the window without being stored: a page, a tool's output. A source that the
    /// policy trusts lowers nothing.
    ///
    /// # Errors
    /// A handle without a context, or a source out of range.
    pub fn observe(&self, source: &str, digest: Digest) -> Result<Authority, WardenError> {
        let context = self.require_context("observe")?;
        if source.is_empty() || source.len() > MAX_SOURCE_BYTES || source.contains('\0') {
            return Err(WardenError::BadInput {
                field: "source",
                given: format!("{} bytes", source.len()),
                expected: format!("1 to {MAX_SOURCE_BYTES} bytes of text without NUL"),
            });
        }
        self.facts()?;
        let label = self.window(&context)?.label;
        let trusted = self
            .warden
            .policy()
            .tools
            .get(source)
            .is_some_and(|tool| tool.trusted);
        let authority = if trusted { label } else { Authority::None };
        let payload = ObservePayload {
            source: source.to_owned(),
            digest,
        };
        self.label(context, payload.encode(), authority, Status::Active)?;
        Ok(label.min(authority))
    }

    /// The label that a write of this principal takes.
    pub(crate) fn write_label(&self, channel: Channel, context: Option<ContextId>) -> Authority {
        let warden = &self.warden;
        let rule = warden
            .chain
            .registry()
            .label_rule(&self.principal.id, channel, warden.mechanisms);
        let now = warden.now();
        let replay = warden.chain.replay();
        let origin = replay.origin();
        match (rule, context) {
            (LabelRule::Skipped, _) => Authority::Act,
            (LabelRule::OfContextOnly, None) => Authority::None,
            (LabelRule::Applies | LabelRule::OfContextOnly, context) => {
                origin.label_of(context.as_ref(), &self.principal.id, now)
            }
        }
    }

    /// The highest authority that this principal can write.
    pub(crate) fn class(&self) -> Authority {
        self.warden.chain.registry().class_of(&self.principal)
    }

    /// What this handle's wish counts for: its class, lowered by the label; nothing while it is revoked.
    pub(crate) fn acting(&self) -> Authority {
        self.acting_in(Channel::Direct, self.context)
    }

    /// [`Handle::acting`] by another way in, or for another context.
    pub(crate) fn acting_in(&self, channel: Channel, context: Option<ContextId>) -> Authority {
        if self.is_revoked() {
            return Authority::None;
        }
        self.class().min(self.write_label(channel, context))
    }

    /// Whether a revocation covers what this principal does now.
    pub(crate) fn is_revoked(&self) -> bool {
        let now = self.warden.now();
        let replay = self.warden.chain.replay();
        replay.standing().revokes(&self.principal.id, now)
    }

    pub(crate) fn require_unrevoked(&self, verb: &'static str) -> Result<(), WardenError> {
        if self.is_revoked() {
            return Err(WardenError::Forbidden {
                verb,
                role: self.principal.role,
                needs: "a principal that is not revoked",
            });
        }
        Ok(())
    }

    pub(crate) fn require_context(&self, verb: &'static str) -> Result<ContextId, WardenError> {
        self.context.ok_or_else(|| WardenError::Context {
            reason: format!("`{verb}` acts in a context: open one with `begin` and pass its token"),
        })
    }

    /// A context that is open, as far as this process has read the log. A restore closes all that were opened
    /// before: what was said in them since the restored state is not known.
    pub(crate) fn window(&self, context: &ContextId) -> Result<Window, WardenError> {
        let now = self.warden.now();
        let (window, epoch) = {
            let replay = self.warden.chain.replay();
            (replay.origin().window(context).copied(), replay.epoch())
        };
        let of_this_epoch = |window: &Window| window.epoch == epoch || !self.warden.mechanisms.epochs;
        window
            .filter(|window| window.is_open(now) && of_this_epoch(window))
            .ok_or_else(|| WardenError::Context {
                reason: format!("context {context} is not open: it ended, expired, or was never opened"),
            })
    }

    /// Brings the facts up to the newest entry.
    pub(crate) fn facts(&self) -> Result<(), WardenError> {
        let mut view = self.warden.view()?;
        self.warden.catch_up_facts(&mut *view.snapshot)
    }

    fn label(
        &self,
        context: ContextId,
        payload: Vec<u8>,
        authority: Authority,
        status: Status,
    ) -> Result<(), WardenError> {
        let policy = self.warden.chain.registry().policy_hash();
        let at = self.warden.now();
        let mut draft = draft::note(LeafKind::Label, Some(&self.principal), payload, policy, at)?;
        draft.leaf.context = Some(context);
        draft.leaf.authority = authority;
        draft.leaf.status = status;
        self.warden.writer.commit(vec![draft])?;
        Ok(())
    }
}

/// Whether a leaf carries evidence whose words the gate may need.
pub(crate) fn feeds_the_gate(leaf: &Leaf) -> bool {
    matches!(
        leaf.kind,
        LeafKind::Label | LeafKind::Receipt | LeafKind::Permit | LeafKind::Approval
    )
}
