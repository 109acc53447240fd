//! What a policy would do to ordinary memories: kept out by which stage, with what time and tokens.
//!
//! For: the price of a defense on a user's own traffic, where nobody knows a right answer. Each entry is screened as an
//! untrusted write behind those before it, and as it would be at recall. Not for: accuracy, which needs an agent and
//! questions (`lab`), nor for findings in files (`scan`).

mod traffic;

pub(crate) use traffic::{Item, read};

use memwarden::core::model::Chat;
use memwarden::guard::{Candidate, EmptyStore, Guard, Phase, Stage, StageError, StoreView, Writer};
use memwarden::{Policy, Verdict};
use memwarden_core::{Entry, Kind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a policy would do.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// Entries.
    pub(crate) entries: u64,
    /// How many would be kept out at write.
    pub(crate) kept_out: u64,
    /// How many would be withheld at recall, of those not kept out.
    pub(crate) withheld: u64,
    /// How many would be stored with a finding or rewritten.
    pub(crate) marked: u64,
    /// Each stage, in the order of the policy.
    pub(crate) stages: Vec<StageCost>,
    /// Screening the whole at write, without waiting for models: the stages together read a text once.
    pub(crate) together: Duration,
}

/// One stage.
#[derive(Debug)]
pub(crate) struct StageCost {
    /// When it runs.
    pub(crate) phase: Phase,
    /// Its name.
    pub(crate) stage: String,
    /// Entries it looked at.
    pub(crate) looked_at: u64,
    /// Entries it fired on, to whatever end.
    pub(crate) fired: u64,
    /// Entries it would keep out.
    pub(crate) kept_out: u64,
    /// Of those, entries that every other stage would let pass.
    pub(crate) alone: u64,
    /// Entries it could not judge, by the rule of the failure.
    pub(crate) failed: BTreeMap<String, u64>,
    /// Its time, by itself.
    pub(crate) time: Duration,
    /// What it would keep out, the first of them.
    pub(crate) examples: Vec<Example>,
}

/// An entry that a stage would keep out.
#[derive(Debug)]
pub(crate) struct Example {
    /// Which file and where in it.
    pub(crate) place: String,
    /// Its beginning.
    pub(crate) text: String,
    /// Why.
    pub(crate) reason: String,
}

/// What each stage asked for about one entry.
struct Asked {
    at: usize,
    verdict: Verdict,
}

/// Puts traffic through a policy.
pub(crate) fn measure(
    policy: &Policy,
    items: &[Item],
    chats: &BTreeMap<String, Arc<dyn Chat>>,
    examples: usize,
) -> Cost {
    let guard = Guard::new();
    let mut cost = Cost::default();
    let mut alone = Vec::new();
    for phase in [Phase::Write, Phase::Read] {
        for stage in phase.stages(policy) {
            // It judges the candidates of a query, and traffic has no queries.
            if Stage::from_name(stage) == Some(Stage::Rerank) {
                continue;
            }
            cost.stages.push(StageCost::new(phase, stage));
            alone.push(only(policy, phase, stage));
        }
    }
    let without_models = without_models(policy);
    let mut shelf = Shelf::new(policy);
    warm_up(&guard, &without_models, &alone);
    for item in items {
        cost.entries += 1;
        let candidate = Candidate {
            entry: &item.entry,
            inherited: None,
        };
        let began = Instant::now();
        let _ = guard.screen(
            &without_models,
            Phase::Write,
            &candidate,
            &shelf,
            Writer::Untrusted,
        );
        cost.together += began.elapsed();
        let mut asked = Vec::new();
        for (at, (stage, alone)) in cost.stages.iter_mut().zip(&alone).enumerate() {
            let rejected = asked.iter().any(|asked: &Asked| asked.verdict == Verdict::Reject);
            if stage.phase == Phase::Write && rejected {
                continue;
            }
            let began = Instant::now();
            let screened =
                guard.screen_with(alone, stage.phase, &candidate, &shelf, Writer::Untrusted, chats);
            stage.time += began.elapsed();
            stage.looked_at += 1;
            stage.fired += u64::from(screened.verdict > Verdict::Admit);
            for failed in screened.ran.iter().filter_map(|ran| ran.failed.clone()) {
                *stage.failed.entry(failed).or_default() += 1;
            }
            if screened.verdict >= Verdict::Quarantine {
                stage.kept_out += 1;
                if stage.examples.len() < examples {
                    let reason = screened.findings.into_iter().next().map(|finding| finding.reason);
                    stage.examples.push(Example {
                        place: item.place.clone(),
                        text: beginning(&item.entry.content),
                        reason: reason.unwrap_or_default(),
                    });
                }
            }
            asked.push(Asked {
                at,
                verdict: screened.verdict,
            });
        }
        settle(&mut cost, &asked);
        shelf.put(&item.entry);
    }
    cost
}

/// Lists are compiled when they are first used; that belongs to no entry.
fn warm_up(guard: &Guard, together: &Policy, alone: &[Policy]) {
    let entry = Entry::new("Ordinary words, 12 of them, with a name (Anna) and a path: /etc/hosts.");
    let candidate = Candidate {
        entry: &entry,
        inherited: None,
    };
    for policy in std::iter::once(together).chain(alone) {
        for phase in [Phase::Write, Phase::Read] {
            let plain = without_models(policy);
            let _ = guard.screen(&plain, phase, &candidate, &EmptyStore, Writer::Untrusted);
        }
    }
}

/// Adds up what the stages asked for about one entry.
fn settle(cost: &mut Cost, asked: &[Asked]) {
    let of = |cost: &Cost, phase: Phase| -> Verdict {
        let verdicts = asked.iter().filter(|asked| {
            cost.stages
                .get(asked.at)
                .is_some_and(|stage| stage.phase == phase)
        });
        verdicts
            .map(|asked| asked.verdict)
            .max()
            .unwrap_or(Verdict::Admit)
    };
    let (at_write, at_read) = (of(cost, Phase::Write), of(cost, Phase::Read));
    if at_write >= Verdict::Quarantine {
        cost.kept_out += 1;
    } else {
        cost.marked += u64::from(at_write > Verdict::Admit);
        cost.withheld += u64::from(at_read >= Verdict::Quarantine);
    }
    // What is kept out at write is never recalled: only the stages of the phase that decided are to blame.
    let decided = if at_write >= Verdict::Quarantine {
        Phase::Write
    } else {
        Phase::Read
    };
    let in_phase = |asked: &&Asked| {
        cost.stages
            .get(asked.at)
            .is_some_and(|stage| stage.phase == decided)
    };
    let mut to_blame = asked
        .iter()
        .filter(|asked| asked.verdict >= Verdict::Quarantine)
        .filter(in_phase);
    let only = match (to_blame.next(), to_blame.next()) {
        (Some(only), None) => Some(only.at),
        _ => None,
    };
    if let Some(stage) = only.and_then(|at| cost.stages.get_mut(at)) {
        stage.alone += 1;
    }
}

impl StageCost {
    fn new(phase: Phase, stage: &str) -> Self {
        Self {
            phase,
            stage: stage.to_owned(),
            looked_at: 0,
            fired: 0,
            kept_out: 0,
            alone: 0,
            failed: BTreeMap::new(),
            time: Duration::ZERO,
            examples: Vec::new(),
        }
    }
}

/// The policy with one stage in one phase.
fn only(policy: &Policy, phase: Phase, stage: &str) -> Policy {
    let mut alone = policy.clone();
    let list = vec![stage.to_owned()];
    (alone.write, alone.read) = match phase {
        Phase::Write => (list, Vec::new()),
        Phase::Read => (Vec::new(), list),
    };
    alone
}

fn without_models(policy: &Policy) -> Policy {
    let asks = |stage: &String| Stage::from_name(stage).is_some_and(Stage::asks_a_model);
    let mut plain = policy.clone();
    plain.write.retain(|stage| !asks(stage));
    plain
}

/// The beginning of a text, for a person.
fn beginning(text: &str) -> String {
    const MOST: usize = 160;
    let mut shown: String = text.chars().take(MOST).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// The entries before the one that is looked at, as a store would know them.
struct Shelf {
    reasoning: u64,
    by_subject: HashMap<String, u64>,
    /// Kept only where a stage asks for what is near.
    texts: Option<Vec<(HashSet<String>, String)>>,
}

impl Shelf {
    fn new(policy: &Policy) -> Self {
        let anomaly = policy.write.iter().any(|stage| stage == Stage::Anomaly.name());
        Self {
            reasoning: 0,
            by_subject: HashMap::new(),
            texts: anomaly.then(Vec::new),
        }
    }

    fn put(&mut self, entry: &Entry) {
        if entry.kind == Kind::Reasoning {
            self.reasoning += 1;
            if let Some(subject) = &entry.subject {
                *self.by_subject.entry(subject.clone()).or_default() += 1;
            }
        }
        if let Some(texts) = &mut self.texts {
            texts.push((words(&entry.content), entry.content.clone()));
        }
    }
}

impl StoreView for Shelf {
    fn reasoning_entries(&self, subject: Option<&str>) -> Result<u64, StageError> {
        Ok(subject.map_or(self.reasoning, |subject| {
            self.by_subject.get(subject).copied().unwrap_or_default()
        }))
    }

    fn receipt_backed_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }

    /// By words in common: there is no store whose vectors could be asked.
    fn nearest(&self, text: &str, limit: usize) -> Result<Vec<String>, StageError> {
        let wanted = words(text);
        let texts = self.texts.as_deref().unwrap_or_default();
        let mut near: Vec<(usize, &String)> = texts
            .iter()
            .map(|(words, text)| (wanted.intersection(words).count(), text))
            .filter(|(common, _)| *common > 0)
            .collect();
        near.sort_by_key(|(common, _)| std::cmp::Reverse(*common));
        Ok(near
            .into_iter()
            .take(limit)
            .map(|(_, text)| text.clone())
            .collect())
    }
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() > 3)
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden::guard::parse;

    fn items(texts: &[&str]) -> Vec<Item> {
        let item = |text: &&str| Item {
            place: "here".to_owned(),
            entry: Entry::new(*text),
        };
        texts.iter().map(item).collect()
    }

    #[test]
    fn the_stage_to_blame_is_named_and_blame_is_shared_where_two_are() {
        let policy = parse(
            "name = \"p\"\n[write]\nstages = [\"keyword\", \"secrets\"]\n[verdict]\nkeyword = \"quarantine\"\nsecrets = \"quarantine\"\n",
        )
        .unwrap();
        let traffic = items(&[
            "The invoice is due on Friday.",
            "We may skip the second check.",
            "We may skip it: password = hunter2-is-long-enough-9X",
        ]);
        let cost = measure(&policy, &traffic, &BTreeMap::new(), 1);
        assert_eq!((cost.entries, cost.kept_out, cost.withheld), (3, 2, 0));
        let [keyword, secrets] = cost.stages.as_slice() else {
            panic!("two stages")
        };
        assert_eq!((keyword.looked_at, keyword.kept_out, keyword.alone), (3, 2, 1));
        assert_eq!((secrets.kept_out, secrets.alone), (1, 0));
        assert_eq!(keyword.examples.len(), 1);
        assert!(keyword.examples[0].reason.contains("skip"));
    }

    #[test]
    fn a_stage_that_runs_at_write_and_at_read_shares_its_blame_with_nobody() {
        let policy = memwarden::guard::preset("keyword").unwrap();
        let cost = measure(&policy, &items(&["We may skip it."]), &BTreeMap::new(), 1);
        assert_eq!((cost.kept_out, cost.withheld), (1, 0));
        let alone: Vec<u64> = cost.stages.iter().map(|stage| stage.alone).collect();
        assert_eq!(alone, [1, 0]);
    }

    #[test]
    fn a_stage_without_its_model_is_a_failure_that_is_counted() {
        let policy =
            parse("name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[verdict]\nanomaly = \"quarantine\"\n")
                .unwrap();
        let cost = measure(&policy, &items(&["a", "b"]), &BTreeMap::new(), 3);
        assert_eq!(cost.stages[0].failed["failed"], 2);
        assert_eq!(cost.kept_out, 2);
    }
}
