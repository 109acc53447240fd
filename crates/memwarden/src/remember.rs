//! `remember`: screen, decide, seal, make visible; answer when it is durable.

use crate::encoder::Encoded;
use crate::view::{LazyView, View};
use crate::{Handle, WardenError, draft, random, rewrite};
use memwarden_core::log::{Body, Draft, NamespaceRow, NewRecord, Refusal};
use memwarden_core::{
    Authority, Channel, ContextId, Digest, Entry, Finding, Kind, LeafKind, Namespace, OriginMode, Policy,
    Record, RecordId, RecordPayload, Role, StageName, Status, StatusChange, Taint, Timestamp, VectorPayload,
    Verdict, commitment, encode_findings,
};
use memwarden_guard::{
    Candidate, Phase, Ran, Screening, StageError, StoreView, Writer, declaration_mismatch,
};
use std::borrow::Cow;
use std::sync::Arc;

/// How deep declared parents are followed for the declared-source taint of the published guard.
const MAX_TAINT_DEPTH: usize = 16;
/// How often an entry is screened anew because the policy changed under it.
const POLICY_TRIES: usize = 8;

/// How an entry comes in, beyond its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// The way in.
    pub channel: Channel,
    /// The record that it replaces. If the writer is weaker than that record, the new one is stored beside
    /// it as a proposal.
    pub supersedes: Option<RecordId>,
    /// For a tool or step: the context that it ran for. Its label can only lower what is written, so no token
    /// is asked for. Any other principal proves its context with a token.
    pub context: Option<ContextId>,
    /// What was said up to the turn that the entry was drawn from, oldest first, that turn last: what the stage
    /// `anomaly` compares it with. Stored nowhere.
    pub turns: Vec<String>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            channel: Channel::Direct,
            supersedes: None,
            context: None,
            turns: Vec::new(),
        }
    }
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The record's id; it exists whatever the verdict.
    pub id: RecordId,
    /// The verdict.
    pub verdict: Verdict,
    /// The stage that decided it.
    pub stage: Option<StageName>,
    /// What the stages saw.
    pub findings: Vec<Finding>,
    /// Whether it is visible.
    pub status: Status,
    /// Its authority.
    pub written: Authority,
    /// Its place in the log.
    pub position: u64,
    /// Its entry time.
    pub time: Timestamp,
    /// The record that it would replace, where the writer was too weak to do so.
    pub proposal_for: Option<RecordId>,
    /// For [`Verdict::Rewrite`]: the quarantined record that keeps the text as it came. [`Remembered::id`] is then the
    /// record of the cleaned text, and its parent is this one.
    pub original: Option<RecordId>,
}

/// What stays the same from try to try.
#[derive(Clone, Copy)]
struct Writing<'a> {
    namespace: &'a NamespaceRow,
    options: &'a WriteOptions,
    context: Option<ContextId>,
    jump: Option<&'a Finding>,
    encoded: &'a Encoded<'a>,
}

/// What the stages made of an entry, and under what. A try that is refused for another reason is screened no second
/// time: no model is asked twice about one entry.
struct Settled {
    policy: Arc<Policy>,
    trust: Writer,
    inherited: Option<Taint>,
    screening: Screening,
    cleaned: Option<Entry>,
}

/// What screening and sealing decided before the commit.
struct Prepared {
    drafts: Vec<Draft>,
    remembered: Remembered,
    ran: Vec<Ran>,
}

impl Handle {
    /// Remembers one entry.
    ///
    /// # Errors
    /// An entry over a limit, a parent that is not active, a quota that is used up, a store that fails.
    /// Nothing is stored then.
    pub fn remember(&self, namespace: &Namespace, entry: Entry) -> Result<Remembered, WardenError> {
        self.remember_with(namespace, entry, &WriteOptions::default())
    }

    /// [`Handle::remember`] with a channel and a record to replace.
    ///
    /// # Errors
    /// As there.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an entry is given away; it is copied only because another process may change the policy"
    )]
    pub fn remember_with(
        &self,
        namespace: &Namespace,
        entry: Entry,
        options: &WriteOptions,
    ) -> Result<Remembered, WardenError> {
        entry.check(self.warden.limits)?;
        let context = self.writing_in(options)?;
        let row = self.warden.ensure_namespace(namespace)?;
        let jump = self.warden.look_at_clock();
        let encoded = Encoded::new(self.warden.encoder.as_ref(), entry.subject.as_deref());
        let mut settled = None;
        let mut tries = 0;
        loop {
            let writing = Writing {
                namespace: &row,
                options,
                context,
                jump: jump.as_ref(),
                encoded: &encoded,
            };
            let prepared = self.prepare(&writing, entry.clone(), &mut settled)?;
            let placed = match self.warden.writer.commit(prepared.drafts) {
                // Another process loaded a policy, raised the record or lowered a parent, or the label fell: look
                // again and weigh the entry anew.
                Err(WardenError::Refused(
                    Refusal::PolicyChanged
                    | Refusal::LabelFell { .. }
                    | Refusal::ParentFell { .. }
                    | Refusal::TooWeak { .. },
                )) if tries < POLICY_TRIES => {
                    tries += 1;
                    drop(self.warden.view()?);
                    continue;
                }
                placed => placed?,
            };
            self.warden.chain.learn_name(row.id, &row.name);
            let mut remembered = prepared.remembered;
            if let Some(place) = placed.last() {
                remembered.position = place.position;
                remembered.time = place.time;
            }
            self.warden.tell(Phase::Write, remembered.id, &prepared.ran);
            return Ok(remembered);
        }
    }

    /// Whether an importer brought an entry with this `origin_key` before, and which record it became.
    ///
    /// # Errors
    /// A store that fails.
    pub fn imported_before(
        &self,
        namespace: &Namespace,
        origin_key: &str,
    ) -> Result<Option<RecordId>, WardenError> {
        let mut view = self.warden.view()?;
        let row = match view.namespace(namespace) {
            Err(WardenError::NoNamespace { .. }) => return Ok(None),
            row => row?,
        };
        let Some(number) = view.snapshot.find_origin(row.id, origin_key)? else {
            return Ok(None);
        };
        Ok(view.record(number)?.map(|record| record.get().id))
    }

    /// The context that a write belongs to: the one of this handle, or the one that a tool ran for.
    fn writing_in(&self, options: &WriteOptions) -> Result<Option<ContextId>, WardenError> {
        let context = match (self.context, options.context) {
            (own, None) => own,
            (None, Some(given)) if matches!(self.principal.role, Role::Tool | Role::Step) => Some(given),
            (_, Some(given)) => {
                return Err(WardenError::BadInput {
                    field: "context",
                    given: given.to_string(),
                    expected: "none: only a tool or step without a token names the context it ran for"
                        .to_owned(),
                });
            }
        };
        if let Some(context) = &context {
            if options.context.is_some() {
                drop(self.warden.view()?);
            }
            self.window(context)?;
        }
        Ok(context)
    }

    fn prepare(
        &self,
        writing: &Writing<'_>,
        entry: Entry,
        settled: &mut Option<Settled>,
    ) -> Result<Prepared, WardenError> {
        let Writing {
            namespace,
            options,
            context,
            jump,
            encoded,
        } = *writing;
        let warden = &self.warden;
        let policy = warden.policy();
        let at = warden.now();
        if let Some(end) = entry.valid_until
            && end <= at
        {
            return Err(WardenError::BadInput {
                field: "valid_until",
                given: end.as_micros().to_string(),
                expected: format!("a time after now ({} microseconds since 1970)", at.as_micros()),
            });
        }
        let view = LazyView::new(warden);
        let written = self.written_authority(&entry, options.channel, context)?;
        let inherited = if entry.parents.is_empty() {
            None
        } else {
            view.with(|view| inherited_taint(&policy, view, &entry.parents, 0))?
        };
        let trust = match written {
            Authority::Act => Writer::Trusted,
            Authority::Inform | Authority::None => Writer::Untrusted,
        };
        let (mut screening, cleaned) = match settled {
            Some(known) if known.policy == policy && (known.trust, known.inherited) == (trust, inherited) => {
                (known.screening.clone(), known.cleaned.clone())
            }
            _ => {
                let counts = NamespaceView {
                    view: &view,
                    namespace,
                    candidate: None,
                    turns: &options.turns,
                    encoded,
                };
                let screen = |entry: &Entry| {
                    let candidate = Candidate { entry, inherited };
                    warden.guard().screen_with(
                        &policy,
                        Phase::Write,
                        &candidate,
                        &counts,
                        trust,
                        &warden.chats,
                    )
                };
                let (screening, cleaned) = rewrite::settle(&entry, screen(&entry), warden.limits, screen);
                *settled = Some(Settled {
                    policy: Arc::clone(&policy),
                    trust,
                    inherited,
                    screening: screening.clone(),
                    cleaned: cleaned.clone(),
                });
                (screening, cleaned)
            }
        };
        if policy.origin == OriginMode::Enforced && options.channel != Channel::Import {
            // The declaration is never read for anything else.
            let declared = entry.source.as_deref();
            screening
                .findings
                .extend(declaration_mismatch(declared, self.principal.role));
        }
        screening.findings.extend(jump.cloned());
        let status = match screening.verdict {
            Verdict::Admit | Verdict::Annotate | Verdict::Rewrite => Status::Active,
            Verdict::Quarantine => Status::Quarantined,
            Verdict::Reject => Status::Retired,
        };
        let id = RecordId::from_bytes(random::bytes()?);
        let mut drafts = Vec::with_capacity(3);
        let (entry, original, findings) = match cleaned {
            Some(mut cleaned) => {
                let original = RecordId::from_bytes(random::bytes()?);
                let mut kept = entry;
                // An importer's key names one record, the one in sight.
                kept.origin_key = None;
                let vector = vector(encoded, &kept)?;
                drafts.push(write_draft(
                    namespace,
                    original,
                    kept,
                    vector,
                    options.channel,
                    self,
                    context,
                    written,
                    Status::Quarantined,
                    Verdict::Quarantine,
                    &screening.findings,
                    policy.hash(),
                    at,
                )?);
                cleaned.parents = vec![original];
                let findings = rewrite::without_spans(&screening.findings);
                (cleaned, Some(original), Cow::Owned(findings))
            }
            None => (entry, None, Cow::Borrowed(screening.findings.as_slice())),
        };
        let proposal_for = match options.supersedes {
            Some(old) if status == Status::Active => {
                // What replaces a record must itself be as strong, whoever writes it.
                let acting = written.min(self.acting_in(options.channel, context));
                let (what, proposal) = self.supersede(namespace, old, acting)?;
                let mut change = draft::status(
                    &warden.chain,
                    Some(&self.principal),
                    old,
                    what,
                    Some(id),
                    None,
                    "a newer record was written",
                    at,
                )?;
                change.leaf.authority = acting;
                change.leaf.context = context;
                change.leaf.channel = options.channel;
                drafts.push(change);
                proposal
            }
            _ => None,
        };
        let vector = vector(encoded, &entry)?;
        drafts.push(write_draft(
            namespace,
            id,
            entry,
            vector,
            options.channel,
            self,
            context,
            written,
            status,
            screening.verdict,
            &findings,
            policy.hash(),
            at,
        )?);
        let remembered = Remembered {
            id,
            verdict: screening.verdict,
            stage: screening.stage,
            findings: screening.findings,
            status,
            written,
            position: 0,
            time: at,
            proposal_for,
            original,
        };
        Ok(Prepared {
            drafts,
            remembered,
            ran: screening.ran,
        })
    }

    /// Written authority: min(class, declared parents, label of the context or hour). What is imported has none.
    fn written_authority(
        &self,
        entry: &Entry,
        channel: Channel,
        context: Option<ContextId>,
    ) -> Result<Authority, WardenError> {
        let class = if channel == Channel::Import {
            Authority::None
        } else {
            self.class().min(self.write_label(channel, context))
        };
        let parents: Result<Vec<_>, _> = entry
            .parents
            .iter()
            .map(|parent| self.warden.expectation(*parent).map(|known| known.effective()))
            .collect();
        Ok(Authority::derive(class, parents?))
    }

    /// Invariant 11: whether this principal may take `old` out of sight, or only propose to.
    fn supersede(
        &self,
        namespace: &NamespaceRow,
        old: RecordId,
        acting: Authority,
    ) -> Result<(StatusChange, Option<RecordId>), WardenError> {
        let known = self.warden.expectation(old)?;
        if known.namespace != namespace.id {
            // Invariant 2: no write in one namespace changes what another serves.
            return Err(WardenError::BadInput {
                field: "supersedes",
                given: old.to_string(),
                expected: format!("a record of namespace `{}`", namespace.name),
            });
        }
        if acting >= known.effective() || !self.warden.mechanisms.stronger_records {
            Ok((StatusChange::Supersede, None))
        } else {
            Ok((StatusChange::ProposeSupersede, Some(old)))
        }
    }
}

/// The vector of an entry as its row keeps it; none where there was nothing to encode.
fn vector(encoded: &Encoded<'_>, entry: &Entry) -> Result<Option<Vec<u8>>, WardenError> {
    let found = encoded.of(&entry.content)?;
    let kept = found.filter(|(_, embedding)| !embedding.is_zero());
    Ok(kept.map(|(encoder, embedding)| {
        let encoder = encoder.to_owned();
        VectorPayload { encoder, embedding }.encode()
    }))
}

#[expect(
    clippy::too_many_arguments,
    reason = "one argument for each thing that the leaf binds"
)]
fn write_draft(
    namespace: &NamespaceRow,
    id: RecordId,
    entry: Entry,
    vector: Option<Vec<u8>>,
    channel: Channel,
    by: &Handle,
    context: Option<ContextId>,
    written: Authority,
    status: Status,
    verdict: Verdict,
    findings: &[Finding],
    policy: Digest,
    at: Timestamp,
) -> Result<Draft, WardenError> {
    let salt = random::salt()?;
    let payload = commitment(&salt, &RecordPayload::encode(&namespace.name, &entry, verdict));
    let findings = if findings.is_empty() {
        None
    } else {
        Some((random::salt()?, encode_findings(findings)))
    };
    let mut leaf = draft::leaf(LeafKind::Write, Some(&by.principal), payload, policy, at);
    leaf.namespace = Some(namespace.id);
    leaf.record = Some(id);
    leaf.channel = channel;
    leaf.context = context;
    leaf.authority = written;
    leaf.status = status;
    leaf.parents.clone_from(&entry.parents);
    leaf.findings = findings.as_ref().map(|(salt, bytes)| commitment(salt, bytes));
    leaf.vector = vector.as_ref().map(|bytes| commitment(&salt, bytes));
    let row = NewRecord {
        id,
        namespace: namespace.id,
        entry,
        salt,
        verdict,
        findings,
        vector,
        status,
    };
    Ok(Draft {
        leaf,
        body: Body::Record(Box::new(row)),
    })
}

/// What the guard's stages may ask of the store: counts within the candidate's namespace.
pub(crate) struct NamespaceView<'v, 'a> {
    pub(crate) view: &'v LazyView<'a>,
    pub(crate) namespace: &'v NamespaceRow,
    /// The record that is looked at, if it is stored already: it does not support itself.
    pub(crate) candidate: Option<&'v Record>,
    /// What was said, for a stage that compares.
    pub(crate) turns: &'v [String],
    /// The candidate's vector.
    pub(crate) encoded: &'v Encoded<'v>,
}

impl StoreView for NamespaceView<'_, '_> {
    fn reasoning_entries(&self, subject: Option<&str>) -> Result<u64, StageError> {
        let count = self
            .view
            .with(|view| Ok(view.snapshot.reasoning_count(self.namespace.id, subject)?));
        let count = count.map_err(|error| StageError::Unavailable {
            reason: error.to_string(),
        })?;
        let itself = self.candidate.is_some_and(|record| {
            record.status == Status::Active
                && record.entry.kind == Kind::Reasoning
                && (subject.is_none() || record.entry.subject.as_deref() == subject)
        });
        Ok(count.saturating_sub(u64::from(itself)))
    }

    fn receipt_backed_entries(&self, subject: Option<&str>) -> Result<u64, StageError> {
        let entries = self.reasoning_entries(subject)?;
        let backing = self.view.receipts_about(&self.namespace.name, subject);
        let backing = backing.map_err(|error| StageError::Unavailable {
            reason: error.to_string(),
        })?;
        Ok(entries.min(backing))
    }

    fn nearest(&self, text: &str, limit: usize) -> Result<Vec<String>, StageError> {
        let found = self.view.nearest(self.namespace, self.encoded, text, limit);
        found.map_err(|error| StageError::Unavailable {
            reason: error.to_string(),
        })
    }

    fn turns(&self) -> &[String] {
        self.turns
    }
}

/// The taint that a stored record inherits. A cleaned text is no step further from its sources than the text as it
/// came, so it inherits what its original does.
pub(crate) fn taint_inherited_by(
    policy: &Policy,
    view: &mut View<'_>,
    record: &Record,
    depth: usize,
) -> Result<Option<Taint>, WardenError> {
    let original = match (record.verdict, record.entry.parents.as_slice()) {
        (Verdict::Rewrite, [original]) => *original,
        _ => return inherited_taint(policy, view, &record.entry.parents, depth),
    };
    match view.find(&original) {
        Ok(original) => inherited_taint(policy, view, &original.into_inner().entry.parents, depth),
        Err(WardenError::Purged { .. } | WardenError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The highest taint of the declared parents, each with what it inherited itself.
fn inherited_taint(
    policy: &Policy,
    view: &mut View<'_>,
    parents: &[RecordId],
    depth: usize,
) -> Result<Option<Taint>, WardenError> {
    if depth >= MAX_TAINT_DEPTH {
        return Ok(None);
    }
    let mut highest = None;
    for parent in parents {
        let record = match view.find(parent) {
            Ok(record) => record.into_inner(),
            // What is gone on purpose can no longer say where it came from.
            Err(WardenError::Purged { .. } | WardenError::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let above = taint_inherited_by(policy, view, &record, depth + 1)?;
        highest = highest.max(Some(memwarden_guard::Guard::taint_under(
            policy,
            &record.entry,
            above,
        )));
    }
    Ok(highest)
}
