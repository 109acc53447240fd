//! The encoder that a store has unless it is opened with another: the built-in one, read when first needed.

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

/// A static model (Model2Vec) in a directory of the user's own.
///
/// # Errors
/// A directory that does not hold one.
pub fn encoder_from(directory: &Path) -> Result<Arc<dyn Encode>, EncodeError> {
    Ok(Arc::new(StaticEncoder::load(directory)?))
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
