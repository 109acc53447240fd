//! GGUF, the file format of language models: what it says of the model, and where each tensor lies.
//!
//! Versions 2 and 3, little-endian, by the specification in `ggml-org/ggml` (`docs/gguf.md`). This room reads and checks;
//! it computes nothing and knows no architecture.

use super::files::FileError;
use memwarden_core::Digest;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What these files are called in errors.
const FORMAT: &str = "GGUF";

/// The longest file that is read: it is held in memory, and four bytes a weight may come on top.
pub const MAX_GGUF_BYTES: u64 = 4 << 30;

/// The most dimensions of a tensor (`GGML_MAX_DIMS`).
const MAX_DIMENSIONS: u32 = 4;

/// Where tensors may begin, unless the file says otherwise (`general.alignment`).
const DEFAULT_ALIGNMENT: u64 = 32;

/// A file whose every length has been checked.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    bytes: Vec<u8>,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, TensorEntry>,
}

/// One value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    /// Any other array, of which nothing is needed but integers.
    Integers(Vec<i64>),
    /// Floats or truth values: not needed.
    Other,
}

/// How the numbers of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl Kind {
    const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            10 => Self::Q2K,
            11 => Self::Q3K,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// Numbers and bytes of a block.
    const fn block(self) -> (u64, u64) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (256, 84),
            Self::Q3K => (256, 110),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
        }
    }
}

/// Where a tensor lies.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TensorEntry {
    kind: Kind,
    /// The slowest first, as tensors are written everywhere but in this format.
    shape: Vec<usize>,
    place: Range<usize>,
}

/// A tensor as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawTensor<'a> {
    pub(crate) kind: Kind,
    pub(crate) shape: &'a [usize],
    pub(crate) bytes: &'a [u8],
}

impl Gguf {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is longer than [`MAX_GGUF_BYTES`], or is not what it says.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let io = |source| FileError::Io {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(io)?;
        let about = file.metadata().map_err(io)?;
        let size = about.len();
        if !about.is_file() || size > MAX_GGUF_BYTES {
            return Err(FileError::Format {
                path: path.to_owned(),
                expected: FORMAT,
                reason: format!("expected a file of at most {MAX_GGUF_BYTES} bytes, found {size}"),
            });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(MAX_GGUF_BYTES).read_to_end(&mut bytes).map_err(io)?;
        Self::parse(path, bytes)
    }

    /// Reads the bytes of a file; `path` is for errors.
    ///
    /// # Errors
    /// They are not what they say.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, FileError> {
        let mut reader = Reader {
            path,
            bytes: &bytes,
            at: 0,
        };
        if reader.take(4, "the magic number")? != b"GGUF" {
            return Err(reader.format("it does not begin with `GGUF`"));
        }
        let version = reader.u32("the version")?;
        if !(2..=3).contains(&version) {
            return Err(reader.format(&format!("version {version}: expected 2 or 3, little-endian")));
        }
        let (tensor_count, value_count) = (
            reader.u64("the number of tensors")?,
            reader.u64("the number of values")?,
        );
        // A value takes at least 13 bytes and a tensor 24.
        reader.fits(value_count, 13, "the number of values")?;
        reader.fits(tensor_count, 24, "the number of tensors")?;
        let metadata = metadata(&mut reader, value_count)?;
        let tensors = tensors(&mut reader, &metadata, tensor_count)?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
            metadata,
            tensors,
        })
    }

    /// Where it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of model it says it is.
    ///
    /// # Errors
    /// It does not say.
    pub fn architecture(&self) -> Result<&str, FileError> {
        self.text("general.architecture")
    }

    /// Of all its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Numbers in all its tensors.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let sizes = self.tensors.values();
        sizes
            .map(|tensor| tensor.shape.iter().map(|size| *size as u64).product::<u64>())
            .fold(0, u64::saturating_add)
    }

    pub(crate) fn text(&self, key: &str) -> Result<&str, FileError> {
        match self.metadata.get(key) {
            Some(Value::Text(text)) => Ok(text),
            None => Err(self.lacks(key)),
            Some(_) => Err(self.lies(key, "expected a text")),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Result<&[String], FileError> {
        match self.metadata.get(key) {
            Some(Value::Texts(texts)) => Ok(texts),
            None => Err(self.lacks(key)),
            Some(_) => Err(self.lies(key, "expected a list of texts")),
        }
    }

    pub(crate) fn integers(&self, key: &str) -> Result<&[i64], FileError> {
        match self.metadata.get(key) {
            Some(Value::Integers(integers)) => Ok(integers),
            None => Err(self.lacks(key)),
            Some(_) => Err(self.lies(key, "expected a list of integers")),
        }
    }

    /// An integer from `allowed`.
    pub(crate) fn integer(
        &self,
        key: &str,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Result<usize, FileError> {
        let given = match self.metadata.get(key) {
            Some(Value::Unsigned(given)) => Some(*given),
            Some(Value::Signed(given)) => u64::try_from(*given).ok(),
            None => return Err(self.lacks(key)),
            Some(_) => None,
        };
        given
            .filter(|given| allowed.contains(given))
            .and_then(|given| usize::try_from(given).ok())
            .ok_or_else(|| {
                let (least, most) = allowed.into_inner();
                self.lies(key, &format!("expected an integer from {least} to {most}"))
            })
    }

    pub(crate) fn float(&self, key: &str) -> Result<f64, FileError> {
        match self.metadata.get(key) {
            Some(Value::Float(given)) if given.is_finite() => Ok(*given),
            None => Err(self.lacks(key)),
            Some(_) => Err(self.lies(key, "expected a finite number")),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool, FileError> {
        match self.metadata.get(key) {
            Some(Value::Bool(given)) => Ok(*given),
            None => Err(self.lacks(key)),
            Some(_) => Err(self.lies(key, "expected true or false")),
        }
    }

    pub(crate) fn says(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    pub(crate) fn has_tensor(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// A tensor, if it has just this shape.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<RawTensor<'_>, FileError> {
        let found = self.raw(name)?;
        if found.shape != shape {
            let reason = format!("shape {:?}: the metadata asks for {shape:?}", found.shape);
            return Err(self.lies(name, &reason));
        }
        Ok(found)
    }

    pub(crate) fn raw(&self, name: &str) -> Result<RawTensor<'_>, FileError> {
        let entry = self
            .tensors
            .get(name)
            .ok_or_else(|| self.lacks(&format!("the tensor `{name}`")))?;
        Ok(RawTensor {
            kind: entry.kind,
            shape: &entry.shape,
            bytes: self.bytes.get(entry.place.clone()).unwrap_or_default(),
        })
    }

    pub(crate) fn lies(&self, what: &str, reason: &str) -> FileError {
        FileError::Lies {
            path: self.path.clone(),
            what: format!("`{}`", shown(what)),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn lacks(&self, what: &str) -> FileError {
        FileError::Lacks {
            path: self.path.clone(),
            what: what.to_owned(),
        }
    }
}

fn metadata(reader: &mut Reader<'_>, count: u64) -> Result<BTreeMap<String, Value>, FileError> {
    let mut metadata = BTreeMap::new();
    for _ in 0..count {
        let key = reader.text("a key")?;
        let number = reader.u32(&format!("the type of `{key}`"))?;
        let value = reader.value(&key, number)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(reader.lies(&key, "it stands there twice"));
        }
    }
    Ok(metadata)
}

fn tensors(
    reader: &mut Reader<'_>,
    metadata: &BTreeMap<String, Value>,
    count: u64,
) -> Result<BTreeMap<String, TensorEntry>, FileError> {
    const ALIGNMENT: &str = "general.alignment";
    let alignment = match metadata.get(ALIGNMENT) {
        None => DEFAULT_ALIGNMENT,
        Some(Value::Unsigned(given)) if given.is_power_of_two() && (8..=1 << 16).contains(given) => *given,
        Some(_) => return Err(reader.lies(ALIGNMENT, "expected a power of two from 8 to 65536")),
    };
    let mut found = Vec::new();
    for _ in 0..count {
        let name = reader.text("the name of a tensor")?;
        let rank = reader.u32(&format!("the dimensions of `{name}`"))?;
        if !(1..=MAX_DIMENSIONS).contains(&rank) {
            let reason = format!("{rank} dimensions: expected 1 to {MAX_DIMENSIONS}");
            return Err(reader.lies(&name, &reason));
        }
        let mut sizes = Vec::new();
        for _ in 0..rank {
            sizes.push(reader.u64(&format!("the shape of `{name}`"))?);
        }
        let number = reader.u32(&format!("the type of `{name}`"))?;
        let offset = reader.u64(&format!("the place of `{name}`"))?;
        let Some(kind) = Kind::from_number(number) else {
            let reason = format!("its numbers are stored as type {number}, which is not read here");
            return Err(reader.lies(&name, &reason));
        };
        found.push((name, kind, sizes, offset));
    }
    let start = (reader.at as u64).next_multiple_of(alignment);
    let size = reader.bytes.len() as u64;
    let mut tensors = BTreeMap::new();
    for (name, kind, sizes, offset) in found {
        let (numbers, bytes) = kind.block();
        if sizes.first().is_none_or(|row| row % numbers != 0) {
            return Err(reader.lies(
                &name,
                &format!("shape {sizes:?}: rows come in blocks of {numbers}"),
            ));
        }
        if offset % alignment != 0 {
            let reason = format!("it begins at {offset}, which is no multiple of {alignment}");
            return Err(reader.lies(&name, &reason));
        }
        let length = sizes
            .iter()
            .try_fold(1_u64, |product, size| product.checked_mul(*size))
            .and_then(|count| (count / numbers).checked_mul(bytes))
            .ok_or_else(|| reader.lies(&name, &format!("shape {sizes:?}: more than can be counted")))?;
        let begin = start.saturating_add(offset);
        let end = begin.saturating_add(length);
        if end > size {
            return Err(FileError::Truncated {
                path: reader.path.to_owned(),
                what: format!("the tensor `{}`", shown(&name)),
                end,
                size,
            });
        }
        // Both are at most the length of a slice.
        let place = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        let shape = sizes.iter().rev().map(|size| usize::try_from(*size).unwrap_or(0));
        let entry = TensorEntry {
            kind,
            shape: shape.collect(),
            place,
        };
        if tensors.insert(name.clone(), entry).is_some() {
            return Err(reader.lies(&name, "there are two of it"));
        }
    }
    Ok(tensors)
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8], FileError> {
        let end = (self.at as u64).saturating_add(length);
        let taken = usize::try_from(end)
            .ok()
            .and_then(|to| self.bytes.get(self.at..to));
        let taken = taken.ok_or_else(|| FileError::Truncated {
            path: self.path.to_owned(),
            what: shown(what),
            end,
            size: self.bytes.len() as u64,
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], FileError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    fn u32(&mut self, what: &str) -> Result<u32, FileError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, FileError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    fn text(&mut self, what: &str) -> Result<String, FileError> {
        let length = self.u64(what)?;
        let bytes = self.take(length, what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.lies(what, "it is not UTF-8"))
    }

    /// Whether `count` things of at least `least` bytes may follow.
    fn fits(&self, count: u64, least: u64, what: &str) -> Result<(), FileError> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left / least {
            let reason = format!("{count}, but only {left} bytes follow");
            return Err(self.lies(what, &reason));
        }
        Ok(())
    }

    fn value(&mut self, key: &str, kind: u32) -> Result<Value, FileError> {
        Ok(match kind {
            8 => Value::Text(self.text(key)?),
            9 => self.list(key)?,
            _ => self.number(key, kind)?,
        })
    }

    fn number(&mut self, key: &str, kind: u32) -> Result<Value, FileError> {
        Ok(match kind {
            0 => Value::Unsigned(u64::from(u8::from_le_bytes(self.array(key)?))),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.array(key)?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.array(key)?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.array(key)?))),
            4 => Value::Unsigned(u64::from(self.u32(key)?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.array(key)?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.array(key)?))),
            7 => match self.array::<1>(key)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                [other] => return Err(self.lies(key, &format!("{other} is neither true nor false"))),
            },
            10 => Value::Unsigned(self.u64(key)?),
            11 => Value::Signed(i64::from_le_bytes(self.array(key)?)),
            12 => Value::Float(f64::from_le_bytes(self.array(key)?)),
            _ => return Err(self.lies(key, &format!("its type is {kind}: expected 0 to 12"))),
        })
    }

    fn list(&mut self, key: &str) -> Result<Value, FileError> {
        let kind = self.u32(key)?;
        let count = self.u64(key)?;
        let least = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            _ => return Err(self.lies(key, &format!("a list of type {kind}: expected numbers or texts"))),
        };
        self.fits(count, least, key)?;
        if kind == 8 {
            let texts: Result<_, _> = (0..count).map(|_| self.text(key)).collect();
            return Ok(Value::Texts(texts?));
        }
        let mut integers = Vec::new();
        for _ in 0..count {
            match self.number(key, kind)? {
                Value::Signed(number) => integers.push(number),
                Value::Unsigned(number) => integers.push(i64::try_from(number).unwrap_or(i64::MAX)),
                _ => {}
            }
        }
        Ok(if integers.len() as u64 == count {
            Value::Integers(integers)
        } else {
            Value::Other
        })
    }

    fn lies(&self, what: &str, reason: &str) -> FileError {
        FileError::Lies {
            path: self.path.to_owned(),
            what: format!("`{}`", shown(what)),
            reason: reason.to_owned(),
        }
    }

    fn format(&self, reason: &str) -> FileError {
        FileError::Format {
            path: self.path.to_owned(),
            expected: FORMAT,
            reason: reason.to_owned(),
        }
    }
}

/// Text of a file within an error: short, and nothing that moves a cursor.
pub(super) fn shown(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(120)
        .collect()
}
