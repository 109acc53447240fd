//! Estimators: what a difference between two conditions is worth, and what a run of this size could have seen.
//!
//! For: grades collapsed over replicates, paired differences, intervals, exact tests, agreement, sample sizes. Every
//! formula names its source; where "The Price of Safety" (arXiv 2609.22818) gives a value, a test holds it. Not for:
//! distributions, which `statrs` has, nor for tables and figures (`report`).
//!
//! Differences and rates are shares (−1 to 1, 0 to 1), never points; whoever prints them multiplies by 100.

mod agreement;
mod bootstrap;
mod collapse;
mod exact;
mod paired;
mod plan;
mod proportion;

pub use agreement::{Agreement, kappa};
pub use bootstrap::{BOOTSTRAP_SAMPLES, Interval, POWER_FACTOR, percentile, stratified};
pub use collapse::{Collapse, Missing, collapse, majority, mean};
pub use exact::{MAX_SIGN_FLIP, SignFlip, mcnemar, sign_flip};
pub use paired::{Graded, Paired, Stratum, pair};
pub use plan::{Plan, plan_for, scale_for};
pub use proportion::{Proportion, clopper_pearson, wilson};

/// An estimator was asked for something that has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// Nothing to estimate from.
    #[error("{what}: expected at least one {item}")]
    Empty {
        /// The estimator.
        what: &'static str,
        /// What there is none of.
        item: &'static str,
    },
    /// A number out of range.
    #[error("{what}: `{field}` is {given}, expected {expected}")]
    Range {
        /// The estimator.
        what: &'static str,
        /// The argument.
        field: &'static str,
        /// Its value.
        given: f64,
        /// What was expected.
        expected: &'static str,
    },
}

/// The quantile of the standard normal distribution at `share`, between 0 and 1.
fn normal_quantile(share: f64) -> f64 {
    // erf⁻¹ is what `statrs` builds its own normal quantile on; this form has no constructor that can fail.
    -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * share)
}
