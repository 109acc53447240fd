//! The perplexity filter: what reads unlike the rest of the retrieved batch is dropped.
//!
//! Dropped is what lies above an absolute cap of 10 000, and of the rest what lies above median + 1.4826 MAD of the
//! batch (arXiv 2606.24322's baseline as MIND sets it). Over a [`Score`], or, where the model has none, over
//! [`WordChances`], which is no language model, and the condition is marked simulated then.

use super::{Defense, Scene, Sifted};
use crate::HONEST_MEMORY;
use crate::experiment::{ExperimentError, fault};
use memwarden_core::model::{ModelError, Purpose, Score, ScoreCall, Scored, TokenScore};
use std::collections::HashMap;
use std::sync::Arc;

/// Nothing above it is read.
pub const CAP: f64 = 10_000.0;
/// Makes the median absolute deviation a standard deviation for normal data.
pub const MAD_SCALE: f64 = 1.4826;

/// The defense.
#[derive(Debug)]
pub struct Perplexity {
    score: Arc<dyn Score>,
    purpose: Purpose,
}

impl Perplexity {
    /// With this model, or with chances of words.
    ///
    /// # Errors
    /// None that a caller could cause.
    pub fn new(score: Option<Arc<dyn Score>>) -> Result<Self, ExperimentError> {
        let purpose = "defense:perplexity"
            .parse()
            .map_err(|error: memwarden_core::model::LabelError| {
                ExperimentError::Unexpected(error.to_string())
            })?;
        let score = score.unwrap_or_else(|| Arc::new(WordChances::new(HONEST_MEMORY)));
        Ok(Self { score, purpose })
    }
}

impl Defense for Perplexity {
    fn sift(&self, scene: &Scene<'_>) -> Result<Sifted, ExperimentError> {
        let calls: Vec<ScoreCall<'_>> = scene
            .retrieved
            .iter()
            .map(|entry| ScoreCall::new(&self.purpose, "", &entry.text))
            .collect();
        let mut sifted = Sifted::default();
        let mut weighed = Vec::new();
        for (at, scored) in self.score.score(&calls).into_iter().enumerate() {
            match scored.map(|scored| scored.perplexity()) {
                Ok(Some(perplexity)) => weighed.push((at, perplexity)),
                Ok(None) => sifted.kept.push(at),
                Err(error) => {
                    *sifted.errors.entry(fault(error)?.to_owned()).or_default() += 1;
                    sifted.kept.push(at);
                }
            }
        }
        weighed.retain(|(_, perplexity)| *perplexity <= CAP);
        let values: Vec<f64> = weighed.iter().map(|(_, perplexity)| *perplexity).collect();
        let limit = limit(&values);
        sifted.kept.extend(
            weighed
                .iter()
                .filter(|(_, value)| *value <= limit)
                .map(|(at, _)| *at),
        );
        sifted.kept.sort_unstable();
        Ok(sifted)
    }
}

/// Median + [`MAD_SCALE`] · MAD.
fn limit(values: &[f64]) -> f64 {
    let middle = median(values);
    let away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    // Rounding must not drop the value that the limit is made of.
    (middle + MAD_SCALE * median(&away)) * (1.0 + 1e-12)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
    if sorted.len() % 2 == 1 {
        at(middle)
    } else {
        f64::midpoint(at(middle.saturating_sub(1)), at(middle))
    }
}

/// How often words and pairs of words come in a text that was read before, each smoothed by one. No language model.
#[derive(Debug)]
pub struct WordChances {
    words: HashMap<String, u64>,
    pairs: HashMap<(String, String), u64>,
    total: u64,
}

impl WordChances {
    /// Reads `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut chances = Self {
            words: HashMap::new(),
            pairs: HashMap::new(),
            total: 0,
        };
        let mut before = String::new();
        for word in words(text) {
            *chances.words.entry(word.clone()).or_default() += 1;
            *chances.pairs.entry((before, word.clone())).or_default() += 1;
            chances.total += 1;
            before = word;
        }
        chances
    }

    /// Half of the chance of the word by itself, half of its chance after the one before.
    fn chance(&self, before: &str, word: &str) -> f64 {
        let known = self.words.len() as f64 + 1.0;
        let count = |word: &str| self.words.get(word).copied().unwrap_or_default() as f64;
        let alone = (count(word) + 1.0) / (self.total as f64 + known);
        let pair = self
            .pairs
            .get(&(before.to_owned(), word.to_owned()))
            .copied()
            .unwrap_or_default();
        let after = (pair as f64 + 1.0) / (count(before) + known);
        f64::midpoint(alone, after)
    }
}

impl Score for WordChances {
    fn model(&self) -> &str {
        "word-chances"
    }

    fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>> {
        let weigh = |call: &ScoreCall<'_>| {
            let mut before = String::new();
            let mut tokens = Vec::new();
            for word in words(call.continuation) {
                tokens.push(TokenScore {
                    log_probability: self.chance(&before, &word).ln(),
                    text: word.clone(),
                });
                before = word;
            }
            Ok(Scored { tokens, usage: None })
        };
        calls.iter().map(weigh).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_far_above_its_batch_is_over_the_limit() {
        assert!(limit(&[10.0, 11.0, 12.0, 13.0, 90.0]) < 90.0);
        assert!(limit(&[10.0, 10.0, 10.0]) >= 10.0);
        // Median 11.5, MAD 1.0.
        assert!((limit(&[10.0, 11.0, 12.0, 13.0]) - (11.5 + MAD_SCALE)).abs() < 1e-6);
    }

    #[test]
    fn gibberish_is_less_likely_than_what_the_memory_is_made_of() {
        let chances = WordChances::new(HONEST_MEMORY);
        let purpose = "defense:perplexity".parse().unwrap();
        let perplexity = |text: &str| {
            let call = ScoreCall::new(&purpose, "", text);
            let scored = chances.score(&[call]).remove(0).unwrap();
            scored.perplexity().unwrap()
        };
        assert!(perplexity("the batch was validated in full") < perplexity("zxq flurb the wibble glonk"));
    }
}
