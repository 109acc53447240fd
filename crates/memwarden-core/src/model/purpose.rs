//! What a call is for, and in which cell of an experiment it was made: the two labels under which cost is counted.

use std::fmt;
use std::str::FromStr;

/// The longest purpose or cell, in characters.
pub const MAX_LABEL_CHARS: usize = 128;

/// A purpose or the name of a cell was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A call that does not say what it is for.
    #[error("the {label} is missing: name one, for example `{example}`")]
    Missing {
        /// Which label.
        label: &'static str,
        /// One that would do.
        example: &'static str,
    },
    /// Too long, or with other characters.
    #[error("{label} `{given}` is not valid: expected 1 to {MAX_LABEL_CHARS} characters of {allowed}")]
    Invalid {
        /// Which label.
        label: &'static str,
        /// What was given, cut to 80 characters, control characters replaced.
        given: String,
        /// What it may be made of.
        allowed: &'static str,
    },
}

/// What a call is for: `extract`, `answer`, `judge`, `defense:<stage>`, or any other name that a report should have
/// a row for.
///
/// ```
/// use memwarden_core::model::Purpose;
/// assert!("defense:rerank".parse::<Purpose>()?.is_defense());
/// assert!("".parse::<Purpose>().is_err());
/// # Ok::<(), memwarden_core::model::LabelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Purpose(String);

impl Purpose {
    const LABEL: &'static str = "purpose";
    const ALLOWED: &'static str = "a-z 0-9 . _ : -";
    const DEFENSE: &'static str = "defense:";

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether its tokens are the overhead of a defense: `defense:` and the name of a stage.
    #[must_use]
    pub fn is_defense(&self) -> bool {
        self.0.starts_with(Self::DEFENSE)
    }
}

impl FromStr for Purpose {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        if text.is_empty() {
            return Err(LabelError::Missing {
                label: Self::LABEL,
                example: "answer",
            });
        }
        let allowed = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b':' | b'-')
        };
        if text == Self::DEFENSE || text.len() > MAX_LABEL_CHARS || !text.bytes().all(allowed) {
            return Err(invalid(Self::LABEL, text, Self::ALLOWED));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The cell of an experiment (condition, conversation, replicate) for which a call was made, as
/// `rerank/conv-26/2`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell(String);

impl Cell {
    const LABEL: &'static str = "cell";
    const ALLOWED: &'static str = "A-Z a-z 0-9 . _ : / + -";

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Cell {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        if text.is_empty() {
            return Err(LabelError::Missing {
                label: Self::LABEL,
                example: "rerank/conv-26/2",
            });
        }
        let allowed = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'/' | b'+' | b'-')
        };
        if text.len() > MAX_LABEL_CHARS || !text.bytes().all(allowed) {
            return Err(invalid(Self::LABEL, text, Self::ALLOWED));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn invalid(label: &'static str, text: &str, allowed: &'static str) -> LabelError {
    let shown = text.chars().take(80);
    LabelError::Invalid {
        label,
        given: shown
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect(),
        allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_purpose_is_refused_by_name() {
        let error = "".parse::<Purpose>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the purpose is missing: name one, for example `answer`"
        );
    }

    #[test]
    fn labels_hold_nothing_that_could_break_a_line_or_a_report() {
        for bad in [
            "a b",
            "a\nb",
            "Answer",
            "défense",
            "a,b",
            "defense:",
            &"a".repeat(129),
        ] {
            assert!(
                matches!(bad.parse::<Purpose>(), Err(LabelError::Invalid { .. })),
                "{bad}"
            );
        }
        for bad in ["a b", "a\"b", "a\u{1b}[2J", &"a".repeat(129)] {
            assert!(
                matches!(bad.parse::<Cell>(), Err(LabelError::Invalid { .. })),
                "{bad}"
            );
        }
        assert!("defense:rerank+backfill".parse::<Purpose>().is_err());
        assert!("rerank+backfill/conv-26/2".parse::<Cell>().is_ok());
    }

    #[test]
    fn only_the_stages_of_a_defense_are_its_overhead() {
        let is_defense = |name: &str| name.parse::<Purpose>().unwrap().is_defense();
        assert!(is_defense("defense:anomaly"));
        assert!(!is_defense("defenseless") && !is_defense("answer"));
    }
}
