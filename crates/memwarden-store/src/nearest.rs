//! Which vectors of a list are nearest to another: all are compared, in integers.
//!
//! For: the order. Not for: which records may be seen (`vectors`). An index that is right only most of the time
//! makes an answer depend on the order in which it grew, and a replay must give the same answer: so all are compared
//! as long as that is fast enough.

use memwarden_core::encode::{Embedding, dot_i8};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// How many of the nearest are compared once more with the query as it was before rounding.
pub(crate) const RERANKED: usize = 50;

/// A row and how near its vector is: the cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    pub(crate) row: i64,
    pub(crate) cosine: f32,
}

/// Looks for vectors near to another.
///
/// An implementation MUST answer in the order of [`in_order`], and the same whenever the same vectors are put in
/// again in the order of their rows: an index is thrown away and made anew without notice. [`Exact`] finds all of
/// the nearest.
pub(crate) trait NearestVectors: Send + Sync {
    /// Puts a vector in, after all those with smaller row numbers. `writer` is a number for whoever wrote it.
    fn put(&mut self, row: i64, writer: u32, vector: &Embedding);

    /// How many there are.
    fn len(&self) -> usize;

    /// The `limit` nearest by rounded vectors that none of `without` wrote, best first.
    fn nearest(&self, query: &[f32], limit: usize, without: &[u32]) -> Vec<Near>;

    /// Puts those that are to be shown in their final order: the first [`RERANKED`] are compared with the query as
    /// it was. Whoever leaves records out does so before, or those left out would decide which ones these are.
    fn rerank(&self, query: &[f32], near: &mut [Near]);
}

/// Best first, and of equally near ones the older first.
pub(crate) fn in_order(a: &Near, b: &Near) -> std::cmp::Ordering {
    b.cosine.total_cmp(&a.cosine).then(a.row.cmp(&b.row))
}

/// Compares with every vector: 256 bytes and a scale for each.
#[derive(Debug, Default)]
pub(crate) struct Exact {
    dimensions: usize,
    rows: Vec<i64>,
    writers: Vec<u32>,
    scales: Vec<f32>,
    values: Vec<i8>,
}

impl NearestVectors for Exact {
    fn put(&mut self, row: i64, writer: u32, vector: &Embedding) {
        if self.rows.is_empty() {
            self.dimensions = vector.dimensions();
        }
        if vector.dimensions() != self.dimensions || vector.is_zero() {
            // Nothing is near to a text in which there was nothing to find.
            return;
        }
        self.rows.push(row);
        self.writers.push(writer);
        self.scales.push(vector.scale());
        self.values.extend_from_slice(vector.values());
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn nearest(&self, query: &[f32], limit: usize, without: &[u32]) -> Vec<Near> {
        let Ok(rounded) = Embedding::quantize(query) else {
            return Vec::new();
        };
        if rounded.dimensions() != self.dimensions || rounded.is_zero() || limit == 0 {
            return Vec::new();
        }
        let mut best = self.best_of_parts(&rounded, limit, without, parts(self.len()));
        best.truncate(limit);
        let near = |Scored { score, at }| {
            Some(Near {
                row: *self.rows.get(at)?,
                cosine: score * rounded.scale(),
            })
        };
        best.into_iter().filter_map(near).collect()
    }

    fn rerank(&self, query: &[f32], near: &mut [Near]) {
        let length = query.iter().map(|value| value * value).sum::<f32>().sqrt();
        let first = near.len().min(RERANKED);
        let Some(first) = near.get_mut(..first) else {
            return;
        };
        for found in first.iter_mut() {
            if let Some((values, scale)) = self.vector(found.row) {
                let sum: f32 = query
                    .iter()
                    .zip(values)
                    .map(|(query, value)| query * f32::from(*value))
                    .sum();
                found.cosine = sum * scale / length;
            }
        }
        first.sort_by(in_order);
    }
}

/// So many vectors are worth a thread of their own: fewer are compared in the time that starting one takes.
const PART: usize = 250_000;

/// From so many places one core reads at once.
const STREAMS: usize = 8;
/// Streams of fewer vectors are not worth their beginnings.
const SHORTEST_STREAM: usize = 256;

/// In how many parts, at once, so many vectors are compared.
fn parts(vectors: usize) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (vectors / PART).clamp(1, threads)
}

impl Exact {
    /// The best of each part, all in order. Whatever the parts are, the first `limit` are the same: scores are
    /// compared first, and of equal ones the place.
    fn best_of_parts(&self, query: &Embedding, limit: usize, without: &[u32], parts: usize) -> Vec<Scored> {
        let length = self.len().div_ceil(parts.max(1));
        let part = |number: usize| {
            let from = number.saturating_mul(length).min(self.len());
            self.best(
                query,
                limit,
                without,
                from..from.saturating_add(length).min(self.len()),
            )
        };
        let mut best = if parts < 2 {
            part(0)
        } else {
            std::thread::scope(|scope| {
                let part = &part;
                let others: Vec<_> = (1..parts)
                    .map(|number| (number, scope.spawn(move || part(number))))
                    .collect();
                let mut best = part(0);
                for (number, other) in others {
                    // A thread that panicked is asked again here, where the panic is seen.
                    best.extend(other.join().unwrap_or_else(|_| part(number)));
                }
                best
            })
        };
        best.sort_by(|a, b| b.cmp(a));
        best
    }

    /// The best of the vectors at `places`, in no order.
    ///
    /// They are read from several places at once: a processor fetches ahead in each stream, and one stream alone
    /// leaves most of the memory's width unused (one core, a million vectors: 56 ns each in one stream, 22 in
    /// eight).
    fn best(&self, query: &Embedding, limit: usize, without: &[u32], places: Range<usize>) -> Vec<Scored> {
        let mut best: BinaryHeap<Reverse<Scored>> = BinaryHeap::with_capacity(limit.min(self.len()) + 1);
        // What is below this has no place.
        let mut worst = f32::NEG_INFINITY;
        let length = places.len().div_ceil(STREAMS).max(SHORTEST_STREAM);
        let mut streams: Vec<_> = places
            .clone()
            .step_by(length)
            .map(|from| self.stream(from..(from + length).min(places.end)))
            .collect();
        for _ in 0..length {
            for stream in &mut streams {
                let Some((at, ((values, scale), writer))) = stream.next() else {
                    continue;
                };
                if without.contains(writer) {
                    continue;
                }
                let score = dot(query.values(), values) * scale;
                if score < worst {
                    continue;
                }
                best.push(Reverse(Scored { score, at }));
                if best.len() > limit {
                    best.pop();
                }
                if best.len() == limit {
                    worst = best.peek().map_or(worst, |Reverse(scored)| scored.score);
                }
            }
        }
        best.into_iter().map(|Reverse(scored)| scored).collect()
    }

    /// The vectors at `places` with their scales and writers.
    fn stream(&self, places: Range<usize>) -> impl Iterator<Item = (usize, ((&[i8], &f32), &u32))> {
        let values = self
            .values
            .get(places.start * self.dimensions..places.end * self.dimensions)
            .unwrap_or_default();
        let scales = self.scales.get(places.clone()).unwrap_or_default();
        let writers = self.writers.get(places.clone()).unwrap_or_default();
        places.zip(
            values
                .chunks_exact(self.dimensions.max(1))
                .zip(scales)
                .zip(writers),
        )
    }

    /// The rows among `rows` with how near they are, in the order given.
    #[cfg(feature = "approximate")]
    pub(crate) fn compare(&self, query: &Embedding, rows: impl Iterator<Item = i64>) -> Vec<Near> {
        let near = |row| {
            let (values, scale) = self.vector(row)?;
            let score = dot(query.values(), values) * scale;
            Some(Near {
                row,
                cosine: score * query.scale(),
            })
        };
        rows.filter_map(near).collect()
    }

    /// Every row with its vector, in the order in which they were put in.
    #[cfg(feature = "approximate")]
    pub(crate) fn vectors(&self) -> impl Iterator<Item = (i64, &[i8])> {
        let values = self.values.chunks_exact(self.dimensions.max(1));
        self.rows.iter().copied().zip(values)
    }

    fn vector(&self, row: i64) -> Option<(&[i8], f32)> {
        let at = self.rows.binary_search(&row).ok()?;
        let values = self
            .values
            .get(at * self.dimensions..(at + 1) * self.dimensions)?;
        Some((values, *self.scales.get(at)?))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a sum of 256 products of bytes is below 2^23"
)]
fn dot(a: &[i8], b: &[i8]) -> f32 {
    dot_i8(a, b) as f32
}

/// Greater is better; of equal scores the one that was put in earlier is.
#[derive(Debug, PartialEq)]
struct Scored {
    score: f32,
    at: usize,
}

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.at.cmp(&self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(vectors: &[Vec<f32>]) -> Exact {
        let mut exact = Exact::default();
        for (row, vector) in vectors.iter().enumerate() {
            exact.put(
                i64::try_from(row).unwrap() * 3,
                u32::from(row % 2 == 1),
                &Embedding::quantize(vector).unwrap(),
            );
        }
        exact
    }

    proptest! {
        #[test]
        fn the_nearest_are_those_that_a_comparison_of_all_finds(
            vectors in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 8), 1..60),
            query in prop::collection::vec(-1.0f32..1.0, 8),
            limit in 1usize..20,
        ) {
            prop_assume!(query.iter().any(|value| value.abs() > 0.1));
            let exact = filled(&vectors);
            let rounded = Embedding::quantize(&query).unwrap();
            let mut all: Vec<Near> = vectors
                .iter()
                .enumerate()
                .map(|(row, vector)| (row, Embedding::quantize(vector).unwrap()))
                .filter(|(_, vector)| !vector.is_zero())
                .map(|(row, vector)| Near {
                    row: i64::try_from(row).unwrap() * 3,
                    cosine: vector.dot(&rounded),
                })
                .collect();
            all.sort_by(in_order);
            let mut found = exact.nearest(&query, limit, &[]);
            exact.rerank(&query, &mut found);
            prop_assert_eq!(found.len(), limit.min(all.len()));
            for (found, expected) in found.iter().zip(&all) {
                // Rounding the query moves a cosine, and with it neighbors, by very little.
                prop_assert!((found.cosine - expected.cosine).abs() < 0.02);
            }
            prop_assert!(found.is_sorted_by(|a, b| in_order(a, b).is_le()));
        }

        #[test]
        fn more_places_change_nothing_in_front_of_them(
            vectors in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 4), 60..90),
            query in prop::collection::vec(0.1f32..1.0, 4),
        ) {
            let exact = filled(&vectors);
            let (mut few, mut many) = (
                exact.nearest(&query, RERANKED, &[]),
                exact.nearest(&query, RERANKED + 9, &[]),
            );
            exact.rerank(&query, &mut few);
            exact.rerank(&query, &mut many);
            prop_assert_eq!(&few[..], &many[..RERANKED]);
        }
    }

    proptest! {
        #[test]
        fn in_parts_the_same_are_found(
            vectors in prop::collection::vec(prop::collection::vec(-3i8..4, 3), 1..50),
            limit in 1usize..12,
            parts in 2usize..6,
        ) {
            let vectors: Vec<Vec<f32>> = vectors
                .iter()
                .map(|vector| vector.iter().map(|value| f32::from(*value)).collect())
                .collect();
            let exact = filled(&vectors);
            prop_assume!(exact.len() > 0);
            let query = Embedding::quantize(&[1.0, 0.5, -0.25]).unwrap();
            let found = |parts| {
                let mut best = exact.best_of_parts(&query, limit, &[], parts);
                best.truncate(limit);
                best
            };
            prop_assert_eq!(found(parts), found(1));
        }
    }

    #[test]
    fn of_equally_near_ones_the_older_are_found_however_many_streams_there_are() {
        let vectors: Vec<Vec<f32>> = (0..STREAMS * SHORTEST_STREAM + 3)
            .map(|at| vec![1.0, if at % 3 == 0 { 0.0 } else { 1.0 }])
            .collect();
        let exact = filled(&vectors);
        let near = exact.nearest(&[1.0, 0.0], 5, &[]);
        let rows: Vec<i64> = near.iter().map(|near| near.row).collect();
        assert_eq!(rows, [0, 9, 18, 27, 36]);
    }

    #[test]
    fn nothing_is_near_to_nothing() {
        let exact = filled(&[vec![0.0, 0.0], vec![1.0, 0.0]]);
        assert_eq!(exact.len(), 1);
        assert!(exact.nearest(&[0.0, 0.0], 5, &[]).is_empty());
        assert!(exact.nearest(&[1.0, 0.0, 0.0], 5, &[]).is_empty());
        assert!(exact.nearest(&[f32::NAN, 0.0], 5, &[]).is_empty());
    }

    #[test]
    fn what_a_writer_who_is_left_out_wrote_takes_no_place() {
        let exact = filled(&[vec![1.0, 0.0], vec![1.0, 0.1], vec![0.5, 1.0]]);
        let rows = |without: &[u32]| -> Vec<i64> {
            let near = exact.nearest(&[1.0, 0.0], 2, without);
            near.iter().map(|near| near.row).collect()
        };
        assert_eq!(rows(&[]), [0, 3]);
        assert_eq!(rows(&[1]), [0, 6]);
        assert!(rows(&[0, 1]).is_empty());
    }
}
