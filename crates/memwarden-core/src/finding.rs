//! What a stage saw in an entry, and what the policy made of it.

use std::fmt;

/// A short name of a screening stage, as written in policies.
pub type StageName = String;

/// How bad a finding is, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth noting.
    Info,
    /// Worth a look.
    Warning,
    /// A sign of an attack.
    High,
}

impl Severity {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::High => "high",
        }
    }

    /// The byte that stands for it in a payload.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Info => 0,
            Self::Warning => 1,
            Self::High => 2,
        }
    }

    /// The severity that `code` stands for.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Info),
            1 => Some(Self::Warning),
            2 => Some(Self::High),
            _ => None,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A score was outside its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("score `{given}` is out of range: expected 0 to 100 hundredths")]
pub struct ScoreError {
    /// The hundredths that were given.
    pub given: u32,
}

/// A stage's score in integer hundredths, 0 to 100: sums are exact and compare the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Score(u32);

impl Score {
    /// The highest score.
    pub const MAX: Self = Self(100);

    /// From hundredths, 0 to 100.
    ///
    /// # Errors
    /// [`ScoreError`] above 100.
    pub const fn from_hundredths(hundredths: u32) -> Result<Self, ScoreError> {
        if hundredths > 100 {
            Err(ScoreError { given: hundredths })
        } else {
            Ok(Self(hundredths))
        }
    }

    /// Hundredths, 0 to 100.
    #[must_use]
    pub const fn hundredths(self) -> u32 {
        self.0
    }
}

/// What one stage saw. Carries no text of the entry beyond a redacted excerpt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stage that saw it.
    pub stage: StageName,
    /// A stable name of the rule within the stage.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// The stage's score for the entry.
    pub score: Score,
    /// Byte range in the content that the rule fired on, where there is one.
    pub span: Option<(u32, u32)>,
    /// One sentence for a person.
    pub reason: String,
}

/// What happens to an entry, mildest first; a policy takes the strongest that any stage asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Stored and visible.
    Admit,
    /// Stored and visible, with findings.
    Annotate,
    /// A cleaned text is stored and visible; the original is kept as its quarantined parent.
    Rewrite,
    /// Stored, invisible until a person releases it.
    Quarantine,
    /// Stored as refused, invisible, not offered for review.
    Reject,
}

impl Verdict {
    /// Every verdict, mildest first.
    pub const ALL: [Self; 5] = [
        Self::Admit,
        Self::Annotate,
        Self::Rewrite,
        Self::Quarantine,
        Self::Reject,
    ];

    /// The name used in policies and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Annotate => "annotate",
            Self::Rewrite => "rewrite",
            Self::Quarantine => "quarantine",
            Self::Reject => "reject",
        }
    }

    /// The byte that stands for it in a payload.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Admit => 0,
            Self::Annotate => 1,
            Self::Rewrite => 2,
            Self::Quarantine => 3,
            Self::Reject => 4,
        }
    }

    /// The verdict that `code` stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
