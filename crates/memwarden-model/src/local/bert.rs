//! BERT (Devlin et al. 2018): what a text's pieces become, each in the light of the others.
//!
//! Texts lie one after the other in one matrix, unpadded; the big products see all rows, attention only those of
//! one text. Pooling is the caller's business.

use super::FileError;
use super::layers::{Attention, Block, BlockShape, LayerNorm};
use super::weights::Weights;
use candle_core::{Device, Result, Tensor};
use memwarden_core::encode::MAX_DIMENSIONS;
use serde::Deserialize;
use std::path::Path;

/// `config.json`, as far as the forward pass depends on it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    type_vocab_size: usize,
    hidden_act: String,
    layer_norm_eps: f32,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

impl Config {
    /// Refuses what the forward pass does not do.
    pub(super) fn check(&self, path: &Path) -> std::result::Result<(), FileError> {
        let lies = |what: &str, reason: String| {
            Err(FileError::Lies {
                path: path.to_owned(),
                what: format!("`{what}`"),
                reason,
            })
        };
        if !(1..=MAX_DIMENSIONS).contains(&self.hidden_size) {
            let given = self.hidden_size;
            return lies("hidden_size", format!("{given} is not 1 to {MAX_DIMENSIONS}"));
        }
        if self.num_attention_heads == 0 || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return lies(
                "num_attention_heads",
                format!(
                    "{} do not divide {} components",
                    self.num_attention_heads, self.hidden_size
                ),
            );
        }
        if self.max_position_embeddings < 3 {
            let given = self.max_position_embeddings;
            return lies(
                "max_position_embeddings",
                format!("{given} places leave no room for a text"),
            );
        }
        for (what, given) in [
            ("type_vocab_size", self.type_vocab_size),
            ("intermediate_size", self.intermediate_size),
        ] {
            if given == 0 {
                return lies(what, "0: expected at least 1".to_owned());
            }
        }
        if self.hidden_act != "gelu" {
            return lies("hidden_act", format!("`{}`: expected `gelu`", self.hidden_act));
        }
        match self.position_embedding_type.as_deref() {
            None | Some("absolute") => Ok(()),
            Some(other) => lies(
                "position_embedding_type",
                format!("`{other}`: expected `absolute`"),
            ),
        }
    }
}

/// The model.
#[derive(Debug)]
pub(super) struct Bert {
    words: Tensor,
    positions: Tensor,
    /// The first row: every piece is of one and the same text.
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<Block>,
    heads: usize,
}

impl Bert {
    /// Reads the weights, with or without `bert.` before their names.
    pub(super) fn open(weights: &Weights, config: &Config) -> std::result::Result<Self, FileError> {
        let prefix = if weights.has("bert.embeddings.word_embeddings.weight") {
            "bert."
        } else {
            ""
        };
        let width = config.hidden_size;
        let embedding = |name: &str, rows: usize| {
            weights.tensor(&format!("{prefix}embeddings.{name}.weight"), &[rows, width])
        };
        let norm = |name: &str| {
            LayerNorm::open(
                weights,
                &format!("{prefix}{name}.LayerNorm"),
                width,
                config.layer_norm_eps,
            )
        };
        let kinds = embedding("token_type_embeddings", config.type_vocab_size)?;
        let shape = BlockShape {
            width,
            inner: config.intermediate_size,
            epsilon: config.layer_norm_eps,
            suffix: "",
        };
        let layer = |number: usize| Block::open(weights, &format!("{prefix}encoder.layer.{number}"), shape);
        Ok(Self {
            words: embedding("word_embeddings", config.vocab_size)?,
            positions: embedding("position_embeddings", config.max_position_embeddings)?,
            kind: kinds.narrow(0, 0, 1).map_err(|error| FileError::Lies {
                path: weights.path().to_owned(),
                what: "the kinds of pieces".to_owned(),
                reason: error.to_string(),
            })?,
            norm: norm("embeddings")?,
            layers: (0..config.num_hidden_layers)
                .map(layer)
                .collect::<std::result::Result<_, _>>()?,
            heads: config.num_attention_heads,
        })
    }

    /// The last states of several texts, rows one after the other. A text's rows do not depend on the others.
    pub(super) fn forward(&self, texts: &[&[u32]]) -> Result<Tensor> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let attention = Attention {
            lengths: &lengths,
            heads: self.heads,
        };
        let places: Vec<u32> = texts
            .iter()
            .flat_map(|text| (0_u32..).zip(*text).map(|(place, _)| place))
            .collect();
        let pieces = texts.concat();
        let rows = pieces.len();
        let index = |ids: Vec<u32>| Tensor::from_vec(ids, rows, &Device::Cpu);
        let embedded = (self.words.index_select(&index(pieces)?, 0)?
            + self.positions.index_select(&index(places)?, 0)?)?
        .broadcast_add(&self.kind)?;
        let mut states = self.norm.forward(&embedded)?;
        for layer in &self.layers {
            let found = attention.forward(
                &layer.queries.forward(&states)?,
                &layer.keys.forward(&states)?,
                &layer.values.forward(&states)?,
            )?;
            states = layer.after(&states, &found)?;
        }
        Ok(states)
    }
}
