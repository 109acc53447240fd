//! The tensors of a file as weights. Whatever they are stored as, they are held in 32-bit floats or in `Q8_0`: other
//! block formats have no fast product in the tensor library.

use super::ops::{Product, RmsNorm};
use super::{Block, Llama, Matrix, Precision, Shape};
use crate::local::files::FileError;
use crate::local::gguf::{Gguf, Kind, RawTensor};
use crate::local::kernel::Packed;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Result, Tensor};
use std::borrow::Cow;
use std::sync::Arc;

/// Where bytes must begin for the library to read numbers there.
const ALIGNMENT: usize = 16;

/// Whether a file holds every tensor of this shape.
pub(super) fn check(file: &Gguf, shape: &Shape) -> std::result::Result<(), FileError> {
    let (width, inner) = (shape.width, shape.inner);
    let (queries, keys) = (shape.heads * shape.head, shape.kv_heads * shape.head);
    file.tensor("token_embd.weight", &[shape.vocabulary, width])?;
    if file.has_tensor("output.weight") {
        file.tensor("output.weight", &[shape.vocabulary, width])?;
    }
    file.tensor("output_norm.weight", &[width])?;
    for block in 0..shape.blocks {
        for (name, expected) in [
            ("attn_norm", [width].as_slice()),
            ("attn_q", &[queries, width]),
            ("attn_k", &[keys, width]),
            ("attn_v", &[keys, width]),
            ("attn_output", &[width, queries]),
            ("ffn_norm", &[width]),
            ("ffn_gate", &[inner, width]),
            ("ffn_up", &[inner, width]),
            ("ffn_down", &[width, inner]),
        ] {
            file.tensor(&tensor_name(block, name), expected)?;
            let bias = format!("blk.{block}.{name}.bias");
            if file.has_tensor(&bias) {
                return Err(file.lies(&bias, "llama has no biases"));
            }
        }
    }
    Ok(())
}

fn tensor_name(block: usize, name: &str) -> String {
    format!("blk.{block}.{name}.weight")
}

impl Llama {
    /// The weights of a file that [`Shape::read`] has checked.
    pub(in crate::local) fn load(file: &Gguf, shape: &Shape, precision: Precision) -> Result<Self> {
        let raw = |name: &str| file.raw(name).map_err(candle_core::Error::wrap);
        let matrix = |name: &str| Matrix::load(&raw(name)?, precision);
        let norm = |name: &str| -> Result<RmsNorm> {
            Ok(RmsNorm {
                weight: full(&raw(name)?)?.flatten_all()?.to_vec1()?,
                epsilon: shape.epsilon,
            })
        };
        let block = |block: usize| -> Result<Block> {
            let name = |name| tensor_name(block, name);
            Ok(Block {
                before_attention: norm(&name("attn_norm"))?,
                query: matrix(&name("attn_q"))?,
                key: matrix(&name("attn_k"))?,
                value: matrix(&name("attn_v"))?,
                attended: matrix(&name("attn_output"))?,
                before_feed: norm(&name("ffn_norm"))?,
                gate: matrix(&name("ffn_gate"))?,
                up: matrix(&name("ffn_up"))?,
                down: matrix(&name("ffn_down"))?,
            })
        };
        let output = match file.has_tensor("output.weight") {
            true => Some(matrix("output.weight")?),
            false => None,
        };
        Ok(Self {
            shape: shape.clone(),
            table: matrix("token_embd.weight")?,
            blocks: (0..shape.blocks).map(block).collect::<Result<_>>()?,
            norm: norm("output_norm.weight")?,
            output,
        })
    }
}

impl Matrix {
    fn load(raw: &RawTensor<'_>, precision: Precision) -> Result<Self> {
        // Rows that do not come in whole blocks of 32 stay as they are.
        let is_blocked = raw
            .shape
            .last()
            .is_some_and(|row| row % GgmlDType::Q8_0.block_size() == 0);
        Ok(match precision {
            Precision::Eight if raw.kind == Kind::Q8_0 => Self::Eight(Arc::new(stored(raw)?)),
            Precision::Eight if is_blocked => {
                Self::Eight(Arc::new(QTensor::quantize(&full(raw)?, GgmlDType::Q8_0)?))
            }
            Precision::Eight | Precision::Full => {
                let numbers = full(raw)?.to_vec2::<f32>()?;
                let inputs = numbers.first().map_or(0, Vec::len);
                let rows = numbers.iter().map(Vec::as_slice);
                Self::Full(Product(Packed::of_outputs(inputs, rows)))
            }
        })
    }

    /// `inputs` (tokens × columns) times the rows.
    pub(super) fn times(&self, inputs: &Tensor) -> Result<Tensor> {
        match self {
            Self::Full(product) => inputs.apply_op1_no_bwd(product),
            Self::Eight(rows) => inputs.apply_op1_no_bwd(rows.as_ref()),
        }
    }

    /// The rows of these tokens.
    pub(super) fn rows(&self, tokens: &[u32]) -> Result<Tensor> {
        match self {
            Self::Full(Product(packed)) => {
                let numbers = tokens.iter().flat_map(|token| packed.output(*token as usize));
                Tensor::from_vec(numbers.collect(), (tokens.len(), packed.inputs()), &Device::Cpu)
            }
            Self::Eight(rows) => rows.embedding(&Tensor::new(tokens, &Device::Cpu)?),
        }
    }
}

fn full(raw: &RawTensor<'_>) -> Result<Tensor> {
    if raw.kind == Kind::F32 {
        let numbers: Vec<f32> = raw
            .bytes
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            .collect();
        return Tensor::from_vec(numbers, raw.shape, &Device::Cpu);
    }
    stored(raw)?.dequantize(&Device::Cpu)
}

fn stored(raw: &RawTensor<'_>) -> Result<QTensor> {
    let kind = match raw.kind {
        Kind::F32 => GgmlDType::F32,
        Kind::F16 => GgmlDType::F16,
        Kind::Bf16 => GgmlDType::BF16,
        Kind::Q4_0 => GgmlDType::Q4_0,
        Kind::Q4_1 => GgmlDType::Q4_1,
        Kind::Q5_0 => GgmlDType::Q5_0,
        Kind::Q5_1 => GgmlDType::Q5_1,
        Kind::Q8_0 => GgmlDType::Q8_0,
        Kind::Q2K => GgmlDType::Q2K,
        Kind::Q3K => GgmlDType::Q3K,
        Kind::Q4K => GgmlDType::Q4K,
        Kind::Q5K => GgmlDType::Q5K,
        Kind::Q6K => GgmlDType::Q6K,
    };
    let bytes = aligned(raw.bytes);
    let from = bytes.len() - raw.bytes.len();
    let whole = bytes.get(from..).unwrap_or_default();
    QTensor::new(
        QStorage::from_data(Cow::Borrowed(whole), &Device::Cpu, kind)?,
        raw.shape,
    )
}

/// The bytes, with as many before them as it takes that they begin at a multiple of [`ALIGNMENT`]. The library takes a
/// slice for one of numbers and panics where it lies elsewhere.
fn aligned(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.as_ptr().align_offset(ALIGNMENT) == 0 {
        return Cow::Borrowed(bytes);
    }
    let mut copy: Vec<u8> = Vec::with_capacity(bytes.len() + ALIGNMENT);
    let pad = copy.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    copy.resize(pad, 0);
    copy.extend_from_slice(bytes);
    Cow::Owned(copy)
}
