//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a seed gives the same trial everywhere. Never for secrets.

/// The state of the generator.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for one part of a trial: other parts of the same seed draw other numbers.
    pub(crate) const fn of(seed: u64, part: u64) -> Self {
        let mut mixed = Self(seed ^ part.wrapping_mul(0xff51_afd7_ed55_8ccd));
        Self(mixed.next())
    }

    /// The next 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or_default()
    }

    /// An index of a list with `length` items; 0 if it is empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    /// A number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what an f64 holds")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Sixteen bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        ((u128::from(self.next()) << 64) | u128::from(self.next())).to_be_bytes()
    }
}
