//! The encoder that a store has unless it is opened with another: the built-in one, read when first needed. The
//! encoders that lie in directories of the user's own. And an entry's vector, computed once for whoever asks for it.

use crate::models::{ModelKind, ModelsError};
use memwarden_core::encode::{Embedding, Encode, EncodeError};
use memwarden_encode::{EMBEDDED, StaticEncoder};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// The vector of an entry as it is kept: of its subject and its content, like its words. A stage that looks for what is
/// stored near the entry, the row that is written and every further try at it share one computation.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    encoder: Option<&'a Arc<dyn Encode>>,
    subject: Option<&'a str>,
    /// By content: an entry may be rewritten, and then there are two.
    known: RefCell<Vec<(String, Embedding)>>,
}

impl<'a> Encoded<'a> {
    /// Of an entry with this subject. Without an encoder, nothing has a vector.
    pub(crate) const fn new(encoder: Option<&'a Arc<dyn Encode>>, subject: Option<&'a str>) -> Self {
        Self {
            encoder,
            subject,
            known: RefCell::new(Vec::new()),
        }
    }

    /// The vector with this content, and the encoder's name.
    pub(crate) fn of(&self, content: &str) -> Result<Option<(&'a str, Embedding)>, EncodeError> {
        let Some(encoder) = self.encoder else {
            return Ok(None);
        };
        let known = self
            .known
            .borrow()
            .iter()
            .find(|(text, _)| text == content)
            .cloned();
        if let Some((_, embedding)) = known {
            return Ok(Some((encoder.name(), embedding)));
        }
        let with_subject = self.subject.map(|subject| format!("{subject}\n{content}"));
        let encoded = encoder.encode(&[with_subject.as_deref().unwrap_or(content)])?;
        let Some(embedding) = encoded.into_iter().next() else {
            return Ok(None);
        };
        self.known
            .borrow_mut()
            .push((content.to_owned(), embedding.clone()));
        Ok(Some((encoder.name(), embedding)))
    }
}

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
