//! Runs a policy's stages over a candidate and turns what they find into one verdict.
//!
//! For: the order of stages, the strongest verdict, stages that fail. Not for: what a stage finds (`layers`,
//! `reasoning`), nor for sealing or serving anything.

use crate::content::{self, Scan, Topic, findings, scan};
use crate::judged::{Chats, Judged, NoChats, anomaly, rerank};
use crate::lists::{Lists, lists};
use crate::normalize::normalize;
use crate::sanitize::{Sanitized, sanitize};
use crate::stage::{Candidate, Phase, Stage, StageError, StoreView, Undeclared, Writer, fail_mode};
use crate::surface::{gibberish_findings, sanitize_findings, secrets_findings};
use crate::{Signals, layers, provenance, reasoning};
use memwarden_core::{Entry, FailMode, Finding, Policy, Score, Severity, StageName, Taint, Verdict};
use std::cell::OnceCell;

/// What the stages made of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screening {
    /// The strongest verdict that any stage asked for; [`Verdict::Admit`] where none fired.
    pub verdict: Verdict,
    /// The first stage that asked for it; none for [`Verdict::Admit`].
    pub stage: Option<StageName>,
    /// What every stage saw, in the order in which they ran. There may be findings beside `Admit`: those of
    /// [`Severity::Info`] only label.
    pub findings: Vec<Finding>,
    /// The cleaned text, where the stage `sanitize` found something to remove and its verdict is
    /// [`Verdict::Rewrite`]. It is what is stored if the verdict of the whole is `rewrite`; the original then
    /// stays as a quarantined parent.
    pub rewritten: Option<String>,
    /// What each stage that exists and was evaluated asked for, in order.
    pub ran: Vec<Ran>,
}

/// What one stage made of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The stage.
    pub stage: Stage,
    /// What it asked for; [`Verdict::Admit`] where it did not fire.
    pub asked: Verdict,
    /// The rule of its failure, such as `failed-truncated`, where it could not do its work.
    pub failed: Option<String>,
}

/// The stages, with their lists compiled once for the whole program.
#[derive(Debug, Clone)]
pub struct Guard {
    lists: &'static Lists,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

impl Guard {
    /// A guard over the embedded lists. The first call compiles them; every later one is free.
    #[must_use]
    pub fn new() -> Self {
        content::prepare();
        Self { lists: lists() }
    }

    /// Runs the stages of `policy` for `phase` in its order over the whole text, in time linear in it.
    ///
    /// - A stage fires when it has a finding above [`Severity::Info`]; it then asks for
    ///   [`Policy::verdict_of`] the stage. Findings of `Info` label and leave `admit`.
    /// - The verdict is the strongest that any stage asked for. After a `reject`, later stages are not
    ///   evaluated (FARMA Table I: "–").
    /// - A stage that fails never admits in silence: its failure is a finding. Closed means
    ///   [`Verdict::Quarantine`], kept out and left for a person, since a failure of ours says nothing against
    ///   the entry; open means [`Verdict::Annotate`]. The policy's `fail` chooses; its default is closed at
    ///   write for an untrusted writer, open otherwise. At read, [`StageError::Entry`] is always closed.
    #[must_use]
    pub fn screen(
        &self,
        policy: &Policy,
        phase: Phase,
        candidate: &Candidate<'_>,
        view: &dyn StoreView,
        writer: Writer,
    ) -> Screening {
        self.screen_with(policy, phase, candidate, view, writer, &NoChats)
    }

    /// [`Guard::screen`] with the models that stages may ask. `rerank` is about the candidates of a query together
    /// ([`Guard::rerank`]) and is passed over at read. A stage in a phase where it cannot run has failed.
    #[must_use]
    pub fn screen_with(
        &self,
        policy: &Policy,
        phase: Phase,
        candidate: &Candidate<'_>,
        view: &dyn StoreView,
        writer: Writer,
        chats: &dyn Chats,
    ) -> Screening {
        let mut screening = Screening {
            verdict: Verdict::Admit,
            stage: None,
            findings: Vec::new(),
            rewritten: None,
            ran: Vec::with_capacity(phase.stages(policy).len()),
        };
        let read = Read::new(&candidate.entry.content);
        for name in phase.stages(policy) {
            let stage = Stage::from_name(name);
            // It judges the candidates of a query together: [`Guard::rerank`].
            if (stage, phase) == (Some(Stage::Rerank), Phase::Read) {
                continue;
            }
            let found = self.run(stage, phase, policy, candidate, view, &read, chats);
            let Judged {
                asked,
                findings,
                failed,
            } = settle(policy, name, phase, writer, found);
            screening
                .ran
                .extend(stage.map(|stage| Ran { stage, asked, failed }));
            screening.findings.extend(findings);
            if asked > screening.verdict {
                screening.verdict = asked;
                screening.stage = Some(name.clone());
            }
            if asked == Verdict::Rewrite {
                screening.rewritten = read.cleaned().map(|cleaned| cleaned.text.clone());
            }
            if screening.verdict == Verdict::Reject {
                break;
            }
        }
        screening
    }

    /// Runs `rerank` over the candidates of one query: one result for each, in order. Each is judged beside the other
    /// candidates and beside what is shown already. A candidate whose reply is no
    /// verdict is withheld; where the model as a whole fails, the policy's `fail` decides, open by default. Passes
    /// everything where the policy does not run it at read.
    #[must_use]
    pub fn rerank(
        &self,
        policy: &Policy,
        query: &str,
        candidates: &[String],
        beside: &[String],
        chats: &dyn Chats,
    ) -> Vec<Judged> {
        let name = Stage::Rerank.name();
        if !policy.read.iter().any(|stage| stage == name) {
            let pass = || Judged {
                asked: Verdict::Admit,
                findings: Vec::new(),
                failed: None,
            };
            return candidates.iter().map(|_| pass()).collect();
        }
        let one = |found| settle(policy, name, Phase::Read, Writer::Untrusted, found);
        match rerank(policy, query, candidates, beside, chats) {
            Ok(found) => found.into_iter().map(one).collect(),
            Err(error) => candidates.iter().map(|_| one(Err(error.clone()))).collect(),
        }
    }

    /// The taint of an entry as published, whatever a policy makes of a missing declaration: the higher of what
    /// its declared source gives (FARMA §IV-B) and the highest taint of its declared parents plus
    /// [`crate::TAINT_STEP`], at most 1.0. What the stages of a policy compare is [`Guard::taint_under`] it.
    #[must_use]
    pub fn taint(entry: &Entry, inherited: Option<Taint>) -> Taint {
        provenance::taint(entry, inherited, Undeclared::Poisoned)
    }

    /// The same under `policy`, which may leave a missing declaration unlabeled. Whoever works out what an entry
    /// inherits from its parents for [`Candidate::inherited`] must use this one, or a parent without a source
    /// taints its children under a policy that says it does not.
    #[must_use]
    pub fn taint_under(policy: &Policy, entry: &Entry, inherited: Option<Taint>) -> Taint {
        provenance::taint(entry, inherited, Undeclared::of(policy))
    }

    /// Whether the reasoning guard looks at an entry: those of the reasoning store, those that declare a
    /// reasoning trace type, and those that open like a decision log (FARMA §IV-F, Figure 2).
    #[must_use]
    pub fn looks_like_reasoning(&self, entry: &Entry) -> bool {
        reasoning::looks_like_reasoning(self.lists, entry)
    }

    /// The five signals of the reasoning guard for an entry, whether or not they make it fire: for reports.
    ///
    /// # Errors
    /// [`StageError`] when `view` cannot count.
    pub fn signals(
        &self,
        policy: &Policy,
        entry: &Entry,
        view: &dyn StoreView,
    ) -> Result<Signals, StageError> {
        reasoning::signals(self.lists, policy, entry, view)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what the stages need between them; each needs another part of it"
    )]
    fn run(
        &self,
        stage: Option<Stage>,
        phase: Phase,
        policy: &Policy,
        candidate: &Candidate<'_>,
        view: &dyn StoreView,
        read: &Read<'_>,
        chats: &dyn Chats,
    ) -> Result<Vec<Finding>, StageError> {
        // Parsing refuses such a policy; one that was put together by hand must not pass for screened.
        if let Some((stage, only)) = stage.and_then(|stage| Some((stage, stage.only_in()?)))
            && only != phase
        {
            return Err(StageError::Unavailable {
                reason: format!("`{}` runs at {only} only", stage.name()),
            });
        }
        match stage {
            Some(Stage::Keyword) => Ok(layers::keyword(self.lists, candidate)),
            Some(Stage::Provenance) => Ok(layers::provenance(policy, candidate)),
            Some(Stage::Taint) => Ok(layers::taint_threshold(policy, candidate)),
            Some(Stage::Pattern) => Ok(layers::pattern(self.lists, policy, candidate)),
            Some(Stage::ReasoningGuard) => {
                reasoning::reasoning_guard(self.lists, policy, candidate.entry, view)
            }
            Some(Stage::Injection) => Ok(read.findings(Topic::Injection, policy)),
            Some(Stage::StandingOrder) => Ok(read.findings(Topic::StandingOrder, policy)),
            Some(Stage::Precedent) => Ok(read.findings(Topic::Precedent, policy)),
            Some(Stage::Sanitize) => Ok(read.cleaned().map_or_else(Vec::new, sanitize_findings)),
            Some(Stage::Gibberish) => Ok(gibberish_findings(policy, read.text)),
            Some(Stage::Secrets) => Ok(secrets_findings(read.text)),
            Some(Stage::Anomaly) => anomaly(policy, candidate.entry, view, chats),
            Some(Stage::Rerank) => Err(StageError::Unavailable {
                reason: "`rerank` judges the candidates of a query together".to_owned(),
            }),
            None => Err(StageError::Unavailable {
                reason: "no stage has this name".to_owned(),
            }),
        }
    }
}

/// What the content stages have read of a text: once, when the first of them asks.
struct Read<'t> {
    text: &'t str,
    scan: OnceCell<Scan>,
    cleaned: OnceCell<Option<Sanitized>>,
}

impl<'t> Read<'t> {
    const fn new(text: &'t str) -> Self {
        Self {
            text,
            scan: OnceCell::new(),
            cleaned: OnceCell::new(),
        }
    }

    fn cleaned(&self) -> Option<&Sanitized> {
        self.cleaned.get_or_init(|| sanitize(self.text)).as_ref()
    }

    fn findings(&self, topic: Topic, policy: &Policy) -> Vec<Finding> {
        let scan = self.scan.get_or_init(|| scan(&normalize(self.text)));
        findings(topic, scan, policy, self.text)
    }
}

/// What a stage asks for by what it found, or by how it failed.
fn settle(
    policy: &Policy,
    name: &str,
    phase: Phase,
    writer: Writer,
    found: Result<Vec<Finding>, StageError>,
) -> Judged {
    match found {
        Ok(findings) => {
            let fires = findings.iter().any(|finding| finding.severity > Severity::Info);
            let asked = if fires {
                policy.verdict_of(name)
            } else {
                Verdict::Admit
            };
            Judged {
                asked,
                findings,
                failed: None,
            }
        }
        Err(error) => {
            let mode = match (&error, phase) {
                (StageError::Entry { .. } | StageError::Reply { .. }, Phase::Read) => FailMode::Closed,
                _ => fail_mode(policy, name, phase, writer),
            };
            Judged {
                asked: after_failure(mode),
                findings: vec![failure(name, mode, &error)],
                failed: Some(error.rule()),
            }
        }
    }
}

const fn after_failure(mode: FailMode) -> Verdict {
    match mode {
        FailMode::Closed => Verdict::Quarantine,
        FailMode::Open => Verdict::Annotate,
    }
}

fn failure(stage: &str, mode: FailMode, error: &StageError) -> Finding {
    let outcome = match mode {
        FailMode::Closed => "the entry is kept out",
        FailMode::Open => "the entry passes unscreened by it",
    };
    Finding {
        stage: stage.to_owned(),
        rule: error.rule(),
        severity: Severity::Warning,
        score: Score::default(),
        span: None,
        reason: format!("{error}; {outcome}"),
    }
}
