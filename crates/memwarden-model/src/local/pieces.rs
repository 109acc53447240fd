//! Texts cut into the pieces that a model knows, by the `tokenizer.json` beside its weights.

use super::FileError;
use super::files::read;
use std::path::Path;
use tokenizers::Tokenizer;

/// A tokenizer that fits its model.
///
/// Limits and padding that the file asks for are left out: what is too long is the caller's business. Markers like
/// `[SEP]` that are written out in a text are text, so that no memory can end a sentence early.
#[derive(Debug)]
pub(super) struct Pieces {
    tokenizer: Tokenizer,
    name: String,
    /// What stands before a text.
    pub(super) start: u32,
    /// What stands after it.
    pub(super) end: u32,
}

impl Pieces {
    /// Reads `tokenizer.json`, whose pieces must be among `rows` rows of an embedding. Its bytes come with it.
    pub(super) fn open(
        directory: &Path,
        rows: usize,
        brings: &'static str,
    ) -> Result<(Self, Vec<u8>), FileError> {
        let path = directory.join("tokenizer.json");
        let bytes = read(&path, brings)?;
        let wrong = |reason: String| FileError::Tokenizer {
            path: path.clone(),
            reason,
        };
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| FileError::Format {
            path: path.clone(),
            expected: "tokenizer",
            reason: crate::endpoint::short(&error.to_string()),
        })?;
        tokenizer
            .with_truncation(None)
            .map_err(|error| wrong(error.to_string()))?;
        tokenizer.with_padding(None);
        tokenizer.set_encode_special_tokens(true);
        let vocabulary = tokenizer.get_vocab(true);
        if let Some((piece, id)) = vocabulary.iter().max_by_key(|(_, id)| **id)
            && *id as usize >= rows
        {
            let piece = crate::endpoint::short(piece);
            return Err(wrong(format!(
                "its piece `{piece}` is number {id}, and the embedding has {rows} rows"
            )));
        }
        let marker = |name: &str| {
            let found = tokenizer.token_to_id(name);
            found.ok_or_else(|| wrong(format!("it lacks the marker `{name}`")))
        };
        let (start, end) = (marker("[CLS]")?, marker("[SEP]")?);
        let name = directory.display().to_string();
        Ok((
            Self {
                tokenizer,
                name,
                start,
                end,
            },
            bytes,
        ))
    }

    /// The pieces of a text, without markers around it.
    pub(super) fn cut(&self, text: &str) -> Result<Vec<u32>, String> {
        self.tokenizer
            .encode_fast(text, false)
            .map(|pieces| pieces.get_ids().to_vec())
            .map_err(|error| format!("the tokenizer of `{}` failed: {error}", self.name))
    }
}
