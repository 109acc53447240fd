//! The published results, "The Price of Safety" (arXiv 2609.22818): what ours is shown beside. In points, as printed.

/// One row of the paper's Table 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The condition.
    pub condition: &'static str,
    /// Core benign utility delta by the vote.
    pub delta: f64,
    /// Its 95 % interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Token overhead, a share.
    pub overhead: f64,
    /// False quarantine rate, a share.
    pub fqr: f64,
}

/// Table 3.
pub const TABLE_3: [Published; 5] = [
    row("sanitize", 1.8, -1.7, 5.6, 0.0, 0.0),
    row("provenance", 1.9, -2.2, 6.0, 0.0, 0.0),
    row("anomaly", 3.1, -0.9, 7.1, 0.012, 0.0),
    row("rerank", -4.4, -9.0, -0.05, 0.027, 0.336),
    row("stacked", -3.1, -7.4, 1.0, 0.041, 0.303),
];

const fn row(condition: &'static str, delta: f64, low: f64, high: f64, overhead: f64, fqr: f64) -> Published {
    Published {
        condition,
        delta,
        low,
        high,
        overhead,
        fqr,
    }
}

/// The row of a condition.
#[must_use]
pub fn of(condition: &str) -> Option<&'static Published> {
    TABLE_3.iter().find(|published| published.condition == condition)
}
