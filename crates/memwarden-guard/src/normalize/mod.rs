//! What a text says once its disguise is taken off: the views that patterns are matched on.
//!
//! For: matching. The *first view* is the text in lower case and NFKC (UAX #15), without invisible characters and
//! with look-alike letters of mixed-script words folded to ASCII (UTS #39); further views hold what was spelled
//! out, encoded or hidden in it. Not for: storing; the stored text is never touched, and every span points into it.
//! It knows no policy: whether a finding in a view matters is not decided here.
//!
//! Plain ASCII skips all of Unicode. Time and the total size of the views are linear in the text.

mod controls;
mod offsets;

pub use controls::{Controls, Tally};

use offsets::Offsets;
use std::borrow::Cow;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// How often encodings within encodings are taken off.
pub const MAX_DEPTH: u8 = 3;

/// A text as patterns should see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized<'t> {
    source: &'t str,
    text: Cow<'t, str>,
    offsets: Offsets,
    controls: Controls,
    views: Vec<View>,
}

/// A second reading of a part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// What was undone.
    pub kind: ViewKind,
    /// What it then says, normalized as the first view is.
    pub text: String,
    /// The part of the original text, in bytes, on character boundaries.
    pub span: Range<usize>,
    /// How many layers were taken off, 1 to [`MAX_DEPTH`].
    pub depth: u8,
}

/// What was undone to get a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ViewKind {
    /// Words written with something between their letters: `i g n o r e`, `ig.nore`.
    Unsplit,
    /// Digits and signs in place of letters: `1gn0r3`.
    Leet,
    /// Base64, standard or URL-safe, padded or not, on one line or several.
    Base64,
    /// `%69`.
    Percent,
    /// `69676e6f`, `69 67 6e 6f`.
    Hex,
    /// `\x69`, `\u0069`.
    Escapes,
    /// `&#105;`, `&lt;`.
    HtmlEntities,
    /// Characters of the tag block, which are shown as nothing.
    TagBlock,
    /// Bytes hidden in variation selectors, which are shown as nothing.
    VariationSelectors,
    /// Letters moved by thirteen.
    Rot13,
}

impl ViewKind {
    /// The name that findings give it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unsplit => "unsplit",
            Self::Leet => "leet",
            Self::Base64 => "base64",
            Self::Percent => "percent",
            Self::Hex => "hex",
            Self::Escapes => "escapes",
            Self::HtmlEntities => "html_entities",
            Self::TagBlock => "tag_block",
            Self::VariationSelectors => "variation_selectors",
            Self::Rot13 => "rot13",
        }
    }
}

/// The views of a text. Never fails, whatever the text.
///
/// ```
/// use memwarden_guard::normalize;
///
/// let seen = normalize("Note: IGNORE it");
/// assert_eq!(seen.text(), "note: ignore it");
/// assert_eq!(seen.original(6..12), 6..12);
/// ```
#[must_use]
pub fn normalize(text: &str) -> Normalized<'_> {
    let (folded, offsets) = if text.is_ascii() {
        (lower_ascii(text), Offsets::Identity)
    } else {
        let mut out = String::with_capacity(text.len());
        let mut offsets = Offsets::Pieces(Vec::new());
        for (at, c) in text.char_indices() {
            let from = out.len();
            out.extend(std::iter::once(c).nfkc().flat_map(char::to_lowercase));
            let made = out.get(from..).unwrap_or_default();
            offsets.push(
                from,
                at..at.saturating_add(c.len_utf8()),
                made.len(),
                made.chars().count(),
            );
        }
        (Cow::Owned(out), offsets)
    };
    Normalized {
        source: text,
        text: folded,
        offsets,
        controls: Controls::default(),
        views: Vec::new(),
    }
}

impl Normalized<'_> {
    /// The first view.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte range of the original text that a byte range of the first view came from, on character
    /// boundaries and within the text whatever is asked.
    #[must_use]
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.offsets.source(&range, self.source)
    }

    /// Suspicious invisible characters of the original text.
    #[must_use]
    pub const fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Further readings, in order of kind and place.
    #[must_use]
    pub fn views(&self) -> &[View] {
        &self.views
    }
}

fn lower_ascii(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
