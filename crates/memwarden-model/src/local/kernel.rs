//! The products, sums and curves that a forward pass spends its time in.
//!
//! Every number of a result is added up in an order that depends on nothing but its own row: not on how many rows
//! are multiplied at once, nor on how many threads do it. So a text has the same vector alone, in any batch and on
//! any number of cores, bit for bit, which a product that cuts its work by shape does not promise.

/// Rows that are multiplied at once and outputs of a panel: 6 × 16 sums fit into the registers of AVX2.
const ROWS: usize = 6;
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
                    row.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
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

    /// The product of `left`, rows of `inputs` numbers, with this matrix, each row with `bias` added: rows of
    /// `outputs` numbers. No bias is no addition.
    pub(super) fn product(&self, left: &[f32], bias: &[f32]) -> Vec<f32> {
        let count = left.len() / self.inputs.max(1);
        let mut product = vec![0.0; count * self.outputs];
        if product.is_empty() {
            return product;
        }
        let mut blocks = vec![[0.0; ROWS]; count.div_ceil(ROWS) * self.inputs];
        for (index, row) in left.chunks_exact(self.inputs).enumerate() {
            let block = blocks.iter_mut().skip(index / ROWS * self.inputs);
            for (column, value) in block.zip(row) {
                if let Some(place) = column.get_mut(index % ROWS) {
                    *place = *value;
                }
            }
        }
        run(Multiply {
            right: self,
            left: &blocks,
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

/// A computation that is compiled once for each kind of processor.
trait Compute {
    /// `FUSED` where the processor multiplies and adds in one instruction: elsewhere that is a slow call.
    fn run<const FUSED: bool>(self);
}

fn run(work: impl Compute) {
    let processor = pulp::Arch::new();
    if matches!(processor, pulp::Arch::Scalar) {
        work.run::<false>();
    } else {
        processor.dispatch(Fused(work));
    }
}

struct Fused<C>(C);

impl<C: Compute> pulp::NullaryFnOnce for Fused<C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run::<true>();
    }
}

#[inline(always)]
fn multiply_add<const FUSED: bool>(left: f32, right: f32, sum: f32) -> f32 {
    if FUSED {
        left.mul_add(right, sum)
    } else {
        left * right + sum
    }
}

struct Multiply<'a> {
    right: &'a Packed,
    /// Blocks of [`ROWS`] rows: one column of a block for each input.
    left: &'a [[f32; ROWS]],
    bias: &'a [f32],
    product: &'a mut [f32],
}

impl Compute for Multiply<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Packed {
            inputs,
            outputs,
            rows,
        } = self.right;
        // A panel stays in the nearest cache while all blocks pass it.
        for (number, panel) in rows.chunks_exact(*inputs).enumerate() {
            let first = number * PANEL;
            let width = PANEL.min(outputs - first);
            let mut bias = [0.0; PANEL];
            let given = self.bias.iter().skip(first);
            bias.iter_mut().zip(given).for_each(|(place, value)| *place = *value);
            for (block, product) in self
                .left
                .chunks_exact(*inputs)
                .zip(self.product.chunks_mut(ROWS * outputs))
            {
                let mut sums = [bias; ROWS];
                for (left, right) in block.iter().zip(panel) {
                    for (sums, left) in sums.iter_mut().zip(left) {
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum = multiply_add::<FUSED>(*left, *right, *sum);
                        }
                    }
                }
                for (row, sums) in product.chunks_exact_mut(*outputs).zip(&sums) {
                    let places = row.iter_mut().skip(first).take(width);
                    places.zip(sums).for_each(|(place, sum)| *place = *sum);
                }
            }
        }
    }
}

/// The sum in [`PANEL`] lanes that are added at the end.
#[inline(always)]
fn sum(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; PANEL];
    let (chunks, rest) = row.as_chunks::<PANEL>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += term(*value);
    }
    lanes.iter().sum()
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
    fn run<const FUSED: bool>(self) {
        let width = self.weight.len().max(1);
        for row in self.rows.chunks_exact_mut(width) {
            let mean = sum(row, |value| value) / width as f32;
            let variance = sum(row, |value| (value - mean) * (value - mean)) / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((value, weight), bias) in row.iter_mut().zip(self.weight).zip(self.bias) {
                *value = multiply_add::<FUSED>((*value - mean) * scale, *weight, *bias);
            }
        }
    }
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
    fn run<const FUSED: bool>(self) {
        for value in self.values {
            let x = (*value * std::f32::consts::FRAC_1_SQRT_2).clamp(-4.0, 4.0);
            let square = x * x;
            let horner = |coefficients: &[f32]| {
                let terms = coefficients.iter().rev();
                terms.fold(0.0, |sum, term| multiply_add::<FUSED>(sum, square, *term))
            };
            let erf = x * horner(&ERF_P) / horner(&ERF_Q);
            *value = 0.5 * *value * (1.0 + erf);
        }
    }
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
            (Just(inputs), numbers(rows * inputs), numbers(outputs * inputs), numbers(outputs))
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
            (1.0, 0.841_344_75),
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
