//! Tests that count instead of approximating: McNemar over questions, sign-flip over conversations.

use super::StatsError;

/// Most conversations whose signs are all tried: 2^20 sums.
pub const MAX_SIGN_FLIP: usize = 20;

/// The exact two-sided McNemar test: `p = min(1, 2 Σ_{i ≤ min} C(n, i) 2^-n)` with n discordant questions.
///
/// `only_first` and `only_second` are the questions that only one of two conditions got right.
///
/// ```
/// use memwarden_lab::stats::mcnemar;
/// assert!((mcnemar(14, 5) - 0.0636).abs() < 5e-5);
/// assert!((mcnemar(41, 25) - 0.0640).abs() < 5e-5);
/// assert_eq!(mcnemar(0, 0), 1.0);
/// ```
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "questions are far below 2^52")]
pub fn mcnemar(only_first: u64, only_second: u64) -> f64 {
    let discordant = only_first + only_second;
    let fewer = only_first.min(only_second);
    // Logarithms, because 2^-n is nothing from n = 1075 on.
    let mut term = -(discordant as f64) * std::f64::consts::LN_2;
    let mut sum = term.exp();
    for chosen in 0..fewer {
        term += ((discordant - chosen) as f64).ln() - ((chosen + 1) as f64).ln();
        sum += term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// What the sign-flip test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// The share of sign patterns whose sum is at least as far from 0 as the one that was seen.
    pub p: f64,
    /// The smallest p that so many conversations can give, 2 / 2^n: with five, 0.0625, so never below 0.05.
    pub floor: f64,
}

/// The exact sign-flip (randomization) test of a mean of 0: every one of the 2^n sign patterns is tried
/// (Fisher 1935 §21).
///
/// # Errors
/// No delta, or more than [`MAX_SIGN_FLIP`].
#[expect(clippy::cast_precision_loss, reason = "at most 2^20 patterns")]
pub fn sign_flip(deltas: &[f64]) -> Result<SignFlip, StatsError> {
    if deltas.is_empty() {
        return Err(StatsError::Empty {
            what: "sign-flip",
            item: "conversation",
        });
    }
    if deltas.len() > MAX_SIGN_FLIP {
        return Err(StatsError::Range {
            what: "sign-flip",
            field: "conversations",
            given: deltas.len() as f64,
            expected: "at most 20, since all signs are tried",
        });
    }
    let seen = deltas.iter().sum::<f64>().abs();
    // Sums of the same terms in another order may differ in their last bits; a tie is a tie.
    let slack = 1e-12 * deltas.iter().map(|delta| delta.abs()).sum::<f64>();
    let patterns = 1_u64 << deltas.len();
    let at_least = (0..patterns)
        .filter(|pattern| {
            let signed = deltas.iter().enumerate();
            let sum: f64 = signed
                .map(|(place, delta)| if pattern >> place & 1 == 1 { -delta } else { *delta })
                .sum();
            sum.abs() + slack >= seen
        })
        .count();
    Ok(SignFlip {
        p: at_least as f64 / patterns as f64,
        floor: (2.0 / patterns as f64).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcnemar_does_not_underflow_and_is_symmetric() {
        let p = mcnemar(1_500, 1_400);
        assert!(p > 0.05 && p < 0.08, "{p}");
        assert_eq!(mcnemar(3, 9).to_bits(), mcnemar(9, 3).to_bits());
        assert_eq!(mcnemar(4, 4), 1.0);
        assert!((mcnemar(0, 6) - 2.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn five_conversations_of_one_sign_reach_the_floor_and_no_further() {
        let flip = sign_flip(&[-0.1, -0.2, -0.05, -0.01, -0.3]).unwrap();
        assert_eq!((flip.p, flip.floor), (0.0625, 0.0625));
        let mixed = sign_flip(&[-0.1, 0.2, -0.05, 0.01, -0.3]).unwrap();
        assert!(mixed.p > 0.0625);
    }

    #[test]
    fn no_difference_is_no_evidence() {
        assert_eq!(sign_flip(&[0.0, 0.0, 0.0]).unwrap().p, 1.0);
        assert!(sign_flip(&[]).is_err());
        assert!(sign_flip(&[0.0; 21]).is_err());
    }
}
