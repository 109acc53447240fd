//! The layers that encoders of the BERT family share, as operations on tensors.

use super::FileError;
use super::kernel::{self, Packed};
use super::weights::Weights;
use candle_core::{CpuStorage, CustomOp1, CustomOp3, Error, Layout, Result, Shape, Tensor};

/// x · Wᵀ + b.
#[derive(Debug)]
pub(super) struct Linear {
    weights: Packed,
    bias: Vec<f32>,
}

impl Linear {
    /// `<name>.weight` and `<name>.bias`.
    pub(super) fn open(
        weights: &Weights,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> std::result::Result<Self, FileError> {
        let matrix = numbers_of(weights, &format!("{name}.weight"), &[outputs, inputs])?;
        Ok(Self {
            weights: Packed::of_outputs(inputs, matrix.chunks_exact(inputs)),
            bias: numbers_of(weights, &format!("{name}.bias"), &[outputs])?,
        })
    }

    /// Of rows of `inputs` numbers.
    pub(super) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rows.apply_op1_no_bwd(self)
    }
}

impl CustomOp1 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, columns) = layout.shape().dims2()?;
        if columns != self.weights.inputs() {
            let inputs = self.weights.inputs();
            return Err(Error::Msg(format!(
                "rows of {columns} numbers for {inputs} inputs"
            )));
        }
        let product = self.weights.product(numbers(storage, layout)?, &self.bias);
        Ok((CpuStorage::F32(product), (rows, self.weights.outputs()).into()))
    }
}

/// Layer normalization over the last dimension.
#[derive(Debug)]
pub(super) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    /// `<name>.weight` and `<name>.bias`.
    pub(super) fn open(
        weights: &Weights,
        name: &str,
        width: usize,
        epsilon: f32,
    ) -> std::result::Result<Self, FileError> {
        Ok(Self {
            weight: numbers_of(weights, &format!("{name}.weight"), &[width])?,
            bias: numbers_of(weights, &format!("{name}.bias"), &[width])?,
            epsilon,
        })
    }

    pub(super) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rows.apply_op1_no_bwd(self)
    }
}

impl CustomOp1 for LayerNorm {
    fn name(&self) -> &'static str {
        "layer-norm"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut rows = numbers(storage, layout)?.to_vec();
        kernel::layer_norm(&mut rows, &self.weight, &self.bias, self.epsilon);
        Ok((CpuStorage::F32(rows), layout.shape().clone()))
    }
}

/// One layer of an encoder of the BERT family but for its attention: what goes into that, and what becomes of what it
/// finds (Devlin et al. 2018).
#[derive(Debug)]
pub(super) struct Block {
    pub(super) queries: Linear,
    pub(super) keys: Linear,
    pub(super) values: Linear,
    mixed: Linear,
    mixed_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
    outer_norm: LayerNorm,
}

/// What a [`Block`] is read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockShape {
    pub(super) width: usize,
    pub(super) inner: usize,
    pub(super) epsilon: f32,
    /// What follows `query`, `key` and `value` in the names of tensors.
    pub(super) suffix: &'static str,
}

impl Block {
    /// The tensors whose names begin with `prefix`.
    pub(super) fn open(
        weights: &Weights,
        prefix: &str,
        shape: BlockShape,
    ) -> std::result::Result<Self, FileError> {
        let BlockShape {
            width,
            inner,
            epsilon,
            suffix,
        } = shape;
        let linear =
            |name: &str, inputs, outputs| Linear::open(weights, &format!("{prefix}.{name}"), inputs, outputs);
        let seen = |name: &str| linear(&format!("attention.self.{name}{suffix}"), width, width);
        let norm =
            |name: &str| LayerNorm::open(weights, &format!("{prefix}.{name}.LayerNorm"), width, epsilon);
        Ok(Self {
            queries: seen("query")?,
            keys: seen("key")?,
            values: seen("value")?,
            mixed: linear("attention.output.dense", width, width)?,
            mixed_norm: norm("attention.output")?,
            inner: linear("intermediate.dense", width, inner)?,
            outer: linear("output.dense", inner, width)?,
            outer_norm: norm("output")?,
        })
    }

    /// The states after the layer, from those before it and what attention found.
    pub(super) fn after(&self, states: &Tensor, found: &Tensor) -> Result<Tensor> {
        let mixed = self.mixed_norm.forward(&(self.mixed.forward(found)? + states)?)?;
        let inner = gelu(&self.inner.forward(&mixed)?)?;
        self.outer_norm.forward(&(self.outer.forward(&inner)? + &mixed)?)
    }
}

/// GELU, the exact one.
pub(super) fn gelu(values: &Tensor) -> Result<Tensor> {
    values.apply_op1_no_bwd(&Gelu)
}

struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut values = numbers(storage, layout)?.to_vec();
        kernel::gelu(&mut values);
        Ok((CpuStorage::F32(values), layout.shape().clone()))
    }
}

/// A distribution over the last dimension of each row times `scale`.
pub(super) fn softmax(rows: &Tensor, scale: f32) -> Result<Tensor> {
    rows.apply_op1_no_bwd(&Softmax { scale })
}

struct Softmax {
    scale: f32,
}

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut rows = numbers(storage, layout)?.to_vec();
        let width = layout.dims().last().copied().unwrap_or(1);
        kernel::softmax(&mut rows, width, self.scale);
        Ok((CpuStorage::F32(rows), layout.shape().clone()))
    }
}

/// Attention of many heads (Vaswani et al. 2017, section 3.2) within each of several texts that lie one after the
/// other: nothing is padded, and no text sees another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention<'a> {
    /// Rows of each text.
    pub(super) lengths: &'a [usize],
    /// Heads; they divide the numbers of a row.
    pub(super) heads: usize,
}

impl Attention<'_> {
    pub(super) fn forward(&self, queries: &Tensor, keys: &Tensor, values: &Tensor) -> Result<Tensor> {
        queries.apply_op3_no_bwd(keys, values, self)
    }
}

impl CustomOp3 for Attention<'_> {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        queries: &CpuStorage,
        queries_at: &Layout,
        keys: &CpuStorage,
        keys_at: &Layout,
        values: &CpuStorage,
        values_at: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, width) = queries_at.shape().dims2()?;
        let queries = numbers(queries, queries_at)?;
        let (keys, values) = (numbers(keys, keys_at)?, numbers(values, values_at)?);
        let mut mixed = vec![0.0; queries.len()];
        let columns = width / self.heads.max(1);
        let scale = 1.0 / (columns as f32).sqrt();
        let mut start = 0;
        for length in self.lengths.iter().copied() {
            for head in 0..self.heads {
                let place = head * columns..(head + 1) * columns;
                let part = |all| rows(all, width, start, length).map(|row| within(row, &place));
                let asked: Vec<f32> = part(queries).flatten().copied().collect();
                let mut weights = Packed::of_outputs(columns, part(keys)).product(&asked, &[]);
                kernel::softmax(&mut weights, length, scale);
                let found = Packed::of_inputs(columns, part(values)).product(&weights, &[]);
                let into = mixed.chunks_exact_mut(width).skip(start).take(length);
                for (row, found) in into.zip(found.chunks_exact(columns)) {
                    let row = row.iter_mut().skip(place.start);
                    row.zip(found).for_each(|(place, value)| *place = *value);
                }
            }
            start += length;
        }
        Ok((CpuStorage::F32(mixed), queries_at.shape().clone()))
    }
}

fn rows(all: &[f32], width: usize, start: usize, length: usize) -> impl ExactSizeIterator<Item = &[f32]> {
    all.chunks_exact(width).skip(start).take(length)
}

fn within<'a>(row: &'a [f32], place: &std::ops::Range<usize>) -> &'a [f32] {
    row.get(place.clone()).unwrap_or_default()
}

/// The numbers of a tensor, which must lie in one piece.
fn numbers<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let (from, to) = layout
        .contiguous_offsets()
        .ok_or_else(|| Error::Msg("a tensor does not lie in one piece".to_owned()))?;
    let all = storage.as_slice::<f32>()?;
    Ok(all.get(from..to).unwrap_or_default())
}

fn numbers_of(weights: &Weights, name: &str, shape: &[usize]) -> std::result::Result<Vec<f32>, FileError> {
    let tensor = weights.tensor(name, shape)?;
    let numbers = tensor.flatten_all().and_then(|tensor| tensor.to_vec1());
    numbers.map_err(|error| FileError::Lies {
        path: weights.path().to_owned(),
        what: format!("the tensor `{name}`"),
        reason: error.to_string(),
    })
}
