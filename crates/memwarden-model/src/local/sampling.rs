//! Which token comes next.

use std::hash::{BuildHasher as _, Hasher as _};

/// Refusals after which every token is asked about at once.
const PATIENCE: usize = 8;

/// Chooses tokens by their scores.
#[derive(Debug)]
pub(crate) struct Sampler {
    temperature: f32,
    state: u64,
}

impl Sampler {
    /// At temperature 0 the likeliest token; without a seed, chance is the system's.
    pub(crate) fn new(temperature: f32, seed: Option<u64>) -> Self {
        let chance = || std::hash::RandomState::new().build_hasher().finish();
        Self {
            temperature,
            state: seed.unwrap_or_else(chance),
        }
    }

    /// A token among those that `may` come; `None` where none may. Asking about the chosen token only, and again
    /// without it where it may not come, gives the same distribution as asking about all first.
    pub(crate) fn choose(&mut self, scores: &[f32], may: impl Fn(u32) -> bool) -> Option<u32> {
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut weights: Vec<f64> = if self.temperature > 0.0 {
            let weight = |score: &f32| f64::from((score - most) / self.temperature).exp();
            scores.iter().map(weight).collect()
        } else {
            scores.iter().map(|score| f64::from(*score)).collect()
        };
        for _ in 0..PATIENCE {
            let chosen = self.draw(&weights)?;
            if may(chosen) {
                return Some(chosen);
            }
            self.drop(&mut weights, |token| token == chosen);
        }
        self.drop(&mut weights, |token| !may(token));
        self.draw(&weights)
    }

    fn drop(&self, weights: &mut [f64], is_out: impl Fn(u32) -> bool) {
        let nothing = if self.temperature > 0.0 {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        for (token, weight) in (0_u32..).zip(weights) {
            if *weight > nothing && is_out(token) {
                *weight = nothing;
            }
        }
    }

    fn draw(&mut self, weights: &[f64]) -> Option<u32> {
        if self.temperature > 0.0 {
            let sum: f64 = weights.iter().sum();
            let mut left = self.chance() * sum;
            let mut last = None;
            for (token, weight) in (0_u32..).zip(weights).filter(|(_, weight)| **weight > 0.0) {
                last = Some(token);
                left -= weight;
                if left < 0.0 {
                    break;
                }
            }
            return last;
        }
        let mut best: Option<(u32, f64)> = None;
        for (token, weight) in (0_u32..).zip(weights.iter().copied()) {
            if weight > best.map_or(f64::NEG_INFINITY, |(_, most)| most) {
                best = Some((token, weight));
            }
        }
        best.map(|(token, _)| token)
    }

    /// Evenly spread over 0 ≤ x < 1: SplitMix64 (Steele, Lea & Flood 2014).
    fn chance(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_temperature_the_likeliest_that_may_come_is_chosen() {
        let scores = [0.5, 3.0, 3.0, -1.0];
        assert_eq!(Sampler::new(0.0, None).choose(&scores, |_| true), Some(1));
        assert_eq!(
            Sampler::new(0.0, None).choose(&scores, |token| token != 1),
            Some(2)
        );
        assert_eq!(Sampler::new(0.0, None).choose(&scores, |_| false), None);
    }

    #[test]
    fn what_comes_rarely_is_found_among_many_that_may_not() {
        let scores: Vec<f32> = (0_u8..200).map(|token| -f32::from(token) / 50.0).collect();
        for temperature in [0.0, 1.0] {
            let mut sampler = Sampler::new(temperature, Some(1));
            assert_eq!(sampler.choose(&scores, |token| token == 150), Some(150));
        }
    }

    #[test]
    fn draws_follow_the_probabilities_and_a_seed_repeats_them() {
        let scores = [0.0_f32, 0.0, 1.0, f32::NEG_INFINITY].map(|odds| odds * 1.0);
        let draw = |seed| {
            let mut sampler = Sampler::new(1.0, Some(seed));
            (0..4000)
                .map(|_| sampler.choose(&scores, |token| token != 1).unwrap())
                .collect::<Vec<_>>()
        };
        let drawn = draw(7);
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
        let second = drawn.iter().filter(|token| **token == 2).count() as f64 / 4000.0;
        let expected = 1.0 / (1.0 + (-1.0_f64).exp());
        // Four standard errors of a share among 4000.
        assert!((second - expected).abs() < 0.03, "{second} {expected}");
        assert!(drawn.iter().all(|token| *token == 0 || *token == 2));
    }
}
