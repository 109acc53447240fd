//! The products, sums and curves that a forward pass spends its time in.
//!
//! Every number of a result is added up in an order that depends on nothing but its own row: not on how many rows
//! are multiplied at once, nor on how many threads do it. So a text has the same vector alone, in any batch and on
//! any number of cores, bit for bit, which a product that cuts its work by shape does not promise.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Outputs of a panel: one vector of AVX-512, two of AVX2, four of NEON.
const PANEL: usize = 16;

/// A matrix, inputs × outputs, laid out in panels of [`PANEL`] outputs: one row of a panel for each input.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    inputs: usize,
    outputs: usize,
    rows: Vec<[f32; PANEL]>,
}

impl Packed {
    /// Of `outputs` rows with `inputs` numbers each, one after the other: weights as they are in files.
    pub(super) fn of_outputs<'a>(inputs: usize, outputs: impl ExactSizeIterator<Item = &'a [f32]>) -> Self {
        let count = outputs.len();
        let mut rows = vec![[0.0; PANEL]; count.div_ceil(PANEL) * inputs];
        for (index, output) in outputs.enumerate() {
            let panel = rows.iter_mut().skip(index / PANEL * inputs);
            for (row, value) in panel.zip(output) {
                if let Some(place) = row.get_mut(index % PANEL) {
                    *place = *value;
                }
            }
        }
        Self {
            inputs,
            outputs: count,
            rows,
        }
    }

    /// Of `inputs` rows with `outputs` numbers each.
    pub(super) fn of_inputs<'a>(outputs: usize, inputs: impl ExactSizeIterator<Item = &'a [f32]>) -> Self {
        let count = inputs.len();
        let mut rows = vec![[0.0; PANEL]; outputs.div_ceil(PANEL) * count];
        for (index, input) in inputs.enumerate() {
            for (panel, values) in input.chunks(PANEL).enumerate() {
                if let Some(row) = rows.get_mut(panel * count + index) {
                    row.iter_mut()
                        .zip(values)
                        .for_each(|(place, value)| *place = *value);
                }
            }
        }
        Self {
            inputs: count,
            outputs,
            rows,
        }
    }

    pub(super) const fn inputs(&self) -> usize {
        self.inputs
    }

    pub(super) const fn outputs(&self) -> usize {
        self.outputs
    }

    /// The numbers of one output, an input each.
    pub(super) fn output(&self, index: usize) -> impl Iterator<Item = f32> {
        let panel = self.rows.iter().skip(index / PANEL * self.inputs);
        panel
            .take(self.inputs)
            .filter_map(move |row| row.get(index % PANEL).copied())
    }

    /// The product of `left`, rows of `inputs` numbers, with this matrix, each row with `bias` added: rows of
    /// `outputs` numbers. No bias is no addition.
    pub(super) fn product(&self, left: &[f32], bias: &[f32]) -> Vec<f32> {
        let panels = Panels {
            inputs: self.inputs,
            outputs: self.outputs,
            rows: &self.rows,
        };
        panels.product(left, bias)
    }

    /// The same product without a bias, by every core: each multiplies with some of the outputs.
    pub(super) fn product_by_all(&self, left: &[f32]) -> Vec<f32> {
        let panels = self.outputs.div_ceil(PANEL);
        let each = panels.div_ceil(rayon::current_num_threads()).max(1);
        let parts: Vec<(usize, Vec<f32>)> = self
            .rows
            .par_chunks((each * self.inputs).max(1))
            .enumerate()
            .map(|(number, rows)| {
                let outputs = (self.outputs - number * each * PANEL).min(each * PANEL);
                let panels = Panels {
                    inputs: self.inputs,
                    outputs,
                    rows,
                };
                (outputs, panels.product(left, &[]))
            })
            .collect();
        let mut rows: Vec<_> = parts
            .iter()
            .map(|(outputs, part)| part.chunks_exact(*outputs))
            .collect();
        let count = left.len() / self.inputs.max(1);
        let mut product = Vec::with_capacity(count * self.outputs);
        for _ in 0..count {
            for row in rows.iter_mut().filter_map(Iterator::next) {
                product.extend_from_slice(row);
            }
        }
        product
    }
}

/// Some of a matrix: whole panels, the last of which may have fewer outputs.
#[derive(Debug, Clone, Copy)]
struct Panels<'a> {
    inputs: usize,
    outputs: usize,
    rows: &'a [[f32; PANEL]],
}

impl Panels<'_> {
    fn product(self, left: &[f32], bias: &[f32]) -> Vec<f32> {
        let count = left.len() / self.inputs.max(1);
        let mut product = vec![0.0; count * self.outputs];
        if product.is_empty() {
            return product;
        }
        run(Multiply {
            right: self,
            left,
            bias,
            product: &mut product,
        });
        product
    }
}

/// Brings each row of `width` numbers to mean 0 and variance 1, times `weight` plus `bias` (Ba et al. 2016, "Layer
/// Normalization").
pub(super) fn layer_norm(rows: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    run(Normalize {
        rows,
        weight,
        bias,
        epsilon,
    });
}

/// x · Φ(x) of each number, Φ being the normal distribution (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units").
pub(super) fn gelu(values: &mut [f32]) {
    run(Gelu { values });
}

/// Makes each row of `width` numbers, times `scale`, a distribution.
pub(super) fn softmax(rows: &mut [f32], width: usize, scale: f32) {
    for row in rows.chunks_exact_mut(width.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for value in row.iter_mut() {
            *value = ((*value - largest) * scale).exp();
            sum += *value;
        }
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

/// A computation that is compiled once for each kind of processor. `V` vectors make a panel.
trait Compute {
    fn run<S: Simd, const V: usize>(self, simd: S);
}

fn run(work: impl Compute) {
    pulp::Arch::new().dispatch(OnVectors(work));
}

struct OnVectors<C>(C);

impl<C: Compute> WithSimd for OnVectors<C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.0.run::<S, 1>(simd),
            8 => self.0.run::<S, 2>(simd),
            4 => self.0.run::<S, 4>(simd),
            _ => self.0.run::<S, PANEL>(simd),
        }
    }
}

#[inline(always)]
fn load<S: Simd, const V: usize>(simd: S, panel: &[f32; PANEL]) -> [S::f32s; V] {
    let (vectors, _) = S::as_simd_f32s(panel);
    vectors
        .first_chunk()
        .copied()
        .unwrap_or([simd.splat_f32s(0.0); V])
}

#[inline(always)]
fn store<S: Simd, const V: usize>(vectors: &[S::f32s; V]) -> [f32; PANEL] {
    let mut panel = [0.0; PANEL];
    let (places, _) = S::as_mut_simd_f32s(&mut panel);
    places
        .iter_mut()
        .zip(vectors)
        .for_each(|(place, vector)| *place = *vector);
    panel
}

/// Up to a panel of numbers, zeros after them.
#[inline(always)]
fn padded(numbers: &[f32]) -> [f32; PANEL] {
    let mut panel = [0.0; PANEL];
    panel
        .iter_mut()
        .zip(numbers)
        .for_each(|(place, value)| *place = *value);
    panel
}

struct Multiply<'a> {
    right: Panels<'a>,
    left: &'a [f32],
    bias: &'a [f32],
    product: &'a mut [f32],
}

impl Compute for Multiply<'_> {
    /// As many rows at once as leave their sums, a panel's row and a number in the registers.
    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        match V {
            1 => self.multiply::<S, 14, V>(simd),
            2 | 4 => self.multiply::<S, 6, V>(simd),
            _ => self.multiply::<S, 1, V>(simd),
        }
    }
}

impl Multiply<'_> {
    #[inline(always)]
    fn multiply<S: Simd, const ROWS: usize, const V: usize>(self, simd: S) {
        let Panels {
            inputs,
            outputs,
            rows,
        } = self.right;
        // Blocks of rows, one column of a block for each input.
        let count = self.left.len() / inputs;
        let mut blocks = vec![[0.0; ROWS]; count.div_ceil(ROWS) * inputs];
        for (index, row) in self.left.chunks_exact(inputs).enumerate() {
            let block = blocks.iter_mut().skip(index / ROWS * inputs);
            for (column, value) in block.zip(row) {
                if let Some(place) = column.get_mut(index % ROWS) {
                    *place = *value;
                }
            }
        }
        // A panel stays in the nearest cache while all blocks pass it.
        for (number, panel) in rows.chunks_exact(inputs).enumerate() {
            let first = number * PANEL;
            let bias = load(simd, &padded(self.bias.get(first..).unwrap_or_default()));
            let products = self.product.chunks_mut(ROWS * outputs);
            for (block, product) in blocks.chunks_exact(inputs).zip(products) {
                let mut sums: [[S::f32s; V]; ROWS] = [bias; ROWS];
                for (left, right) in block.iter().zip(panel) {
                    let right = load::<S, V>(simd, right);
                    for (sums, left) in sums.iter_mut().zip(left) {
                        let left = simd.splat_f32s(*left);
                        for (sum, right) in sums.iter_mut().zip(&right) {
                            *sum = simd.mul_add_e_f32s(left, *right, *sum);
                        }
                    }
                }
                for (row, sums) in product.chunks_exact_mut(outputs).zip(&sums) {
                    let places = row.iter_mut().skip(first);
                    places
                        .zip(store::<S, V>(sums))
                        .for_each(|(place, sum)| *place = sum);
                }
            }
        }
    }
}

struct Normalize<'a> {
    rows: &'a mut [f32],
    weight: &'a [f32],
    bias: &'a [f32],
    epsilon: f32,
}

impl Compute for Normalize<'_> {
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "a row has far fewer numbers than 2^24")]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let width = self.weight.len().max(1);
        for row in self.rows.chunks_exact_mut(width) {
            let mean = sum::<S, V>(simd, row) / width as f32;
            let variance = squares::<S, V>(simd, row, mean) / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((value, weight), bias) in row.iter_mut().zip(self.weight).zip(self.bias) {
                *value = (*value - mean) * scale * weight + bias;
            }
        }
    }
}

/// The sum of a row, in [`PANEL`] lanes that are added at the end.
#[inline(always)]
fn sum<S: Simd, const V: usize>(simd: S, row: &[f32]) -> f32 {
    let mut lanes = [simd.splat_f32s(0.0); V];
    let (panels, rest) = row.as_chunks::<PANEL>();
    for panel in panels {
        for (lane, value) in lanes.iter_mut().zip(&load::<S, V>(simd, panel)) {
            *lane = simd.add_f32s(*lane, *value);
        }
    }
    let mut lanes = store::<S, V>(&lanes);
    lanes
        .iter_mut()
        .zip(rest)
        .for_each(|(lane, value)| *lane += value);
    lanes.iter().sum()
}

/// The sum of the squares of how far each number of a row is from `mean`, added up as [`sum`] does.
#[inline(always)]
fn squares<S: Simd, const V: usize>(simd: S, row: &[f32], mean: f32) -> f32 {
    let mut lanes = [simd.splat_f32s(0.0); V];
    let middle = simd.splat_f32s(mean);
    let (panels, rest) = row.as_chunks::<PANEL>();
    for panel in panels {
        for (lane, value) in lanes.iter_mut().zip(&load::<S, V>(simd, panel)) {
            let far = simd.sub_f32s(*value, middle);
            *lane = simd.mul_add_e_f32s(far, far, *lane);
        }
    }
    let mut lanes = store::<S, V>(&lanes);
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += (value - mean) * (value - mean);
    }
    lanes.iter().sum()
}

/// erf(x) ≈ x · p(x²) / q(x²) for |x| ≤ 4, beyond which it is ±1 in single precision. Fitted by least squares on
/// 4,000 Chebyshev nodes; off by at most 3.4·10⁻⁷ in single precision. Constant term first.
const ERF_P: [f32; 7] = [
    1.128_378_9,
    0.211_362_26,
    0.052_087_426,
    0.004_178_383_4,
    0.000_152_409_72,
    -1.971_931_9e-6,
    1.917_225_8e-8,
];
const ERF_Q: [f32; 5] = [1.0, 0.520_643_9, 0.119_726_785, 0.015_325_689, 0.001_068_901_3];

struct Gelu<'a> {
    values: &'a mut [f32],
}

impl Compute for Gelu<'_> {
    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let (panels, rest) = self.values.as_chunks_mut::<PANEL>();
        for panel in panels {
            *panel = gelu_of::<S, V>(simd, panel);
        }
        let last = gelu_of::<S, V>(simd, &padded(rest));
        rest.iter_mut()
            .zip(last)
            .for_each(|(place, value)| *place = value);
    }
}

// What a closure does inside of an iterator is compiled without the processor's instructions: loops, here.
#[inline(always)]
fn gelu_of<S: Simd, const V: usize>(simd: S, panel: &[f32; PANEL]) -> [f32; PANEL] {
    let mut vectors = load::<S, V>(simd, panel);
    for value in &mut vectors {
        let x = simd.mul_f32s(*value, simd.splat_f32s(std::f32::consts::FRAC_1_SQRT_2));
        let x = simd.max_f32s(simd.min_f32s(x, simd.splat_f32s(4.0)), simd.splat_f32s(-4.0));
        let square = simd.mul_f32s(x, x);
        let above = simd.mul_f32s(x, horner(simd, &ERF_P, square));
        let erf = simd.div_f32s(above, horner(simd, &ERF_Q, square));
        let half = simd.mul_f32s(*value, simd.splat_f32s(0.5));
        *value = simd.mul_add_e_f32s(half, erf, half);
    }
    store::<S, V>(&vectors)
}

#[inline(always)]
fn horner<S: Simd>(simd: S, coefficients: &[f32], x: S::f32s) -> S::f32s {
    let mut sum = simd.splat_f32s(0.0);
    for coefficient in coefficients.iter().rev() {
        sum = simd.mul_add_e_f32s(sum, x, simd.splat_f32s(*coefficient));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Row by row, column by column, in double precision.
    fn plain(left: &[f32], inputs: usize, right: &[f32], bias: &[f32]) -> Vec<f64> {
        left.chunks_exact(inputs)
            .flat_map(|row| {
                right.chunks_exact(inputs).zip(bias).map(|(column, bias)| {
                    let terms = row.iter().zip(column);
                    f64::from(*bias) + terms.map(|(l, r)| f64::from(*l) * f64::from(*r)).sum::<f64>()
                })
            })
            .collect()
    }

    fn matrices() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f32>, Vec<f32>)> {
        (1_usize..40, 0_usize..20, 1_usize..40).prop_flat_map(|(inputs, rows, outputs)| {
            let numbers = |count| prop::collection::vec(-2.0_f32..2.0, count);
            (
                Just(inputs),
                numbers(rows * inputs),
                numbers(outputs * inputs),
                numbers(outputs),
            )
        })
    }

    proptest! {
        #[test]
        fn a_product_is_the_plain_one_whichever_way_it_was_packed((inputs, left, right, bias) in matrices()) {
            let packed = Packed::of_outputs(inputs, right.chunks_exact(inputs));
            let product = packed.product(&left, &bias);
            for (fast, plain) in product.iter().zip(plain(&left, inputs, &right, &bias)) {
                prop_assert!((f64::from(*fast) - plain).abs() < 1e-4, "{fast} {plain}");
            }
            let outputs = bias.len();
            let turned: Vec<f32> = (0..inputs)
                .flat_map(|input| (0..outputs).map(move |output| (output, input)))
                .map(|(output, input)| right[output * inputs + input])
                .collect();
            let other = Packed::of_inputs(outputs, turned.chunks_exact(outputs));
            prop_assert_eq!(other.product(&left, &bias), product);
        }

        #[test]
        fn every_core_makes_the_same_bits_as_one((inputs, left, right, bias) in matrices(), threads in 1_usize..6) {
            let packed = Packed::of_outputs(inputs, right.chunks_exact(inputs));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            prop_assert_eq!(pool.install(|| packed.product_by_all(&left)), packed.product(&left, &[]));
            for (index, output) in right.chunks_exact(inputs).enumerate() {
                prop_assert_eq!(packed.output(index).collect::<Vec<_>>(), output);
            }
            prop_assert_eq!(packed.output(bias.len() + PANEL).count(), 0);
        }

        #[test]
        fn a_row_has_the_same_bits_alone((inputs, left, right, bias) in matrices()) {
            let packed = Packed::of_outputs(inputs, right.chunks_exact(inputs));
            let alone: Vec<u32> = left
                .chunks_exact(inputs)
                .flat_map(|row| packed.product(row, &bias))
                .map(f32::to_bits)
                .collect();
            let together: Vec<u32> = packed.product(&left, &bias).into_iter().map(f32::to_bits).collect();
            prop_assert_eq!(alone, together);
        }

        #[test]
        fn a_normalized_row_has_mean_0_and_variance_1(row in prop::collection::vec(-3.0_f32..3.0, 2..70)) {
            prop_assume!(row.iter().any(|value| (value - row[0]).abs() > 0.1));
            let (ones, zeros) = (vec![1.0; row.len()], vec![0.0; row.len()]);
            let mut normal = row;
            layer_norm(&mut normal, &ones, &zeros, 1e-12);
            let count = normal.len() as f32;
            prop_assert!((normal.iter().sum::<f32>() / count).abs() < 1e-4);
            prop_assert!((normal.iter().map(|v| v * v).sum::<f32>() / count - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn gelu_is_the_exact_one() {
        // x · Φ(x) with Φ from tables of the normal distribution, and the limits.
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_25),
            (2.0, 1.954_499_7),
            (-3.0, -0.004_049_694),
            (30.0, 30.0),
            (-30.0, 0.0),
        ] {
            let mut value = [x];
            gelu(&mut value);
            assert!((value[0] - expected).abs() < 2e-6, "{x}: {}", value[0]);
        }
    }

    #[test]
    fn softmax_is_a_distribution_however_large_the_numbers() {
        let mut rows = [1e4, 1e4, -1e4, 0.0, 2.0_f32.ln(), 0.0];
        softmax(&mut rows, 3, 1.0);
        let expected = [0.5, 0.5, 0.0, 0.25, 0.5, 0.25];
        for (value, expected) in rows.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6);
        }
    }
}
