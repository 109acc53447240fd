//! A share with its interval.

use std::fmt;

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_964;

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rate {
    pub(super) hits: u32,
    pub(super) of: u32,
}

impl Rate {
    pub(super) fn add(&mut self, hit: bool) {
        self.of += 1;
        self.hits += u32::from(hit);
    }

    pub(super) fn join(&mut self, other: Self) {
        self.of += other.of;
        self.hits += other.hits;
    }

    /// The share; none of none is no number.
    pub(super) fn share(self) -> f64 {
        f64::from(self.hits) / f64::from(self.of)
    }

    /// Wilson's interval at 95 % (Wilson 1927; Brown, Cai and DasGupta 2001).
    pub(super) fn interval(self) -> (f64, f64) {
        let n = f64::from(self.of);
        let p = self.share();
        let z2 = Z * Z;
        let middle = p + z2 / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let scale = 1.0 + z2 / n;
        (
            ((middle - spread) / scale).max(0.0),
            ((middle + spread) / scale).min(1.0),
        )
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of == 0 {
            return f.write_str("none");
        }
        let (low, high) = self.interval();
        let percent = |share: f64| share * 100.0;
        write!(
            f,
            "{:.1} % [{:.1}, {:.1}]",
            percent(self.share()),
            percent(low),
            percent(high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // Newcombe 1998, Table I, method 3: 81 of 263 and 0 of 20.
        let (low, high) = Rate { hits: 81, of: 263 }.interval();
        assert!((low - 0.2553).abs() < 5e-5 && (high - 0.3662).abs() < 5e-5);
        let (low, high) = Rate { hits: 0, of: 20 }.interval();
        assert!(low.abs() < 1e-9 && (high - 0.1611).abs() < 5e-5);
    }
}
