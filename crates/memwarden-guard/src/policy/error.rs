//! Why a policy is refused: each error names the key, the value and what was expected, and the line where the
//! text gives one.

use std::fmt;

/// A policy cannot be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Longer than [`crate::MAX_POLICY_BYTES`].
    #[error("the policy has {given} bytes: expected at most {limit}")]
    TooLong {
        /// Its size.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// Not TOML.
    #[error("{line}the policy is not TOML: {reason}")]
    Syntax {
        /// Where.
        line: Line,
        /// What the TOML parser says.
        reason: String,
    },
    /// A key that the grammar does not have.
    #[error("{line}key `{key}` is unknown: expected {expected}{hint}")]
    UnknownKey {
        /// Where.
        line: Line,
        /// The key with its table.
        key: String,
        /// The keys that exist there.
        expected: String,
        /// The nearest one, or why there is none.
        hint: String,
    },
    /// A value that the grammar or the sense of the policy does not allow.
    #[error("{line}key `{key}` is `{given}`: expected {expected}")]
    Value {
        /// Where.
        line: Line,
        /// The key with its table.
        key: String,
        /// The value, cut to 80 characters.
        given: String,
        /// What is allowed.
        expected: String,
    },
    /// A key that must be there.
    #[error("{line}key `{key}` is missing: expected {expected}")]
    Missing {
        /// Where its table begins.
        line: Line,
        /// The key with its table.
        key: String,
        /// What is allowed.
        expected: String,
    },
    /// A step is required that nobody in the store may run: the action could never be allowed.
    #[error(
        "action `{tool}` requires step `{step}`, which nobody may run: expected a principal of role step in the store"
    )]
    NobodyRunsStep {
        /// The action's tool.
        tool: String,
        /// The step.
        step: String,
    },
}

impl PolicyError {
    /// The line of the text, from 1, where one can be named.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. }
            | Self::UnknownKey { line, .. }
            | Self::Value { line, .. }
            | Self::Missing { line, .. } => line.0,
            Self::TooLong { .. } | Self::NobodyRunsStep { .. } => None,
        }
    }
}

/// A line of the policy's text, from 1; shown as `line 3: `, or as nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line(pub(super) Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, "line {line}: "))
    }
}

/// Text of the policy's author as an error shows it: at most 80 characters, none of them a control character.
pub(super) fn shown(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(80).map(clean).collect()
}

/// The one of `known` that `given` most likely means: at most two fifths of its letters differ.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    if given.len() > 64 {
        return None;
    }
    let near = known
        .iter()
        .map(|candidate| (distance(given, candidate), *candidate));
    let (edits, candidate) = near.min()?;
    (edits * 5 <= candidate.len() * 2).then_some(candidate)
}

/// Edit distance between two short words (Levenshtein), one row at a time.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.chars().zip(row.iter().skip(1)) {
            let cost = diagonal + usize::from(x != y);
            left = cost.min(left + 1).min(above + 1);
            next.push(left);
            diagonal = *above;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_changes() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("taint", "taint"), 0);
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let known = ["write", "read", "weights", "stage"];
        assert_eq!(nearest("weigths", &known), Some("weights"));
        assert_eq!(nearest("stages", &known), Some("stage"));
        assert_eq!(nearest("waite", &known), Some("write"));
        assert_eq!(nearest("zebra", &known), None);
        assert_eq!(nearest("s6", &["s1", "s2"]), None, "all are equally near");
    }
}
