//! Texts as vectors: what an encoder gives, how a vector is kept, and how two are compared.
//!
//! A vector is one signed byte a component and one scale, so that its bytes can be stored, hashed into a leaf and
//! compared with integers: every machine computes the same score, and a replay orders the same records the same
//! way. No encoder lives here, and no search.

use crate::{DecodeError, Decoder, Encoder};
use std::fmt;

/// The most components that a vector may have; 127² times as many still fit in the sum of [`dot_i8`].
pub const MAX_DIMENSIONS: usize = 4096;

/// The largest component; −128 is not used, so that a vector and its opposite are equally exact.
const MAX_COMPONENT: f32 = 127.0;

/// A text could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A vector of no components, or of too many.
    #[error("a vector has {given} components, expected 1 to {MAX_DIMENSIONS}")]
    Dimensions {
        /// How many it has.
        given: usize,
    },
    /// Infinity or not a number.
    #[error("component {index} of the vector is not a finite number")]
    NotFinite {
        /// Which component, from 0.
        index: usize,
    },
    /// The encoder could not answer.
    #[error("encoder `{encoder}` failed: {reason}")]
    Failed {
        /// Its name.
        encoder: String,
        /// What went wrong.
        reason: String,
    },
}

/// Turns texts into vectors.
///
/// An implementation MUST give the same vector for the same text under the same [`name`](Self::name), whatever
/// else is in the batch; vectors under different names are never compared.
pub trait Encode: Send + Sync + fmt::Debug {
    /// What computed the vectors, the digest of its weights included; recorded beside them.
    fn name(&self) -> &str;

    /// Components of every vector, 1 to [`MAX_DIMENSIONS`].
    fn dimensions(&self) -> usize;

    /// One vector for each text, in order. A text in which the encoder finds nothing has a
    /// [zero](Embedding::is_zero) vector.
    ///
    /// # Errors
    /// [`EncodeError`]; then there is no vector for any of them.
    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError>;

    /// What to look for, before it is rounded to bytes: the nearest records are compared with it once more. The
    /// default is the rounded vector. No components, or all zero, where there is nothing to look for.
    ///
    /// # Errors
    /// As [`Encode::encode`].
    fn encode_query(&self, text: &str) -> Result<Vec<f32>, EncodeError> {
        let found = self.encode(&[text])?;
        Ok(found.first().map(Embedding::scaled).unwrap_or_default())
    }
}

/// A unit vector in signed bytes, or the zero vector.
///
/// Component `i` is `values[i] · scale` and lies in −1..=1. The scale is `1 / √Σ values[i]²`, so the vector that
/// the bytes stand for has length 1 and [`dot`](Self::dot) is the cosine. The zero vector has scale 0.
///
/// As bytes: the scale as a big-endian IEEE 754 single (4 bytes), then one two's complement byte for each
/// component. Length 4 + dimensions; one vector has one encoding.
///
/// ```
/// use memwarden_core::encode::Embedding;
/// let north_east = Embedding::quantize(&[3.0, 3.0])?;
/// let east = Embedding::quantize(&[0.0, 0.5])?;
/// assert!((north_east.dot(&east) - 0.5_f32.sqrt()).abs() < 1e-6);
/// assert_eq!(Embedding::from_bytes(&east.to_bytes()).as_ref(), Ok(&east));
/// # Ok::<(), memwarden_core::encode::EncodeError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Embedding {
    scale: f32,
    values: Box<[i8]>,
}

impl Embedding {
    /// The vector that it stands for.
    #[must_use]
    pub fn scaled(&self) -> Vec<f32> {
        let values = self.values.iter();
        values.map(|value| f32::from(*value) * self.scale).collect()
    }

    /// The nearest embedding to the direction of `vector`, whose length does not matter. Components too small to
    /// be told from zero give the zero vector.
    ///
    /// # Errors
    /// No or too many components, or one that is not finite.
    pub fn quantize(vector: &[f32]) -> Result<Self, EncodeError> {
        check_dimensions(vector.len())?;
        if let Some(index) = vector.iter().position(|component| !component.is_finite()) {
            return Err(EncodeError::NotFinite { index });
        }
        let largest = vector
            .iter()
            .fold(0.0_f32, |largest, component| largest.max(component.abs()));
        if !largest.is_normal() {
            return Self::zero(vector.len());
        }
        let component = |given: &f32| (given / largest * MAX_COMPONENT).round() as i8;
        Ok(Self::of(vector.iter().map(component).collect()))
    }

    /// The vector of a text in which there is nothing to find. Its product with any vector is 0.
    ///
    /// # Errors
    /// No or too many components.
    pub fn zero(dimensions: usize) -> Result<Self, EncodeError> {
        check_dimensions(dimensions)?;
        Ok(Self::of(vec![0; dimensions].into()))
    }

    /// The cosine of the angle between two vectors of one encoder, −1..=1; 0 if either is zero or their
    /// dimensions differ. The same bits on every machine: the sum is an integer, and the two scales are
    /// multiplied in one order.
    #[must_use]
    pub fn dot(&self, other: &Self) -> f32 {
        if self.values.len() != other.values.len() {
            return 0.0;
        }
        let sum = dot_i8(&self.values, &other.values);
        (f64::from(self.scale) * f64::from(other.scale) * f64::from(sum)) as f32
    }

    /// Components.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// What each of [`values`](Self::values) is multiplied with.
    #[must_use]
    pub const fn scale(&self) -> f32 {
        self.scale
    }

    /// The components before scaling, −127..=127.
    #[must_use]
    pub const fn values(&self) -> &[i8] {
        &self.values
    }

    /// Whether there was nothing to encode.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.scale == 0.0
    }

    /// The encoding that the type describes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.u32(self.scale.to_bits());
        self.values.iter().for_each(|value| {
            encoder.u8(value.cast_unsigned());
        });
        encoder.finish()
    }

    /// Reads the encoding that the type describes.
    ///
    /// # Errors
    /// No or too many components, a component of −128, or a scale that is not the one of these components.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::raw(bytes);
        let scale = decoder.u32("scale")?;
        let values = bytes.get(size_of::<f32>()..).unwrap_or_default();
        if check_dimensions(values.len()).is_err() {
            return Err(DecodeError::Unknown {
                field: "dimensions",
                given: values.len() as u64,
            });
        }
        if values.contains(&i8::MIN.cast_unsigned()) {
            return Err(DecodeError::Unknown {
                field: "component",
                given: i8::MIN.cast_unsigned().into(),
            });
        }
        let read = Self::of(values.iter().map(|byte| byte.cast_signed()).collect());
        if read.scale.to_bits() != scale {
            return Err(DecodeError::Unknown {
                field: "scale",
                given: scale.into(),
            });
        }
        Ok(read)
    }

    fn of(values: Box<[i8]>) -> Self {
        let squares = dot_i8(&values, &values);
        let scale = if squares == 0 {
            0.0
        } else {
            (1.0 / f64::from(squares).sqrt()) as f32
        };
        Self { scale, values }
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 256 numbers tell a person nothing and fill a log.
        write!(f, "Embedding({} × {})", self.values.len(), self.scale)
    }
}

/// The integer dot product of two vectors of signed bytes, over the components that both have. Exact for up to
/// 131,071 components; the sum of more may wrap.
///
/// Runs on the widest vector instructions that the processor has, chosen when first called: integers add up to
/// the same in any order.
#[must_use]
pub fn dot_i8(left: &[i8], right: &[i8]) -> i32 {
    pulp::Arch::new().dispatch(Dot { left, right })
}

/// [`dot_i8`] as what `pulp` compiles once for each kind of processor.
struct Dot<'a> {
    left: &'a [i8],
    right: &'a [i8],
}

impl pulp::NullaryFnOnce for Dot<'_> {
    type Output = i32;

    // Additions that are checked for overflow are not turned into vector instructions.
    #[inline(always)]
    fn call(self) -> i32 {
        self.left
            .iter()
            .zip(self.right)
            .fold(0, |sum: i32, (left, right)| {
                sum.wrapping_add(i32::from(*left).wrapping_mul(i32::from(*right)))
            })
    }
}

const fn check_dimensions(given: usize) -> Result<(), EncodeError> {
    if given == 0 || given > MAX_DIMENSIONS {
        return Err(EncodeError::Dimensions { given });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
        proptest::collection::vec(-10.0_f32..10.0, dimensions)
    }

    proptest! {
        #[test]
        fn a_quantized_vector_keeps_its_direction(vector in vectors(256)) {
            let length = vector.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>().sqrt();
            let quantized = Embedding::quantize(&vector).unwrap();
            let cosine: f64 = vector
                .iter()
                .zip(quantized.values())
                .map(|(given, kept)| f64::from(*given) * f64::from(*kept) * f64::from(quantized.scale()))
                .sum::<f64>() / length;
            prop_assert!(cosine > 0.9999, "{cosine}");
            prop_assert!((quantized.dot(&quantized) - 1.0).abs() < 1e-6);
        }

        #[test]
        fn length_does_not_matter_and_the_opposite_is_the_opposite(vector in vectors(64), power in -3_i32..4) {
            let longer: Vec<f32> = vector.iter().map(|c| c * 2.0_f32.powi(power)).collect();
            let opposite: Vec<f32> = vector.iter().map(|c| -c).collect();
            let [one, longer, opposite] =
                [&vector, &longer, &opposite].map(|vector| Embedding::quantize(vector).unwrap());
            prop_assert_eq!(&one, &longer);
            prop_assert_eq!(one.dot(&opposite), -one.dot(&one));
        }

        #[test]
        fn bytes_come_back_as_they_were(vector in vectors(33)) {
            let quantized = Embedding::quantize(&vector).unwrap();
            let bytes = quantized.to_bytes();
            prop_assert_eq!(bytes.len(), 4 + 33);
            prop_assert_eq!(Embedding::from_bytes(&bytes), Ok(quantized));
        }

        #[test]
        fn the_integer_product_is_exact(pairs in proptest::collection::vec(any::<(i8, i8)>(), 0..600)) {
            let (left, right): (Vec<i8>, Vec<i8>) = pairs.iter().copied().unzip();
            let exact: i64 = pairs.iter().map(|(l, r)| i64::from(*l) * i64::from(*r)).sum();
            prop_assert_eq!(i64::from(dot_i8(&left, &right)), exact);
        }
    }

    #[test]
    fn the_encoding_is_the_documented_one() {
        let embedding = Embedding::quantize(&[1.0, -0.5, 0.0]).unwrap();
        assert_eq!(embedding.values(), [127, -64, 0]);
        // 1 / √(127² + 64²) = 0.0070316
        assert_eq!(embedding.to_bytes(), [0x3b, 0xe6, 0x69, 0x8d, 127, 0xc0, 0]);
    }

    #[test]
    fn the_largest_vectors_do_not_overflow() {
        let ends = [vec![127; MAX_DIMENSIONS], vec![-127; MAX_DIMENSIONS]];
        assert_eq!(dot_i8(&ends[0], &ends[1]), -66_064_384);
        assert_eq!(
            dot_i8(&vec![i8::MIN; 131_071], &vec![i8::MIN; 131_071]),
            2_147_467_264
        );
    }

    #[test]
    fn nothing_is_near_to_nothing() {
        let nothing = Embedding::quantize(&[0.0, -0.0, f32::MIN_POSITIVE / 2.0]).unwrap();
        assert!(nothing.is_zero());
        assert_eq!(nothing, Embedding::zero(3).unwrap());
        assert_eq!(nothing.dot(&Embedding::quantize(&[1.0, 0.0, 0.0]).unwrap()), 0.0);
        assert_eq!(Embedding::from_bytes(&nothing.to_bytes()), Ok(nothing));
    }

    #[test]
    fn vectors_of_different_encoders_are_not_alike() {
        let [short, long] = [&[1.0_f32][..], &[1.0, 0.0]].map(|vector| Embedding::quantize(vector).unwrap());
        assert_eq!(short.dot(&long), 0.0);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let dimensions = |given| Err(EncodeError::Dimensions { given });
        assert_eq!(Embedding::quantize(&[]), dimensions(0));
        assert_eq!(
            Embedding::zero(MAX_DIMENSIONS + 1),
            dimensions(MAX_DIMENSIONS + 1)
        );
        assert_eq!(
            Embedding::quantize(&[0.0, f32::NAN]),
            Err(EncodeError::NotFinite { index: 1 })
        );
        let unknown = |field, given| Err(DecodeError::Unknown { field, given });
        assert_eq!(
            Embedding::from_bytes(&[0; 3]),
            Err(DecodeError::Short { field: "scale" })
        );
        assert_eq!(Embedding::from_bytes(&[0; 4]), unknown("dimensions", 0));
        assert_eq!(
            Embedding::from_bytes(&[0, 0, 0, 0, 0x80]),
            unknown("component", 0x80)
        );
        assert_eq!(
            Embedding::from_bytes(&[0x3f, 0x80, 0, 0, 2]),
            unknown("scale", 0x3f80_0000)
        );
    }
}
