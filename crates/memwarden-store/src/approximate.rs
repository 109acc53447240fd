//! A graph over the vectors of a namespace too large to compare them all: HNSW (Malkov and Yashunin 2018), by
//! `usearch`.
//!
//! It proposes, and [`Exact`] compares what it proposes: scores are those of the exact search, and what it finds comes
//! in the same order. It may miss some of the nearest; which ones depends on how it grew, and it grows by row, so
//! that a store that is opened anew answers the same. Compiled only with the feature `approximate`.

use crate::nearest::{Exact, Near, NearestVectors, in_order};
use memwarden_core::encode::Embedding;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

/// Up to so many vectors are compared one by one, which takes about 30 ms.
const EXACT_UP_TO: usize = 1_000_000;
/// How many more the graph proposes than are wanted.
const PROPOSED: usize = 4;
/// Candidates that a search of the graph keeps in view: more find more of the nearest and take longer.
const EXPANSION: usize = 256;

/// Exact until it is large, then through a graph.
pub(crate) struct Approximate {
    exact: Exact,
    graph: Option<Index>,
    up_to: usize,
}

impl Default for Approximate {
    fn default() -> Self {
        Self::exact_up_to(EXACT_UP_TO)
    }
}

impl Approximate {
    fn exact_up_to(up_to: usize) -> Self {
        Self {
            exact: Exact::default(),
            graph: None,
            up_to,
        }
    }

    /// The graph over everything that was put in so far; none where the library fails, and all are compared.
    fn grow(&self, dimensions: usize) -> Option<Index> {
        let graph = Index::new(&IndexOptions {
            dimensions,
            metric: MetricKind::Cos,
            quantization: ScalarKind::I8,
            expansion_search: EXPANSION,
            ..IndexOptions::default()
        })
        .ok()?;
        graph.reserve(self.exact.len() * 2).ok()?;
        for (row, values) in self.exact.vectors() {
            graph.add(key(row), values).ok()?;
        }
        Some(graph)
    }
}

impl NearestVectors for Approximate {
    fn put(&mut self, row: i64, writer: u32, vector: &Embedding) {
        let before = self.exact.len();
        self.exact.put(row, writer, vector);
        if self.exact.len() == before {
            return;
        }
        match &self.graph {
            None if self.exact.len() > self.up_to => self.graph = self.grow(vector.dimensions()),
            None => {}
            Some(graph) => {
                let full = graph.size() == graph.capacity();
                let reserved = !full || graph.reserve(graph.capacity() * 2).is_ok();
                if !reserved || graph.add(key(row), vector.values()).is_err() {
                    self.graph = None;
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.exact.len()
    }

    fn nearest(&self, query: &[f32], limit: usize, without: &[u32]) -> Vec<Near> {
        // The graph knows no writers: where some are left out, what it proposes may be all theirs.
        let graph = self.graph.as_ref().filter(|_| without.is_empty());
        let proposed = graph.and_then(|graph| {
            let rounded = Embedding::quantize(query).ok()?;
            let found = graph
                .search(rounded.values(), limit.saturating_mul(PROPOSED))
                .ok()?;
            let rows = found.keys.into_iter().map(u64::cast_signed);
            Some(self.exact.compare(&rounded, rows))
        });
        let Some(mut near) = proposed else {
            return self.exact.nearest(query, limit, without);
        };
        near.sort_by(in_order);
        near.truncate(limit);
        near
    }

    fn rerank(&self, query: &[f32], near: &mut [Near]) {
        self.exact.rerank(query, near);
    }
}

const fn key(row: i64) -> u64 {
    row.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on a sphere, by a generator of fixed numbers.
    fn vectors(count: usize) -> Vec<Embedding> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
        };
        (0..count)
            .map(|_| Embedding::quantize(&std::array::from_fn::<f32, 32, _>(|_| next())).unwrap())
            .collect()
    }

    #[test]
    fn the_graph_finds_nearly_all_of_the_nearest_in_their_order_and_again_when_it_is_made_anew() {
        let all = vectors(3_000);
        let fill = |index: &mut dyn NearestVectors| {
            for (row, vector) in (0..).zip(&all) {
                index.put(row, 0, vector);
            }
        };
        let (mut exact, mut graph, mut again) = (
            Exact::default(),
            Approximate::exact_up_to(500),
            Approximate::exact_up_to(500),
        );
        fill(&mut exact);
        fill(&mut graph);
        fill(&mut again);
        assert!(graph.graph.is_some());
        let mut found = 0;
        for query in vectors(40) {
            let query: Vec<f32> = query.values().iter().map(|value| f32::from(*value)).collect();
            let expected = exact.nearest(&query, 10, &[]);
            let given = graph.nearest(&query, 10, &[]);
            assert!(given.is_sorted_by(|a, b| in_order(a, b).is_le()));
            assert_eq!(given, again.nearest(&query, 10, &[]));
            found += expected.iter().filter(|near| given.contains(near)).count();
        }
        assert!(found >= 380, "{found} of 400");
    }
}
