//! The shop's own search: Okapi BM25 (Robertson and Zaragoza 2009) over titles.

use std::collections::{BTreeMap, HashMap};

/// Saturation of repeated words, the usual value.
const K1: f64 = 1.2;
/// How much long titles are held back, the usual value.
const B: f64 = 0.75;

#[derive(Debug, Clone)]
pub(super) struct Index {
    /// For each word the titles that hold it, and how often.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean_length: f64,
}

impl Index {
    pub(super) fn new(titles: impl Iterator<Item = String>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, title) in titles.enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for word in words(&title) {
                *counts.entry(word).or_default() += 1.0;
            }
            lengths.push(counts.values().sum());
            for (word, count) in counts {
                postings.entry(word).or_default().push((at, count));
            }
        }
        let mean_length = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Self {
            postings,
            lengths,
            mean_length,
        }
    }

    /// The places of the titles that hold any of the words, best first, ties in the order of the catalog.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let titles = self.lengths.len() as f64;
        for word in words(query) {
            let Some(holders) = self.postings.get(&word) else {
                continue;
            };
            let with = holders.len() as f64;
            let weight = (1.0 + (titles - with + 0.5) / (with + 0.5)).ln();
            for (at, count) in holders {
                let length = self.lengths.get(*at).copied().unwrap_or_default();
                let held_back = K1 * (1.0 - B + B * length / self.mean_length.max(1.0));
                *scores.entry(*at).or_default() += weight * count * (K1 + 1.0) / (count + held_back);
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().collect();
        found.sort_by(|(at, score), (other, than)| than.total_cmp(score).then(at.cmp(other)));
        found.into_iter().map(|(at, _)| at).collect()
    }
}

/// Lower-case words of letters and digits.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more_than_common_ones_and_ties_keep_their_order() {
        let titles = ["red lamp", "blue lamp", "blue kettle", "blue lamp"];
        let index = Index::new(titles.iter().map(|title| (*title).to_owned()));
        assert_eq!(index.search("blue kettle").first(), Some(&2));
        assert_eq!(index.search("red lamp").first(), Some(&0));
        assert_eq!(index.search("blue lamp"), [1, 3, 0, 2]);
        assert!(index.search("sofa").is_empty());
    }
}
