//! A-MemGuard by clustering: what lies outside the largest cluster of the retrieved reasoning chains is dropped.
//!
//! DBSCAN (Ester et al. 1996) with cosine distance at most 0.5 and two neighbors, as FARMA §V sets its baseline. Our
//! readings: the chain that is embedded is the retrieved text itself, since asking a model for one is the judge's mode;
//! a point counts among its own neighbors; of two largest clusters the one with the earlier entry is kept; where nothing
//! clusters there is no consensus to differ from, and nothing is dropped.

use super::{Defense, Scene, Sifted};
use crate::experiment::ExperimentError;
use memwarden_core::encode::{Embedding, Encode};
use std::sync::Arc;

/// Largest cosine distance of neighbors (FARMA §V).
pub const EPS: f32 = 0.5;
/// Fewest neighbors of a core point (FARMA §V).
pub const MIN_SAMPLES: usize = 2;

/// The defense.
#[derive(Debug)]
pub struct Clusters {
    encoder: Arc<dyn Encode>,
}

impl Clusters {
    /// With this encoder.
    #[must_use]
    pub const fn new(encoder: Arc<dyn Encode>) -> Self {
        Self { encoder }
    }
}

impl Defense for Clusters {
    fn sift(&self, scene: &Scene<'_>) -> Result<Sifted, ExperimentError> {
        let texts: Vec<&str> = scene.retrieved.iter().map(|entry| entry.text.as_str()).collect();
        let vectors = self.encoder.encode(&texts)?;
        let clusters = dbscan(&vectors);
        let largest = clusters
            .into_iter()
            .reduce(|best, next| if next.len() > best.len() { next } else { best });
        Ok(match largest {
            None => Sifted::all(scene),
            Some(kept) => Sifted {
                kept,
                ..Sifted::default()
            },
        })
    }
}

/// The clusters, each in the order of its points, by their first points.
fn dbscan(points: &[Embedding]) -> Vec<Vec<usize>> {
    let near = |one: &Embedding| -> Vec<usize> {
        let close = points
            .iter()
            .enumerate()
            .filter(|(_, other)| 1.0 - one.dot(other) <= EPS);
        close.map(|(at, _)| at).collect()
    };
    let neighbors: Vec<Vec<usize>> = points.iter().map(near).collect();
    let core = |at: usize| neighbors.get(at).filter(|near| near.len() >= MIN_SAMPLES);
    let mut taken = vec![false; points.len()];
    let mut clusters = Vec::new();
    for start in 0..points.len() {
        if taken.get(start).copied().unwrap_or(true) || core(start).is_none() {
            continue;
        }
        let mut cluster = Vec::new();
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            match taken.get_mut(at) {
                Some(taken) if !*taken => *taken = true,
                _ => continue,
            }
            cluster.push(at);
            open.extend(core(at).into_iter().flatten());
        }
        cluster.sort_unstable();
        clusters.push(cluster);
    }
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(angles: &[f32]) -> Vec<Embedding> {
        let point = |degrees: &f32| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            Embedding::quantize(&[cos, sin]).unwrap()
        };
        angles.iter().map(point).collect()
    }

    #[test]
    fn neighbors_chain_into_one_cluster_and_strangers_stay_outside() {
        // 60 degrees are a distance of 0.5.
        let found = dbscan(&points(&[0.0, 50.0, 100.0, 250.0]));
        assert_eq!(found, [vec![0, 1, 2]]);
        assert!(dbscan(&points(&[0.0, 90.0, 180.0])).is_empty());
    }

    #[test]
    fn clusters_that_do_not_touch_stay_apart() {
        assert_eq!(
            dbscan(&points(&[0.0, 180.0, 10.0, 190.0, 185.0])),
            [vec![0, 2], vec![1, 3, 4]]
        );
    }
}
