//! What a stage is, what it may ask of the store, and its parameters with their defaults.
//!
//! Not for: what each stage looks for (`layers`, `reasoning`), nor how a policy writes it down (`policy`).

use memwarden_core::{Entry, FailMode, Policy, Taint};
use std::fmt;

/// τ_taint in hundredths: "just above" 0.4, so that a direct tool entry passes and one derived from it does
/// not (FARMA §IV-B, §IV-C; the value itself is our reading).
pub const DEFAULT_TAINT_THRESHOLD: u32 = 45;
/// τ_risk in hundredths (FARMA §IV-D calls it configurable; the value is our reading).
pub const DEFAULT_RISK_THRESHOLD: u32 = 50;
/// τ_guard in hundredths (FARMA §IV-E).
pub const DEFAULT_GUARD_THRESHOLD: u32 = 50;
/// Threshold of the content stages in hundredths: one strong shape of wording, or several weak ones. Chosen on
/// the open corpora so that fewer than 1 % of ordinary texts are over it; `docs/screening.md` has the figures.
pub const DEFAULT_CONTENT_THRESHOLD: u32 = 50;
/// Threshold of the stage `gibberish` in hundredths: just below 0.50, the lowest score that a string is given.
pub const DEFAULT_GIBBERISH_THRESHOLD: u32 = 49;
/// Weight of each of the five signals in hundredths (FARMA §IV-E: equal weights of 0.2).
pub const DEFAULT_WEIGHT: u32 = 20;

/// When an entry is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before it is stored.
    Write,
    /// Before it is served.
    Read,
}

impl Phase {
    /// The name used in policies and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    /// The stages that `policy` runs in this phase, in order.
    #[must_use]
    pub fn stages(self, policy: &Policy) -> &[String] {
        match self {
            Self::Write => &policy.write,
            Self::Read => &policy.read,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the writing principal is trusted. It decides one thing: whether a stage that fails at write, under
/// a policy that does not say, keeps the entry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Writer {
    /// A stage that fails at write lets the entry pass, with a finding.
    Trusted,
    /// A stage that fails at write keeps the entry out.
    Untrusted,
}

/// An entry to look at, with the one thing about it that the text does not hold.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Highest taint of its declared parents, each with its own inheritance already in; none without parents.
    pub inherited: Option<Taint>,
}

/// What the stages may ask of the store: counts in the candidate's own namespace, the candidate excluded.
pub trait StoreView {
    /// Active reasoning entries of `subject`; of the whole reasoning store when there is none.
    ///
    /// # Errors
    /// [`StageError`] when the count cannot be had; the policy's `fail` then decides.
    fn reasoning_entries(&self, subject: Option<&str>) -> Result<u64, StageError>;

    /// The same, but only entries that a receipt backs. A store without receipts returns 0.
    ///
    /// # Errors
    /// [`StageError`] when the count cannot be had; the policy's `fail` then decides.
    fn receipt_backed_entries(&self, subject: Option<&str>) -> Result<u64, StageError>;

    /// The texts of at most `limit` active entries that are nearest to `text`, best first. None unless a store looks.
    ///
    /// # Errors
    /// [`StageError`] when the store cannot look; the policy's `fail` then decides.
    fn nearest(&self, _text: &str, _limit: usize) -> Result<Vec<String>, StageError> {
        Ok(Vec::new())
    }

    /// What was said up to the turn that the candidate was drawn from, oldest first; that turn is the last. Empty
    /// where nobody said it.
    fn turns(&self) -> &[String] {
        &[]
    }
}

/// A store without records: for texts that are screened where they lie.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmptyStore;

impl StoreView for EmptyStore {
    fn reasoning_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }

    fn receipt_backed_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }
}

/// A stage could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The stage as a whole has nothing to work with; `fail` of the policy decides.
    #[error("the stage is unavailable: {reason}")]
    Unavailable {
        /// Why, for an operator.
        reason: String,
    },
    /// Only this entry could not be judged. At read it is withheld, whatever `fail` says; at write, `fail`
    /// decides.
    #[error("the entry could not be judged: {reason}")]
    Entry {
        /// Why, for an operator.
        reason: String,
    },
    /// A model's reply about this entry was cut off, is empty or does not parse. What it leads to is what
    /// [`StageError::Entry`] does; its finding has the rule `failed-` and the name.
    #[error("the reply about the entry is no verdict ({name}): {reason}")]
    Reply {
        /// The name under which it is counted.
        name: &'static str,
        /// Why, for an operator.
        reason: String,
    },
}

impl StageError {
    /// The rule of the finding that it leaves.
    pub(crate) fn rule(&self) -> String {
        match self {
            Self::Unavailable { .. } | Self::Entry { .. } => "failed".to_owned(),
            Self::Reply { name, .. } => format!("failed-{name}"),
        }
    }
}

/// The stages that exist. A policy names them; the order here is the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Layer 1: block-listed words (FARMA §IV-A).
    Keyword,
    /// Layer 2: labels the declared source; never fires (FARMA §IV-B).
    Provenance,
    /// Layer 3: taint over a threshold (FARMA §IV-C).
    Taint,
    /// Layer 4: risk over a threshold, or a pattern of the second set (FARMA §IV-D).
    Pattern,
    /// Layer 5: five weighted signals of forged reasoning (FARMA §IV-E).
    ReasoningGuard,
    /// Characters that hide or act when shown; the one stage that can clean a text.
    Sanitize,
    /// Instructions to whoever reads the entry.
    Injection,
    /// Planted preferences and orders that hold from now on.
    StandingOrder,
    /// Claims that a check is done or need not be.
    Precedent,
    /// Strings that mean nothing to a person: triggers, adversarial suffixes, floods.
    Gibberish,
    /// Keys, tokens and passwords.
    Secrets,
    /// What a model calls inconsistent with the turn that it was drawn from or with what is stored. At write only.
    Anomaly,
    /// What a model finds does not fit the query or contradicts the other candidates. At read only.
    Rerank,
}

impl Stage {
    /// Every stage: the published ones in the paper's order, then ours.
    pub const ALL: [Self; 13] = [
        Self::Keyword,
        Self::Provenance,
        Self::Taint,
        Self::Pattern,
        Self::ReasoningGuard,
        Self::Sanitize,
        Self::Injection,
        Self::StandingOrder,
        Self::Precedent,
        Self::Gibberish,
        Self::Secrets,
        Self::Anomaly,
        Self::Rerank,
    ];

    /// The name used in policies and findings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Provenance => "provenance",
            Self::Taint => "taint",
            Self::Pattern => "pattern",
            Self::ReasoningGuard => "reasoning-guard",
            Self::Sanitize => "sanitize",
            Self::Injection => "injection",
            Self::StandingOrder => "standing-order",
            Self::Precedent => "precedent",
            Self::Gibberish => "gibberish",
            Self::Secrets => "secrets",
            Self::Anomaly => "anomaly",
            Self::Rerank => "rerank",
        }
    }

    /// One line for a person: what it looks at.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Keyword => "block-listed words (layer 1)",
            Self::Provenance => "labels the declared source, refuses nothing (layer 2)",
            Self::Taint => "taint of the declared source over a threshold (layer 3)",
            Self::Pattern => "risk over a threshold, or a pattern of the second set (layer 4)",
            Self::ReasoningGuard => "five weighted signals of forged reasoning (layer 5)",
            Self::Sanitize => "characters that hide or act when shown",
            Self::Injection => "instructions to whoever reads the entry",
            Self::StandingOrder => "planted preferences and standing orders",
            Self::Precedent => "claims that a check is done or need not be",
            Self::Gibberish => "trigger-like strings and floods of tokens",
            Self::Secrets => "keys, tokens and passwords",
            Self::Anomaly => "a model's word on whether it fits what was said and what is stored",
            Self::Rerank => "a model's word on whether it fits the query and the other candidates",
        }
    }

    /// The stage of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Whether it can fire at all; one that cannot takes no verdict.
    #[must_use]
    pub const fn can_fire(self) -> bool {
        !matches!(self, Self::Provenance)
    }

    /// Whether it can clean a text, which the verdict `rewrite` needs.
    #[must_use]
    pub const fn can_rewrite(self) -> bool {
        matches!(self, Self::Sanitize)
    }

    /// Whether it asks a language model.
    #[must_use]
    pub const fn asks_a_model(self) -> bool {
        matches!(self, Self::Anomaly | Self::Rerank)
    }

    /// The one phase that it makes sense in; none where it runs in both.
    #[must_use]
    pub const fn only_in(self) -> Option<Phase> {
        match self {
            Self::Anomaly => Some(Phase::Write),
            Self::Rerank => Some(Phase::Read),
            _ => None,
        }
    }

    /// The default of its `threshold` in hundredths; none where it has no threshold.
    #[must_use]
    pub const fn default_threshold(self) -> Option<u32> {
        match self {
            Self::Taint => Some(DEFAULT_TAINT_THRESHOLD),
            Self::Pattern => Some(DEFAULT_RISK_THRESHOLD),
            Self::ReasoningGuard => Some(DEFAULT_GUARD_THRESHOLD),
            Self::Injection | Self::StandingOrder | Self::Precedent => Some(DEFAULT_CONTENT_THRESHOLD),
            Self::Gibberish => Some(DEFAULT_GIBBERISH_THRESHOLD),
            Self::Keyword
            | Self::Provenance
            | Self::Sanitize
            | Self::Secrets
            | Self::Anomaly
            | Self::Rerank => None,
        }
    }

    /// The threshold in hundredths that it runs with under `policy`.
    #[must_use]
    pub fn threshold(self, policy: &Policy) -> Option<u32> {
        let default = self.default_threshold()?;
        let settings = policy.stages.get(self.name());
        Some(
            settings
                .and_then(|s| s.numbers.get("threshold"))
                .copied()
                .unwrap_or(default),
        )
    }

    /// What its failure leads to in `phase` for an entry of `writer`: the policy's `fail`, or by default closed
    /// at write for an untrusted writer and open otherwise.
    #[must_use]
    pub fn fail_mode(self, policy: &Policy, phase: Phase, writer: Writer) -> FailMode {
        fail_mode(policy, self.name(), phase, writer)
    }
}

/// [`Stage::fail_mode`] by name, also for a name that no stage has.
pub(crate) fn fail_mode(policy: &Policy, stage: &str, phase: Phase, writer: Writer) -> FailMode {
    let said = policy.stages.get(stage).and_then(|settings| settings.fail);
    said.unwrap_or(match (phase, writer) {
        (Phase::Write, Writer::Untrusted) => FailMode::Closed,
        (Phase::Write, Writer::Trusted) | (Phase::Read, _) => FailMode::Open,
    })
}

/// Which stored entries back a claim of earlier runs (signal 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precedents {
    /// Every active reasoning entry of the subject, as published. An attacker who claims exactly the number
    /// of entries it has already stored is never found out by it.
    #[default]
    Stored,
    /// Only entries that a receipt backs. While a store has no receipts, every claim is unbacked.
    ReceiptBacked,
}

impl Precedents {
    /// Both readings.
    pub const ALL: [Self; 2] = [Self::Stored, Self::ReceiptBacked];

    /// The name used in policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::ReceiptBacked => "receipt-backed",
        }
    }

    /// The reading of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reading| reading.as_str() == name)
    }

    /// The reading that `policy` runs; the default where it names none or one that does not exist.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let settings = policy.stages.get(Stage::ReasoningGuard.name());
        let word = settings.and_then(|settings| settings.words.get("precedents"));
        word.and_then(|word| Self::from_name(word)).unwrap_or_default()
    }
}

/// What the published layers make of an entry that declares no source at all, or a blank one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Undeclared {
    /// Poisoned, as any source that is not known: taint 1.0 (FARMA §IV-B).
    #[default]
    Poisoned,
    /// Nothing: taint 0 and no finding. For a store that knows its writers by their credentials and does not
    /// ask them to declare a source; a source that *is* declared and not known stays poisoned.
    Unlabeled,
}

impl Undeclared {
    /// Both readings.
    pub const ALL: [Self; 2] = [Self::Poisoned, Self::Unlabeled];

    /// The name used in policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poisoned => "poisoned",
            Self::Unlabeled => "unlabeled",
        }
    }

    /// The reading of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reading| reading.as_str() == name)
    }

    /// The reading that `policy` runs; the published one where it names none or one that does not exist.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let settings = policy.stages.get(Stage::Provenance.name());
        let word = settings.and_then(|settings| settings.words.get("undeclared"));
        word.and_then(|word| Self::from_name(word)).unwrap_or_default()
    }
}

/// Whether the declared source of an entry weighs in the order of a recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Weigh {
    /// It does not: a declaration proves nothing.
    #[default]
    Nothing,
    /// The score is multiplied with the trust of the declared source ([`crate::Label::trust`]), as published in
    /// "The Price of Safety" (arXiv 2609.22818 §3.2). For measuring that defense.
    Declared,
}

impl Weigh {
    /// Both readings.
    pub const ALL: [Self; 2] = [Self::Nothing, Self::Declared];

    /// The name used in policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Declared => "declared",
        }
    }

    /// The reading that `policy` runs at read.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let name = Stage::Provenance.name();
        let settings = policy
            .stages
            .get(name)
            .filter(|_| policy.read.iter().any(|stage| stage == name));
        let word = settings.and_then(|settings| settings.words.get("weigh"));
        let is_declared = word.is_some_and(|word| word == Self::Declared.as_str());
        if is_declared {
            Self::Declared
        } else {
            Self::Nothing
        }
    }
}
