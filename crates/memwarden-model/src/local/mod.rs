//! Models whose files lie on this machine, run on its processor.
//!
//! Nothing is fetched from anywhere. Only this room knows the tensor library; what leaves it are the abilities of
//! `memwarden-core`, inside [`Metered`](crate::Metered).
//!
//! `files` is what can be wrong with them · `weights` reads safetensors, `pieces` a tokenizer · `kernel` is the
//! arithmetic, `layers` what is built of it · `bert` with `sentence` is the encoder (`onnx` in place of `bert` where that is built in), `deberta` with `entail` the judge.

mod bert;
mod deberta;
mod entail;
mod files;
mod gguf;
mod grammar;
mod kernel;
mod language;
mod layers;
mod llama;
#[cfg(feature = "onnx")]
mod onnx;
mod pieces;
mod sampling;
mod sentence;
mod template;
mod vocabulary;
mod weights;

pub use files::FileError;
pub use gguf::{Gguf, MAX_GGUF_BYTES};
pub use language::LanguageModel;
pub use weights::read_header;

use crate::{Meter, Metered, MeteredEncoder};
use entail::EntailmentModel;
use memwarden_core::model::Purpose;
use sentence::SentenceEncoder;
use std::path::Path;
use std::sync::Arc;

impl Metered {
    /// A sentence encoder of the BERT family from the files in `directory`: `config.json`, `model.safetensors` and
    /// `tokenizer.json`. Each text is spent on `purpose`. Where the build feature `onnx` is on and there is a `model.onnx`
    /// too, an ONNX Runtime of the machine runs that.
    ///
    /// # Errors
    /// [`FileError`], which names the file; where one is missing, it says what brings it.
    pub fn sentence_encoder(
        directory: &Path,
        purpose: Purpose,
        meter: Arc<Meter>,
    ) -> Result<MeteredEncoder, FileError> {
        let encoder = SentenceEncoder::open(directory)?;
        let (name, dimensions) = (encoder.name().to_owned(), encoder.dimensions());
        let metered = Self::of(Arc::new(encoder), meter);
        Ok(metered.encoder_named(name, purpose, dimensions))
    }

    /// An entailment model (DeBERTa v3 for sequence classification) from the files in `directory`: `config.json`,
    /// `model.safetensors` and `tokenizer.json`. It can do nothing else.
    ///
    /// # Errors
    /// [`FileError`], which names the file.
    pub fn entailment(directory: &Path, meter: Arc<Meter>) -> Result<Self, FileError> {
        Ok(Self::of(Arc::new(EntailmentModel::open(directory)?), meter))
    }
}
