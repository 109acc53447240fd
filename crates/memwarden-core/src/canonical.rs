//! When two spellings of a value count as one: the comparison of action parameters with what a person said.
//!
//! Text is normalized (NFKC) and split at white space. Punctuation around a token of a *text* may be part of
//! the sentence and is looked past; a *value* keeps its own, because `../key` is not `/key`. A point or comma in
//! front is never punctuation (`.5` is not `5`), and a digit that is raised, circled or a fraction stays what it
//! is (`10²` is not `102`). Purely alphabetic tokens are compared without case; a token with a digit in it keeps
//! its case, because account numbers and ids may differ by nothing else. A *number* also matches another spelling
//! of the same decimal (`10.50` and `10.5`), a *string* only its own (a version `10.0` is not `10`). Scripts are
//! never folded into each other, and invisible characters are kept, so look-alikes do not match.

use unicode_normalization::UnicodeNormalization as _;

/// A token of a canonical text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token {
    /// The token, normalized, without the punctuation around it.
    pub text: String,
    /// The token with the punctuation around it.
    whole: String,
    /// The same number in its shortest spelling, if it is a plain decimal.
    pub number: Option<String>,
}

/// A parameter's value in canonical form: what has to stand in a text for the text to mention it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CanonicalValue {
    /// Tokens that must stand next to each other.
    Words(Vec<String>),
    /// A number in its shortest spelling.
    Number(String),
}

impl CanonicalValue {
    /// The canonical form of text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::Words(words(text).map(|word| cased(&word)).collect())
    }

    /// Whether `text` as a whole says this value.
    ///
    /// ```
    /// use memwarden_core::CanonicalValue;
    /// assert!(CanonicalValue::of_number("12.5").is_said_by("12.50"));
    /// assert!(!CanonicalValue::of_text("12.5").is_said_by("12.50"));
    /// ```
    #[must_use]
    pub fn is_said_by(&self, text: &str) -> bool {
        match self {
            Self::Number(number) => shortest(text.trim()).as_ref() == Some(number),
            Self::Words(_) => *self == Self::of_text(text),
        }
    }

    /// The canonical form of a number, from its decimal spelling.
    #[must_use]
    pub fn of_number(decimal: &str) -> Self {
        Self::Number(shortest(decimal).unwrap_or_else(|| decimal.to_owned()))
    }

    /// A text that equal values share and others do not.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Words(words) => format!("w {}", words.join(" ")),
            Self::Number(number) => format!("n {number}"),
        }
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Words(words) if words.is_empty())
    }

    /// Whether `text` mentions it as a whole token sequence.
    ///
    /// ```
    /// use memwarden_core::{CanonicalValue, tokens};
    /// let said = tokens("Pay ACME Corp. the 10.50 EUR that are due in 2010");
    /// assert!(CanonicalValue::of_text("acme corp").stands_in(&said));
    /// assert!(CanonicalValue::of_number("10.5").stands_in(&said));
    /// assert!(!CanonicalValue::of_number("10").stands_in(&said));
    /// assert!(!CanonicalValue::of_text("АСМЕ Corp").stands_in(&said), "Cyrillic letters");
    /// ```
    #[must_use]
    pub fn stands_in(&self, text: &[Token]) -> bool {
        match self {
            Self::Number(number) => text.iter().any(|token| token.number.as_ref() == Some(number)),
            Self::Words(words) => {
                !words.is_empty()
                    && text
                        .windows(words.len())
                        .any(|window| window.iter().zip(words).all(|(token, word)| token.says(word)))
            }
        }
    }
}

impl Token {
    /// Whether it is `word`, with nothing but punctuation around it.
    fn says(&self, word: &str) -> bool {
        self.whole.match_indices(word).any(|(at, _)| {
            let before = self.whole.get(..at).unwrap_or_default();
            let after = self.whole.get(at + word.len()..).unwrap_or_default();
            before.chars().all(opens) && after.chars().all(closes)
        })
    }
}

/// The tokens of a text.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    words(text).filter_map(|word| token(&word)).collect()
}

fn token(word: &str) -> Option<Token> {
    let core = word.trim_start_matches(opens).trim_end_matches(closes);
    if core.is_empty() {
        return None;
    }
    Some(Token {
        number: shortest(core),
        text: cased(core),
        whole: cased(word),
    })
}

/// Words as they stand, normalized. A word with a digit that NFKC would turn into an ordinary one is only
/// composed.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().flat_map(|word| {
        let normalized: String = if word.chars().any(is_odd_digit) {
            word.nfc().collect()
        } else {
            word.nfkc().collect()
        };
        let parts: Vec<String> = normalized.split_whitespace().map(str::to_owned).collect();
        parts
    })
}

fn is_odd_digit(c: char) -> bool {
    c.is_numeric() && !c.is_ascii_digit() && !('\u{ff10}'..='\u{ff19}').contains(&c)
}

fn cased(word: &str) -> String {
    if word.chars().any(char::is_numeric) {
        word.to_owned()
    } else {
        word.to_lowercase()
    }
}

/// Punctuation in front of a word.
const fn opens(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '('
            | '['
            | '{'
            | '<'
            | '“'
            | '”'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '$'
            | '€'
            | '£'
            | '¥'
    )
}

/// Punctuation behind a word.
const fn closes(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '"'
            | '\''
            | '`'
            | ')'
            | ']'
            | '}'
            | '>'
            | '“'
            | '”'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '、'
            | '。'
            | '，'
            | '$'
            | '€'
            | '£'
            | '¥'
    )
}

/// The shortest spelling of a plain decimal: an optional sign, ASCII digits, at most one point. A leading
/// zero before another digit makes it a code, not a number.
fn shortest(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let code = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || !plain(whole) || !plain(fraction) || code || digits.ends_with('.') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        let sign = if whole == "0" { "" } else { sign };
        return Some(format!("{sign}{whole}"));
    }
    Some(format!("{sign}{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mentions(said: &str, value: &CanonicalValue) -> bool {
        value.stands_in(&tokens(said))
    }

    #[test]
    fn spellings_that_mean_the_same_match_and_others_never_do() {
        let text = CanonicalValue::of_text;
        let number = CanonicalValue::of_number;
        assert!(mentions("pay ＡＣＭＥ now", &text("acme")), "full-width letters");
        assert!(
            mentions("pay Zoe\u{308}!", &text("Zoë")),
            "composed and decomposed"
        );
        assert!(mentions("send $10.00 today", &number("10")));
        assert!(!mentions("since 2010", &number("10")));
        assert!(!mentions("order 10-20", &number("10")));
        assert!(
            !mentions("1,000 units", &number("1")),
            "a separator is not guessed at"
        );
        assert!(
            !mentions("account 0412", &number("412")),
            "a code is not a number"
        );
        assert!(!mentions("release 10.0", &text("10")));
        assert!(mentions("to account aB3x", &text("aB3x")));
        assert!(!mentions("to account ab3X", &text("aB3x")), "ids keep their case");
        assert!(
            !mentions("pay A\u{200b}CME", &text("ACME")),
            "invisible characters do not vanish"
        );
        assert!(!mentions("pay acme", &text("acme corp")));
        assert!(
            !mentions("anything", &text("  ")),
            "nothing is not mentioned everywhere"
        );
        assert!(mentions("pay \"ACME Corp.\" (today)", &text("acme corp.")));
        assert!(mentions("pay \"ACME Corp.\" (today)", &text("ACME Corp")));
        assert!(
            !mentions("read /etc/motd", &text("../etc/motd")),
            "a value keeps its points"
        );
        assert!(!mentions("commit to git", &text(".git")));
        assert!(
            !mentions("send .5 coins", &number("5")),
            "a point in front is no full stop"
        );
        assert!(!mentions("send ,5 coins", &number("5")));
        assert!(
            !mentions("send 10² coins", &number("102")),
            "a raised digit is no digit"
        );
        assert!(!mentions("row 10②", &text("102")));
    }

    proptest! {
        #[test]
        fn a_text_mentions_its_own_words(words in prop::collection::vec("[a-zA-Z0-9éж]{1,8}", 1..6)) {
            let said = words.join(" ");
            for word in &words {
                prop_assert!(mentions(&said, &CanonicalValue::of_text(word)));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            let value = CanonicalValue::of_text(&text);
            prop_assert!(value.is_said_by(&text));
            prop_assert!(!value.is_empty() || !mentions(&text, &value));
        }
    }
}
