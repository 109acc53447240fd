//! An entailment model: a DeBERTa v3 that reads premise and hypothesis together and says which of three holds.

use super::FileError;
use super::deberta::{Config, Deberta};
use super::files::read_json;
use super::pieces::Pieces;
use super::weights::Weights;
use crate::backend::{Attempt, Backend};
use crate::pace::Pace;
use memwarden_core::Digest;
use memwarden_core::model::{EntailCall, Entailment, ModelError, Usage, UsageSource};
use std::num::NonZeroUsize;
use std::path::Path;

/// What brings the files of an entailment model.
pub(super) const BRINGS: &str = "no package on PyPI brings an entailment model: name a directory with config.json, \
     model.safetensors and tokenizer.json of a DeBERTa v3 for sequence classification";

/// An entailment model in memory.
#[derive(Debug)]
pub(crate) struct EntailmentModel {
    name: String,
    deberta: Deberta,
    pieces: Pieces,
    labels: Labels,
    /// Pieces of premise and hypothesis together, markers included.
    most: usize,
}

/// Which output says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Labels {
    entailed: usize,
    neutral: usize,
    contradicted: usize,
}

impl Labels {
    /// By name, because models differ in their order.
    fn of(config: &Config, path: &Path) -> Result<Self, FileError> {
        let place = |names: [&str; 2]| {
            let mut found = config.id2label.values().enumerate().filter(|(_, label)| {
                let label = label.to_lowercase();
                names.contains(&label.as_str())
            });
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Some(place),
                _ => None,
            }
        };
        let labels = || -> Option<Self> {
            Some(Self {
                entailed: place(["entailment", "entailed"])?,
                neutral: place(["neutral", "neutral"])?,
                contradicted: place(["contradiction", "contradicted"])?,
            })
        };
        let in_order = config.id2label.keys().copied().eq(0..3);
        labels().filter(|_| in_order).ok_or_else(|| {
            let given: Vec<String> = config
                .id2label
                .values()
                .map(|label| crate::endpoint::short(label))
                .collect();
            FileError::Lies {
                path: path.to_owned(),
                what: "`id2label`".to_owned(),
                reason: format!(
                    "`{}`: expected entailment, neutral and contradiction",
                    crate::endpoint::short(&given.join("`, `"))
                ),
            }
        })
    }
}

impl EntailmentModel {
    /// Reads the files in `directory`.
    pub(crate) fn open(directory: &Path) -> Result<Self, FileError> {
        let path = directory.join("config.json");
        let (config, config_bytes): (Config, _) = read_json(&path, BRINGS)?;
        config.check(&path)?;
        let labels = Labels::of(&config, &path)?;
        let weights = Weights::open(&directory.join("model.safetensors"), BRINGS)?;
        let (pieces, tokenizer_bytes) = Pieces::open(directory, config.vocab_size, BRINGS)?;
        let files = [weights.bytes(), &tokenizer_bytes, &config_bytes];
        let digests: String = files.iter().map(|bytes| Digest::of(bytes).to_string()).collect();
        let digest = Digest::of(digests.as_bytes()).short();
        Ok(Self {
            name: format!("deberta-v2-{digest}"),
            deberta: Deberta::open(&weights, &config)?,
            pieces,
            labels,
            most: config.max_position_embeddings,
        })
    }

    fn judge(&self, call: &EntailCall<'_>) -> Result<Entailment, ModelError> {
        let failed = |reason: String| ModelError::Failed {
            model: self.name.clone(),
            reason,
        };
        let premise = self.pieces.cut(call.premise).map_err(failed)?;
        let hypothesis = self.pieces.cut(call.hypothesis).map_err(failed)?;
        let (start, end) = (self.pieces.start, self.pieces.end);
        let pieces = [&[start][..], &premise, &[end], &hypothesis, &[end]].concat();
        // What was left out could be what contradicts.
        if pieces.len() > self.most {
            return Err(ModelError::Call {
                model: self.name.clone(),
                reason: format!(
                    "premise and hypothesis have {} pieces, at most {} fit",
                    pieces.len(),
                    self.most
                ),
            });
        }
        let classes = self
            .deberta
            .classify(&pieces)
            .map_err(|error| failed(error.to_string()))?;
        let sum: f64 = classes.iter().copied().map(f64::from).sum();
        let probability = |place: usize| {
            classes
                .get(place)
                .map_or(f64::NAN, |value| f64::from(*value) / sum)
        };
        let Labels {
            entailed,
            neutral,
            contradicted,
        } = self.labels;
        let entailment = Entailment {
            entailed: probability(entailed),
            neutral: probability(neutral),
            contradicted: probability(contradicted),
            usage: Some(Usage {
                prompt: pieces.len() as u64,
                completion: 0,
                source: UsageSource::Counted {
                    tokenizer: self.name.clone(),
                },
            }),
        };
        if !(entailment.entailed + entailment.neutral + entailment.contradicted).is_finite() {
            return Err(failed("its answer is not a number".to_owned()));
        }
        Ok(entailment)
    }
}

impl Backend for EntailmentModel {
    fn model(&self) -> &str {
        &self.name
    }

    fn at_once(&self) -> NonZeroUsize {
        NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN)
    }

    fn entail(&self, call: &EntailCall<'_>, pace: &dyn Pace) -> Attempt<Entailment> {
        Attempt::timed(pace, || self.judge(call))
    }
}
