//! The tokenizer that a GGUF carries: byte-level BPE.
//!
//! Text is data. What a text says is never read as one of the model's control tokens (`<|im_end|>`): only the chat
//! template may place those ([`Vocabulary::encode_template`]), so a stored text cannot end its own message.

use super::files::FileError;
use super::gguf::{Gguf, shown};
use std::collections::{BTreeMap, HashMap};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{PreTokenizerWrapper, Tokenizer};

/// Token types of the format that are no text: control and unused.
const CONTROL: i64 = 3;
const UNUSED: i64 = 5;

/// Tokens that end a reply, besides the one that the file names.
const ENDS: [&str; 4] = ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>"];

/// Texts as tokens and back.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    tokenizer: Tokenizer,
    /// The bytes of each token; none for those that are no text.
    bytes: Vec<Vec<u8>>,
    controls: BTreeMap<String, u32>,
    ends: Vec<u32>,
    /// What stands before a text that nothing stands before.
    first: u32,
}

impl Vocabulary {
    /// From the metadata; `rows` is how many tokens the model's table has.
    pub(crate) fn read(file: &Gguf, rows: usize) -> Result<Self, FileError> {
        let wrong = |reason: String| FileError::Tokenizer {
            path: file.path().to_owned(),
            reason,
        };
        let model = file.text("tokenizer.ggml.model")?;
        if model != "gpt2" {
            return Err(wrong(format!(
                "it is of kind `{}`: expected byte-level BPE (`gpt2`)",
                shown(model)
            )));
        }
        let tokens = file.texts("tokenizer.ggml.tokens")?;
        let types = file.integers("tokenizer.ggml.token_type")?;
        if tokens.len() != rows || types.len() != rows {
            return Err(wrong(format!(
                "{} tokens and {} types for a model of {rows}",
                tokens.len(),
                types.len()
            )));
        }
        let mut ids = HashMap::with_capacity(rows);
        for (id, token) in (0_u32..).zip(tokens) {
            if ids.insert(token.as_str(), id).is_some() {
                return Err(wrong(format!("the token `{}` is there twice", shown(token))));
            }
        }
        let alphabet = alphabet();
        // Rarer bytes may be missing; what they spell is then left out, as everywhere where such a model runs.
        let is_needed = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
        let needed = alphabet.iter().filter(|(byte, _)| is_needed(byte));
        if let Some((byte, _)) = needed
            .into_iter()
            .find(|(_, letter)| !ids.contains_key(letter.as_str()))
        {
            return Err(wrong(format!("it has no token for the byte {byte:#04x}")));
        }
        let mut bytes = Vec::with_capacity(rows);
        let mut controls = BTreeMap::new();
        let back: HashMap<char, u8> = alphabet
            .iter()
            .filter_map(|(byte, letter)| Some((letter.chars().next()?, *byte)))
            .collect();
        for ((id, token), kind) in (0_u32..).zip(tokens).zip(types) {
            if *kind == CONTROL || *kind == UNUSED {
                if *kind == CONTROL && !token.is_empty() {
                    controls.insert(token.clone(), id);
                }
                bytes.push(Vec::new());
                continue;
            }
            let spelled: Option<Vec<u8>> = token.chars().map(|letter| back.get(&letter).copied()).collect();
            // A token that was added by hand is spelled as itself.
            bytes.push(spelled.unwrap_or_else(|| token.as_bytes().to_vec()));
        }
        let named = |key: &str| -> Result<Option<u32>, FileError> {
            if !file.says(key) {
                return Ok(None);
            }
            let id = file.integer(key, 0..=rows as u64 - 1)?;
            Ok(u32::try_from(id).ok())
        };
        let last = named("tokenizer.ggml.eos_token_id")?;
        let mut ends: Vec<u32> = ENDS
            .iter()
            .filter_map(|end| controls.get(*end).copied())
            .collect();
        ends.extend(last);
        ends.extend(named("tokenizer.ggml.eot_token_id")?);
        ends.sort_unstable();
        ends.dedup();
        let Some(first) = named("tokenizer.ggml.bos_token_id")?.or(last) else {
            return Err(file.lacks("tokenizer.ggml.bos_token_id"));
        };
        if file.says("tokenizer.ggml.add_bos_token") && file.flag("tokenizer.ggml.add_bos_token")? {
            return Err(wrong(
                "it puts a token before every text, which is not done here".to_owned(),
            ));
        }
        Ok(Self {
            tokenizer: bpe(file, tokens)?,
            bytes,
            controls,
            ends,
            first,
        })
    }

    /// The tokens of a text, none of which is a control token.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The tokens of a rendered template, whose control tokens are those of the model; `mark` is left out. What
    /// [`Vocabulary::escape`] has marked is text.
    pub(crate) fn encode_template(&self, rendered: &str, mark: char) -> Result<Vec<u32>, String> {
        let mut ids = Vec::new();
        let mut text = String::new();
        let mut rest = rendered;
        while !rest.is_empty() {
            // The longest one, so that none hides another that it begins.
            let control = self
                .controls
                .iter()
                .filter(|(control, _)| rest.starts_with(control.as_str()))
                .max_by_key(|(control, _)| control.len());
            if let Some((control, id)) = control {
                ids.extend(self.encode(&text)?);
                text.clear();
                ids.push(*id);
                rest = rest.get(control.len()..).unwrap_or_default();
            } else {
                let mut letters = rest.chars();
                text.extend(letters.next().filter(|letter| *letter != mark));
                rest = letters.as_str();
            }
        }
        ids.extend(self.encode(&text)?);
        Ok(ids)
    }

    /// The text with `mark` within every control token that it spells out.
    pub(crate) fn escape(&self, text: &str, mark: char) -> String {
        let mut escaped = text.to_owned();
        for control in self.controls.keys() {
            if escaped.contains(control.as_str()) {
                let mut letters = control.chars();
                let first: String = letters.next().into_iter().collect();
                escaped = escaped.replace(control.as_str(), &format!("{first}{mark}{}", letters.as_str()));
            }
        }
        escaped
    }

    /// The bytes of a token; none where it is no text or not there.
    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// The token as text; bytes that are no character of their own are shown as U+FFFD.
    pub(crate) fn text(&self, id: u32) -> String {
        String::from_utf8_lossy(self.bytes(id)).into_owned()
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a reply ends with it.
    pub(crate) fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// What stands before a text that nothing stands before.
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// The text of a control token by its key in the metadata.
    pub(crate) fn control(&self, file: &Gguf, key: &str) -> Option<String> {
        let tokens = file.texts("tokenizer.ggml.tokens").ok()?;
        let id = file.integer(key, 0..=self.len() as u64).ok()?;
        tokens.get(id).cloned()
    }
}

fn bpe(file: &Gguf, tokens: &[String]) -> Result<Tokenizer, FileError> {
    let wrong = |reason: String| FileError::Tokenizer {
        path: file.path().to_owned(),
        reason,
    };
    let mut merges = Vec::new();
    for merge in file.texts("tokenizer.ggml.merges")? {
        let Some((left, right)) = merge.split_once(' ') else {
            return Err(wrong(format!("the merge `{}` is no pair", shown(merge))));
        };
        merges.push((left.to_owned(), right.to_owned()));
    }
    let vocabulary: Vocab = tokens.iter().cloned().zip(0..).collect();
    let bpe = BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .build()
        .map_err(|error| wrong(shown(&error.to_string())))?;
    let bytes = PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, false, true));
    let split = match file.text("tokenizer.ggml.pre")? {
        "smollm" => vec![PreTokenizerWrapper::Digits(Digits::new(true)), bytes],
        "gpt-2" | "gpt2" | "default" => vec![bytes],
        other => {
            return Err(wrong(format!(
                "it splits text as `{}`: expected `smollm` or `gpt-2`",
                shown(other)
            )));
        }
    };
    let mut tokenizer = Tokenizer::new(bpe);
    tokenizer.with_pre_tokenizer(Some(Sequence::new(split)));
    Ok(tokenizer)
}

/// The letter that stands for each byte in byte-level BPE (Radford et al. 2019, `bytes_to_unicode` of GPT-2).
fn alphabet() -> Vec<(u8, String)> {
    let is_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut next = 0x100_u32;
    (0..=u8::MAX)
        .map(|byte| {
            let code = if is_itself(byte) {
                u32::from(byte)
            } else {
                next += 1;
                next - 1
            };
            (byte, char::from_u32(code).into_iter().collect())
        })
        .collect()
}
