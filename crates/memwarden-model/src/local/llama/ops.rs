//! The steps between matrix products that the tensor library has not, each in one pass over its numbers.
//!
//! All take whole, contiguous tensors; the forward pass makes no others.

use crate::local::kernel::Packed;
use candle_core::{CpuStorage, CustomOp1, CustomOp2, InplaceOp1, Layout, Result, Shape, bail};
use rayon::prelude::*;

/// Numbers that one core takes at once where a step is shared among them.
const SHARE: usize = 1 << 14;

/// x · Wᵀ, by every core.
#[derive(Debug)]
pub(super) struct Product(pub(super) Packed);

impl CustomOp1 for Product {
    fn name(&self) -> &'static str {
        "product"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, columns) = layout.shape().dims2()?;
        if columns != self.0.inputs() {
            bail!("rows of {columns} numbers for {} inputs", self.0.inputs());
        }
        let product = self.0.product_by_all(whole(storage, layout)?);
        Ok((CpuStorage::F32(product), (rows, self.0.outputs()).into()))
    }
}

/// x · weight / √(mean x² + ε), row by row (Zhang & Sennrich 2019, arXiv 1910.07467).
#[derive(Debug)]
pub(super) struct RmsNorm {
    pub(super) weight: Vec<f32>,
    pub(super) epsilon: f32,
}

impl CustomOp1 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let rows = whole(storage, layout)?;
        let mut normed = Vec::with_capacity(rows.len());
        for row in rows.chunks_exact(self.weight.len().max(1)) {
            let squares: f32 = row.iter().map(|x| x * x).sum();
            let scale = 1.0 / (squares / row.len() as f32 + self.epsilon).sqrt();
            normed.extend(row.iter().zip(&self.weight).map(|(x, weight)| x * scale * weight));
        }
        Ok((CpuStorage::F32(normed), layout.shape().clone()))
    }
}

/// Turns pairs of neighbors by their position (Su et al. 2021, arXiv 2104.09864), as GGUF orders the rows of llama.
#[derive(Debug)]
pub(super) struct Rotate<'a> {
    /// Radians a position, one for each pair of a head.
    pub(super) frequencies: &'a [f64],
    /// Numbers in a head; those beyond the pairs stay.
    pub(super) head: usize,
    /// Numbers in a row.
    pub(super) row: usize,
    /// The position of the first row.
    pub(super) from: usize,
}

impl InplaceOp1 for Rotate<'_> {
    fn name(&self) -> &'static str {
        "rotate"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let rows = whole_mut(storage, layout)?;
        let mut turns = Vec::with_capacity(self.frequencies.len());
        for (position, row) in (self.from..).zip(rows.chunks_exact_mut(self.row.max(1))) {
            turns.clear();
            turns.extend(self.frequencies.iter().map(|frequency| {
                let (sin, cos) = (position as f64 * frequency).sin_cos();
                (sin as f32, cos as f32)
            }));
            for head in row.chunks_exact_mut(self.head.max(1)) {
                for (pair, (sin, cos)) in head.chunks_exact_mut(2).zip(&turns) {
                    if let [a, b] = pair {
                        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Softmax over what a position may see: itself and what stands before it. The rest becomes 0.
#[derive(Debug)]
pub(super) struct CausalSoftmax {
    pub(super) scale: f32,
    /// Positions in this pass; rows repeat through them, head by head.
    pub(super) tokens: usize,
    /// Positions before this pass.
    pub(super) past: usize,
}

impl InplaceOp1 for CausalSoftmax {
    fn name(&self) -> &'static str {
        "causal-softmax"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let scores = whole_mut(storage, layout)?;
        let width = self.past + self.tokens;
        let rows = scores.par_chunks_exact_mut(width.max(1));
        let least = (SHARE / width.max(1)).max(1);
        rows.enumerate().with_min_len(least).try_for_each(|(at, row)| {
            let seen = self.past + at % self.tokens.max(1) + 1;
            let Some((row, hidden)) = row.split_at_mut_checked(seen) else {
                bail!("a position sees more than there is");
            };
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for score in row.iter_mut() {
                *score = ((*score - most) * self.scale).exp();
                sum += *score;
            }
            for score in row.iter_mut() {
                *score /= sum;
            }
            hidden.fill(0.0);
            Ok(())
        })
    }
}

/// gate · σ(gate) · up (SwiGLU; Shazeer 2020, arXiv 2002.05202).
#[derive(Debug)]
pub(super) struct SwiGlu;

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (gate, up) = (whole(gate, gate_layout)?, whole(up, up_layout)?);
        let mut out = vec![0.0; gate.len()];
        let shares = out.par_chunks_mut(SHARE).zip(gate.par_chunks(SHARE));
        shares.zip(up.par_chunks(SHARE)).for_each(|((out, gate), up)| {
            for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
                *out = gate / (1.0 + (-gate).exp()) * up;
            }
        });
        Ok((CpuStorage::F32(out), gate_layout.shape().clone()))
    }
}

fn whole<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let numbers = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((from, to)) if to <= numbers.len() => Ok(numbers.get(from..to).unwrap_or_default()),
        _ => bail!("expected a contiguous tensor"),
    }
}

fn whole_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    let (CpuStorage::F32(numbers), Some((from, to))) = (storage, layout.contiguous_offsets()) else {
        bail!("expected a contiguous tensor of f32");
    };
    match numbers.get_mut(from..to) {
        Some(whole) => Ok(whole),
        None => bail!("a tensor that is longer than its numbers"),
    }
}
