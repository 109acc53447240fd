//! Counting tokens where the provider does not: by the model's own tokenizer where it is known, and said so where
//! it is not.
//!
//! Text is counted in pieces of at most [`PIECE_BYTES`], because the tokenizer's expressions need a stack as deep as
//! the longest run of blanks, and its merging more than linear time in the longest word. Where a piece ends after a
//! word, which is where every one of these tokenizers ends a token, the count is that of the whole text. A text that has
//! no such place within half a piece is cut anyway; each such cut may add a token or two, and the count is marked as
//! approximated.

use memwarden_core::model::{Usage, UsageSource};
use std::fmt;
use tiktoken_rs::CoreBPE;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

/// What each message of a chat adds to its texts and its speaker, and what primes the reply: the shape that OpenAI
/// documents for its chat models ("How to count tokens with tiktoken").
pub const TOKENS_PER_MESSAGE: u64 = 3;
/// What primes the reply of a chat.
pub const TOKENS_PER_REPLY: u64 = 3;

/// The most text of one call that is counted, in bytes: some million tokens, more than models read. Each text counts
/// for 32 bytes more, so that many short ones come to an end too.
pub const MAX_COUNTED_BYTES: usize = 4 << 20;
/// What a text costs of [`MAX_COUNTED_BYTES`] besides its bytes.
const TEXT_BYTES: usize = 32;
/// The longest text that the tokenizer gets at once.
const PIECE_BYTES: usize = 16 << 10;

/// What a call asks for, as far as counting goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A prompt and a reply.
    Reply,
    /// What a model makes of given texts.
    Texts,
}

/// Counts the tokens of one call.
///
/// ```
/// use memwarden_model::{Counted, TokenCount};
/// let mut count = TokenCount::of("gpt-4o", Counted::Texts).unwrap();
/// count.prompt("hello world");
/// assert_eq!(count.usage().unwrap().prompt, 2);
/// // What a model thinks before it replies is charged, and nobody but its provider sees it.
/// assert!(TokenCount::of("o3-mini", Counted::Reply).is_none());
/// ```
pub struct TokenCount {
    bpe: &'static CoreBPE,
    name: &'static str,
    is_exact: bool,
    /// Bytes that may still be counted; nothing once there were more.
    left: Option<usize>,
    prompt: u64,
    completion: u64,
}

impl TokenCount {
    /// Begins to count for `model`; `None` where no count of texts says what is charged. The tokenizer of a model that
    /// is not known is taken to be o200k, and the count is marked as approximated.
    #[must_use]
    pub fn of(model: &str, counted: Counted) -> Option<Self> {
        if counted == Counted::Reply && is_reasoning(model) {
            return None;
        }
        let known = get_tokenizer(model);
        let (bpe, name) = match known {
            Some(Tokenizer::Cl100kBase) => (tiktoken_rs::cl100k_base_singleton(), "cl100k_base"),
            Some(Tokenizer::P50kBase) => (tiktoken_rs::p50k_base_singleton(), "p50k_base"),
            Some(Tokenizer::P50kEdit) => (tiktoken_rs::p50k_edit_singleton(), "p50k_edit"),
            Some(Tokenizer::R50kBase | Tokenizer::Gpt2) => (tiktoken_rs::r50k_base_singleton(), "r50k_base"),
            Some(Tokenizer::O200kHarmony) => (tiktoken_rs::o200k_harmony_singleton(), "o200k_harmony"),
            Some(Tokenizer::O200kBase) | None => (tiktoken_rs::o200k_base_singleton(), "o200k_base"),
        };
        Some(Self {
            bpe,
            name,
            is_exact: known.is_some(),
            left: Some(MAX_COUNTED_BYTES),
            prompt: 0,
            completion: 0,
        })
    }

    /// Adds a text that was sent.
    pub fn prompt(&mut self, text: &str) {
        self.prompt = self.prompt.saturating_add(self.tokens(text));
    }

    /// Adds tokens that were sent as such, or that the protocol puts around texts.
    pub fn prompt_tokens(&mut self, tokens: u64) {
        self.prompt = self.prompt.saturating_add(tokens);
    }

    /// Adds a text that came back.
    pub fn completion(&mut self, text: &str) {
        self.completion = self.completion.saturating_add(self.tokens(text));
    }

    /// Says that something was sent as text in a form that only the provider knows.
    pub const fn approximate(&mut self) {
        self.is_exact = false;
    }

    /// Whether there was more to count than is counted.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.left.is_none()
    }

    /// The count; `None` where there was too much to count.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.left?;
        let tokenizer = self.name.to_owned();
        let source = if self.is_exact {
            UsageSource::Counted { tokenizer }
        } else {
            UsageSource::Approximated { tokenizer }
        };
        Some(Usage {
            prompt: self.prompt,
            completion: self.completion,
            source,
        })
    }

    fn tokens(&mut self, text: &str) -> u64 {
        let cost = text.len().saturating_add(TEXT_BYTES);
        self.left = self.left.and_then(|left| left.checked_sub(cost));
        if self.left.is_none() {
            return 0;
        }
        let (mut tokens, mut rest) = (0, text);
        while !rest.is_empty() {
            let (piece, after, cut) = first_piece(rest, PIECE_BYTES);
            self.is_exact &= cut == Cut::AfterWord;
            tokens += self.bpe.encode_ordinary(piece).len() as u64;
            rest = after;
        }
        tokens
    }
}

impl fmt::Debug for TokenCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the tokenizer itself, which is megabytes.
        f.debug_struct("TokenCount")
            .field("tokenizer", &self.name)
            .field("prompt", &self.prompt)
            .field("completion", &self.completion)
            .finish_non_exhaustive()
    }
}

/// Whether a model is known to think in tokens that it charges and does not show.
fn is_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let numbered = name
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered
        || ["gpt-5", "gpt-oss", "codex"]
            .iter()
            .any(|begin| name.starts_with(begin))
}

/// How a piece ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Where any of the tokenizers ends a token, or at the end of the text.
    AfterWord,
    /// Perhaps within a token.
    Anywhere,
}

/// The text up to a place at most `longest` bytes in, and what follows.
fn first_piece(text: &str, longest: usize) -> (&str, &str, Cut) {
    if text.len() <= longest {
        return (text, "", Cut::AfterWord);
    }
    let (head, tail) = text.split_at(text.floor_char_boundary(longest));
    let mut after = tail.chars().next();
    for (at, before) in head.char_indices().rev().take_while(|(at, _)| *at > longest / 2) {
        if after.is_some_and(|after| ends_word(before, after)) {
            let (piece, rest) = text.split_at(at + before.len_utf8());
            return (piece, rest, Cut::AfterWord);
        }
        after = Some(before);
    }
    (head, tail, Cut::Anywhere)
}

/// Letters and digits are taken as many as there are; what is neither and no apostrophe begins another match in all of
/// these tokenizers, whatever comes after it. Only letters that all of them take for one.
fn ends_word(before: char, after: char) -> bool {
    let is_of_word = before.is_ascii_alphanumeric()
        || matches!(before, 'α'..='ω' | 'А'..='я' | 'ぁ'..='ん' | '\u{3400}'..='\u{9fff}' | '가'..='힣');
    let is_after =
        after.is_whitespace() || (after.is_ascii_punctuation() && after != '\'') || "，。、".contains(after);
    is_of_word && is_after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str, text: &str) -> Option<Usage> {
        let mut count = TokenCount::of(model, Counted::Texts).unwrap();
        count.prompt(text);
        count.usage()
    }

    #[test]
    fn a_text_of_many_pieces_counts_as_the_whole() {
        let texts = [
            "The ward's invoice no. 4711 is due on the 25th; don't pay it twice.\n\n\t- see also: batch_0412/3 ".repeat(900),
            "fn main() {\n        let x = vec![1.5, 2, 30_000];\n}\n".repeat(900),
            "{\"id\": 12345678, \"text\": \"naïve café\", \"ok\": true},".repeat(900),
            "发票将于二十五日到期，请不要重复付款。".repeat(900),
            "Счёт должен быть оплачен до конца месяца, не дважды. ".repeat(900),
            "a                  b\n\n\n   \t c ".repeat(2_000),
        ];
        for model in ["gpt-4o", "gpt-4", "text-davinci-003", "davinci"] {
            for text in &texts {
                assert!(text.len() > 2 * PIECE_BYTES);
                let whole = TokenCount::of(model, Counted::Texts)
                    .unwrap()
                    .bpe
                    .encode_ordinary(text)
                    .len() as u64;
                let usage = usage(model, text).unwrap();
                assert!(matches!(usage.source, UsageSource::Counted { .. }), "{model}");
                assert_eq!(usage.prompt, whole, "{model}: {}", text.get(..40).unwrap_or(text));
            }
        }
    }

    #[test]
    fn what_overflows_the_tokenizer_as_a_whole_is_counted_in_pieces_and_marked() {
        for text in [
            " ".repeat(1_000_000) + "x",
            "\n".repeat(300_000) + "x",
            "a".repeat(300_000),
            "^".repeat(300_000),
            "好".repeat(100_000),
            "é".repeat(100_000),
        ] {
            for model in ["gpt-4o", "gpt-4", "davinci"] {
                let usage = usage(model, &text).unwrap();
                assert!(usage.prompt > 0);
                assert!(matches!(usage.source, UsageSource::Approximated { .. }));
            }
        }
    }

    #[test]
    fn more_than_is_counted_has_no_count() {
        let text = "word ".repeat(MAX_COUNTED_BYTES / 5 + 1);
        assert_eq!(usage("gpt-4o", &text), None);
        let mut count = TokenCount::of("gpt-4o", Counted::Texts).unwrap();
        let short = MAX_COUNTED_BYTES / TEXT_BYTES;
        for _ in 0..short {
            count.prompt("a");
        }
        assert!(count.is_over());
        count.prompt("");
        assert_eq!(count.usage(), None);
    }

    #[test]
    fn what_a_model_thinks_is_no_count_of_texts() {
        for model in [
            "o1",
            "o3-mini",
            "o4-mini-2025-04-16",
            "gpt-5",
            "gpt-5-nano",
            "openai/gpt-oss-20b",
            "ft:o3:x",
        ] {
            assert!(TokenCount::of(model, Counted::Reply).is_none(), "{model}");
            assert!(TokenCount::of(model, Counted::Texts).is_some(), "{model}");
        }
        for model in ["gpt-4o", "olmo-2", "gpt-4.1", "llama"] {
            assert!(TokenCount::of(model, Counted::Reply).is_some(), "{model}");
        }
    }
}
