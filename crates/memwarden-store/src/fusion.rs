//! Two orders of the same records made one: reciprocal rank fusion.
//!
//! Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
//! Methods" (SIGIR 2009): a record's score is the sum of `weight / (k + rank)` over the orders that have it. Scores
//! of different kinds never meet, so neither has to be scaled to the other.

use crate::nearest::Near;
use memwarden_core::log::{Candidate, Ranked};
use std::collections::HashMap;

/// k of the fusion; the paper's 60 flattens the few places that a recall shows (measured on LoCoMo).
pub(crate) const RANK_CONSTANT: f64 = 10.0;
/// The words count twice: BM25 is the better of the two alone (measured on LoCoMo).
pub(crate) const WORDS_WEIGHT: f64 = 2.0;
const VECTOR_WEIGHT: f64 = 1.0;
/// How deep both orders are read, whatever is asked for: a score must not depend on how many are wanted.
pub(crate) const DEPTH: usize = 100;

/// The candidates of both orders, best first; of equal scores the older record first.
pub(crate) fn fuse(by_words: &[Candidate], by_vector: &[Near]) -> Vec<Candidate> {
    let mut fused: HashMap<i64, Candidate> = HashMap::new();
    for candidate in by_words {
        let rank = candidate.by_words.map_or(usize::MAX, |ranked| ranked.rank);
        fused.insert(
            candidate.row,
            Candidate {
                score: share(WORDS_WEIGHT, rank),
                ..*candidate
            },
        );
    }
    for candidate in ranked(by_vector) {
        let rank = candidate.by_vector.map_or(usize::MAX, |ranked| ranked.rank);
        let both = fused.entry(candidate.row).or_insert(Candidate {
            score: 0.0,
            ..candidate
        });
        both.by_vector = candidate.by_vector;
        both.score += share(VECTOR_WEIGHT, rank);
    }
    let mut fused: Vec<Candidate> = fused.into_values().collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    fused
}

/// The order of vectors alone.
pub(crate) fn ranked(by_vector: &[Near]) -> impl Iterator<Item = Candidate> + '_ {
    by_vector.iter().enumerate().map(|(at, near)| {
        let score = f64::from(near.cosine);
        Candidate {
            row: near.row,
            score,
            by_words: None,
            by_vector: Some(Ranked { rank: at + 1, score }),
        }
    })
}

#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn share(weight: f64, rank: usize) -> f64 {
    weight / (RANK_CONSTANT + rank as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(row: i64, rank: usize) -> Candidate {
        Candidate {
            row,
            score: 9.0,
            by_words: Some(Ranked { rank, score: 9.0 }),
            by_vector: None,
        }
    }

    #[test]
    fn a_record_of_both_orders_comes_before_one_of_either() {
        let near = |row, cosine| Near { row, cosine };
        let fused = fuse(
            &[words(1, 1), words(2, 2), words(3, 3)],
            &[near(4, 0.9), near(3, 0.8)],
        );
        let rows: Vec<i64> = fused.iter().map(|candidate| candidate.row).collect();
        assert_eq!(rows, [3, 1, 2, 4]);
        let third = fused.first().unwrap();
        assert!((third.score - (2.0 / 13.0 + 1.0 / 12.0)).abs() < 1e-12);
        assert_eq!(third.by_words.unwrap().rank, 3);
        assert_eq!(third.by_vector.unwrap().rank, 2);
    }

    #[test]
    fn of_equal_scores_the_older_record_is_first() {
        let fused = fuse(&[words(7, 1)], &[]);
        assert_eq!(fused.len(), 1);
        let tied = fuse(&[words(9, 4), words(2, 4)], &[]);
        assert_eq!(tied.first().unwrap().row, 2);
    }
}
