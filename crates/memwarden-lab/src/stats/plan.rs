//! How many questions a comparison needs: before a run from an expected share of discordant answers, after it from the
//! resolution that it had.

use super::{StatsError, normal_quantile};

/// How large a run must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Paired questions in all.
    pub questions: u64,
    /// The half-width of the 95 % interval that so many would give.
    pub resolution: f64,
}

/// Paired questions needed to find a difference of `effect` with probability `power` at a two-sided 5 % level,
/// where a share of `discordant` questions is answered differently by the two conditions:
/// `n = (z.975 + z_power)² (discordant − effect²) / effect²`, the normal approximation to McNemar
/// (Connett, Smith & McHugh 1987 give the same variance).
///
/// ```
/// let plan = memwarden_lab::stats::plan_for(0.02, 0.2, 0.8)?;
/// assert_eq!(plan.questions, 3_917);
/// # Ok::<(), memwarden_lab::stats::StatsError>(())
/// ```
///
/// # Errors
/// An effect, share or power outside of 0 to 1, or fewer discordant answers than the effect needs.
pub fn plan_for(effect: f64, discordant: f64, power: f64) -> Result<Plan, StatsError> {
    within("effect", effect)?;
    within("power", power)?;
    if !(discordant >= effect && discordant <= 1.0) {
        return Err(StatsError::Range {
            what: "sample size",
            field: "discordant",
            given: discordant,
            expected: "from the effect to 1: each answer that makes a difference is discordant",
        });
    }
    let variance = discordant - effect * effect;
    let (z, needed) = (normal_quantile(0.975), normal_quantile(power));
    let questions = ((z + needed).powi(2) * variance / (effect * effect))
        .ceil()
        .max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive whole number; larger ones saturate"
    )]
    let count = questions as u64;
    Ok(Plan {
        questions: count,
        resolution: z * (variance / questions).sqrt(),
    })
}

/// How many times the questions of a run are needed to find `effect` with probability `power`, where that run's
/// interval had this half-width: `((z.975 + z_power) / z.975 · resolution / effect)²`. With 80 % power the first
/// factor is [`POWER_FACTOR`](super::POWER_FACTOR).
///
/// # Errors
/// An effect or power outside of 0 to 1, or a resolution that is no width.
pub fn scale_for(effect: f64, resolution: f64, power: f64) -> Result<f64, StatsError> {
    within("effect", effect)?;
    within("power", power)?;
    if !(resolution.is_finite() && resolution >= 0.0) {
        return Err(StatsError::Range {
            what: "sample size",
            field: "resolution",
            given: resolution,
            expected: "0 or more",
        });
    }
    let z = normal_quantile(0.975);
    Ok(((z + normal_quantile(power)) / z * resolution / effect).powi(2))
}

fn within(field: &'static str, given: f64) -> Result<(), StatsError> {
    if given > 0.0 && given < 1.0 {
        return Ok(());
    }
    Err(StatsError::Range {
        what: "sample size",
        field,
        given,
        expected: "between 0 and 1",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::POWER_FACTOR;

    #[test]
    fn at_eighty_percent_power_a_run_of_that_resolution_is_just_large_enough() {
        let scale = scale_for(POWER_FACTOR * 0.045, 0.045, 0.8).unwrap();
        assert!((scale - 1.0).abs() < 2e-3, "{scale}");
        // Half the effect needs four times the questions.
        let twice = scale_for(POWER_FACTOR * 0.045 / 2.0, 0.045, 0.8).unwrap();
        assert!((twice - 4.0).abs() < 1e-2, "{twice}");
    }

    #[test]
    fn a_plan_meets_its_own_power() {
        let plan = plan_for(0.05, 0.2, 0.8).unwrap();
        assert!((0.05 / plan.resolution - POWER_FACTOR).abs() < 2e-3, "{plan:?}");
        assert!(plan_for(0.3, 0.2, 0.8).is_err());
        assert!(plan_for(0.0, 0.2, 0.8).is_err());
        assert!(plan_for(0.1, 0.2, 1.0).is_err());
    }
}
