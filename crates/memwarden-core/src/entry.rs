//! What a caller wants remembered, and the checks that make it acceptable.

use crate::RecordId;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Largest content in bytes unless configured otherwise.
pub const DEFAULT_MAX_ENTRY_BYTES: usize = 1_048_576;
/// Most declared parents of one entry.
pub const MAX_PARENTS: usize = 64;
/// Most structured fields of one entry.
pub const MAX_FIELDS: usize = 64;
/// Longest subject, source, trust label, field name or string field, in bytes.
pub const MAX_LABEL_BYTES: usize = 4_096;
/// Largest metadata in bytes.
pub const MAX_METADATA_BYTES: usize = 65_536;

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident, $error:literal { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name used in files and output.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The byte that stands for it in leaves and payloads.
            #[must_use]
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)* }
            }

            /// The value that `code` stands for.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = EntryError;

            fn from_str(text: &str) -> Result<Self, EntryError> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(EntryError::NotOneOf {
                        field: $error,
                        given: text.chars().take(80).collect(),
                        expected: &[$($text),*],
                    }),
                }
            }
        }
    };
}

named_enum!(
    /// Which of an agent's two stores an entry belongs to.
    Kind, "kind" {
        /// Facts and experiences.
        General = 0, "general";
        /// Decision logs, rationales, reflections: the agent's record of its own thinking.
        Reasoning = 1, "reasoning";
    }
);

named_enum!(
    /// What sort of text an entry says it is.
    TraceType, "trace_type" {
        /// A decision and its grounds.
        DecisionLog = 0, "decision_log";
        /// Steps of thought.
        ThoughtChain = 1, "thought_chain";
        /// A look back at finished work.
        Reflection = 2, "reflection";
        /// The reason for one choice.
        Rationale = 3, "rationale";
        /// A statement about the world.
        Fact = 4, "fact";
        /// Something that happened.
        Experience = 5, "experience";
        /// What someone likes.
        Preference = 6, "preference";
        /// Anything else.
        Other = 7, "other";
    }
);

impl TraceType {
    /// Whether the published layered guard counts it as reasoning (FARMA §IV-F).
    #[must_use]
    pub const fn is_reasoning(self) -> bool {
        matches!(
            self,
            Self::DecisionLog | Self::ThoughtChain | Self::Reflection | Self::Rationale
        )
    }

    /// The store that such text belongs to when the caller does not say.
    #[must_use]
    pub const fn default_kind(self) -> Kind {
        if self.is_reasoning() {
            Kind::Reasoning
        } else {
            Kind::General
        }
    }
}

named_enum!(
    /// The way an entry came in (the write channels of MPBench, arXiv 2606.04329, with direct and import).
    Channel, "channel" {
        /// A call by the principal itself.
        Direct = 0, "direct";
        /// Read from another tool's file.
        Import = 1, "import";
        /// Written while a tool ran.
        ToolExecuted = 2, "tool-executed";
        /// Written because a system prompt asked for it.
        SystemPromptDriven = 3, "system-prompt-driven";
        /// A summary of earlier text.
        Compaction = 4, "compaction";
        /// A rule distilled from experience.
        ExperienceToProcedure = 5, "experience-to-procedure";
    }
);

/// The value of a structured field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldValue {
    /// Text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
}

/// What a caller wants remembered. `source` and `trust` are declarations of the writer and prove nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The text.
    pub content: String,
    /// Which store it belongs to.
    pub kind: Kind,
    /// What sort of text it is.
    pub trace_type: TraceType,
    /// What it is about, if the caller says.
    pub subject: Option<String>,
    /// Structured values.
    pub fields: BTreeMap<String, FieldValue>,
    /// Where the writer says it came from.
    pub source: Option<String>,
    /// How far the writer says it can be trusted.
    pub trust: Option<String>,
    /// Records it was derived from.
    pub parents: Vec<RecordId>,
    /// End of its life, microseconds since the Unix epoch.
    pub valid_until: Option<crate::Timestamp>,
    /// A JSON object that the store keeps and never interprets.
    pub metadata: Option<String>,
    /// A digest by which an importer recognizes what it brought before.
    pub origin_key: Option<String>,
}

/// How large an entry may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest content in bytes.
    pub max_entry_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_entry_bytes: DEFAULT_MAX_ENTRY_BYTES,
        }
    }
}

/// An entry cannot be accepted as it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Nothing to remember.
    #[error("field `{field}` is empty: expected text")]
    Empty {
        /// The field.
        field: &'static str,
    },
    /// Larger than allowed.
    #[error("field `{field}` has {given} bytes: expected at most {limit}")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its size.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// More items than allowed.
    #[error("field `{field}` has {given} items: expected at most {limit}")]
    TooMany {
        /// The field.
        field: &'static str,
        /// How many.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// A NUL character, which SQLite and C programs cut text at.
    #[error("field `{field}` has a NUL character at byte {at}: expected text without NUL")]
    Nul {
        /// The field.
        field: &'static str,
        /// Where.
        at: usize,
    },
    /// Not one of the fixed values.
    #[error("field `{field}` is `{given}`: expected one of {}", expected.join(", "))]
    NotOneOf {
        /// The field.
        field: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        expected: &'static [&'static str],
    },
}

impl Entry {
    /// A general entry with this content and nothing else set.
    ///
    /// ```
    /// use memwarden_core::{Entry, Limits};
    /// let entry = Entry::new("The billing cycle closes on the 25th.");
    /// assert!(entry.check(Limits::default()).is_ok());
    /// assert!(Entry::new("").check(Limits::default()).is_err());
    /// ```
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            kind: Kind::General,
            trace_type: TraceType::Other,
            subject: None,
            fields: BTreeMap::new(),
            source: None,
            trust: None,
            parents: Vec::new(),
            valid_until: None,
            metadata: None,
            origin_key: None,
        }
    }

    /// Checks every field against `limits` and the fixed limits of this module.
    ///
    /// # Errors
    /// The first field that is empty, too large, or holds a NUL character.
    pub fn check(&self, limits: Limits) -> Result<(), EntryError> {
        if self.content.trim().is_empty() {
            return Err(EntryError::Empty { field: "content" });
        }
        text("content", &self.content, limits.max_entry_bytes)?;
        for (field, value) in [
            ("subject", &self.subject),
            ("source", &self.source),
            ("trust", &self.trust),
        ] {
            if let Some(value) = value {
                text(field, value, MAX_LABEL_BYTES)?;
            }
        }
        if let Some(metadata) = &self.metadata {
            text("metadata", metadata, MAX_METADATA_BYTES)?;
        }
        if let Some(key) = &self.origin_key {
            text("origin_key", key, MAX_LABEL_BYTES)?;
        }
        count("parents", self.parents.len(), MAX_PARENTS)?;
        count("fields", self.fields.len(), MAX_FIELDS)?;
        for (name, value) in &self.fields {
            if name.is_empty() {
                return Err(EntryError::Empty { field: "fields" });
            }
            text("fields", name, MAX_LABEL_BYTES)?;
            if let FieldValue::String(value) = value {
                text("fields", value, MAX_LABEL_BYTES)?;
            }
        }
        Ok(())
    }
}

fn text(field: &'static str, value: &str, limit: usize) -> Result<(), EntryError> {
    if value.len() > limit {
        return Err(EntryError::TooLong {
            field,
            given: value.len(),
            limit,
        });
    }
    match value.find('\0') {
        Some(at) => Err(EntryError::Nul { field, at }),
        None => Ok(()),
    }
}

const fn count(field: &'static str, given: usize, limit: usize) -> Result<(), EntryError> {
    if given > limit {
        Err(EntryError::TooMany { field, given, limit })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Entry)) -> String {
        let mut entry = Entry::new("text");
        change(&mut entry);
        entry.check(Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_field_value_and_expectation() {
        assert_eq!(
            refused(|e| e.content = " \n".into()),
            "field `content` is empty: expected text"
        );
        assert_eq!(
            refused(|e| e.content = "x".repeat(10_000_000)),
            "field `content` has 10000000 bytes: expected at most 1048576"
        );
        assert_eq!(
            refused(|e| e.subject = Some("a\0b".into())),
            "field `subject` has a NUL character at byte 1: expected text without NUL"
        );
        assert_eq!(
            refused(|e| e.parents = vec![RecordId::from_bytes([1; 16]); 65]),
            "field `parents` has 65 items: expected at most 64"
        );
        assert!(
            "gossip"
                .parse::<TraceType>()
                .unwrap_err()
                .to_string()
                .contains("decision_log")
        );
    }
}
