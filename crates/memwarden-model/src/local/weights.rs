//! Weights in a safetensors file: a length, a JSON header with the place of each tensor, and their bytes.
//!
//! The header is of others: every place and shape in it is compared with the file before anything is made of it.

use super::FileError;
use candle_core::{DType, Device, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes of a header; the format's own limit (Hugging Face, "Safetensors", format).
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// Bytes of the length before the header.
const LENGTH_BYTES: u64 = 8;

/// What a header says of one tensor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// A file of weights whose header holds what it says.
#[derive(Debug)]
pub(super) struct Weights {
    path: PathBuf,
    bytes: Vec<u8>,
    places: BTreeMap<String, Place>,
    /// Where the tensors' bytes begin.
    data: u64,
}

impl Weights {
    /// Reads a file.
    pub(super) fn open(path: &Path, brings: &'static str) -> Result<Self, FileError> {
        let bytes = super::files::read(path, brings)?;
        Self::read(path, bytes)
    }

    fn read(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        let (data, places) = header(path, &bytes)?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
            places,
            data,
        })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The whole file, when nothing more is wanted of it.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// A tensor, in single precision. Its shape must be `shape`.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, FileError> {
        let place = self.places.get(name).ok_or_else(|| FileError::Lacks {
            path: self.path.clone(),
            what: format!("the tensor `{name}`"),
        })?;
        let lies = |reason: String| FileError::Lies {
            path: self.path.clone(),
            what: format!("the tensor `{name}`"),
            reason,
        };
        if !place
            .shape
            .iter()
            .copied()
            .eq(shape.iter().map(|side| *side as u64))
        {
            return Err(lies(format!(
                "its shape is {:?}: expected {shape:?}",
                place.shape
            )));
        }
        let dtype = match place.dtype.as_str() {
            "F32" => DType::F32,
            "F16" => DType::F16,
            "BF16" => DType::BF16,
            other => {
                return Err(lies(format!(
                    "its numbers are `{other}`: expected F32, F16 or BF16"
                )));
            }
        };
        let at = |offset: u64| usize::try_from(self.data + offset).unwrap_or(usize::MAX);
        let (from, to) = place.data_offsets;
        let bytes = self.bytes.get(at(from)..at(to)).unwrap_or_default();
        Tensor::from_raw_buffer(bytes, dtype, shape, &Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(DType::F32))
            .map_err(|error| lies(error.to_string()))
    }
}

/// Names and shapes of the tensors in a safetensors file, `path` being what errors call it.
///
/// # Errors
/// [`FileError`] for whatever a header says that its file does not bear out.
pub fn read_header(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, Vec<u64>>, FileError> {
    let (_, places) = header(path, bytes)?;
    Ok(places
        .into_iter()
        .map(|(name, place)| (name, place.shape))
        .collect())
}

/// Where the data begins, and the places that a header tells.
fn header(path: &Path, bytes: &[u8]) -> Result<(u64, BTreeMap<String, Place>), FileError> {
    let size = bytes.len() as u64;
    let truncated = |what: &str, end: u64| FileError::Truncated {
        path: path.to_owned(),
        what: what.to_owned(),
        end,
        size,
    };
    let format = |reason: String| FileError::Format {
        path: path.to_owned(),
        expected: "safetensors",
        reason,
    };
    let length = bytes.first_chunk().copied().map(u64::from_le_bytes);
    let length = length.ok_or_else(|| truncated("the length of the header", LENGTH_BYTES))?;
    if length > MAX_HEADER_BYTES {
        return Err(format(format!(
            "its header would have {length} bytes, and may have {MAX_HEADER_BYTES}"
        )));
    }
    let data = LENGTH_BYTES + length;
    let text = usize::try_from(data)
        .ok()
        .and_then(|end| bytes.get(LENGTH_BYTES as usize..end))
        .ok_or_else(|| truncated("the header", data))?;
    let fields: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(text).map_err(|error| format(format!("its header is not JSON: {error}")))?;
    let mut places = BTreeMap::new();
    for (name, value) in fields {
        // What programs note about the file.
        if name == "__metadata__" {
            continue;
        }
        let shown = crate::endpoint::short(&name);
        let place = Place::deserialize(value)
            .map_err(|error| format(format!("its header says no place of `{shown}`: {error}")))?;
        let what = || format!("the tensor `{shown}`");
        let lies = |reason: String| FileError::Lies {
            path: path.to_owned(),
            what: what(),
            reason,
        };
        let (from, to) = place.data_offsets;
        let Some(held) = to.checked_sub(from) else {
            return Err(lies(format!("it begins at {from} and ends at {to}")));
        };
        match data.checked_add(to) {
            Some(end) if end <= size => {}
            end => return Err(truncated(&what(), end.unwrap_or(u64::MAX))),
        }
        if let Some(width) = width(&place.dtype) {
            let mut sides = place.shape.iter();
            let wanted = sides.try_fold(width, |product, side| product.checked_mul(*side));
            if wanted != Some(held) {
                return Err(lies(format!(
                    "a {} of shape {:?} does not have {held} bytes",
                    crate::endpoint::short(&place.dtype),
                    place.shape
                )));
            }
        }
        places.insert(name, place);
    }
    Ok((data, places))
}

/// Bytes of one number; unknown kinds are refused when they are wanted.
fn width(dtype: &str) -> Option<u64> {
    match dtype {
        "F64" | "I64" | "U64" => Some(8),
        "F32" | "I32" | "U32" => Some(4),
        "F16" | "BF16" | "I16" | "U16" => Some(2),
        "I8" | "U8" | "BOOL" => Some(1),
        _ => None,
    }
}
