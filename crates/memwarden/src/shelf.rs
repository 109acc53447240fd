//! Which of the records that fit are shown: the same words once, and no writer alone while its equals have a say.

use crate::recall::Why;
use memwarden_core::{FieldValue, Finding, OriginMode, Policy, PrincipalId, RecallRule, Record, tokens};
use std::collections::{BTreeMap, HashMap};

/// Words that turn a sentence into its opposite: two texts that differ in one of them say different things.
const NEGATIONS: [&str; 20] = [
    "not", "no", "never", "without", "nothing", "none", "cannot", "nicht", "kein", "keine", "nie", "ne",
    "pas", "jamais", "non", "mai", "nunca", "sin", "não", "не",
];

/// A record that may be shown.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) record: Record,
    pub(crate) findings: Vec<Finding>,
    pub(crate) score: f64,
    pub(crate) why: Why,
    words: Words,
}

/// The best k, in the order of retrieval.
///
/// One principal gets at most its share of k ([`RecallRule`]) while records of others fit; what is left over
/// fills the places that the others leave. Its share makes room for its equals and betters only: a record of weaker
/// authority than one that was left over before it is left over too. Otherwise whoever has a credential of any kind would be
/// heard in every recall. A principal that has left over more than could be shown is looked for no further, so that a flood
/// neither hides the others nor is read to its end.
///
/// The same words are shown once, whoever said them. Nearly the same words are shown once where one writer said
/// both: another's record could otherwise be hidden by one that only looks like it. Under a policy without
/// origin rules, everything is shown as it comes.
#[derive(Debug)]
pub(crate) struct Shelf {
    k: usize,
    origin: OriginMode,
    rule: RecallRule,
    kept: Vec<Kept>,
    /// Beyond their writer's share or weaker than what is, best first; `None` where another record says the same and is kept.
    over: Vec<Option<Kept>>,
    by_principal: HashMap<PrincipalId, usize>,
    over_by_principal: HashMap<PrincipalId, usize>,
    by_words: HashMap<Said, Place>,
    collapsed: u64,
}

/// What a record says: its words, what it is about and its structured values.
type Said = (String, Option<String>, BTreeMap<String, FieldValue>);

#[derive(Debug, Clone, Copy)]
enum Place {
    Kept(usize),
    Over(usize),
}

impl Shelf {
    pub(crate) fn new(k: usize, policy: &Policy) -> Self {
        Self {
            k,
            origin: policy.origin,
            rule: policy.recall,
            kept: Vec::with_capacity(k),
            over: Vec::new(),
            by_principal: HashMap::new(),
            over_by_principal: HashMap::new(),
            by_words: HashMap::new(),
            collapsed: 0,
        }
    }

    /// Whether nothing that comes later can be shown.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() == self.k
    }

    /// Principals of whom more was found than could be shown even if nobody else had a say.
    pub(crate) fn satisfied(&self) -> Vec<PrincipalId> {
        let over = self.over_by_principal.iter();
        over.filter(|(_, count)| **count >= self.k)
            .map(|(principal, _)| *principal)
            .collect()
    }

    fn put(&mut self, mut kept: Kept) {
        if self.origin == OriginMode::Off {
            self.kept.push(kept);
            return;
        }
        let said = said(&kept.record);
        kept.words = Words::of(&said.0);
        let place = self.by_words.get(&said).copied().or_else(|| self.near(&kept));
        self.collapsed += u64::from(place.is_some());
        let may_stay = self.has_place(&kept.record.principal) && !self.is_beside_stronger(&kept);
        match place {
            Some(Place::Over(at)) if may_stay => {
                // What one writer had no place left for keeps no other from its own.
                if let Some(over) = self.over.get_mut(at).and_then(Option::take) {
                    self.by_words.remove(&self::said(&over.record));
                }
                self.keep(said, kept);
            }
            Some(place) => self.prefer_stronger(place, said, kept),
            None if may_stay => self.keep(said, kept),
            None => {
                *self.over_by_principal.entry(kept.record.principal).or_default() += 1;
                self.by_words.insert(said, Place::Over(self.over.len()));
                self.over.push(Some(kept));
            }
        }
    }

    /// Whether what was left over before it is stronger: a share makes room for equals and betters.
    fn is_beside_stronger(&self, kept: &Kept) -> bool {
        let over = self.over.iter().flatten();
        over.map(|over| over.record.effective)
            .any(|effective| effective > kept.record.effective)
    }

    /// Of the same words, the strongest record is shown, with its own score: a weaker one never hides it.
    fn prefer_stronger(&mut self, place: Place, said: Said, other: Kept) {
        let shown = match place {
            Place::Kept(at) => self.kept.get_mut(at),
            Place::Over(at) => self.over.get_mut(at).and_then(Option::as_mut),
        };
        let Some(shown) = shown.filter(|shown| shown.record.effective < other.record.effective) else {
            return;
        };
        let (was, is) = (shown.record.principal, other.record.principal);
        // Where both say only nearly the same, it is the other's words that are shown now.
        self.by_words.remove(&self::said(&shown.record));
        self.by_words.insert(said, place);
        *shown = other;
        let by = match place {
            Place::Kept(_) => &mut self.by_principal,
            Place::Over(_) => &mut self.over_by_principal,
        };
        if let Some(count) = by.get_mut(&was) {
            *count = count.saturating_sub(1);
        }
        *by.entry(is).or_default() += 1;
    }

    fn has_place(&self, principal: &PrincipalId) -> bool {
        self.by_principal.get(principal).copied().unwrap_or(0) < self.rule.places(self.k)
    }

    /// Where a record of the same writer stands that says nearly the same of the same thing.
    fn near(&self, other: &Kept) -> Option<Place> {
        let says = |kept: &Kept| {
            kept.record.principal == other.record.principal
                && kept.words.are_near(&other.words, self.rule.near_duplicates)
                && kept.record.entry.subject == other.record.entry.subject
                && kept.record.entry.fields == other.record.entry.fields
        };
        let kept = self.kept.iter().position(says).map(Place::Kept);
        kept.or_else(|| {
            let over = self.over.iter().position(|over| over.as_ref().is_some_and(says));
            over.map(Place::Over)
        })
    }

    fn keep(&mut self, said: Said, kept: Kept) {
        *self.by_principal.entry(kept.record.principal).or_default() += 1;
        self.by_words.insert(said, Place::Kept(self.kept.len()));
        self.kept.push(kept);
    }

    /// What is shown, best first, and how many records said the same.
    pub(crate) fn take(mut self) -> (Vec<Kept>, u64) {
        let places = self.k.saturating_sub(self.kept.len());
        self.kept.extend(self.over.into_iter().flatten().take(places));
        self.kept.truncate(self.k);
        self.kept.sort_by(|a, b| b.score.total_cmp(&a.score));
        (self.kept, self.collapsed)
    }
}

/// Records that were found and may yet be overtaken by better ones.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<Kept>);

impl Waiting {
    pub(crate) fn put(&mut self, record: Record, findings: Vec<Finding>, score: f64, why: Why) {
        self.0.push(Kept {
            record,
            findings,
            score,
            why,
            words: Words::default(),
        });
    }

    /// Puts those on the shelf, best first, that no record with a score of at most `others` overtakes.
    pub(crate) fn release(&mut self, others: f64, shelf: &mut Shelf) {
        self.0.sort_by(|a, b| b.score.total_cmp(&a.score));
        let ready = self.0.partition_point(|kept| kept.score >= others);
        for kept in self.0.drain(..ready) {
            if shelf.is_full() {
                break;
            }
            shelf.put(kept);
        }
    }
}

/// The words of a text as a set, and those of them that change what it says.
#[derive(Debug, Default)]
struct Words {
    /// Sorted, each once.
    all: Vec<String>,
    /// Numbers and negations, in the order of the text.
    telling: Vec<String>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut all: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let tells = |word: &&String| {
            word.chars().any(char::is_numeric) || NEGATIONS.contains(&word.as_str()) || word.ends_with("n't")
        };
        let telling = all.iter().filter(tells).cloned().collect();
        all.sort_unstable();
        all.dedup();
        Self { all, telling }
    }

    /// Whether the Jaccard index of both sets is at least `hundredths` and both have the same numbers and
    /// negations.
    fn are_near(&self, other: &Self, hundredths: u32) -> bool {
        let (fewer, more) = if self.all.len() < other.all.len() {
            (&self.all, &other.all)
        } else {
            (&other.all, &self.all)
        };
        let threshold = u64::from(hundredths);
        let share = |part: usize, whole: usize| part as u64 * 100 >= threshold * whole as u64;
        if !share(fewer.len(), more.len()) || self.telling != other.telling {
            return false;
        }
        let common = fewer
            .iter()
            .filter(|word| more.binary_search(word).is_ok())
            .count();
        share(common, fewer.len() + more.len() - common)
    }
}

fn said(record: &Record) -> Said {
    let words: Vec<String> = tokens(&record.entry.content)
        .into_iter()
        .map(|token| token.text)
        .collect();
    let entry = &record.entry;
    (words.join(" "), entry.subject.clone(), entry.fields.clone())
}
