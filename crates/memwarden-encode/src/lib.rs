//! The encoder that is built in: it needs no download, no model runtime and no network.
//!
//! A text is cut into the word pieces of BERT; each has a row in an embedded table; the vector of the text is the
//! weighted mean of its rows. `docs/encoder.md` says where the table comes from, and what such a mean can and
//! cannot tell apart: it finds what is about the same things, but not who did what to whom, nor whether it was
//! denied. Searching is the store's work, not this room's.

use memwarden_core::Digest;
use memwarden_core::encode::{Embedding, Encode, EncodeError, MAX_DIMENSIONS};
use model2vec_rs::model::StaticModel;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The name of the embedded encoder: method, teacher, dimensions, and the first 16 digits of the SHA-256 of its
/// table followed by its tokenizer. Another table has another name.
pub const EMBEDDED: &str = "static-minilm-l6-v2-256-ab18f8680e72bec9";

/// Components of its vectors.
pub const DIMENSIONS: usize = 256;

static TABLE: &[u8] = include_bytes!("../data/table.safetensors");
static TOKENIZER: &[u8] = include_bytes!("../data/tokenizer.json");
static CONFIG: &[u8] = br#"{"normalize":true}"#;

/// Up to so many bytes no text has more pieces than the library's shorter way takes.
const SHORT_BYTES: usize = 512;

static MODEL: LazyLock<Result<StaticModel, EncodeError>> = LazyLock::new(|| {
    StaticModel::from_bytes(TOKENIZER, TABLE, CONFIG, None).map_err(|error| EncodeError::Failed {
        encoder: EMBEDDED.to_owned(),
        reason: format!("{error:#}"),
    })
});

/// The embedded table and its tokenizer. Clones share both.
///
/// The same text has the same vector, bit for bit, alone or in a batch and on every machine: rows are added in
/// the order of the text. A text is read whole, whatever its length. Pieces without a row (and words of more than
/// 100 characters) count as absent; a text of nothing else, or an empty one, has the zero vector.
///
/// ```
/// use memwarden_core::encode::Encode as _;
/// use memwarden_encode::StaticEncoder;
/// let encoder = StaticEncoder::embedded()?;
/// let vectors = encoder.encode(&["The physician prescribed tablets.", "medicine", "football"])?;
/// assert!(vectors[0].dot(&vectors[1]) > vectors[0].dot(&vectors[2]));
/// # Ok::<(), memwarden_core::encode::EncodeError>(())
/// ```
#[derive(Clone)]
pub struct StaticEncoder {
    model: StaticModel,
    name: Arc<str>,
    dimensions: usize,
}

impl StaticEncoder {
    /// The encoder of this version. The first call reads the table; later ones share it.
    ///
    /// # Errors
    /// [`EncodeError::Failed`] if the embedded files do not belong together, which a test of this crate rules out.
    pub fn embedded() -> Result<Self, EncodeError> {
        match &*MODEL {
            Ok(model) => Ok(Self {
                model: model.clone(),
                name: Arc::from(EMBEDDED),
                dimensions: DIMENSIONS,
            }),
            Err(error) => Err(error.clone()),
        }
    }

    /// Another static model: `model.safetensors`, `tokenizer.json` and `config.json` of a directory, as Model2Vec
    /// writes them. Its name holds the first 16 digits of the SHA-256 of table and tokenizer.
    ///
    /// # Errors
    /// [`EncodeError::Failed`], which names the file.
    pub fn load(directory: &Path) -> Result<Self, EncodeError> {
        let failed = |reason: String| EncodeError::Failed {
            encoder: directory.display().to_string(),
            reason,
        };
        let read = |name: &str| {
            let path = directory.join(name);
            std::fs::read(&path).map_err(|error| failed(format!("`{name}`: {error}")))
        };
        let (table, tokenizer, config) = (
            read("model.safetensors")?,
            read("tokenizer.json")?,
            read("config.json")?,
        );
        let model = StaticModel::from_bytes(&tokenizer, &table, &config, None)
            .map_err(|error| failed(format!("{error:#}")))?;
        let dimensions = model.encode_single("a").len();
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(EncodeError::Dimensions { given: dimensions });
        }
        let digest = Digest::of(&[table, tokenizer].concat()).short();
        Ok(Self {
            model,
            name: format!("static-{dimensions}-{digest}").into(),
            dimensions,
        })
    }

    fn mean(&self, text: &str) -> Vec<f32> {
        if text.len() <= SHORT_BYTES {
            return self.model.encode_single(text);
        }
        let whole = None;
        let means = self.model.encode_with_args(&[text.to_owned()], whole, 1);
        means.into_iter().next().unwrap_or_default()
    }
}

impl Encode for StaticEncoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        texts
            .iter()
            .map(|text| Embedding::quantize(&self.mean(text)))
            .collect()
    }

    fn encode_query(&self, text: &str) -> Result<Vec<f32>, EncodeError> {
        Ok(self.mean(text))
    }
}

impl fmt::Debug for StaticEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticEncoder({})", self.name)
    }
}
