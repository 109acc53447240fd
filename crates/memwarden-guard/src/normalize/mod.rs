//! What a text says once its disguise is taken off: the views that patterns are matched on.
//!
//! For: matching. The *first view* is the text in lower case and NFKC (UAX #15), without invisible characters and
//! with look-alike letters of mixed-script words folded to ASCII (UTS #39); further views hold what was spelled
//! out, encoded or hidden in it. Not for: storing; the stored text is never touched, and every span points into it.
//! It knows no policy: whether a finding in a view matters is not decided here.
//!
//! Plain ASCII skips all of Unicode. Time and the total size of the views are linear in the text.

mod confusables;
mod controls;
mod decode;
mod fold;
mod offsets;
mod scan;
mod scripts;
mod spelled;
mod words;

pub use controls::{Controls, Tally};
pub(crate) use controls::{Standing, Survey, survey};

use offsets::Offsets;
use scan::{Candidates, scan};
use spelled::Reading;
use std::borrow::Cow;
use std::ops::Range;

/// How often encodings within encodings are taken off.
pub const MAX_DEPTH: u8 = 3;

/// All views together are at most so many times as long as the text, and [`SPARE`] longer. Reached only by encodings
/// nested within each other in more than one notation.
const MOST_VIEWED: usize = 8;
const SPARE: usize = 4096;

/// A text as patterns should see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized<'t> {
    source: &'t str,
    text: Cow<'t, str>,
    offsets: Offsets,
    controls: Controls,
    views: Views,
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
    /// Letters with accents that make a common word without: `ìgnórê`.
    Accents,
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
            Self::Accents => "accents",
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
    let first = First::of(text);
    let mut views = Views {
        all: Vec::new(),
        left: text.len().saturating_mul(MOST_VIEWED).saturating_add(SPARE),
        dropped: false,
    };
    views.read_anew(text, &first, None, 1);
    Normalized {
        source: text,
        text: first.text,
        offsets: first.offsets,
        controls: first.survey.controls,
        views,
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

    /// Further readings, each layer right after the one that it was found in.
    #[must_use]
    pub fn views(&self) -> &[View] {
        &self.views.all
    }

    /// Whether there was more to read than is kept: a text that nests encodings without end. A signal of its own.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.views.dropped
    }
}

/// The first view of a text or of what was decoded.
struct First<'t> {
    text: Cow<'t, str>,
    offsets: Offsets,
    survey: Survey,
}

impl<'t> First<'t> {
    fn of(text: &'t str) -> Self {
        let make = Make::of(text);
        match make {
            Make::Lower => Self::plain(Cow::Borrowed(text)),
            Make::Ascii => Self::plain(Cow::Owned(text.to_ascii_lowercase())),
            Make::Other => {
                let survey = survey(text);
                let (folded, offsets) = fold::fold(text, &survey.invisible);
                Self {
                    text: Cow::Owned(folded),
                    offsets,
                    survey,
                }
            }
        }
    }

    fn plain(text: Cow<'t, str>) -> Self {
        Self {
            text,
            offsets: Offsets::Identity,
            survey: Survey::default(),
        }
    }
}

/// What a text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    /// ASCII without capitals or controls.
    Lower,
    /// ASCII without controls.
    Ascii,
    Other,
}

impl Make {
    /// Without a branch on any byte, so that it runs over many at once.
    fn of(text: &str) -> Self {
        let (mut capitals, mut others) = (false, false);
        for byte in text.bytes() {
            capitals |= byte.is_ascii_uppercase();
            others |= !matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        }
        match (others, capitals) {
            (true, _) => Self::Other,
            (false, true) => Self::Ascii,
            (false, false) => Self::Lower,
        }
    }
}

/// The views so far.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Views {
    all: Vec<View>,
    /// How many bytes may still be added.
    left: usize,
    dropped: bool,
}

impl Views {
    /// Adds what may be read in `text` beyond its first view. `within` is where the text itself was found in the
    /// original, none for the original.
    fn read_anew(&mut self, text: &str, first: &First<'_>, within: Option<&Range<usize>>, depth: u8) {
        if depth > MAX_DEPTH {
            return;
        }
        let of_view = |span: Range<usize>| {
            within
                .cloned()
                .unwrap_or_else(|| first.offsets.source(&span, text))
        };
        let of_text = |span: Range<usize>| within.cloned().unwrap_or(span);
        let (candidates, spelling) = match first.offsets {
            Offsets::Identity => (scan(text), None),
            Offsets::Pieces(_) => (scan(text), Some(scan(&first.text))),
        };
        let Candidates { split, leet, .. } = spelling.as_ref().unwrap_or(&candidates);
        let unsplit = spelled::unsplit(&first.text, split);
        let unleet = spelled::unleet(&first.text, leet);
        let accents = if first.text.is_ascii() {
            None
        } else {
            spelled::unaccent(&first.text)
        };
        let readings = [
            (ViewKind::Unsplit, unsplit),
            (ViewKind::Leet, unleet),
            (ViewKind::Accents, accents.into_iter().collect()),
        ];
        for (kind, readings) in readings {
            for Reading { span, text } in readings {
                self.add(View {
                    kind,
                    text,
                    span: of_view(span),
                    depth,
                });
            }
        }
        for found in decode::decode(text, &candidates) {
            self.decoded(found.kind, &found.text, of_text(found.span), depth);
        }
        if let Some((hidden, span)) = &first.survey.tags {
            self.decoded(ViewKind::TagBlock, hidden, of_text(span.clone()), depth);
        }
        if let Some((bytes, span)) = &first.survey.selectors
            && let Some(hidden) = decode::readable(bytes.clone())
        {
            self.decoded(
                ViewKind::VariationSelectors,
                &hidden,
                of_text(span.clone()),
                depth,
            );
        }
    }

    fn decoded(&mut self, kind: ViewKind, text: &str, span: Range<usize>, depth: u8) {
        let first = First::of(text);
        let view = View {
            kind,
            text: first.text.clone().into_owned(),
            span: span.clone(),
            depth,
        };
        if self.add(view) {
            self.read_anew(text, &first, Some(&span), depth.saturating_add(1));
        }
    }

    /// Whether there was room.
    fn add(&mut self, view: View) -> bool {
        match self.left.checked_sub(view.text.len()) {
            Some(left) => {
                self.left = left;
                self.all.push(view);
                true
            }
            None => {
                self.dropped = true;
                false
            }
        }
    }
}
