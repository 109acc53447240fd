//! DeBERTa (He et al. 2020; version 3: He et al. 2021) with a head that classifies: attention sees what a piece is and
//! how far it stands from another as two things.
//!
//! Only what entailment models of version 3 use is here: keys and queries of places shared with those of pieces,
//! distances in logarithmic buckets, no places in the embedding, no convolution.

use super::FileError;
use super::layers::{Block, BlockShape, LayerNorm, Linear, gelu, softmax};
use super::weights::Weights;
use candle_core::{D, Device, Result, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// `config.json`, as far as the forward pass depends on it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    #[serde(default)]
    max_relative_positions: i64,
    position_buckets: i64,
    relative_attention: bool,
    share_att_key: bool,
    position_biased_input: bool,
    type_vocab_size: usize,
    pos_att_type: Kinds,
    norm_rel_ebd: String,
    hidden_act: String,
    pooler_hidden_act: String,
    pooler_hidden_size: usize,
    layer_norm_eps: f32,
    #[serde(default)]
    conv_kernel_size: usize,
    #[serde(default)]
    embedding_size: Option<usize>,
    /// What each output stands for.
    pub(super) id2label: BTreeMap<usize, String>,
}

/// A list, or a text with bars between.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Kinds {
    List(Vec<String>),
    Text(String),
}

impl Kinds {
    fn has_both(&self) -> bool {
        let has = |kind: &str| match self {
            Self::List(kinds) => kinds.iter().any(|known| known == kind),
            Self::Text(kinds) => kinds.split('|').any(|known| known == kind),
        };
        has("c2p") && has("p2c")
    }
}

impl Config {
    /// Refuses what the forward pass does not do.
    pub(super) fn check(&self, path: &Path) -> std::result::Result<(), FileError> {
        let expected = [
            ("relative_attention", self.relative_attention, "true"),
            ("share_att_key", self.share_att_key, "true"),
            ("position_biased_input", !self.position_biased_input, "false"),
            ("type_vocab_size", self.type_vocab_size == 0, "0"),
            ("pos_att_type", self.pos_att_type.has_both(), "c2p and p2c"),
            ("norm_rel_ebd", self.norm_rel_ebd == "layer_norm", "`layer_norm`"),
            ("hidden_act", self.hidden_act == "gelu", "`gelu`"),
            ("pooler_hidden_act", self.pooler_hidden_act == "gelu", "`gelu`"),
            (
                "pooler_hidden_size",
                self.pooler_hidden_size == self.hidden_size,
                "as hidden_size",
            ),
            ("conv_kernel_size", self.conv_kernel_size == 0, "0"),
            ("intermediate_size", self.intermediate_size > 0, "at least 1"),
            (
                "embedding_size",
                self.embedding_size.is_none_or(|size| size == self.hidden_size),
                "as hidden_size",
            ),
            (
                "hidden_size",
                (1..=MAX_WIDTH).contains(&self.hidden_size),
                "1 to 8192",
            ),
            (
                "num_attention_heads",
                self.num_attention_heads > 0 && self.hidden_size.is_multiple_of(self.num_attention_heads),
                "a divisor of hidden_size",
            ),
            (
                "position_buckets",
                (2..=MAX_PLACES).contains(&self.position_buckets),
                "2 to 65536",
            ),
            (
                "max_position_embeddings",
                (4..=MAX_PLACES as usize).contains(&self.max_position_embeddings),
                "4 to 65536",
            ),
            (
                "max_relative_positions",
                self.max_relative_positions <= MAX_PLACES,
                "at most 65536",
            ),
        ];
        match expected.into_iter().find(|(_, fits, _)| !fits) {
            None => Ok(()),
            Some((field, _, expected)) => Err(FileError::Lies {
                path: path.to_owned(),
                what: format!("`{field}`"),
                reason: format!("expected {expected}"),
            }),
        }
    }

    /// The farthest distance that has a bucket.
    fn farthest(&self) -> i64 {
        if self.max_relative_positions < 1 {
            self.max_position_embeddings as i64
        } else {
            self.max_relative_positions
        }
    }
}

const MAX_WIDTH: usize = 8192;
const MAX_PLACES: i64 = 65_536;

/// The model.
#[derive(Debug)]
pub(super) struct Deberta {
    words: Tensor,
    norm: LayerNorm,
    layers: Vec<Block>,
    /// One row for each bucket of distances: 2 × buckets, normalized.
    distances: Tensor,
    buckets: i64,
    farthest: i64,
    heads: usize,
    pooler: Linear,
    classifier: Linear,
}

impl Deberta {
    /// Reads the weights.
    pub(super) fn open(weights: &Weights, config: &Config) -> std::result::Result<Self, FileError> {
        let width = config.hidden_size;
        let norm = |name: &str| {
            let name = format!("deberta.{name}.LayerNorm");
            LayerNorm::open(weights, &name, width, config.layer_norm_eps)
        };
        let shape = BlockShape {
            width,
            inner: config.intermediate_size,
            epsilon: config.layer_norm_eps,
            suffix: "_proj",
        };
        let layer = |number: usize| Block::open(weights, &format!("deberta.encoder.layer.{number}"), shape);
        let buckets = config.position_buckets;
        let rows = usize::try_from(buckets * 2).unwrap_or_default();
        let name = "deberta.encoder.rel_embeddings.weight";
        let distances = norm("encoder")?.forward(&weights.tensor(name, &[rows, width])?);
        Ok(Self {
            words: weights.tensor(
                "deberta.embeddings.word_embeddings.weight",
                &[config.vocab_size, width],
            )?,
            norm: norm("embeddings")?,
            layers: (0..config.num_hidden_layers)
                .map(layer)
                .collect::<std::result::Result<_, _>>()?,
            distances: distances.map_err(|error| FileError::Lies {
                path: weights.path().to_owned(),
                what: format!("the tensor `{name}`"),
                reason: error.to_string(),
            })?,
            buckets,
            farthest: config.farthest(),
            heads: config.num_attention_heads,
            pooler: Linear::open(weights, "pooler.dense", width, width)?,
            classifier: Linear::open(weights, "classifier", width, config.id2label.len())?,
        })
    }

    /// The probability of each class for a text whose first piece is the marker that stands for the whole.
    pub(super) fn classify(&self, pieces: &[u32]) -> Result<Vec<f32>> {
        let buckets = self.distance_buckets(pieces.len())?;
        let ids = Tensor::new(pieces, &Device::Cpu)?;
        let mut states = self.norm.forward(&self.words.index_select(&ids, 0)?)?;
        for layer in &self.layers {
            let found = self.attend(layer, &states, &buckets)?;
            states = layer.after(&states, &found)?;
        }
        let pooled = gelu(&self.pooler.forward(&states.narrow(0, 0, 1)?)?)?;
        softmax(&self.classifier.forward(&pooled)?, 1.0)?
            .flatten_all()?
            .to_vec1()
    }

    /// Attention by what pieces are, what they are to a distance, and what a distance is to them (He et al. 2020,
    /// equation 4). All three are scaled alike.
    fn attend(&self, layer: &Block, states: &Tensor, buckets: &Tensor) -> Result<Tensor> {
        let (rows, width) = states.dims2()?;
        let columns = width / self.heads;
        let split = |all: Tensor| {
            let count = all.dim(0)?;
            all.reshape((count, self.heads, columns))?
                .transpose(0, 1)?
                .contiguous()
        };
        let turned = |heads: &Tensor| heads.transpose(1, 2)?.contiguous();
        let queries = split(layer.queries.forward(states)?)?;
        let keys = split(layer.keys.forward(states)?)?;
        let values = split(layer.values.forward(states)?)?;
        let far_queries = split(layer.queries.forward(&self.distances)?)?;
        let far_keys = split(layer.keys.forward(&self.distances)?)?;
        let index = buckets.expand((self.heads, rows, rows))?.contiguous()?;
        let to_places = queries.matmul(&turned(&far_keys)?)?.gather(&index, D::Minus1)?;
        // For a key the distance to a query is the opposite one; the bucket of the query's own distance is meant.
        let backward = index.transpose(1, 2)?.contiguous()?;
        let from_places = keys
            .matmul(&turned(&far_queries)?)?
            .gather(&backward, D::Minus1)?;
        let scores = ((queries.matmul(&turned(&keys)?)? + to_places)? + turned(&from_places)?)?;
        let weights = softmax(&scores.contiguous()?, 1.0 / (3.0 * columns as f32).sqrt())?;
        weights
            .matmul(&values)?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((rows, width))
    }

    /// For each query and each key, the row of [`Self::distances`] that stands for the distance between them.
    fn distance_buckets(&self, length: usize) -> Result<Tensor> {
        let places = 0..length as i64;
        let buckets: Vec<u32> = places
            .clone()
            .flat_map(|query| places.clone().map(move |key| query - key))
            .map(|distance| {
                let bucket = log_bucket(distance, self.buckets, self.farthest) + self.buckets;
                u32::try_from(bucket.clamp(0, 2 * self.buckets - 1)).unwrap_or_default()
            })
            .collect();
        Tensor::from_vec(buckets, (1, length, length), &Device::Cpu)
    }
}

/// Near distances as they are, far ones by their logarithm: −buckets < bucket < buckets, up to `farthest`.
#[expect(clippy::cast_precision_loss, reason = "distances are far below 2^24")]
fn log_bucket(distance: i64, buckets: i64, farthest: i64) -> i64 {
    let middle = buckets / 2;
    if distance.abs() <= middle {
        return distance;
    }
    // In single precision, as the reference has it: a rounding decides which bucket a distance falls into.
    let share = (distance.abs() as f32 / middle as f32).ln() / ((farthest - 1) as f32 / middle as f32).ln();
    let bucket = (share * (middle - 1) as f32).ceil() as i64 + middle;
    bucket * distance.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_distances_have_a_bucket_each_and_far_ones_share() {
        let buckets: Vec<i64> = [0, 1, -1, 4, 5, 12, 13, 60, -127, 300]
            .into_iter()
            .map(|distance| log_bucket(distance, 8, 128))
            .collect();
        // middle 4; 4 + ⌈3 · ln(d / 4) / ln(127 / 4)⌉ beyond it.
        assert_eq!(buckets, [0, 1, -1, 4, 5, 5, 6, 7, -7, 8]);
    }
}
