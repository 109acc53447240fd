//! A sentence encoder's states from `model.onnx`, by an ONNX Runtime that is installed on the machine.
//!
//! Faster than the pass of our own, and other bits: vectors of the two are never compared. Each window of a text goes
//! through alone and unpadded, so that a vector does not depend on what else is in a batch.

use super::FileError;
use ort::environment::Environment;
use ort::session::Session;
use ort::value::Tensor;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The environment variable that names the library, as the crate `ort` has it.
const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// What the system's own search is asked for where the variable names nothing.
const LIBRARY: &str = "libonnxruntime.so";

/// The runtime, loaded once in a process.
static ENVIRONMENT: OnceLock<Result<Environment, String>> = OnceLock::new();

/// A model in an ONNX Runtime.
#[derive(Debug)]
pub(super) struct Onnx {
    session: Mutex<Session>,
    /// Whether the model asks of which text a piece is.
    kinds: bool,
}

impl Onnx {
    /// Reads a file.
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let format = |reason: String| FileError::Format {
            path: path.to_owned(),
            expected: "ONNX",
            reason: crate::endpoint::short(&reason),
        };
        let environment = environment().map_err(|reason| FileError::Runtime {
            path: path.to_owned(),
            reason: crate::endpoint::short(&reason),
        })?;
        let session = Session::builder(environment)
            .map_err(|error| format(error.to_string()))?
            .commit_from_file(path)
            .map_err(|error| format(error.to_string()))?;
        let asks = |name: &str| session.inputs().iter().any(|input| input.name() == name);
        for name in ["input_ids", "attention_mask"] {
            if !asks(name) {
                return Err(FileError::Lacks {
                    path: path.to_owned(),
                    what: format!("the input `{name}`"),
                });
            }
        }
        Ok(Self {
            kinds: asks("token_type_ids"),
            session: Mutex::new(session),
        })
    }

    /// The last states of one text, row by row.
    pub(super) fn states(&self, pieces: &[u32]) -> Result<Vec<f32>, String> {
        let row = |value: &dyn Fn(u32) -> i64| {
            let row: Vec<i64> = pieces.iter().map(|piece| value(*piece)).collect();
            Tensor::from_array(([1, row.len()], row)).map_err(|error| error.to_string())
        };
        let mut inputs = ort::inputs![
            "input_ids" => row(&|piece| i64::from(piece))?,
            "attention_mask" => row(&|_| 1)?,
        ];
        if self.kinds {
            inputs.extend(ort::inputs!["token_type_ids" => row(&|_| 0)?]);
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(inputs).map_err(|error| error.to_string())?;
        let first = outputs.values().next().ok_or("the model has no output")?;
        let (_, states) = first
            .try_extract_tensor::<f32>()
            .map_err(|error| error.to_string())?;
        Ok(states.to_vec())
    }
}

fn environment() -> Result<&'static Environment, String> {
    let loaded = ENVIRONMENT.get_or_init(|| {
        let named = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
        let path = named.unwrap_or_else(|| LIBRARY.into());
        let builder = ort::init_from(path).map_err(|error| error.to_string())?;
        builder.build().map_err(|error| error.to_string())
    });
    loaded.as_ref().map_err(Clone::clone)
}
