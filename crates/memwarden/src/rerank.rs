//! The read stage `rerank` in a recall: what it withholds, and what takes the places that become free.
//!
//! For: asking the guard about the candidates of one query together. Not for: its prompt and its replies, which are
//! the guard's, nor for stages that look at one record alone (`recall`).

use crate::recall::Sought;
use crate::shelf::Kept;
use crate::writer::MAX_BATCH;
use crate::{Handle, WardenError, draft};
use memwarden_core::log::Refusal;
use memwarden_core::{Finding, RecordId, StageName, StatusChange, Verdict};
use memwarden_guard::{Phase, Ran, Stage, backfills};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How often free places are filled at most: a bound on the calls of one recall.
const MAX_REFILLS: usize = 3;

/// What a recall shows, after every read stage.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) kept: Vec<Kept>,
    pub(crate) collapsed: u64,
    pub(crate) withheld: BTreeMap<StageName, u64>,
    /// What a model called unfit, the failures left out.
    pub(crate) unfit: Vec<RecordId>,
}

impl Handle {
    /// The best k that pass. A candidate is judged once, beside those that are shown with it; what is withheld keeps
    /// its place empty under `backfill = false`, and otherwise the next best come up and are judged too.
    pub(crate) fn shown(&self, sought: &Sought<'_, '_>) -> Result<Shown, WardenError> {
        let policy = &sought.policy;
        let stage = Stage::Rerank.name();
        let mut out: HashSet<RecordId> = HashSet::new();
        let mut passed: HashMap<RecordId, Vec<Finding>> = HashMap::new();
        let mut unfit = Vec::new();
        let mut refills = if backfills(policy) { MAX_REFILLS } else { 0 };
        loop {
            let mut shown = self.gather(sought, &out)?;
            if !policy.read.iter().any(|name| name == stage) {
                return Ok(shown);
            }
            let before = out.len();
            unfit.extend(self.judge(sought, &shown.kept, &mut passed, &mut out));
            if out.len() > before && refills > 0 {
                refills -= 1;
                continue;
            }
            shown.kept.retain(|kept| !out.contains(&kept.record.id));
            for kept in &mut shown.kept {
                kept.findings
                    .extend(passed.remove(&kept.record.id).unwrap_or_default());
            }
            if !out.is_empty() {
                *shown.withheld.entry(stage.to_owned()).or_default() += out.len() as u64;
            }
            shown.unfit = unfit;
            return Ok(shown);
        }
    }

    /// Puts records into quarantine. It is the owner's policy that does, as at write, so how far each is vouched for does
    /// not matter; a person may release them.
    pub(crate) fn keep_back(&self, records: &[RecordId]) -> Result<(), WardenError> {
        let warden = &self.warden;
        let draft = |record: &RecordId| {
            let reason = "`rerank` called it unfit for a query";
            let change = StatusChange::Quarantine;
            draft::status(
                &warden.chain,
                None,
                *record,
                change,
                None,
                None,
                reason,
                warden.now(),
            )
        };
        let commit = |records: &[RecordId]| {
            let drafts = records.iter().map(draft).collect::<Result<Vec<_>, _>>()?;
            warden.writer.commit(drafts).map(|_| ())
        };
        let is_late = |error: &WardenError| {
            matches!(
                error,
                WardenError::Refused(Refusal::WrongStatus { .. } | Refusal::NoSuchRecord { .. })
                    | WardenError::NotFound { .. }
                    | WardenError::Purged { .. }
            )
        };
        for records in records.chunks(MAX_BATCH) {
            match commit(records) {
                // Another recall was quicker with one of them, or its writer withdrew it: the others one by one.
                Err(error) if is_late(&error) => {}
                committed => {
                    committed?;
                    continue;
                }
            }
            for record in records {
                match commit(std::slice::from_ref(record)) {
                    Err(error) if is_late(&error) => {}
                    committed => committed?,
                }
            }
        }
        Ok(())
    }

    /// Judges those that were not judged before, and returns which of them a model called unfit.
    fn judge(
        &self,
        sought: &Sought<'_, '_>,
        kept: &[Kept],
        passed: &mut HashMap<RecordId, Vec<Finding>>,
        out: &mut HashSet<RecordId>,
    ) -> Vec<RecordId> {
        let mut unfit = Vec::new();
        let warden = &self.warden;
        let (beside, fresh): (Vec<&Kept>, Vec<&Kept>) =
            kept.iter().partition(|kept| passed.contains_key(&kept.record.id));
        let texts = |kept: &[&Kept]| -> Vec<String> {
            kept.iter()
                .map(|kept| kept.record.entry.content.clone())
                .collect()
        };
        let (fresh_texts, beside) = (texts(&fresh), texts(&beside));
        let judged = warden.guard().rerank(
            &sought.policy,
            &sought.query.text,
            &fresh_texts,
            &beside,
            &warden.chats,
        );
        for (kept, judged) in fresh.into_iter().zip(judged) {
            let record = kept.record.id;
            let is_failed = judged.failed.is_some();
            let ran = Ran {
                stage: Stage::Rerank,
                asked: judged.asked,
                failed: judged.failed,
            };
            warden.tell(Phase::Read, record, &[ran]);
            if judged.asked >= Verdict::Quarantine {
                out.insert(record);
                unfit.extend((!is_failed).then_some(record));
            } else {
                passed.insert(record, judged.findings);
            }
        }
        unfit
    }
}
