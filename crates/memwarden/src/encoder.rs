//! The encoder that a store has unless it is opened with another: the built-in one, read when first needed. And the
//! encoders that lie in directories of the user's own.

use crate::models::{ModelKind, ModelsError};
use memwarden_core::encode::{Embedding, Encode, EncodeError};
use memwarden_encode::{EMBEDDED, StaticEncoder};
use std::path::Path;
use std::sync::Arc;

/// The built-in encoder. Its table is read by the first text: a command that neither writes nor looks for text
/// does not pay for it.
#[must_use]
pub fn built_in_encoder() -> Arc<dyn Encode> {
    Arc::new(BuiltIn)
}

/// An encoder in a directory of the user's own: a static model (Model2Vec), or a sentence encoder of the BERT family,
/// for which the build feature `models` is needed.
///
/// # Errors
/// A directory that does not hold one.
pub fn encoder_from(directory: &Path) -> Result<Arc<dyn Encode>, ModelsError> {
    match ModelKind::of(directory)? {
        ModelKind::Static => Ok(Arc::new(StaticEncoder::load(directory)?)),
        ModelKind::Sentence => sentence_encoder(directory),
        kind => Err(ModelsError::OtherKind {
            path: directory.to_owned(),
            kind,
            expected: "an encoder",
        }),
    }
}

/// What the texts of a sentence encoder are spent on in its meter.
#[cfg(feature = "models")]
const PURPOSE: &str = "encode";

#[cfg(feature = "models")]
fn sentence_encoder(directory: &Path) -> Result<Arc<dyn Encode>, ModelsError> {
    use memwarden_model::{Meter, Metered, Prices};

    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let purpose = PURPOSE.parse().map_err(|error| ModelsError::Failed {
        model: directory.display().to_string(),
        reason: format!("{error}"),
    })?;
    Ok(Arc::new(Metered::sentence_encoder(directory, purpose, meter)?))
}

#[cfg(not(feature = "models"))]
fn sentence_encoder(_: &Path) -> Result<Arc<dyn Encode>, ModelsError> {
    Err(ModelsError::NotBuilt {
        kind: ModelKind::Sentence,
    })
}

#[derive(Debug)]
struct BuiltIn;

impl Encode for BuiltIn {
    fn name(&self) -> &str {
        EMBEDDED
    }

    fn dimensions(&self) -> usize {
        memwarden_encode::DIMENSIONS
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        StaticEncoder::embedded()?.encode(texts)
    }

    fn encode_query(&self, text: &str) -> Result<Vec<f32>, EncodeError> {
        StaticEncoder::embedded()?.encode_query(text)
    }
}
