//! Which of the records that fit are shown: the same words once, and no writer alone while others have a say.

use memwarden_core::{Finding, OriginMode, PrincipalId, Record, tokens};
use std::collections::HashMap;

/// A record that may be shown.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) record: Record,
    pub(crate) findings: Vec<Finding>,
    pub(crate) score: f64,
}

/// The best k, in the order of retrieval.
///
/// One principal gets at most half of k, rounded up, while records of others fit; what is left over fills the
/// places that the others leave. Under a policy without origin rules, everything is shown as it comes.
#[derive(Debug)]
pub(crate) struct Shelf {
    k: usize,
    origin: OriginMode,
    kept: Vec<Kept>,
    over: Vec<Kept>,
    by_principal: HashMap<PrincipalId, usize>,
    by_words: HashMap<String, Place>,
    collapsed: u64,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Kept(usize),
    Over(usize),
}

impl Shelf {
    pub(crate) fn new(k: usize, origin: OriginMode) -> Self {
        Self {
            k,
            origin,
            kept: Vec::with_capacity(k),
            over: Vec::new(),
            by_principal: HashMap::new(),
            by_words: HashMap::new(),
            collapsed: 0,
        }
    }

    /// Whether nothing that comes later can be shown.
    pub(crate) fn is_full(&self) -> bool {
        // A flood by one writer must not make every recall read all of it.
        const ENOUGH_OVER: usize = 4;
        self.kept.len() == self.k || self.over.len() >= ENOUGH_OVER * self.k
    }

    pub(crate) fn put(&mut self, record: Record, findings: Vec<Finding>, score: f64) {
        let kept = Kept {
            record,
            findings,
            score,
        };
        if self.origin == OriginMode::Off {
            self.kept.push(kept);
            return;
        }
        let words = words(&kept.record);
        if let Some(place) = self.by_words.get(&words) {
            self.collapsed += 1;
            let shown = match *place {
                Place::Kept(at) => self.kept.get_mut(at),
                Place::Over(at) => self.over.get_mut(at),
            };
            // Of the same words, the strongest record is shown: a weaker one never hides it.
            if let Some(shown) = shown.filter(|shown| shown.record.effective < kept.record.effective) {
                shown.record = kept.record;
                shown.findings = kept.findings;
            }
            return;
        }
        let count = self.by_principal.entry(kept.record.principal).or_default();
        if *count < self.k.div_ceil(2) {
            *count += 1;
            self.by_words.insert(words, Place::Kept(self.kept.len()));
            self.kept.push(kept);
        } else {
            self.by_words.insert(words, Place::Over(self.over.len()));
            self.over.push(kept);
        }
    }

    /// What is shown, best first, and how many records said the same.
    pub(crate) fn take(mut self) -> (Vec<Kept>, u64) {
        let places = self.k.saturating_sub(self.kept.len());
        self.kept.extend(self.over.into_iter().take(places));
        self.kept.truncate(self.k);
        self.kept.sort_by(|a, b| b.score.total_cmp(&a.score));
        (self.kept, self.collapsed)
    }
}

fn words(record: &Record) -> String {
    let words: Vec<String> = tokens(&record.entry.content)
        .into_iter()
        .map(|token| token.text)
        .collect();
    words.join(" ")
}
