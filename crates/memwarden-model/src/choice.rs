//! A forced choice: which of some given strings a model finds likeliest after what it was asked.

use memwarden_core::model::{Message, ModelError, Purpose, Score, ScoreCall};

/// What a model is asked before it chooses.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The conversation; empty for plain text.
    pub conversation: &'a [Message],
    /// The text before the options, or the beginning of the reply.
    pub prefix: &'a str,
}

/// What a model made of each option.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// One score an option, in their order: the natural logarithm of its probability, or of how many times likelier
    /// it is than without what is being tested.
    pub scores: Vec<f64>,
}

impl Choice {
    /// The option with the highest score, the first of equals; `None` for no options.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (option, score) in self.scores.iter().copied().enumerate() {
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((option, score));
            }
        }
        best.map(|(option, _)| option)
    }

    /// What is left when each option's own likelihood is taken off: pointwise mutual information with what `without`
    /// lacks (Holtzman et al. 2021, arXiv 2104.08315).
    #[must_use]
    pub fn calibrated_by(&self, without: &Self) -> Self {
        let scores = self.scores.iter().zip(&without.scores);
        Self {
            scores: scores.map(|(with, without)| with - without).collect(),
        }
    }
}

/// Scores `options`, each as what comes next. An option after text begins with its space (`" yes"`).
///
/// # Errors
/// The first that the model gives.
pub fn choose(
    model: &dyn Score,
    purpose: &Purpose,
    asked: Asked<'_>,
    options: &[&str],
) -> Result<Choice, ModelError> {
    let calls: Vec<ScoreCall<'_>> = options
        .iter()
        .map(|option| ScoreCall {
            purpose,
            conversation: asked.conversation,
            prefix: asked.prefix,
            continuation: option,
        })
        .collect();
    let scored: Result<Vec<_>, _> = model.score(&calls).into_iter().collect();
    Ok(Choice {
        scores: scored?.iter().map(|scored| scored.log_probability()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_is_chosen_and_calibration_takes_off_what_is_likely_anyway() {
        let with = Choice {
            scores: vec![-1.0, -3.0],
        };
        let without = Choice {
            scores: vec![-0.5, -6.0],
        };
        assert_eq!(with.best(), Some(0));
        let calibrated = with.calibrated_by(&without);
        assert_eq!(calibrated.scores, [-0.5, 3.0]);
        assert_eq!(calibrated.best(), Some(1));
        assert_eq!(
            Choice {
                scores: vec![2.0, 2.0]
            }
            .best(),
            Some(0)
        );
        assert_eq!(Choice { scores: Vec::new() }.best(), None);
    }
}
