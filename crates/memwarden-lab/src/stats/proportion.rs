//! Intervals of a share: Wilson's score interval and Clopper and Pearson's exact one.

use super::{StatsError, normal_quantile};
use statrs::function::beta::checked_beta_reg;

/// A share with its two-sided interval, all 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// Successes over trials.
    pub share: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

/// Wilson's score interval (Wilson 1927) at `level`, such as 0.95.
///
/// ```
/// use memwarden_lab::stats::wilson;
/// let none = wilson(0, 400, 0.95)?;
/// assert!(none.low == 0.0 && (none.high - 0.0095).abs() < 1e-4);
/// # Ok::<(), memwarden_lab::stats::StatsError>(())
/// ```
///
/// # Errors
/// No trial, more successes than trials, or a level outside of 0 to 1.
pub fn wilson(successes: u64, trials: u64, level: f64) -> Result<Proportion, StatsError> {
    let (share, trials) = checked("Wilson interval", successes, trials, level)?;
    let z = normal_quantile(0.5 + level / 2.0);
    let z2 = z * z;
    let middle = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials);
    let half =
        z / (1.0 + z2 / trials) * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    // At the ends the formula gives exactly 0 and 1 but for the last bit.
    let low = if share == 0.0 {
        0.0
    } else {
        (middle - half).max(0.0)
    };
    let high = if share == 1.0 {
        1.0
    } else {
        (middle + half).min(1.0)
    };
    Ok(Proportion { share, low, high })
}

/// The exact interval of Clopper and Pearson (1934) at `level`: beta quantiles.
///
/// # Errors
/// As [`wilson`].
#[expect(clippy::cast_precision_loss, reason = "trials are far below 2^52")]
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> Result<Proportion, StatsError> {
    let (share, _) = checked("Clopper-Pearson interval", successes, trials, level)?;
    let tail = (1.0 - level) / 2.0;
    let (yes, no) = (successes as f64, (trials - successes) as f64);
    let low = if successes == 0 {
        0.0
    } else {
        beta_quantile(yes, no + 1.0, tail)
    };
    let high = if successes == trials {
        1.0
    } else {
        beta_quantile(yes + 1.0, no, 1.0 - tail)
    };
    Ok(Proportion { share, low, high })
}

/// By bisection to the last bit: `statrs`'s own quantile stops after a few halvings.
fn beta_quantile(a: f64, b: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if checked_beta_reg(a, b, middle).unwrap_or(f64::NAN) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[expect(clippy::cast_precision_loss, reason = "trials are far below 2^52")]
fn checked(what: &'static str, successes: u64, trials: u64, level: f64) -> Result<(f64, f64), StatsError> {
    if trials == 0 {
        return Err(StatsError::Empty { what, item: "trial" });
    }
    if successes > trials {
        return Err(StatsError::Range {
            what,
            field: "successes",
            given: successes as f64,
            expected: "at most as many as trials",
        });
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(StatsError::Range {
            what,
            field: "level",
            given: level,
            expected: "between 0 and 1",
        });
    }
    Ok((successes as f64 / trials as f64, trials as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 5e-5
    }

    #[test]
    fn known_intervals() {
        let wilson = wilson(8, 10, 0.95).unwrap();
        assert!(
            close(wilson.low, 0.4902) && close(wilson.high, 0.9433),
            "{wilson:?}"
        );
        let exact = clopper_pearson(8, 10, 0.95).unwrap();
        assert!(close(exact.low, 0.4439) && close(exact.high, 0.9748), "{exact:?}");
        // The rule of three, exactly: 1 − 0.025^(1/400).
        let none = clopper_pearson(0, 400, 0.95).unwrap();
        assert!((none.high - (1.0 - 0.025_f64.powf(1.0 / 400.0))).abs() < 1e-9);
        assert_eq!(none.low, 0.0);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        assert_eq!(
            wilson_error(3, 2, 0.95),
            "Wilson interval: `successes` is 3, expected at most as many as trials"
        );
        assert_eq!(
            wilson_error(0, 0, 0.95),
            "Wilson interval: expected at least one trial"
        );
        assert!(wilson_error(1, 2, 1.0).contains("level"));
    }

    fn wilson_error(successes: u64, trials: u64, level: f64) -> String {
        wilson(successes, trials, level).unwrap_err().to_string()
    }
}
