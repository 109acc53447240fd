//! What can be wrong with the files of a model. Bytes of others: every length in them is checked against the file
//! before anything is reserved for it.

use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A model that cannot be read from its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    #[error("`{}` does not exist; {brings}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What brings such a file.
        brings: &'static str,
    },
    /// The file cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no runtime to run the file with.
    #[cfg(feature = "onnx")]
    #[error(
        "`{}` needs an ONNX Runtime, and none can be loaded: {reason}; the PyPI package `onnxruntime` brings \
         `onnxruntime/capi/libonnxruntime.so.*`: name that file with ORT_DYLIB_PATH",
        path.display()
    )]
    Runtime {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The file is of another format.
    #[error("`{}` is no {expected} file: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format that was expected.
        expected: &'static str,
        /// What it has instead.
        reason: String,
    },
    /// The file ends before what it says it holds.
    #[error("`{}` is cut off: {what} would end at byte {end}, the file at {size}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
        /// Where it would end.
        end: u64,
        /// Where the file ends.
        size: u64,
    },
    /// A length, count or shape that cannot be true.
    #[error("`{}` says of {what} what cannot be: {reason}", path.display())]
    Lies {
        /// The file.
        path: PathBuf,
        /// The field or tensor.
        what: String,
        /// What it says, and what it may.
        reason: String,
    },
    /// Something that the model needs is not in its files.
    #[error("`{}` lacks {what}", path.display())]
    Lacks {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A model of a kind that is not run here.
    #[error("`{}` holds a model of architecture `{found}`: expected {expected}", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What can be run.
        expected: &'static str,
    },
    /// The tokenizer is not that of the model.
    #[error("the tokenizer in `{}` does not match the model: {reason}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What does not agree.
        reason: String,
    },
}

/// Reads a file whole. Where there is none, the error says what brings it.
pub(super) fn read(path: &Path, brings: &'static str) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|source| {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::NotFound => FileError::Missing { path, brings },
            _ => FileError::Io { path, source },
        }
    })
}

/// Reads a JSON file as `T`.
pub(super) fn read_json<T: DeserializeOwned>(
    path: &Path,
    brings: &'static str,
) -> Result<(T, Vec<u8>), FileError> {
    let bytes = read(path, brings)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| FileError::Format {
        path: path.to_owned(),
        expected: "configuration",
        reason: error.to_string(),
    })?;
    Ok((value, bytes))
}
