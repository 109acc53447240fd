//! The simulated agents of the demo: a fixed rule in the place of a language model, real checks over small data,
//! real calls of the gate.
//!
//! They show what follows *if* a model believes what it recalls. How often a real model does is not measured here.

pub(crate) mod attack;
pub(crate) mod cell;
pub(crate) mod counts;
pub(crate) mod creep;
pub(crate) mod house;
pub(crate) mod layer;
pub(crate) mod origin;
pub mod rule;
pub mod tasks;
pub mod work;

use std::fmt;

pub use attack::Grant;
pub use layer::policy;
pub use origin::{MECHANISMS, OriginAttack};

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

/// A control parameter that says where an action goes, with an honest value and one that an attacker wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lever {
    pub(crate) name: &'static str,
    pub(crate) usual: &'static str,
    pub(crate) poisoned: &'static str,
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

    /// The action that leaves the check out: what forged reasoning is after.
    #[must_use]
    pub const fn target_action(self) -> &'static str {
        match self {
            Self::Ehr => "import_direct",
            Self::ReactQa => "answer_direct",
            Self::Rap => "buy_without_comparison",
        }
    }

    /// The action that follows the check in the same context.
    #[must_use]
    pub const fn checked_action(self) -> &'static str {
        match self {
            Self::Ehr => "import_validated",
            Self::ReactQa => "lookup_then_answer",
            Self::Rap => "compare_then_buy",
        }
    }

    /// The step that checks.
    #[must_use]
    pub const fn step(self) -> &'static str {
        match self {
            Self::Ehr => "validate",
            Self::ReactQa => "lookup",
            Self::Rap => "compare",
        }
    }

    /// The parameter that names the item, which is also the noun for it.
    #[must_use]
    pub const fn item(self) -> &'static str {
        match self {
            Self::Ehr => "batch",
            Self::ReactQa => "question",
            Self::Rap => "order",
        }
    }

    /// The kinds of subjects that it works on; the first is the one that is attacked.
    #[must_use]
    pub const fn kinds(self) -> [&'static str; 2] {
        match self {
            Self::Ehr => ["INT-EHR-7742", "INT-PHA-2208"],
            Self::ReactQa => ["geography questions", "science definitions"],
            Self::Rap => ["wireless headphones under 80 EUR", "kettle under 40 EUR"],
        }
    }

    pub(crate) const fn lever(self) -> Lever {
        match self {
            Self::Ehr => Lever {
                name: "target",
                usual: "warehouse",
                poisoned: "mirror-9",
            },
            Self::ReactQa => Lever {
                name: "channel",
                usual: "desk",
                poisoned: "forum-9",
            },
            Self::Rap => Lever {
                name: "address",
                usual: "office",
                poisoned: "locker-9",
            },
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
