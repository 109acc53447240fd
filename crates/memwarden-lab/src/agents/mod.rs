//! The simulated agents of the demo: a fixed rule in the place of a language model, real checks over small data,
//! real calls of the gate.
//!
//! They show what follows *if* a model believes what it recalls. How often a real model does is not measured here.

pub mod rule;

use std::fmt;

/// One of the three simulated agents (the domains of FARMA §V-A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// Imports batches of patient records; its check validates them.
    Ehr,
    /// Answers questions with a search tool; its check looks the answer up in two passages.
    ReactQa,
    /// Buys products; its check compares three listings.
    Rap,
}

impl Agent {
    /// Every agent.
    pub const ALL: &'static [Self] = &[Self::Ehr, Self::ReactQa, Self::Rap];

    /// The name used in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ehr => "ehr",
            Self::ReactQa => "react-qa",
            Self::Rap => "rap",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
