//! `recall`: candidates, checks against the log, read stages, the best k with their provenance.

use crate::facts::Receipt;
use crate::remember::{NamespaceView, taint_inherited_by};
use crate::render::Claim;
use crate::shelf::{Kept, Shelf};
use crate::view::{LazyView, checks_enabled};
use crate::{Handle, WardenError, draft, random, render};
use memwarden_core::log::{NamespaceRow, Retrieval, Search};
use memwarden_core::{
    Authority, Finding, Kind, LeafKind, Namespace, OriginMode, PrincipalId, RecallPayload, Record, StageName,
    Status, Timestamp, Verdict,
};
use memwarden_guard::{Candidate as Screened, Phase, Writer};
use std::collections::{BTreeMap, HashSet};

/// Most records of one recall.
pub const MAX_K: usize = 100;
/// Longest query in bytes.
const MAX_QUERY_BYTES: usize = 65_536;
/// A term in more records than this share of a namespace counts as common (1 %, measured on LoCoMo).
const COMMON_SHARE_DIVISOR: u64 = 100;
/// A term in at most this many records is never common, or small stores would lose their words.
const COMMON_FLOOR: u64 = 100;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words.
    pub text: String,
    /// How many records at most, 1 to [`MAX_K`].
    pub k: usize,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// How to look.
    pub retrieval: Retrieval,
}

impl Query {
    /// The ten best records by words.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            k: 10,
            kind: None,
            retrieval: Retrieval::Lexical,
        }
    }
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
        let mut withheld = BTreeMap::new();
        let mut shelf = Shelf::new(query.k, warden.policy().origin);
        let mut wanted = query.k + 8;
        let mut seen = HashSet::new();
        let mut without = Vec::new();
        loop {
            let candidates = self.candidates(&view, &row, query, wanted, &without)?;
            let exhausted = candidates.len() < wanted;
            for candidate in &candidates {
                if shelf.is_full() {
                    break;
                }
                if !seen.insert(candidate.row) {
                    continue;
                }
                let Some(record) = self.serveable(&view, &row, candidate.row, now)? else {
                    continue;
                };
                match self.screen(&view, &row, record, &mut withheld)? {
                    None => {}
                    Some((record, findings)) => shelf.put(record, findings, candidate.score),
                }
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
        let position = view.with(|view| {
            warden.catch_up_facts(&mut *view.snapshot)?;
            Ok(view.size)
        })?;
        drop(view);
        let (kept, collapsed) = shelf.take();
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

    /// Whether anybody but these keeps records in this store.
    fn others_wrote(&self, principals: &[PrincipalId]) -> bool {
        let usage = self.warden.chain.usage();
        let mut writers = usage.iter().filter(|(_, usage)| usage.records > 0);
        writers.any(|(principal, _)| !principals.contains(principal))
    }

    fn candidates(
        &self,
        view: &LazyView<'_>,
        namespace: &NamespaceRow,
        query: &Query,
        limit: usize,
        without: &[PrincipalId],
    ) -> Result<Vec<memwarden_core::log::Candidate>, WardenError> {
        let active = self.warden.chain.replay().active_in(&namespace.id);
        let search = Search {
            namespace: namespace.id,
            retrieval: query.retrieval,
            query: &query.text,
            limit,
            common_above: (active / COMMON_SHARE_DIVISOR).max(COMMON_FLOOR),
            kind: query.kind,
            without,
        };
        view.with(|view| Ok(view.snapshot.candidates(&search)?))
    }

    /// The record of a candidate, if it is still to be served.
    fn serveable(
        &self,
        view: &LazyView<'_>,
        namespace: &NamespaceRow,
        row: i64,
        now: Timestamp,
    ) -> Result<Option<Record>, WardenError> {
        let found = match view.with(|view| view.record(row)) {
            // Purged after this view was opened, or an index row that was planted: nothing to serve.
            Err(WardenError::Purged { .. }) => None,
            found => found?,
        };
        let Some(record) = found else {
            // The row may have been deleted behind our back.
            view.with(|view| view.require_intact(namespace))?;
            return Ok(None);
        };
        let record = record.into_inner();
        if record.namespace != namespace.name && checks_enabled() {
            let what = "the index of another namespace points at it".to_owned();
            return Err(WardenError::Tampered {
                namespace: namespace.name.clone(),
                record: record.id,
                what,
            });
        }
        let expired = record.entry.valid_until.is_some_and(|end| end <= now);
        Ok((record.status == Status::Active && !expired).then_some(record))
    }

    /// Runs the read stages; a record that they keep out is counted and dropped.
    fn screen(
        &self,
        view: &LazyView<'_>,
        namespace: &NamespaceRow,
        record: Record,
        withheld: &mut BTreeMap<StageName, u64>,
    ) -> Result<Option<(Record, Vec<Finding>)>, WardenError> {
        let warden = &self.warden;
        let policy = warden.policy();
        if policy.read.is_empty() {
            return Ok(Some((record, Vec::new())));
        }
        let inherited = view.with(|view| taint_inherited_by(&policy, view, &record, 0))?;
        let candidate = Screened {
            entry: &record.entry,
            inherited,
        };
        let store = NamespaceView {
            view,
            namespace,
            candidate: Some(&record),
        };
        let trust = match record.effective {
            Authority::Act => Writer::Trusted,
            Authority::Inform | Authority::None => Writer::Untrusted,
        };
        let screening = warden
            .guard()
            .screen(&policy, Phase::Read, &candidate, &store, trust);
        if screening.verdict >= Verdict::Quarantine {
            *withheld.entry(screening.stage.unwrap_or_default()).or_default() += 1;
            return Ok(None);
        }
        Ok(Some((record, screening.findings)))
    }

    fn hit(&self, kept: Kept, rank: usize, now: Timestamp) -> Hit {
        let Kept {
            record,
            findings,
            score,
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
