//! A logistic regression on bags of words, cross-validated, and the area under its curve.

use crate::split_mix::SplitMix64;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Folds of the cross-validation.
const FOLDS: usize = 5;
/// Steps of gradient descent.
const STEPS: usize = 300;
const RATE: f64 = 0.5;
/// Weight of the squared weights.
const PENALTY: f64 = 1e-3;
/// Words that are named.
const TELLING: usize = 8;

/// How well words tell two sets of texts apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Auc {
    /// Honest texts.
    pub honest: usize,
    /// Forged texts.
    pub forged: usize,
    /// Chance that a forged text is ranked above an honest one by a model that saw neither wording; 0.5 for none.
    pub auc: f64,
    /// The same where the model may have seen the very wording before, as a text of a few templates.
    pub auc_known_wordings: f64,
    /// The words that weigh most over all texts, with `+` where they speak for forged.
    pub telling: Vec<String>,
}

/// Measures it. Numbers are one word.
#[must_use]
pub fn auc(honest: &[String], forged: &[String], seed: u64) -> Auc {
    let bags: Vec<(BTreeSet<String>, bool)> = honest
        .iter()
        .map(|text| (bag(text), false))
        .chain(forged.iter().map(|text| (bag(text), true)))
        .collect();
    let words: BTreeMap<&str, usize> = bags
        .iter()
        .flat_map(|(bag, _)| bag)
        .map(String::as_str)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .zip(0..)
        .collect();
    let rows: Vec<(Vec<usize>, bool)> = bags
        .iter()
        .map(|(bag, label)| {
            let known = bag.iter().filter_map(|word| words.get(word.as_str()).copied());
            (known.collect(), *label)
        })
        .collect();
    let unseen = folds(&bags, seed);
    let mut random = SplitMix64::new(seed);
    let any: Vec<usize> = bags.iter().map(|_| random.below(FOLDS)).collect();
    let whole = fit(&rows.iter().collect::<Vec<_>>(), words.len());
    let mut named: Vec<(&str, f64)> = words
        .iter()
        .map(|(word, at)| (*word, whole.of.get(*at).copied().unwrap_or_default()))
        .collect();
    named.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
    let telling = named.iter().take(TELLING).map(|(word, weight)| {
        let sign = if *weight > 0.0 { '+' } else { '-' };
        format!("{sign}{word}")
    });
    Auc {
        honest: honest.len(),
        forged: forged.len(),
        auc: validated(&rows, words.len(), &unseen),
        auc_known_wordings: validated(&rows, words.len(), &any),
        telling: telling.collect(),
    }
}

/// The area over all folds, each scored by what the others taught.
fn validated(rows: &[(Vec<usize>, bool)], words: usize, folds: &[usize]) -> f64 {
    let mut scored = Vec::with_capacity(rows.len());
    for fold in 0..FOLDS {
        let (mut taught, mut tested) = (Vec::new(), Vec::new());
        for (row, at) in rows.iter().zip(folds) {
            if *at == fold { &mut tested } else { &mut taught }.push(row);
        }
        let weights = fit(&taught, words);
        scored.extend(tested.into_iter().map(|row| (weights.score(&row.0), row.1)));
    }
    area(&scored)
}

fn bag(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let word = |word: &str| {
        if word.chars().all(|c| c.is_ascii_digit()) {
            "#".to_owned()
        } else {
            word.to_lowercase()
        }
    };
    words.filter(|word| !word.is_empty()).map(word).collect()
}

/// A fold for each text, the same one for the same words.
fn folds(bags: &[(BTreeSet<String>, bool)], seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::new(seed);
    let mut known: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
    bags.iter()
        .map(|(bag, _)| *known.entry(bag).or_insert_with(|| random.below(FOLDS)))
        .collect()
}

struct Weights {
    bias: f64,
    of: Vec<f64>,
}

impl Weights {
    fn score(&self, row: &[usize]) -> f64 {
        self.bias + row.iter().filter_map(|at| self.of.get(*at)).sum::<f64>()
    }
}

fn fit(rows: &[&(Vec<usize>, bool)], words: usize) -> Weights {
    let mut weights = Weights {
        bias: 0.0,
        of: vec![0.0; words],
    };
    let n = rows.len().max(1) as f64;
    for _ in 0..STEPS {
        let mut slope = vec![0.0; words];
        let mut bias = 0.0;
        for (row, forged) in rows {
            let missed = 1.0 / (1.0 + (-weights.score(row)).exp()) - f64::from(u8::from(*forged));
            bias += missed;
            for at in row {
                if let Some(slope) = slope.get_mut(*at) {
                    *slope += missed;
                }
            }
        }
        weights.bias -= RATE * bias / n;
        for (weight, slope) in weights.of.iter_mut().zip(slope) {
            *weight -= RATE * (slope / n + PENALTY * *weight);
        }
    }
    weights
}

/// The area under the curve: the share of pairs in the right order, ties by half (Mann and Whitney 1947).
fn area(scored: &[(f64, bool)]) -> f64 {
    let of = |forged: bool| {
        scored
            .iter()
            .filter(move |(_, label)| *label == forged)
            .map(|(score, _)| *score)
    };
    let (mut right, mut pairs) = (0.0, 0.0_f64);
    for forged in of(true) {
        for honest in of(false) {
            pairs += 1.0;
            right += match forged.total_cmp(&honest) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    right / pairs.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_only_forged_texts_have_tells_them_and_chance_tells_nothing() {
        let filler = ["alpha", "beta", "gamma", "delta", "kappa", "sigma"];
        let text = |at: usize, more: &str| {
            let pick = |shift: usize| filler[(at / shift) % filler.len()];
            format!("{} {} {} {more}", pick(1), pick(6), pick(36))
        };
        let honest: Vec<String> = (0..150).map(|at| text(at, "")).collect();
        let forged: Vec<String> = (0..150).map(|at| text(at * 7 + 3, "upstream")).collect();
        let told = auc(&honest, &forged, 1);
        assert!(told.auc > 0.99, "{}", told.auc);
        assert_eq!(told.telling[0], "+upstream");
        let same: Vec<String> = (0..150).map(|at| text(at * 7 + 3, "")).collect();
        let blind = auc(&honest, &same, 1).auc;
        assert!(told.auc_known_wordings > 0.99);
        assert!((0.3..0.7).contains(&blind), "{blind}");
    }

    #[test]
    fn a_tie_counts_half() {
        assert!((area(&[(1.0, true), (1.0, false), (0.0, false)]) - 0.75).abs() < 1e-12);
    }
}
