//! The forward pass, with what it remembers and what may be watched.
//!
//! Tokens go through in blocks of [`BLOCK`], begun at multiples of it: what a whole block leaves in the cache depends
//! on the tokens up to its end and on nothing else, so reusing it gives the very same bits as running it again.

use super::ops::{CausalSoftmax, Rotate, SwiGlu};
use super::{Block, Llama, Shape};
use candle_core::{DType, Device, Result, Tensor};

/// Tokens that go through at once.
pub(in crate::local) const BLOCK: usize = 64;

/// Keys and values of the tokens that went through.
#[derive(Debug, Default)]
pub(in crate::local) struct Cache {
    tokens: Vec<u32>,
    /// How many of them went through in whole blocks.
    whole: usize,
    /// Room for positions, in each layer.
    room: usize,
    layers: Vec<(Tensor, Tensor)>,
}

/// What is kept of a pass besides its result.
#[derive(Debug, Default)]
pub(in crate::local) struct Watch {
    /// The layer whose states are kept: 0 is the table of tokens, the last is after the last norm.
    pub(in crate::local) layer: Option<usize>,
    /// The states, tokens × width.
    pub(in crate::local) states: Vec<f32>,
    /// The block, from 0, whose attention is kept.
    pub(in crate::local) attention: Option<usize>,
    /// The attention of each pass: heads × tokens × positions up to the end of the pass, one row after another.
    pub(in crate::local) weights: Vec<(usize, Vec<f32>)>,
}

impl Cache {
    /// Forgets what is not a beginning of `tokens`, and what is needed again from position `needed` on; returns how
    /// many tokens have gone through.
    pub(in crate::local) fn keep(&mut self, tokens: &[u32], needed: usize) -> usize {
        let common = self
            .tokens
            .iter()
            .zip(tokens)
            .take_while(|(had, want)| had == want)
            .count();
        let kept = common.min(self.whole).min(needed) / BLOCK * BLOCK;
        self.tokens.truncate(kept);
        self.whole = kept;
        kept
    }

    pub(in crate::local) fn len(&self) -> usize {
        self.tokens.len()
    }

    fn make_room(&mut self, shape: &Shape, needed: usize) -> Result<()> {
        if needed <= self.room && self.layers.len() == shape.blocks {
            return Ok(());
        }
        let room = needed.max(self.room.saturating_mul(2)).next_multiple_of(BLOCK);
        let had = self.tokens.len();
        let empty = || Tensor::zeros((shape.kv_heads, room, shape.head), DType::F32, &Device::Cpu);
        let mut layers = Vec::with_capacity(shape.blocks);
        for block in 0..shape.blocks {
            let (keys, values) = (empty()?, empty()?);
            if had > 0
                && let Some((old_keys, old_values)) = self.layers.get(block)
            {
                keys.slice_set(&old_keys.narrow(1, 0, had)?.contiguous()?, 1, 0)?;
                values.slice_set(&old_values.narrow(1, 0, had)?.contiguous()?, 1, 0)?;
            }
            layers.push((keys, values));
        }
        self.layers = layers;
        self.room = room;
        Ok(())
    }
}

impl Llama {
    /// The states of `tokens` after the last norm, tokens × width; they come after those in the cache.
    ///
    /// At most up to the next multiple of [`BLOCK`]; every token must be one of the vocabulary.
    pub(in crate::local) fn step(
        &self,
        cache: &mut Cache,
        tokens: &[u32],
        watch: &mut Watch,
    ) -> Result<Tensor> {
        let past = cache.len();
        cache.make_room(&self.shape, past + tokens.len())?;
        let mut states = self.table.rows(tokens)?;
        watch.keep_states(0, &states)?;
        for (at, block) in self.blocks.iter().enumerate() {
            let attended = self.attend(block, at, cache, &states, watch)?;
            states = (states + attended)?;
            let normed = states.apply_op1_no_bwd(&block.before_feed)?;
            let (gate, up) = (block.gate.times(&normed)?, block.up.times(&normed)?);
            states = (states + block.down.times(&gate.apply_op2_no_bwd(&up, &SwiGlu)?)?)?;
            if at + 1 < self.shape.blocks {
                watch.keep_states(at + 1, &states)?;
            }
        }
        let states = states.apply_op1_no_bwd(&self.norm)?;
        watch.keep_states(self.shape.blocks, &states)?;
        if cache.whole == past && tokens.len() == BLOCK {
            cache.whole += BLOCK;
        }
        cache.tokens.extend_from_slice(tokens);
        Ok(states)
    }

    /// What follows each state: states × vocabulary, as scores before the softmax.
    pub(in crate::local) fn scores(&self, states: &Tensor) -> Result<Tensor> {
        self.output.as_ref().unwrap_or(&self.table).times(states)
    }

    fn attend(
        &self,
        block: &Block,
        at: usize,
        cache: &Cache,
        states: &Tensor,
        watch: &mut Watch,
    ) -> Result<Tensor> {
        let Shape {
            heads,
            kv_heads,
            head,
            ..
        } = self.shape;
        let (tokens, _) = states.dims2()?;
        let past = cache.len();
        let normed = states.apply_op1_no_bwd(&block.before_attention)?;
        let (query, key) = (block.query.times(&normed)?, block.key.times(&normed)?);
        for (tensor, heads) in [(&query, heads), (&key, kv_heads)] {
            tensor.inplace_op1(&Rotate {
                frequencies: &self.shape.frequencies,
                head,
                row: heads * head,
                from: past,
            })?;
        }
        let value = block.value.times(&normed)?;
        let by_head = |tensor: &Tensor, heads: usize| -> Result<Tensor> {
            tensor
                .reshape((tokens, heads, head))?
                .transpose(0, 1)?
                .contiguous()
        };
        let Some((keys, values)) = cache.layers.get(at) else {
            candle_core::bail!("the cache has no layer {at}");
        };
        keys.slice_set(&by_head(&key, kv_heads)?, 1, past)?;
        values.slice_set(&by_head(&value, kv_heads)?, 1, past)?;
        let seen = past + tokens;
        // Heads that share their keys stand one after the other, so they are more rows of one product.
        let query = by_head(&query, heads)?.reshape((kv_heads, heads / kv_heads * tokens, head))?;
        let weights = query.matmul(&keys.narrow(1, 0, seen)?.t()?)?;
        weights.inplace_op1(&CausalSoftmax {
            scale: 1.0 / (head as f32).sqrt(),
            tokens,
            past,
        })?;
        watch.keep_attention(at, seen, &weights)?;
        let mixed = weights.matmul(&values.narrow(1, 0, seen)?)?;
        let mixed = mixed.reshape((heads, tokens, head))?.transpose(0, 1)?;
        block
            .attended
            .times(&mixed.contiguous()?.reshape((tokens, heads * head))?)
    }
}

impl Watch {
    fn keep_states(&mut self, layer: usize, states: &Tensor) -> Result<()> {
        if self.layer == Some(layer) {
            self.states.extend(states.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(())
    }

    fn keep_attention(&mut self, block: usize, seen: usize, weights: &Tensor) -> Result<()> {
        if self.attention == Some(block) {
            self.weights
                .push((seen, weights.flatten_all()?.to_vec1::<f32>()?));
        }
        Ok(())
    }
}
