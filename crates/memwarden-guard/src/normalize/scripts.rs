//! Which script a character belongs to, as far as disguise is concerned.
//!
//! For: telling a mixed-script word from one in another script, and an honest joiner from one that hides. Not for:
//! naming languages. Ranges are whole blocks (UAX #44 Blocks); an unassigned code point in them does no harm.

/// Scripts that hold look-alikes of Latin letters, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Digits, marks, signs: any word may hold them.
    Common,
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Other,
}

impl Script {
    pub(super) fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Latin,
            '\0'..='\u{a9}' => Self::Common,
            '\u{aa}'..='\u{2af}'
            | '\u{1d00}'..='\u{1dbf}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{ab30}'..='\u{ab6f}' => Self::Latin,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Self::Greek,
            '\u{400}'..='\u{52f}'
            | '\u{1c80}'..='\u{1c8f}'
            | '\u{2de0}'..='\u{2dff}'
            | '\u{a640}'..='\u{a69f}' => Self::Cyrillic,
            '\u{530}'..='\u{58f}' => Self::Armenian,
            '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Self::Cherokee,
            _ if c.is_alphabetic() => Self::Other,
            _ => Self::Common,
        }
    }
}

/// Letters of Hebrew, Arabic and the other scripts that run from right to left.
pub(super) const fn is_right_to_left(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{61b}'
        | '\u{61d}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}'
        | '\u{1e800}'..='\u{1efff}')
}

/// Scripts whose letters join, so that a joiner or non-joiner changes what is seen (Unicode §9, §12, §13, §16).
pub(super) const fn is_joining(c: char) -> bool {
    is_right_to_left(c)
        || matches!(c,
        '\u{900}'..='\u{dff}'
        | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{18af}'
        | '\u{1900}'..='\u{1cff}'
        | '\u{a800}'..='\u{abff}'
        | '\u{11000}'..='\u{11fff}')
}

/// Scripts without spaces between words, where a zero-width space says that a line may break; Hangul, which has
/// fillers.
pub(super) const fn is_unspaced(c: char) -> bool {
    is_ideograph(c)
        || matches!(c,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3000}'..='\u{31ff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{ff00}'..='\u{ffef}')
}

/// Han.
pub(super) const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fff}' | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Pictographs, their modifiers, and the older signs with an emoji form (UTS #51).
pub(super) const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{20e3}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}
