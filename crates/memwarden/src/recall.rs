//! `recall`: candidates, checks against the log, read stages, the best k with their provenance.

use crate::encoder::Encoded;
use crate::facts::Receipt;
use crate::remember::{NamespaceView, taint_inherited_by};
use crate::render::Claim;
use crate::rerank::Shown;
use crate::search::{LEAST_COSINE, Searching, serveable};
use crate::shelf::{Kept, Shelf, Waiting};
use crate::view::LazyView;
use crate::{Handle, WardenError, draft, random, render};
use memwarden_core::log::{NamespaceRow, Ranked, Retrieval};
use memwarden_core::{
    Authority, Finding, Kind, LeafKind, Namespace, OriginMode, Policy, PrincipalId, RecallPayload, Record,
    RecordId, StageName, Timestamp, Verdict,
};
use memwarden_guard::{Candidate as Screened, Label, Phase, Undeclared, Weigh, Writer, persists};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Most records of one recall.
pub const MAX_K: usize = 100;
/// Longest query in bytes.
const MAX_QUERY_BYTES: usize = 65_536;
/// What happens to words of a query that many records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommonTerms {
    /// They leave the query while a rarer one remains: in more than 1 % of the namespace and more than 100 records.
    #[default]
    Dropped,
    /// They stay, at the price of a slower search.
    Kept,
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words.
    pub text: String,
    /// How many records at most, 1 to [`MAX_K`].
    pub k: usize,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only what was written at or after this time.
    pub since: Option<Timestamp>,
    /// Only what was written before this time.
    pub until: Option<Timestamp>,
    /// Only what this principal wrote.
    pub principal: Option<PrincipalId>,
    /// Only what has at least this effective authority.
    pub authority: Option<Authority>,
    /// How to look. Without an encoder, hybrid recall goes by words alone.
    pub retrieval: Retrieval,
    /// What happens to words that many records have.
    pub common_terms: CommonTerms,
    /// A record whose vector has a cosine with the query below this, in hundredths, is not found by its vector.
    pub least_cosine: u32,
}

impl Query {
    /// The ten best records by words and vectors.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            k: 10,
            kind: None,
            since: None,
            until: None,
            principal: None,
            authority: None,
            retrieval: Retrieval::Hybrid,
            common_terms: CommonTerms::Dropped,
            least_cosine: LEAST_COSINE,
        }
    }

    fn admits(&self, record: &Record) -> bool {
        self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && self
                .principal
                .is_none_or(|principal| record.principal == principal)
            && self.authority.is_none_or(|least| record.effective >= least)
    }
}

/// Why a record stands where it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Why {
    /// Its place by words and its BM25 score, if its words proposed it.
    pub words: Option<Ranked>,
    /// Its place by its vector and the cosine, if its vector proposed it.
    pub vector: Option<Ranked>,
    /// What the policy multiplies the score with for its authority, and for its declared source where the policy
    /// weighs that.
    pub trust: f64,
}

/// One record that is served.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The record, checked against the log.
    pub record: Record,
    /// Higher is better; comparable only within one recall.
    pub score: f64,
    /// Place in the answer, from 1.
    pub rank: usize,
    /// What the score is made of.
    pub why: Why,
    /// Name of the principal that wrote it, if it is registered.
    pub writer: Option<String>,
    /// What the read stages saw.
    pub findings: Vec<Finding>,
    /// Log positions of passed receipts about its subject, newest first, if it tells of work done.
    pub receipts: Vec<u64>,
    /// The text as it may be shown to a model: inert, with its provenance.
    pub rendered: String,
}

/// What a recall serves.
#[derive(Debug, Clone, PartialEq)]
pub struct Recall {
    /// The records, best first.
    pub hits: Vec<Hit>,
    /// All of them as one block with delimiters that no text in it can close.
    pub block: String,
    /// How many candidates each read stage withheld. Their text and ids stay here.
    pub withheld: BTreeMap<StageName, u64>,
    /// Records that say word for word what a served one says; they are shown once.
    pub collapsed: u64,
    /// The lowest authority of what was served.
    pub label: Authority,
    /// Log size at the moment of the view.
    pub position: u64,
}

/// A query on its way through a view.
#[derive(Debug)]
pub(crate) struct Sought<'v, 'a> {
    pub(crate) view: &'v LazyView<'a>,
    pub(crate) namespace: &'v NamespaceRow,
    pub(crate) search: Searching<'v>,
    pub(crate) query: &'v Query,
    pub(crate) now: Timestamp,
    /// One policy for the whole recall, whatever is loaded meanwhile.
    pub(crate) policy: Arc<Policy>,
    /// What the stages that look at one record alone made of each. Filling places looks at the same records again, and
    /// neither is a model asked twice nor is a judgment told twice.
    looked: RefCell<HashMap<RecordId, Looked>>,
}

/// The findings of a record that passed, or the stage that keeps it out.
type Looked = Result<Vec<Finding>, StageName>;

impl Handle {
    /// Recalls records of a namespace.
    ///
    /// # Errors
    /// A query out of range; a namespace that holds nothing; a row that differs from the log
    /// ([`WardenError::Tampered`]): nothing of that namespace is served until it is mended.
    pub fn recall(&self, namespace: &Namespace, query: &Query) -> Result<Recall, WardenError> {
        check(query)?;
        let warden = &self.warden;
        let mut view = warden.view()?;
        if let Some(context) = self.context {
            self.window(&context)?;
        }
        let row = view.namespace(namespace)?;
        view.require_intact(&row)?;
        let now = warden.now();
        let view = LazyView::opened(warden, view);
        let sought = Sought {
            view: &view,
            namespace: &row,
            search: Searching::new(warden, query)?,
            query,
            now,
            policy: warden.policy(),
            looked: RefCell::default(),
        };
        let Shown {
            kept,
            collapsed,
            withheld,
            unfit,
        } = self.shown(&sought)?;
        let position = view.with(|view| {
            warden.catch_up_facts(&mut *view.snapshot)?;
            Ok(view.size)
        })?;
        let unfit = if persists(&sought.policy) {
            unfit
        } else {
            Vec::new()
        };
        drop(sought);
        drop(view);
        let hits: Vec<Hit> = kept
            .into_iter()
            .enumerate()
            .map(|(at, kept)| self.hit(kept, at + 1, now))
            .collect();
        let label = hits
            .iter()
            .map(|hit| hit.record.effective)
            .min()
            .unwrap_or(Authority::Act);
        self.account(&row, query, &hits, label)?;
        self.keep_back(&unfit)?;
        let block = render::block(&hits, &random::bytes()?);
        Ok(Recall {
            hits,
            block,
            withheld,
            collapsed,
            label,
            position,
        })
    }

    /// The best k of what the stages that look at one record alone let pass, without those that are `out`.
    pub(crate) fn gather(
        &self,
        sought: &Sought<'_, '_>,
        out: &HashSet<RecordId>,
    ) -> Result<Shown, WardenError> {
        let Sought {
            view,
            namespace: row,
            search,
            query,
            now,
            policy,
            ..
        } = sought;
        let rule = policy.recall;
        let weigh = Weigh::of(policy);
        let mut withheld = BTreeMap::new();
        let mut shelf = Shelf::new(query.k, policy);
        let mut wanted = query.k + 8;
        let mut seen = HashSet::new();
        let mut without = Vec::new();
        // Whoever is trusted less waits here until nobody who may still come stands before it.
        let mut waiting = Waiting::default();
        loop {
            let candidates = search.candidates(view, row, wanted, &without)?;
            let exhausted = candidates.len() < wanted;
            for candidate in &candidates {
                waiting.release(candidate.score, &mut shelf);
                if shelf.is_full() {
                    break;
                }
                if !seen.insert(candidate.row) {
                    continue;
                }
                let Some(record) = serveable(view, row, candidate.row, *now)? else {
                    continue;
                };
                if !query.admits(&record) || out.contains(&record.id) {
                    continue;
                }
                if let Some((record, findings)) = self.screen(sought, record, &mut withheld)? {
                    let by_authority = if policy.origin == OriginMode::Enforced {
                        rule.weight(record.effective)
                    } else {
                        1.0
                    };
                    let by_source = match weigh {
                        Weigh::Nothing => 1.0,
                        Weigh::Declared => Label::of(&record.entry, Undeclared::of(policy)).trust(),
                    };
                    let trust = by_authority * by_source;
                    let why = Why {
                        words: candidate.by_words,
                        vector: candidate.by_vector,
                        trust,
                    };
                    waiting.put(record, findings, candidate.score * trust, why);
                }
            }
            if exhausted || shelf.satisfied().len() > without.len() {
                waiting.release(f64::NEG_INFINITY, &mut shelf);
            }
            if exhausted || shelf.is_full() {
                break;
            }
            let satisfied = shelf.satisfied();
            if satisfied.len() > without.len() {
                if !self.others_wrote(&satisfied) {
                    break;
                }
                without = satisfied;
                wanted = query.k + 8;
            } else {
                wanted *= 2;
            }
        }
        let (kept, collapsed) = shelf.take();
        Ok(Shown {
            kept,
            collapsed,
            withheld,
            unfit: Vec::new(),
        })
    }

    /// Whether anybody but these keeps records in this store.
    fn others_wrote(&self, principals: &[PrincipalId]) -> bool {
        let usage = self.warden.chain.usage();
        let mut writers = usage.iter().filter(|(_, usage)| usage.records > 0);
        writers.any(|(principal, _)| !principals.contains(principal))
    }

    /// What the read stages make of a record; one that they keep out is counted and dropped.
    fn screen(
        &self,
        sought: &Sought<'_, '_>,
        record: Record,
        withheld: &mut BTreeMap<StageName, u64>,
    ) -> Result<Option<(Record, Vec<Finding>)>, WardenError> {
        if sought.policy.read.is_empty() {
            return Ok(Some((record, Vec::new())));
        }
        let known = sought.looked.borrow().get(&record.id).cloned();
        let looked = match known {
            Some(looked) => looked,
            None => {
                let looked = self.look(sought, &record)?;
                sought.looked.borrow_mut().insert(record.id, looked.clone());
                looked
            }
        };
        Ok(match looked {
            Ok(findings) => Some((record, findings)),
            Err(stage) => {
                *withheld.entry(stage).or_default() += 1;
                None
            }
        })
    }

    /// Runs the read stages on one record.
    fn look(&self, sought: &Sought<'_, '_>, record: &Record) -> Result<Looked, WardenError> {
        let warden = &self.warden;
        let (policy, view) = (&sought.policy, sought.view);
        let candidate = Screened {
            entry: &record.entry,
            inherited: view.with(|view| taint_inherited_by(policy, view, record, 0))?,
        };
        let store = NamespaceView {
            view,
            namespace: sought.namespace,
            candidate: Some(record),
            turns: &[],
            encoded: &Encoded::new(warden.encoder.as_ref(), record.entry.subject.as_deref()),
        };
        let trust = match record.effective {
            Authority::Act => Writer::Trusted,
            Authority::Inform | Authority::None => Writer::Untrusted,
        };
        let screening =
            warden
                .guard()
                .screen_with(policy, Phase::Read, &candidate, &store, trust, &warden.chats);
        warden.tell(Phase::Read, record.id, &screening.ran);
        if screening.verdict >= Verdict::Quarantine {
            return Ok(Err(screening.stage.unwrap_or_default()));
        }
        Ok(Ok(screening.findings))
    }

    fn hit(&self, kept: Kept, rank: usize, now: Timestamp) -> Hit {
        let Kept {
            record,
            findings,
            score,
            why,
            ..
        } = kept;
        let writer = self
            .warden
            .principal(&record.principal)
            .map(|principal| principal.name);
        let tells_of_work = self.warden.guard().looks_like_reasoning(&record.entry);
        let receipts = if tells_of_work {
            self.receipts_about(&record, now)
        } else {
            Vec::new()
        };
        let claim = tells_of_work.then(|| receipts.first().map_or(Claim::Unproven, |at| Claim::Receipt(*at)));
        let rendered = render::record(&record, writer.as_deref(), claim);
        Hit {
            record,
            score,
            why,
            rank,
            writer,
            findings,
            receipts,
            rendered,
        }
    }

    /// Passed receipts of this epoch about a record's subject that still count, newest first.
    fn receipts_about(&self, record: &Record, now: Timestamp) -> Vec<u64> {
        let Some(subject) = record.entry.subject.as_deref() else {
            return Vec::new();
        };
        let counts = |receipt: &Receipt| self.warden.receipt_counts(receipt);
        let mut found: Vec<u64> = self.warden.with_facts(|facts| {
            let about = facts
                .standing_passes(&record.namespace, counts)
                .filter(|(of, receipt)| of.id == subject && receipt.fact.expires > now);
            about.map(|(_, receipt)| receipt.fact.position).collect()
        });
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// Leaves an entry in the log that says what was asked and served. One that lowers the label of the context,
    /// or that the principal's last hour has no mark of within a minute, is durable before anything is served;
    /// the others wait for the next commit, at most a second.
    fn account(
        &self,
        namespace: &NamespaceRow,
        query: &Query,
        hits: &[Hit],
        label: Authority,
    ) -> Result<(), WardenError> {
        let served = hits.iter().map(|hit| hit.record.id).collect();
        let bytes = RecallPayload {
            query: query.text.clone(),
            served,
        }
        .encode();
        let policy = self.warden.chain.registry().policy_hash();
        let at = self.warden.now();
        let mut draft = draft::note(LeafKind::Recall, Some(&self.principal), bytes, policy, at)?;
        draft.leaf.namespace = Some(namespace.id);
        draft.leaf.context = self.context;
        draft.leaf.authority = label;
        let lowers = {
            let replay = self.warden.chain.replay();
            let origin = replay.origin();
            let context = self.context.as_ref();
            context.is_some_and(|context| label < origin.label(context))
                || !origin.is_marked(&self.principal.id, label, at)
        };
        if lowers && self.warden.policy().origin == OriginMode::Enforced {
            self.warden.writer.commit(vec![draft])?;
        } else {
            self.warden.writer.defer(draft);
        }
        Ok(())
    }
}

fn check(query: &Query) -> Result<(), WardenError> {
    let bad = |field, given: String, expected: String| {
        Err(WardenError::BadInput {
            field,
            given,
            expected,
        })
    };
    if !(1..=MAX_K).contains(&query.k) {
        return bad("k", query.k.to_string(), format!("1 to {MAX_K}"));
    }
    if query.text.trim().is_empty() {
        return bad("query", String::new(), "some words".to_owned());
    }
    if query.text.len() > MAX_QUERY_BYTES {
        return bad(
            "query",
            format!("{} bytes", query.text.len()),
            format!("at most {MAX_QUERY_BYTES} bytes"),
        );
    }
    Ok(())
}
