//! The stratified percentile bootstrap (Efron & Tibshirani 1993, §13.3), and what a run of this size can see.

use super::StatsError;
use crate::split_mix::SplitMix64;

/// How many samples are drawn (arXiv 2609.22818 §5).
pub const BOOTSTRAP_SAMPLES: usize = 10_000;

/// The effect that is found with 80 % power at a two-sided 5 % level, as a multiple of the interval's half-width:
/// (z.975 + z.80) / z.975 = (1.960 + 0.842) / 1.960.
pub const POWER_FACTOR: f64 = 1.43;

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The 2.5th percentile.
    pub low: f64,
    /// The 97.5th percentile.
    pub high: f64,
}

impl Interval {
    /// Half of its width: what the paper calls the resolution of a run.
    #[must_use]
    pub fn resolution(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The smallest effect that a run of this resolution finds four times out of five.
    #[must_use]
    pub fn resolvable_effect(self) -> f64 {
        POWER_FACTOR * self.resolution()
    }

    /// Whether no difference at all lies within.
    #[must_use]
    pub fn includes_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// The interval of the mean over strata of the mean within a stratum; values are drawn with replacement inside each.
///
/// The same values, samples and seed give the same bits on every machine. Cost is `samples` times the number of
/// values.
///
/// # Errors
/// No stratum, an empty one, or no samples.
pub fn stratified(strata: &[&[f64]], samples: usize, seed: u64) -> Result<Interval, StatsError> {
    let what = "stratified bootstrap";
    if strata.is_empty() || strata.iter().any(|stratum| stratum.is_empty()) {
        return Err(StatsError::Empty {
            what,
            item: "question in each conversation",
        });
    }
    if samples == 0 {
        return Err(StatsError::Empty { what, item: "sample" });
    }
    let mut random = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..samples).map(|_| sample(strata, &mut random)).collect();
    means.sort_unstable_by(f64::total_cmp);
    Ok(Interval {
        low: percentile(&means, 0.025),
        high: percentile(&means, 0.975),
    })
}

#[expect(clippy::cast_precision_loss, reason = "questions are far below 2^52")]
fn sample(strata: &[&[f64]], random: &mut SplitMix64) -> f64 {
    let mean = |stratum: &&[f64], random: &mut SplitMix64| {
        let mut left = stratum.len();
        let mut sum = 0.0;
        // Two indices out of each 64 bits: the upper half of 32 bits times the length (Lemire 2019), whose bias
        // is below length / 2^32.
        while left > 0 {
            let bits = random.next();
            sum += drawn(stratum, bits >> 32);
            if left > 1 {
                sum += drawn(stratum, bits & 0xffff_ffff);
            }
            left = left.saturating_sub(2);
        }
        sum / stratum.len() as f64
    };
    let total: f64 = strata.iter().map(|stratum| mean(stratum, random)).sum();
    total / strata.len() as f64
}

fn drawn(stratum: &[f64], bits: u64) -> f64 {
    let index = (bits * stratum.len() as u64) >> 32;
    usize::try_from(index)
        .ok()
        .and_then(|index| stratum.get(index))
        .copied()
        .unwrap_or_default()
}

/// The percentile of sorted values by linear interpolation: type 7 of Hyndman & Fan (1996), what R and numpy do.
/// `share` is 0 to 1. 0 without any value.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place between 0 and the number of values"
)]
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let below = place.floor();
    let at = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or_default();
    let (low, high) = (at(below as usize), at(below as usize + 1));
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_as_numpy_does() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert!((percentile(&values, 0.5) - 3.0).abs() < 1e-12);
        assert!((percentile(&values, 0.025) - 1.075).abs() < 1e-12);
        assert!((percentile(&values, 0.975) - 7.7).abs() < 1e-12);
        assert!((percentile(&values, 1.0) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn values_never_cross_from_one_conversation_to_another() {
        // All differences of a conversation are the same, so resampling inside it changes nothing.
        let interval = stratified(&[&[1.0, 1.0, 1.0], &[0.0, 0.0]], 500, 7).unwrap();
        assert_eq!((interval.low, interval.high), (0.5, 0.5));
    }

    #[test]
    fn the_interval_is_that_of_a_normal_mean_where_it_is_one() {
        // 400 differences of ±1: the standard error of the mean is 0.05.
        let values: Vec<f64> = (0..400).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let interval = stratified(&[&values], BOOTSTRAP_SAMPLES, 3).unwrap();
        assert!(
            (interval.resolution() - 1.96 * 0.05).abs() < 0.005,
            "{interval:?}"
        );
        assert!(interval.includes_zero());
        assert!((interval.resolvable_effect() - 1.43 * interval.resolution()).abs() < 1e-12);
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_gives_others() {
        let values: Vec<f64> = (0..37).map(|at| f64::from(at * 53 % 101) / 101.0).collect();
        let run = |seed| stratified(&[&values], 2_000, seed).unwrap();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn nothing_has_no_interval() {
        assert!(stratified(&[], 10, 1).is_err());
        assert!(stratified(&[&[]], 10, 1).is_err());
        assert!(stratified(&[&[1.0]], 0, 1).is_err());
    }
}
