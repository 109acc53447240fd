//! Llama, the architecture: what a file must hold for it, and its weights in one of two precisions.
//!
//! RMSNorm before each half of a block, rotated queries and keys, grouped heads, SwiGLU; the table of tokens may
//! serve for the output too. Scaled rotations and biases are refused: a model that is run otherwise than it was
//! trained gives numbers that look right.

mod ops;
mod pass;
mod weights;

pub(super) use pass::{BLOCK, Cache, Watch};

use super::files::FileError;
use super::gguf::{Gguf, shown};
use ops::{Product, RmsNorm};

/// The shape of a model.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) blocks: usize,
    pub(super) width: usize,
    pub(super) inner: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head: usize,
    pub(super) vocabulary: usize,
    /// The most tokens that it was trained to see.
    pub(super) context: usize,
    pub(super) epsilon: f32,
    /// Radians a position, one for each rotated pair.
    pub(super) frequencies: Vec<f64>,
}

/// How weights are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    /// 32-bit floats: for numbers that are compared.
    Full,
    /// Eight bits and a scale for each 32 (`Q8_0`): for text.
    Eight,
}

/// A model that can be run.
pub(super) struct Llama {
    pub(super) shape: Shape,
    table: Matrix,
    blocks: Vec<Block>,
    norm: RmsNorm,
    /// None where the table serves.
    output: Option<Matrix>,
}

struct Block {
    before_attention: RmsNorm,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    attended: Matrix,
    before_feed: RmsNorm,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

enum Matrix {
    Full(Product),
    Eight(std::sync::Arc<candle_core::quantized::QTensor>),
}

impl std::fmt::Debug for Llama {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Llama")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Shape {
    const ARCHITECTURE: &'static str = "llama";

    /// From the metadata, checked against the tensors.
    pub(super) fn read(file: &Gguf) -> Result<Self, FileError> {
        let found = file.architecture()?;
        if found != Self::ARCHITECTURE {
            return Err(FileError::Architecture {
                path: file.path().to_owned(),
                found: shown(found),
                expected: "`llama`",
            });
        }
        let blocks = file.integer("llama.block_count", 1..=1024)?;
        let width = file.integer("llama.embedding_length", 1..=1 << 16)?;
        let heads = file.integer("llama.attention.head_count", 1..=1024)?;
        let kv_heads = match file.says("llama.attention.head_count_kv") {
            true => file.integer("llama.attention.head_count_kv", 1..=1024)?,
            false => heads,
        };
        if heads % kv_heads != 0 {
            let reason = format!("{kv_heads}, which does not divide the {heads} heads");
            return Err(file.lies("llama.attention.head_count_kv", &reason));
        }
        let head = match file.says("llama.attention.key_length") {
            true => file.integer("llama.attention.key_length", 1..=1024)?,
            false if width % heads == 0 => width / heads,
            false => {
                let reason = format!("{heads}, which does not divide the width {width}");
                return Err(file.lies("llama.attention.head_count", &reason));
            }
        };
        let rotated = match file.says("llama.rope.dimension_count") {
            true => file.integer("llama.rope.dimension_count", 1..=head as u64)?,
            false => head,
        };
        for scaled in [
            "llama.rope.scaling.type",
            "llama.rope.scaling.factor",
            "llama.expert_count",
        ] {
            if file.says(scaled) {
                return Err(file.lies(scaled, "it asks for what is not done here"));
            }
        }
        if file.has_tensor("rope_freqs.weight") {
            return Err(file.lies(
                "rope_freqs.weight",
                "it asks for scaled rotations, which are not done here",
            ));
        }
        let base = match file.says("llama.rope.freq_base") {
            true => file.float("llama.rope.freq_base")?,
            false => 10_000.0,
        };
        if base < 1.0 {
            return Err(file.lies("llama.rope.freq_base", "expected 1 or more"));
        }
        let shape = Self {
            blocks,
            width,
            inner: file.integer("llama.feed_forward_length", 1..=1 << 20)?,
            heads,
            kv_heads,
            head,
            vocabulary: file
                .raw("token_embd.weight")?
                .shape
                .first()
                .copied()
                .unwrap_or_default(),
            context: file.integer("llama.context_length", 1..=1 << 20)?,
            epsilon: file.float("llama.attention.layer_norm_rms_epsilon")? as f32,
            frequencies: (0..rotated / 2)
                .map(|pair| base.powf(-2.0 * pair as f64 / rotated as f64))
                .collect(),
        };
        weights::check(file, &shape)?;
        Ok(shape)
    }
}
