//! SplitMix64, the generator of Steele, Lea and Flood (OOPSLA 2014): a few lines whose output is the same
//! everywhere and forever. For reproducible experiments, never for secrets.

/// The state of the generator.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `bound`; 0 if there is none. The bias of the remainder is below 2^-57 for our pools.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let index = self.next().checked_rem(bound as u64).unwrap_or_default();
        usize::try_from(index).unwrap_or_default()
    }

    /// One of the items.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len());
        items.get(index)
    }

    /// Puts the items in random order (Fisher and Yates).
    #[cfg(feature = "full")]
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `n` items in random order; none comes again before all have come.
    pub(crate) fn sample<'a>(&mut self, items: &[&'a str], n: usize) -> Vec<&'a str> {
        let mut drawn = Vec::with_capacity(n);
        let mut left = Vec::new();
        while drawn.len() < n && !items.is_empty() {
            if left.is_empty() {
                left = items.to_vec();
            }
            let index = self.below(left.len());
            drawn.push(left.swap_remove(index));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let drawn = [random.next(), random.next(), random.next()];
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_sample_repeats_nothing_before_everything_has_come() {
        let mut drawn = SplitMix64::new(5).sample(&["a", "b", "c"], 6);
        drawn[..3].sort_unstable();
        drawn[3..].sort_unstable();
        assert_eq!(drawn, ["a", "b", "c", "a", "b", "c"]);
        assert!(SplitMix64::new(5).sample(&[], 6).is_empty());
    }
}
