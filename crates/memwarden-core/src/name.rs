//! Names that people choose: checked once, at the boundary.

use std::fmt;
use std::str::FromStr;

/// A namespace name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("namespace `{given}` is not valid: expected 1 to 128 characters of A-Z a-z 0-9 . _ : -")]
pub struct NameError {
    /// What was given, cut to 80 characters, control characters replaced.
    pub given: String,
}

/// A label inside a tenant under which entries are stored and recalled.
///
/// ```
/// use memwarden_core::Namespace;
/// assert!("agent:billing".parse::<Namespace>().is_ok());
/// assert!("../../x".parse::<Namespace>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(String);

impl Namespace {
    /// Longest name in characters.
    pub const MAX_CHARS: usize = 128;

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Namespace {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

impl FromStr for Namespace {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
        if (1..=Self::MAX_CHARS).contains(&text.len()) && text.bytes().all(allowed) {
            return Ok(Self(text.to_owned()));
        }
        let given = text
            .chars()
            .take(80)
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        Err(NameError { given })
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
